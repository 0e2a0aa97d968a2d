"""Forward chaining over layers of rules, the same for every backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

from engine.inference.items import Fields, Item, content, derived_id, derived_item
from engine.inference.matches import Match
from engine.inference.results import Derived
from engine.inference.strata import EXPLAINED


class Session(Protocol):
    """The rules of one layer over a growing set of facts."""

    def matches(self) -> Sequence[Match]:
        """Every match over all facts so far."""

    def add(self, items: Sequence[Item]) -> None:
        """Take in derived facts."""

    def close(self) -> None:
        """Free what the session holds."""


OpenSession = Callable[[int, Sequence[Item], frozenset[str]], Session]
"""Opens a session: number of the layer, facts so far, ids of the facts that are explained."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """All matches, and the facts derived, in the order of derivation."""

    matches: tuple[Match, ...]
    derived: tuple[Derived, ...]


def forward(layers: int, items: Sequence[Item], fields: Fields, open_session: OpenSession) -> Conclusion:
    """Evaluate each layer in rounds until nothing new is derived.

    In each round all matches over the facts of the earlier rounds count, in the order of rule ids and of time, so the
    rule to which a derived fact is attributed does not depend on the backend.
    """
    known = list(items)
    ids = {item.id for item in known}
    matches: list[Match] = []
    derived: list[Derived] = []
    for layer in range(layers):
        with closing(open_session(layer, tuple(known), _explained(known))) as session:
            while True:
                found = session.matches()
                new = _derivations(found, fields, len(known), ids)
                if not new:
                    break
                fresh = [item for item, _ in new]
                known += fresh
                derived += [fact for _, fact in new]
                session.add(fresh)
            matches += found
    return Conclusion(tuple(matches), tuple(derived))


def _derivations(matches: Sequence[Match], fields: Fields, ordinal: int, ids: set[str]) -> list[tuple[Item, Derived]]:
    new: list[tuple[Item, Derived]] = []
    for match in sorted((m for m in matches if m.rule.emits and not m.concluded), key=lambda m: m.place):
        match.concluded = True
        rule, emission = match.rule, match.rule.emits
        assert emission is not None
        values = content(emission, dict(match.bound), fields[emission.kind])
        fact_id = derived_id(emission.kind, values)
        if fact_id not in ids:
            ids.add(fact_id)
            item = derived_item(fact_id, emission.kind, values, ordinal + len(new))
            sources = tuple([source.fact.id for source in match.facts])
            new.append((item, Derived(fact_id, emission.kind, values, rule.id, sources)))
    return new


def _explained(items: Sequence[Item]) -> frozenset[str]:
    effects = (item.get("effect") for item in items if item.fact.kind == EXPLAINED)
    return frozenset(effect for effect in effects if isinstance(effect, str))
