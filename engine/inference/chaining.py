"""Forward chaining over layers of rules, the same for every backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

from engine.facts.model import SUBJECT_FIELDS, Scalar
from engine.inference.items import Fields, Item, derive
from engine.inference.matches import Match
from engine.inference.results import Derived
from engine.inference.strata import EXPLAINED
from engine.rules.model import Rule


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
                found = sorted(session.matches(), key=lambda match: match.place)
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
    for match in matches:
        rule = match.rule
        if rule.emits is None:
            continue
        item = derive(rule.emits, dict(match.bound), fields, ordinal + len(new))
        if item.id in ids:
            continue
        ids.add(item.id)
        new.append((item, _derived(item, rule, match)))
    return new


def _derived(item: Item, rule: Rule, match: Match) -> Derived:
    fact = item.fact
    return Derived(item.id, fact.kind, _all_fields(item), rule.id, tuple(source.id for source in match.facts))


def _all_fields(item: Item) -> dict[str, Scalar]:
    values = {name: item.fact.get(name) for name in (*SUBJECT_FIELDS, *item.fact.fields)}
    return {name: value for name, value in sorted(values.items()) if value is not None}


def _explained(items: Sequence[Item]) -> frozenset[str]:
    effects = (item.get("effect") for item in items if item.fact.kind == EXPLAINED)
    return frozenset(effect for effect in effects if isinstance(effect, str))
