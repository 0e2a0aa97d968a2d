"""Rules as the engine sees them, after the YAML has been read and checked.

The meaning of every condition is defined by :mod:`engine.inference.reference`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from engine.facts.model import Scalar

Strength = Literal["decisive", "strong", "moderate", "weak"]
Effect = Literal["supports", "weakens", "rules_out"]
Operator = Literal["==", "!=", "<", "<=", ">", ">=", "in", "not_in", "known"]


@dataclass(frozen=True, slots=True)
class Text:
    """A sentence in both languages; ``{alias.field}`` is replaced by the matched fact's value."""

    en: str
    zh: str


@dataclass(frozen=True, slots=True)
class Place:
    """A position in a rule file: path as given, 1-based line and column."""

    path: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Test:
    """A test of one field against constants. A missing field fails every test but ``known: false``."""

    field: str
    operator: Operator
    value: Scalar | tuple[Scalar, ...]

    __test__ = False


COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda value, options: value in options,
    "not_in": lambda value, options: value not in options,
}
"""What the operators of tests and joins compare; ``known`` looks at no value."""


@dataclass(frozen=True, slots=True)
class Join:
    """A field of this fact compared with a field of an earlier alias; a missing side fails."""

    field: str
    operator: Literal["==", "!="]
    alias: str
    other: str


@dataclass(frozen=True, slots=True)
class Precedes:
    """Certain order of onsets: ``before`` says that this fact precedes ``alias``, ``after`` that it follows."""

    relation: Literal["before", "after"]
    alias: str


@dataclass(frozen=True, slots=True)
class Within:
    """The onsets are not certainly further apart than ``microseconds`` (same clock: local spans, else UTC spans)."""

    alias: str
    microseconds: int


@dataclass(frozen=True, slots=True)
class Count:
    """At least ``at_least`` different facts, pairwise different in each field of ``distinct`` (at most two fields).

    A fact that lacks one of the fields does not count. The alias stands for each of the facts: whatever condition
    names it has to hold with every fact that is counted.
    """

    at_least: int
    distinct: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FactCondition:
    """A fact of ``kind`` exists that passes everything. ``unexplained`` asks that no propagation explains it."""

    kind: str
    alias: str
    tests: tuple[Test, ...] = ()
    joins: tuple[Join, ...] = ()
    order: tuple[Precedes, ...] = ()
    within: tuple[Within, ...] = ()
    unexplained: bool = False
    count: Count | None = None


@dataclass(frozen=True, slots=True)
class AbsentCondition:
    """No fact of ``kind`` passes, those bound to aliases left aside, and coverage shows that it would have been seen.

    Coverage: a ``coverage.source`` fact whose ``class`` is the kind's ``absence`` class in the vocabulary, whose
    host equals the host that the joins ask for (where they ask for one), and whose span contains the onset of
    ``anchor`` (local spans on one clock, else UTC spans); all four ends have to be known. Where the joins ask for no
    host there is one for every host of the incident. A kind of nature ``derived`` without such a class needs no
    coverage.
    """

    kind: str
    anchor: str
    tests: tuple[Test, ...] = ()
    joins: tuple[Join, ...] = ()
    order: tuple[Precedes, ...] = ()
    within: tuple[Within, ...] = ()


@dataclass(frozen=True, slots=True)
class AnyCondition:
    """At least one of the branches holds; aliases bound inside a branch are visible only there.

    Its facts differ from those bound to plain aliases outside. A branch cannot name a counted alias from outside.
    """

    branches: tuple[tuple[FactCondition | AbsentCondition, ...], ...]


Condition = FactCondition | AbsentCondition | AnyCondition


@dataclass(frozen=True, slots=True)
class Emission:
    """The fact that a rule derives: constants, and fields copied from matched facts as (field, alias, its field).

    As a field of the matched fact, ``id`` is the fact's own id, here and in joins. Only aliases of plain conditions
    stand for one fact that can be copied from.
    """

    kind: str
    constants: tuple[tuple[str, Scalar], ...] = ()
    copies: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """What inference evaluates: id, conditions, at most one emission. Rules of one id are alternatives of one rule."""

    id: str
    when: tuple[Condition, ...]
    emits: Emission | None = None


@dataclass(frozen=True, slots=True)
class EvidenceRule:
    """Facts that speak for or against a cause."""

    id: str
    cause: str
    effect: Effect
    strength: Strength
    group: str
    when: tuple[Condition, ...]
    reason: Text
    first: str | None
    """Alias of the fact that would be the first fault if this cause is right."""
    suspects: tuple[tuple[str, str], ...]
    """(alias, field) pairs naming who is suspect; field is host, rank, device, port or peer."""
    verified: bool
    place: Place
    variants: tuple[tuple[Condition, ...], ...] = ()
    """Further conjunctions, one for each other choice of kinds where a condition names alternatives."""
    apart: bool = False
    """Whether it is meant that nothing relates its facts to each other."""


@dataclass(frozen=True, slots=True)
class PropagationRule:
    """``cause`` leads to ``effect``: where both hold and the order is certain, the effect is a consequence."""

    id: str
    when: tuple[Condition, ...]
    """First the condition with alias ``cause``, then the one with alias ``effect``, then further ones."""
    reason: Text
    place: Place
    verified: bool = True
    variants: tuple[tuple[Condition, ...], ...] = ()
    """As of :class:`EvidenceRule`."""
    apart: bool = False
    """Whether it is meant that cause and effect need have no field in common."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf of the fault tree: one cause, who owns it, what proves it and what to do."""

    id: str
    branch: str
    owner: str
    phase: str | None
    title: Text
    summary: Text
    minimal_evidence: tuple[tuple[str, Text], ...]
    """(fact kind, why it is needed)."""
    next_steps: tuple[Text, ...]
    rollback: tuple[Text, ...]
    handover: Text
    references: tuple[str, ...]
    prior: float
    """Log-odds before any evidence."""
    place: Place


@dataclass(frozen=True, slots=True)
class Answer:
    """A possible answer to a question, and the fact that it states (kind and fields), if any."""

    id: str
    text: Text
    emits: str | None = None
    fields: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Question:
    """What an operator can be asked in place of evidence of the kind ``asks_for``; ``who`` can answer it."""

    id: str
    branch: str
    asks_for: str
    text: Text
    who: str
    command: str
    answers: tuple[Answer, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Profile:
    """Weights, thresholds or codes that depend on a version or a vendor; ``values`` is the file as it stands."""

    id: str
    values: Mapping[str, Any]
    place: Place


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch of the fault tree: its name and the causes that it has to have."""

    id: str
    title: Text
    causes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tree:
    """The fault tree above its leaves: the top event and the branches, each an "or" of its causes."""

    title: Text
    branches: tuple[Branch, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Example:
    """Facts in the notation of rule files, and what must come of them.

    ``expect`` holds rule ids of the file (evidence) or "cause kind > effect kind" (propagation).
    """

    name: str
    facts: tuple[Mapping[str, Any], ...]
    expect: tuple[str, ...]
    place: Place
