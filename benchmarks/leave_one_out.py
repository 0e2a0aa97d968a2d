"""What the verdicts on an archive rest on, and which of them would fall with the rules that only their incident needs.

    python -m benchmarks.leave_one_out FOLDER...

For each incident: how many rules fired, which of them fire on no other incident of the archive, and what the verdict
becomes without those. An incident whose verdict rests only on such rules proves nothing about them: they may have been
written for it. Labels are read where there are any, to say whether a verdict is right; the diagnosis never sees them.
Propagations and signatures are counted in no way: they stay as they are.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from cli import Investigation
from engine.archive.incidents import MANIFEST, find_incidents
from engine.diagnosis.diagnose import diagnose
from engine.diagnosis.model import Diagnosis, Hypothesis


@dataclass(frozen=True, slots=True)
class Judged:
    """One incident: its verdict, the rules that fired for or against anything, and those that the verdict rests on."""

    name: str
    bundle: Path
    outcome: str
    cause: str | None
    fired: frozenset[str]
    carrying: frozenset[str]
    """Supporting rules of the named cause that count and stand."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The incident seen from the others: ``own`` are the rules that fire on no other one."""

    judged: Judged
    own: frozenset[str]
    outcome: str
    cause: str | None
    """Outcome and cause without the rules in ``own``."""
    right: bool | None = None
    right_without: bool | None = None

    @property
    def alone(self) -> bool:
        """Whether the verdict names a cause and rests only on rules that no other incident exercises."""
        carrying = self.judged.carrying
        return self.judged.cause is not None and bool(carrying) and carrying <= self.own

    @property
    def changed(self) -> bool:
        """Whether the verdict is another one without the rules of this incident alone."""
        return (self.outcome, self.cause) != (self.judged.outcome, self.judged.cause)


def leave_one_out(folders: Sequence[Path], work: Investigation | None = None) -> list[LeftOut]:
    """Judge every incident below ``folders`` twice: with all rules, and without those that only it exercises."""
    work = work or Investigation((), "reference")
    bundles = [bundle for folder in folders for bundle in find_incidents(folder)]
    judged = [_judged(bundle, work.diagnose(bundle)) for bundle in bundles]
    uses = Counter(rule for item in judged for rule in item.fired)
    return [_left_out(item, frozenset(rule for rule in item.fired if uses[rule] == 1), work) for item in judged]


def _judged(bundle: Path, diagnosis: Diagnosis) -> Judged:
    top = _named(diagnosis)
    return Judged(
        name=bundle.name,
        bundle=bundle,
        outcome=diagnosis.verdict.outcome,
        cause=diagnosis.verdict.cause,
        fired=frozenset(item.rule for found in diagnosis.hypotheses for item in (*found.support, *found.against)),
        carrying=frozenset(
            item.rule for item in (top.support if top else ()) if item.counted and item.explained_by is None
        ),
    )


def _named(diagnosis: Diagnosis) -> Hypothesis | None:
    cause = diagnosis.verdict.cause
    return next((item for item in diagnosis.hypotheses if item.leaf.id == cause), None)


def _left_out(item: Judged, own: frozenset[str], work: Investigation) -> LeftOut:
    timeline, manifest, _ = work.timeline(item.bundle, {})
    kept = {name: rule for name, rule in work.pack.evidence.items() if name not in own}
    verdict = diagnose(timeline, manifest, replace(work.pack, evidence=kept), work.engine).verdict
    labels = _labels(item.bundle)
    return LeftOut(item, own, verdict.outcome, verdict.cause, _right(item.cause, labels), _right(verdict.cause, labels))


def _labels(bundle: Path) -> Mapping[str, Any]:
    manifest = bundle / MANIFEST
    document = yaml.safe_load(manifest.read_text(encoding="utf-8")) if manifest.is_file() else None
    labels = document.get("labels") if isinstance(document, dict) else None
    return labels if isinstance(labels, dict) else {}


def _right(cause: str | None, labels: Mapping[str, Any]) -> bool | None:
    """Whether the cause is the labelled one or below it; ``None`` where there is no label or no cause was named."""
    wanted = labels.get("causes")
    if not wanted or cause is None:
        return None
    return any(cause == one or cause.startswith(f"{one}.") for one in map(str, wanted))


def table(items: Sequence[LeftOut]) -> list[str]:
    """The incidents, then the figures."""
    lines = []
    for item in items:
        judged = item.judged
        mark = {True: "right", False: "wrong", None: "-"}[item.right]
        lines.append(
            f"{judged.name:32} {judged.outcome:22} {judged.cause or '-':28} {mark:6}"
            f" fired {len(judged.fired):3}, own {len(item.own):2}{'  ALONE' if item.alone else ''}"
        )
        lines += [f"    only here: {rule}{' (carries)' * (rule in judged.carrying)}" for rule in sorted(item.own)]
        if item.changed:
            lines.append(f"    without them: {item.outcome} {item.cause or '-'}")
    return [*lines, "", *figures(items)]


def figures(items: Sequence[LeftOut]) -> list[str]:
    """The archive in a few numbers."""
    named = [item for item in items if item.judged.cause is not None]
    alone = [item for item in items if item.alone]
    labelled = [item for item in items if item.right is not None]
    misled = [item for item in items if item.outcome == "cause_found" and item.right_without is False]
    fired = {rule for item in items for rule in item.judged.fired}
    own = {rule for item in items for rule in item.own}
    return [
        f"incidents {len(items)}, of which a cause is named {len(named)}",
        f"rules that fire {len(fired)}, on one incident only {len(own)}",
        f"verdicts that rest only on rules that no other incident exercises: {len(alone)}",
        *(f"    {item.judged.name} {item.judged.cause}" for item in alone),
        f"verdicts that change without those rules: {sum(item.changed for item in items)}",
        f"right cause, all rules: {sum(item.right is True for item in labelled)}/{len(labelled)}",
        f"right cause, without its own rules: {sum(item.right_without is True for item in labelled)}/{len(labelled)}",
        f"a wrong cause found without them: {len(misled)}",
    ]


def main(arguments: Sequence[str]) -> int:
    """``FOLDER...``."""
    if not arguments:
        sys.stderr.write((__doc__ or "") + "\n")
        return 2
    sys.stdout.write("\n".join(table(leave_one_out([Path(name) for name in arguments]))) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
