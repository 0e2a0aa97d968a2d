"""What a diagnosis says: hypotheses with their evidence, the first fault, what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from engine.facts.manifest import Manifest
from engine.facts.model import Fact
from engine.facts.waits import Waits
from engine.rules.model import Leaf, Strength, Text

Status = Literal["confirmed", "likely", "possible", "undetermined", "ruled_out"]
Outcome = Literal["cause_found", "candidates", "insufficient_evidence", "no_fault"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """One fired rule: what it says, which facts it rests on and how much it moved the score (log-odds).

    ``firsts`` are the facts that would be the first fault. ``counted`` is false where a stronger rule of the same group
    already speaks, or where the facts are consequences of something earlier (then ``explained_by`` names it). ``timed``
    is false where the incident has a window and nothing says when the fact was: it may be from another day.
    """

    rule: str
    strength: Strength
    reason: Text
    facts: tuple[str, ...]
    weight: float
    firsts: tuple[str, ...] = ()
    verified: bool = True
    counted: bool = True
    timed: bool = True
    explained_by: str | None = None


@dataclass(frozen=True, slots=True)
class Suspect:
    """Who or what the evidence points to."""

    rank: int | None
    host: str | None
    device: str | None
    port: str | None
    why: Text


@dataclass(frozen=True, slots=True)
class Missing:
    """Evidence that is not there: what it would settle, how to get it and who can.

    ``value`` in [0, 1] is how much it could change the verdict per effort.
    """

    fact: str
    why: Text
    collect: Text
    command: str
    who: str
    value: float
    question: str | None = None
    hypotheses: tuple[str, ...] = ()
    host: str | None = None


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A cause held against the incident. ``score`` is in log-odds, prior included."""

    leaf: Leaf
    status: Status
    score: float
    support: tuple[Evidence, ...]
    against: tuple[Evidence, ...]
    missing: tuple[str, ...] = ()
    first: str | None = None
    consequence_of: str | None = None

    @property
    def id(self) -> str:
        """The cause's id."""
        return self.leaf.id


@dataclass(frozen=True, slots=True)
class Consequence:
    """A fact that another fact explains, and the propagation rule that says so."""

    fact: str
    cause: str
    rule: str
    reason: Text


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer in one line. ``confidence`` is a probability in [0, 1]."""

    outcome: Outcome
    cause: str | None
    branch: str | None
    owner: str | None
    phase: str | None
    confidence: float
    summary: Text


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Everything a report shows. Facts are referred to by id."""

    manifest: Manifest
    verdict: Verdict
    first_fault: Fact | None
    suspects: tuple[Suspect, ...]
    hypotheses: tuple[Hypothesis, ...]
    undetermined: tuple[str, ...]
    consequences: tuple[Consequence, ...]
    missing: tuple[Missing, ...]
    facts: Mapping[str, Fact]
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]
    pack: tuple[str, str, str]
    """Name, version and content hash of the knowledge."""
    backend: str
    backend_note: str = ""
    waits: Waits | None = None
    """Who waits for whom, where anything tells."""
