"""Random rulesets on both backends and by brute force; whatever differs, or crashes, is a finding.

    python -m tests.inference.fuzz --rulesets 100000 [--first SEED]

Seeds run in child processes, so that a crash of the C core is attributed to its seed and counted.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.inference import Engine, Inference, InvalidRules
from engine.inference.checks import refused
from tests.inference.brute import Brute
from tests.inference.generate import Case, Generator, uses

ROOT = Path(__file__).parents[2]

BATCH = 250
"""Seeds to a child process."""

LARGE = 40
"""One seed in so many is a large ruleset, for the limits of the C core; too large for brute force."""

MANY = 6
"""One seed in so many has many incidents."""

PARTS = [
    "fact", "fact in any", "absent", "absent in any", "absent derived", "any", "count", "count in any", "unexplained",
    "before", "after", "within", "join ==", "join !=", "emission", "test ==", "test !=", "test <", "test <=", "test >",
    "test >=", "test in", "test not_in", "test known",
]  # fmt: skip


class Finding(AssertionError):  # noqa: N818
    """The evaluators differ."""


@dataclass
class Tally:
    """What a run saw."""

    rulesets: int = 0
    firing: int = 0
    incidents: int = 0
    firings: int = 0
    derived: int = 0
    large: int = 0
    unlayered: int = 0
    too_large: int = 0
    fallbacks: int = 0
    parts: Counter[str] = field(default_factory=Counter)
    fired_parts: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)

    def add(self, other: dict[str, Any]) -> None:
        for name in (
            "rulesets",
            "firing",
            "incidents",
            "firings",
            "derived",
            "large",
            "unlayered",
            "too_large",
            "fallbacks",
        ):
            setattr(self, name, getattr(self, name) + other[name])
        self.parts.update(other["parts"])
        self.fired_parts.update(other["fired_parts"])
        self.findings += other["findings"]

    def text(self) -> str:
        share = self.firing / max(self.rulesets, 1)
        return (
            f"{self.rulesets} rulesets ({self.large} large, {self.unlayered} loops, {self.too_large} too large), "
            f"{self.incidents} incidents, {self.firings} firings, {self.derived} derived facts; "
            f"{share:.0%} of the rulesets fired; {self.fallbacks} incidents left to the reference; "
            f"{len(self.findings)} findings"
        )


def case_of(seed: int) -> tuple[Case, bool]:
    """The case of a seed and whether it is a large one."""
    generator = Generator(seed)
    if seed % LARGE == 0:
        return generator.case(generator.random.randint(30, 150), 30, 2, small=True), True
    incidents = 7 if seed % MANY == 0 else 2  # after some different incidents an engine compiles all of its rules
    return generator.case(generator.random.randint(1, 5), 14, incidents), False


def check(seed: int, tally: Tally) -> None:
    """Raise :class:`Finding` where evaluators differ on the case of the seed."""
    case, large = case_of(seed)
    found = refused(case.rules, case.vocabulary)
    if found:
        raise Finding(f"seed {seed}: the generator made an invalid rule: {found[0]}")
    tally.rulesets += 1
    tally.large += large
    try:
        durable = Engine(case.rules, case.vocabulary, "durable")
    except InvalidRules as error:
        if "have no meaning" in str(error):
            tally.unlayered += 1
        elif "possible" in str(error) or "split it" in str(error):
            tally.too_large += 1
        else:
            raise
        return
    tally.parts.update(uses(case.rules))
    fired: set[str] = set()
    with durable, Engine(case.rules, case.vocabulary, "reference") as reference:
        for number, facts in enumerate(case.incidents):
            one, two = durable.run(facts), reference.run(facts)
            tally.incidents += 1
            tally.firings += len(two.firings)
            tally.derived += len(two.derived)
            tally.fallbacks += one.backend != "durable"
            fired |= {firing.rule_id for firing in two.firings}
            where = f"seed {seed} incident {number}"
            if one.firings != two.firings or one.derived != two.derived:
                raise Finding(f"{where}: durable and reference differ")
            if not large:
                compare(two, case, number, where)
    tally.firing += bool(fired)
    tally.fired_parts.update(uses([rule for rule in case.rules if rule.id in fired]))


def compare(found: Inference, case: Case, number: int, where: str) -> None:
    """Raise :class:`Finding` where brute force finds something else."""
    expected = Brute(case.rules, case.incidents[number], case.vocabulary).run()
    got = {}
    for firing in found.firings:
        plain = plain_aliases(case, firing.rule_id)
        bindings = frozenset(pair for pair in firing.bindings if pair[0] in plain)
        rest = {(name.partition("#")[0], fact) for name, fact in (*firing.bindings, *firing.others)} - bindings
        got[firing.rule_id, bindings] = (rest, {*firing.coverage})
    # a fact bound plainly may appear inside any under the same alias name
    wanted = {
        key: ({pair for pair in rest if pair not in key[1]}, cover) for key, (rest, cover) in expected.firings.items()
    }
    if got != wanted:
        only = sorted(set(map(str, got.items())) ^ set(map(str, wanted.items())))
        raise Finding(f"{where}: brute force and reference differ: {only[:2]}")
    derived = {d.id: (d.kind, dict(d.fields), d.rule_id, frozenset(d.sources)) for d in found.derived}
    if derived != expected.derived:
        raise Finding(f"{where}: brute force derives something else")


def plain_aliases(case: Case, rule_id: str) -> set[str]:
    """The aliases of the plain conditions of a rule and its alternatives."""
    from engine.rules.model import FactCondition

    return {
        condition.alias
        for rule in case.rules
        if rule.id == rule_id
        for condition in rule.when
        if isinstance(condition, FactCondition) and condition.count is None
    }


def say(text: object) -> None:
    """Write a line to stdout at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def child(first: int, number: int, progress: Path, crash_at: int | None = None) -> None:
    """Check seeds; the one at work stands in ``progress``, the tally goes to stdout."""
    tally = Tally()
    with progress.open("w") as mark:
        for seed in range(first, first + number):
            mark.seek(0)
            mark.write(f"{seed:20}")
            mark.flush()
            try:
                if seed == crash_at:
                    os.abort()
                check(seed, tally)
            except Exception as error:
                tally.findings.append(f"{type(error).__name__}: {error}".partition("\n")[0][:500] + f" (seed {seed})")
    say(json.dumps(tally.__dict__))


def batch(first: int, number: int, crash_at: int | None = None) -> list[dict[str, Any]]:
    """Tallies of the seeds from children; a seed that kills its child becomes a finding and is left out."""
    results: list[dict[str, Any]] = []
    end = first + number
    while first < end:
        with tempfile.TemporaryDirectory() as folder:
            progress = Path(folder, "seed")
            command = [sys.executable, "-m", "tests.inference.fuzz", "--child", str(first), str(end - first)]
            command += [str(progress), *(["--crash-at", str(crash_at)] if crash_at else [])]
            done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
            if done.returncode == 0:
                results.append(json.loads(done.stdout))
                break
            died = int(progress.read_text()) if progress.exists() else first
        if died > first:
            results += batch(first, died - first, crash_at)
        reason = f"child ended with {done.returncode}: {done.stderr.strip()[-200:]} (seed {died})"
        results.append({**Tally().__dict__, "findings": [reason]})
        first = died + 1
    return results


def run(first: int, rulesets: int, workers: int = 2, progress: bool = False) -> Tally:
    """Check ``rulesets`` seeds from ``first`` on."""
    tally = Tally()
    started = time.monotonic()
    starts = range(first, first + rulesets, BATCH)
    with ThreadPoolExecutor(workers) as pool:
        for results in pool.map(lambda start: batch(start, min(BATCH, first + rulesets - start)), starts):
            for result in results:
                tally.add(result)
            if progress:
                say(f"{time.monotonic() - started:7.0f} s  {tally.text()}")
                for finding in tally.findings[-3:]:
                    say(f"    {finding}")
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rulesets", type=int, default=2000)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--child", nargs=3, metavar=("FIRST", "NUMBER", "FILE"), help=argparse.SUPPRESS)
    parser.add_argument("--crash-at", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(int(options.child[0]), int(options.child[1]), Path(options.child[2]), options.crash_at)
        return
    tally = run(options.first, options.rulesets, options.workers, progress=True)
    say(tally.text())
    for name in PARTS:
        say(f"{name:20} {tally.parts[name]:8} rules, {tally.fired_parts[name]:8} that fired")
    for finding in tally.findings:
        say(finding)
    sys.exit(bool(tally.findings))


if __name__ == "__main__":
    main()
