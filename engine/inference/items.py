"""Facts as inference sees them: those of the incident, ordered, with the values that rules can look at."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from engine.facts.model import SUBJECT_FIELDS, Fact, Scalar, Source, Span
from engine.facts.vocabulary import FieldType
from engine.inference.results import InvalidFacts
from engine.rules.model import Emission

ID = "id"
"""In joins and copies the name of a fact's own id, beside the fields that its kind has."""

FURTHEST = 2**60
"""Microseconds; an end of a span beyond this is as good as unbounded (36 000 years)."""

Fields = Mapping[str, Mapping[str, FieldType]]
"""By kind, the fields that rules look at, with their types."""

NOWHERE = Source("", 0)
"""The source of derived facts."""

_TYPES: Mapping[FieldType, type] = {"str": str, "int": int, "float": float, "bool": bool}
_MOST_NOTES = 5


@dataclass(slots=True, eq=False)
class Item:
    """A fact with its place in the order of facts. ``values`` has no missing and no wrongly typed ones.

    One rank of an episode (:meth:`by_rank`) is an item too, with the place of the episode.
    """

    ordinal: int
    fact: Fact
    values: Mapping[str, Scalar]
    part_of: Item | None = None
    _ranks: tuple[Item, ...] = ()

    @property
    def id(self) -> str:
        """The fact's id."""
        return self.fact.id

    @property
    def whole(self) -> Item:
        """The item itself, or the one that it is a single rank of."""
        return self if self.part_of is None else self.part_of

    def by_rank(self, most: int) -> tuple[Item, ...]:
        """The fact for each of its ranks, at most so many; itself where it is not of several. Always the same ones."""
        ranks = self.fact.ranks
        if self.fact.rank is not None or len(ranks) < 2:
            return (self,)
        if not self._ranks:
            self._ranks = tuple(
                Item(self.ordinal, self.fact, {**self.values, "rank": rank}, self) for rank in dict.fromkeys(ranks)
            )
        return self._ranks[:most]

    def get(self, name: str) -> Scalar | None:
        """The value of a field, the fact's id for ``id``, ``None`` where missing."""
        return self.fact.id if name == ID else self.values.get(name)


def admit(facts: Iterable[Fact], fields: Fields) -> tuple[list[Item], list[str]]:
    """The facts that take part, earliest first, and notes on what was left out.

    Facts outside the incident and facts of kinds that no rule names take no part. A value whose type is not the
    vocabulary's, or that is not a number, counts as missing. Raises :class:`InvalidFacts`.
    """
    taken = [_bounded(fact) for fact in facts if fact.scope == "incident" and fact.kind in fields]
    if len({fact.id for fact in taken}) != len(taken):
        twice = sorted({fact.id for fact in taken if sum(other.id == fact.id for other in taken) > 1})
        raise InvalidFacts(f"fact ids used more than once: {', '.join(twice[:_MOST_NOTES])}")
    notes: list[str] = []
    items = [
        Item(ordinal, fact, _values(fact, fields[fact.kind], notes))
        for ordinal, fact in enumerate(sorted(taken, key=_order))
    ]
    if len(notes) > _MOST_NOTES:
        notes[_MOST_NOTES:] = [f"{len(notes) - _MOST_NOTES} more values could not be matched"]
    return items, notes


def content(emission: Emission, bound: Mapping[str, Item], types: Mapping[str, FieldType]) -> dict[str, Scalar]:
    """The fields of the fact that a firing derives, by name; a copy of a missing value is left out."""
    given: list[tuple[str, Scalar | None]] = [*emission.constants]
    given += [(name, bound[alias].get(other)) for name, alias, other in emission.copies]
    given.sort(key=lambda pair: pair[0])
    typed = [(name, _typed(value, types[name])) for name, value in given if value is not None]
    return {name: value for name, value in typed if value is not None}


def derived_id(kind: str, fields: Mapping[str, Scalar]) -> str:
    """The id of a derived fact spells out its content: facts with the same content are one fact."""
    return f"{kind}({', '.join([f'{name}={value!r}' for name, value in fields.items()])})"


def derived_item(fact_id: str, kind: str, fields: Mapping[str, Scalar], ordinal: int) -> Item:
    """A derived fact. It has no time and no source of its own."""
    own = {name: value for name, value in fields.items() if name not in SUBJECT_FIELDS}
    subject = {name: fields[name] for name in SUBJECT_FIELDS if name in fields}
    return Item(ordinal, Fact(fact_id, kind, own, NOWHERE, **subject), fields)  # type: ignore[arg-type]


def _order(fact: Fact) -> tuple[bool, int, bool, int, str, int, str]:
    span = fact.onset
    return (
        span.earliest is None,
        span.earliest or 0,
        span.latest is None,
        span.latest or 0,
        fact.source.path,
        fact.source.line,
        fact.id,
    )


def _values(fact: Fact, fields: Mapping[str, FieldType], notes: list[str]) -> dict[str, Scalar]:
    values: dict[str, Scalar] = {}
    for name, kind in fields.items():
        value = fact.get(name)
        if value is None:
            continue
        typed = _typed(value, kind)
        if typed is None:
            notes.append(f"{fact.id}: {fact.kind}.{name} = {value!r:.60} is not a usable {kind} and counts as missing")
        else:
            values[name] = typed
    return values


def _typed(value: Scalar, kind: FieldType) -> Scalar | None:
    if kind == "float" and type(value) is int:
        try:
            value = float(value)
        except OverflowError:
            return None
    if not (isinstance(value, str) if kind == "str" else type(value) is _TYPES[kind]):
        return None
    if isinstance(value, float) and math.isnan(value):
        return None
    return value + 0.0 if isinstance(value, float) else value  # -0.0 + 0.0 is 0.0


def _bounded(fact: Fact) -> Fact:
    for number in (fact.source.line, fact.sequence or 0):
        if not -FURTHEST < number < FURTHEST:
            raise InvalidFacts(f"{fact.id}: {number} is not a line number")
    if all(_near(end) for span in (fact.onset, fact.local) for end in (span.earliest, span.latest)):
        return fact
    return replace(fact, onset=_cut(fact.onset), local=_cut(fact.local))


def _near(end: int | None) -> bool:
    return end is None or -FURTHEST < end < FURTHEST


def _cut(span: Span) -> Span:
    return Span(span.earliest if _near(span.earliest) else None, span.latest if _near(span.latest) else None)
