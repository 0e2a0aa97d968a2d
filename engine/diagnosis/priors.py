"""What the pattern and the phase of a failure say of the causes: a little, and only which of several to look at first.

The numbers and where they come from are in ``profiles/priors.yaml``. They change no score, no status and no outcome:
only the order of candidates of one status that lie so close together that the evidence does not part them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.diagnosis.model import Hypothesis
from engine.diagnosis.verdict import CANDIDATE_SCORE, CLEAR_LEAD
from engine.facts.model import Fact
from engine.facts.patterns import KIND

LIMIT = 0.45 * CLEAR_LEAD
"""Most that all shifts of a cause can come to: two causes never pass each other over the lead that names one alone."""


@dataclass(frozen=True, slots=True)
class Shift:
    """One entry of the profile: where ``phase`` or ``pattern`` is the incident's, causes move by log-odds."""

    id: str
    phases: tuple[str, ...]
    pattern: str
    causes: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Priors:
    """All shifts, and the most that they may come to for one cause."""

    shifts: tuple[Shift, ...] = ()
    most: float = 0.0

    def of(self, cause: str, phase: str | None, patterns: Iterable[str]) -> tuple[float, tuple[str, ...]]:
        """The shift of a cause in log-odds, within the bounds, and the entries that it comes from."""
        found = [shift for shift in self.shifts if cause in shift.causes and _holds(shift, phase, set(patterns))]
        total = sum(shift.causes[cause] for shift in found)
        return max(-self.most, min(self.most, total)), tuple(shift.id for shift in found)


def _holds(shift: Shift, phase: str | None, patterns: set[str]) -> bool:
    return shift.pattern in patterns if shift.pattern else phase in shift.phases


def read_priors(profile: Mapping[str, Any]) -> Priors:
    """The profile ``priors``; without one nothing is shifted."""
    shifts = tuple(
        Shift(
            id=str(entry["id"]),
            phases=tuple(entry["when"].get("phase") or ()),
            pattern=str((entry["when"].get("where") or {}).get("pattern") or ""),
            causes={str(cause): float(value) for cause, value in entry["causes"].items()},
        )
        for entry in profile.get("shifts") or ()
    )
    return Priors(shifts, min(float(profile.get("most") or 0.0), LIMIT))


def patterns_of(facts: Iterable[Fact]) -> tuple[str, ...]:
    """The patterns that facts of the incident state."""
    return tuple(sorted({str(fact.fields.get("pattern")) for fact in facts if fact.kind == KIND}))


def reorder(
    hypotheses: Sequence[Hypothesis], priors: Priors, phase: str | None, patterns: Sequence[str]
) -> tuple[list[Hypothesis], tuple[str, ...]]:
    """The hypotheses, best first, with neighbours that the evidence does not part in the order of the priors.

    Neighbours are candidates of one status that nothing explains; where a cause is confirmed there are none. The second
    answer says in words what changed place and why.
    """
    result: list[Hypothesis] = []
    notes: list[str] = []
    for run in _runs(hypotheses):
        shifted = {item.id: priors.of(item.id, phase, patterns) for item in run}
        ordered = sorted(run, key=lambda item: -(item.score + shifted[item.id][0]))
        result += ordered
        if ordered[0] is not run[0]:
            reasons = sorted({*shifted[ordered[0].id][1], *shifted[run[0].id][1]})
            why = ", ".join(reasons)
            notes.append(f"{ordered[0].id} stands before {run[0].id}, which the evidence does not part: {why}")
    return result, tuple(notes)


def _runs(hypotheses: Sequence[Hypothesis]) -> list[list[Hypothesis]]:
    """Neighbours that may change places, in lists; all others alone."""
    settled = any(item.status == "confirmed" for item in hypotheses)
    runs: list[list[Hypothesis]] = []
    for item in hypotheses:
        if not settled and runs and _alike(runs[-1][-1], item):
            runs[-1].append(item)
        else:
            runs.append([item])
    return runs


def _alike(one: Hypothesis, other: Hypothesis) -> bool:
    return one.status == other.status and all(
        item.status in ("likely", "possible")
        and item.consequence_of is None
        and bool(item.support)
        and item.score >= CANDIDATE_SCORE
        for item in (one, other)
    )
