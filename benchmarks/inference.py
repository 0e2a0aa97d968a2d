"""How many incidents a second the two backends decide, and whether memory grows.

``python benchmarks/inference.py [--incidents N] [--facts N]`` evaluates the built-in rules on made-up incidents, put
together from the examples of the rule files. Both backends see the same incidents in turn, in one process, after a
first pass for warming up; the results are compared. Times are those of the processor.
"""

from __future__ import annotations

import argparse
import gc
import random
import resource
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from engine.facts.model import Fact
from engine.inference import Engine, Inference
from engine.rules.examples import facts_of
from engine.rules.loading import load
from engine.rules.pack import compile_rules, pack_of
from engine.rules.reader_examples import read_examples
from knowledge import BUILTIN


class Incidents:
    """Made-up incidents of about a number of facts, from the examples of rule files."""

    def __init__(self) -> None:
        loaded = load([BUILTIN], examples=True)
        self.pack = pack_of(loaded)
        self.examples: list[list[Fact]] = []
        for file in loaded.evidence.values():
            names = [rule.id.rpartition("/")[2] for rule in file.rules]
            for example in read_examples(file.document, self.pack.vocabulary, names)[0]:
                self.examples.append(facts_of(example.facts, self.pack.vocabulary))

    def made(self, number: int, size: int) -> Iterator[list[Fact]]:
        """So many incidents; the same ones every time."""
        chosen = random.Random(size)  # noqa: S311 - not for secrets
        for _ in range(number):
            facts: list[Fact] = []
            while len(facts) < size:
                part = f"{len(facts)}/"
                facts += [
                    replace(
                        fact, id=f"f{len(facts) + place}", source=replace(fact.source, path=part + fact.source.path)
                    )
                    for place, fact in enumerate(chosen.choice(self.examples))
                ]
            yield facts


def timed(engine: Engine, incidents: Sequence[list[Fact]]) -> tuple[list[float], list[Inference]]:
    """Seconds of processor time of each incident, and the results."""
    times: list[float] = []
    found: list[Inference] = []
    for facts in incidents:
        start = time.process_time()
        found.append(engine.run(facts))
        times.append(time.process_time() - start)
    return times, found


def line(name: str, times: Sequence[float]) -> None:
    """Print speed and the slow end of the distribution."""
    slow = statistics.quantiles(times, n=100)[98] * 1000
    sys.stdout.write(
        f"  {name:<10} {len(times) / sum(times):8.0f} incidents/s   "
        f"median {statistics.median(times) * 1000:7.2f} ms   p99 {slow:7.2f} ms\n"
    )


def megabytes() -> float:
    """The most memory that the process held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Measure both backends at several sizes, then memory."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--incidents", type=int, default=100, help="incidents of each size")
    parser.add_argument("--facts", type=int, action="append", help="facts of an incident; may be given several times")
    options = parser.parse_args()
    made = Incidents()
    rules = compile_rules(made.pack)
    sys.stdout.write(f"{len({rule.id for rule in rules})} rules, {len(rules)} with their alternatives\n")
    gc.collect()
    gc.freeze()  # the pack is large; without this the collector goes through it again and again
    for backend in ("reference", "durable"):
        start = time.process_time()
        with Engine(rules, made.pack.vocabulary, backend) as engine:
            ready = time.process_time()
            engine.run(next(made.made(1, 10)))
            done = time.process_time()
        sys.stdout.write(
            f"{backend}: {(ready - start) * 1000:.0f} ms to prepare, "
            f"{(done - ready) * 1000:.0f} ms for a first incident\n"
        )
    with Engine(rules, made.pack.vocabulary, "reference") as one, Engine(rules, made.pack.vocabulary) as other:
        for size in options.facts or (10, 50, 200):
            incidents = list(made.made(options.incidents, size))
            timed(other, incidents)
            slow, expected = timed(one, incidents)
            fast, found = timed(other, incidents)
            pairs = zip(expected, found, strict=True)
            different = sum((a.firings, a.derived) != (b.firings, b.derived) for a, b in pairs)
            left = sum(result.backend != "durable" for result in found)
            firings = statistics.mean(len(result.firings) for result in found)
            sys.stdout.write(
                f"{size} facts, {firings:.0f} firings on average; "
                f"{different} differences, {left} left to the reference\n"
            )
            line("reference", slow)
            line("durable", fast)
        incidents = list(made.made(options.incidents, 50))
        before = megabytes()
        for _ in range(10):
            timed(other, incidents)
        sys.stdout.write(f"memory grew by {megabytes() - before:.1f} MB over {10 * len(incidents)} more incidents\n")


if __name__ == "__main__":
    main()
