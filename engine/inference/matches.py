"""What a backend finds: matches of rules, and how they become firings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from engine.facts.model import Scalar
from engine.inference.items import Item
from engine.inference.results import Firing
from engine.rules.model import Count, Rule

Named = tuple[str, Item]
"""An alias and a fact that stands for it."""


@dataclass(slots=True)
class Witness:
    """What else a match rests on: facts of counted conditions, facts inside ``any``, coverage of absences."""

    counted: set[Named] = field(default_factory=set)
    inside: set[Named] = field(default_factory=set)
    coverage: set[Item] = field(default_factory=set)

    def add(self, other: Witness) -> None:
        """Take over what another witness holds."""
        self.counted |= other.counted
        self.inside |= other.inside
        self.coverage |= other.coverage


NOTHING = Witness()
"""The witness of matches that rest on nothing else; not to be added to."""


@dataclass(slots=True)
class Match:
    """A rule and the facts of its plain conditions, in the order of the conditions."""

    rule: Rule
    bound: tuple[Named, ...]
    witness: Witness
    concluded: bool = False
    """Whether what it derives was taken up."""

    @property
    def place(self) -> tuple[str, tuple[int, ...], tuple[str, ...]]:
        """Sort key: the rule's id, the time order of the facts."""
        return (
            self.rule.id,
            tuple(item.ordinal for _, item in self.bound),
            tuple(alias for alias, _ in self.bound),
        )

    @property
    def facts(self) -> list[Item]:
        """All facts that the match rests on, each once: the bound ones first."""
        further = [item for _, item in (*self.witness.counted, *self.witness.inside)]
        bound = [item for _, item in self.bound]
        if self.witness is NOTHING:
            return bound
        rest = {*further, *self.witness.coverage} - {*bound}
        return [*dict.fromkeys(bound), *_by_time(rest)]


def collapsed(rule: Rule, solutions: Iterable[tuple[tuple[Named, ...], Witness]]) -> list[Match]:
    """Matches by whole facts: solutions that differ only in the rank that they take a fact for are one match."""
    merged: dict[tuple[Named, ...], Witness] = {}
    for bound, witness in solutions:
        key = tuple([(alias, item.whole) for alias, item in bound])
        whole = witness if witness is NOTHING else _whole(witness)
        if key in merged and whole is not NOTHING:
            whole.add(merged[key])
        merged[key] = whole
    return [Match(rule, bound, witness) for bound, witness in merged.items()]


def _whole(witness: Witness) -> Witness:
    return Witness(
        {(alias, item.whole) for alias, item in witness.counted},
        {(alias, item.whole) for alias, item in witness.inside},
        witness.coverage,
    )


def enough(items: Iterable[Item], count: Count) -> bool:
    """Whether there are ``count.at_least`` facts that differ pairwise in each field of ``count.distinct``.

    A fact without one of the fields cannot be told from another and does not count. At most two fields can be asked
    for: with three the question is NP-hard.
    """
    if not count.distinct:
        return len({item.whole for item in items}) >= count.at_least
    rows = {tuple(item.get(name) for name in count.distinct) for item in items}
    rows = {row for row in rows if None not in row}
    if len(count.distinct) == 1:
        return len(rows) >= count.at_least
    return _pairs(rows, count.at_least)


def _pairs(rows: set[tuple[Scalar | None, ...]], number: int) -> bool:
    """Whether ``number`` of the pairs share no value on either side: a matching that grows by augmenting paths."""
    partners: dict[Scalar | None, set[Scalar | None]] = {}
    for left, right in rows:
        partners.setdefault(left, set()).add(right)
    taken: dict[Scalar | None, Scalar | None] = {}

    def placed(left: Scalar | None, tried: set[Scalar | None]) -> bool:
        for right in partners[left] - tried:
            tried.add(right)
            if right not in taken or placed(taken[right], tried):
                taken[right] = left
                return True
        return False

    for left in partners:
        if len(taken) >= number:
            break
        placed(left, set())
    return len(taken) >= number


def firings(matches: Iterable[Match]) -> tuple[Firing, ...]:
    """Firings of all matches in order; matches of one rule id with the same bindings are one firing."""
    merged: dict[tuple[str, tuple[Named, ...]], Match] = {}
    for match in matches:
        key = (match.rule.id, match.bound)
        if key in merged:
            both = Witness()
            both.add(merged[key].witness)
            both.add(match.witness)
            match = Match(match.rule, match.bound, both)
        merged[key] = match
    return tuple(_firing(match) for match in sorted(merged.values(), key=lambda match: match.place))


def _firing(match: Match) -> Firing:
    if match.witness is NOTHING:
        return Firing(match.rule.id, tuple([(alias, item.fact.id) for alias, item in match.bound]))
    counted: dict[str, list[Item]] = {}
    for alias, item in match.witness.counted:
        counted.setdefault(alias, []).append(item)
    earliest = {alias: _by_time(items)[0] for alias, items in counted.items()}
    bindings = dict(match.bound) | dict(sorted(earliest.items()))
    rest = {*match.witness.counted, *match.witness.inside} - {*earliest.items()}
    return Firing(
        match.rule.id,
        tuple((alias, item.id) for alias, item in bindings.items()),
        tuple((alias, item.id) for alias, item in sorted(rest, key=lambda pair: (pair[0], pair[1].ordinal))),
        tuple(item.id for item in _by_time(match.witness.coverage)),
    )


def _by_time(items: Iterable[Item]) -> Sequence[Item]:
    return sorted(items, key=lambda item: item.ordinal)
