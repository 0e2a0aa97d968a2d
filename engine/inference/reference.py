"""The reference evaluator: it defines what a rule means.

**Facts.** Only facts with scope ``incident`` take part. A value whose type is not the vocabulary's is missing.

**Plain conditions.** A :class:`FactCondition` without ``count`` binds its alias to a fact of its kind that passes all
its tests, joins, orders and distances. A rule holds once for every way to bind its plain conditions, outside ``any``,
to *pairwise different* facts, given that all its other conditions hold too. ``before``/``after`` ask for a certain
order (:func:`engine.facts.model.before` says YES). ``within`` fails only where the onsets are certainly further apart:
on one clock by their local spans, else by their UTC spans; an unbounded end is never certainly far.

**Ranks.** An episode of several ranks (no ``rank``, several ``ranks``) satisfies joins on the rank by any of its ranks,
the same one in all joins of its alias, and counts once for each in ``distinct`` ranks. It remains one fact: it is bound
once, whichever of its ranks a rule holds for, and a test of its rank finds none.

**count.** A counted alias stands for each of several facts. A fact counts if it is not bound by a plain condition and
every condition of the rule that names the alias holds with the fact in its place. The condition holds if enough facts
count (:func:`engine.inference.matches.enough`). A plain condition or an absence may name a counted alias; another
counted condition or ``any`` may not.

**absent.** Nothing of the kind passes, other than the facts bound to aliases that are in sight; and a
``coverage.source`` fact of the kind's absence class, on the host that a ``host ==`` join asks for, contains the onset
of the anchor: both ends of both spans must be bounded. Without such a join there is one for every host of the incident
(:class:`engine.inference.silence.Places`). A kind of nature ``derived`` without absence class needs no coverage,
because what rules derive is known in full.

**any.** At least one branch holds, read as a rule's conditions given the aliases outside. Its facts differ from the
plainly bound ones outside.

**unexplained.** No ``causal.explained`` fact has ``effect`` equal to the fact's id.

**Chaining.** Rules are layered so that what a rule wants absent, or unexplained, was derived to the end before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from engine.facts.model import Fact, Order, Scalar, before
from engine.facts.vocabulary import COVERAGE_KIND, Vocabulary
from engine.inference.aliases import named
from engine.inference.items import Item
from engine.inference.matches import NOTHING, Match, Named, Witness, collapsed, enough
from engine.inference.ranks import looked_at, of_absent
from engine.inference.silence import Places, contains, spans
from engine.inference.strata import Asked
from engine.rules.model import COMPARISONS, AbsentCondition, AnyCondition, Condition, FactCondition, Rule, Test

MOST_MATCHES = 20_000
"""Matches of one rule in one incident; a rule that has more is stopped, and the note says so."""

MOST_CHECKS = 1_000_000
"""Facts that one rule may be tried on in one incident, likewise."""

Bound = Mapping[str, Item]


class _StoppedRule(Exception):  # noqa: N818
    """A rule went over its limits."""


class ReferenceSession:
    """One layer of rules, evaluated anew whenever facts of their kinds were added.

    ``asked`` are the kinds that each rule asks about; ``stopped`` takes the ids of rules that went over a limit.
    """

    def __init__(
        self,
        rules: Sequence[Rule],
        asked: Sequence[Asked],
        vocabulary: Vocabulary,
        items: Sequence[Item],
        explained: frozenset[str],
        places: Places,
        stopped: dict[str, None],
    ) -> None:
        self.rules = rules
        self.asked = asked
        self.vocabulary = vocabulary
        self.explained = explained
        self.places = places
        self.stopped = stopped
        self._kinds: dict[str, list[Item]] = {}
        self._indexes: dict[object, dict[tuple[Scalar | None, ...], list[Item]]] = {}
        self._found: dict[int, list[Match]] = {}
        self._checks = 0
        self._ranks: Mapping[str, int] = {}
        self._add(items)

    def matches(self) -> list[Match]:
        """Every match over all facts so far."""
        for index, rule in enumerate(self.rules):
            if index not in self._found and self.asked[index].needed <= self._kinds.keys():
                self._found[index] = self._matches(rule)
        return [match for matches in self._found.values() for match in matches]

    def add(self, items: Sequence[Item]) -> None:
        """Take in derived facts; rules that look at their kinds are evaluated anew."""
        kinds = {item.fact.kind for item in items}
        self._add(items)
        for index, asked in enumerate(self.asked):
            if kinds & (asked.used | asked.unwanted):
                self._found.pop(index, None)

    def close(self) -> None:
        """Nothing to free."""

    def _add(self, items: Sequence[Item]) -> None:
        for item in items:
            self._kinds.setdefault(item.fact.kind, []).append(item)
        self._indexes.clear()

    # --- rules ---

    def _matches(self, rule: Rule) -> list[Match]:
        self._checks = 0
        self._ranks = looked_at(rule.when)
        found: list[tuple[tuple[Named, ...], Witness]] = []
        try:
            for bound, witness in self._solutions(rule.when, {}):
                if len(found) == MOST_MATCHES:
                    raise _StoppedRule
                found.append((tuple(bound.items()), witness))
        except _StoppedRule:
            self.stopped[rule.id] = None
        return collapsed(rule, found) if self._ranks else [Match(rule, *one) for one in found]

    def _solutions(self, conditions: Sequence[Condition], outer: Bound) -> Iterator[tuple[dict[str, Item], Witness]]:
        plain = [c for c in conditions if isinstance(c, FactCondition) and c.count is None]
        others = [c for c in conditions if not (isinstance(c, FactCondition) and c.count is None)]
        counted = {c.alias for c in others if isinstance(c, FactCondition)}
        for bound in self._assignments(plain, dict(outer)):
            witness = Witness() if others else NOTHING
            if all(self._holds(c, bound, conditions, counted, witness) for c in others):
                yield bound, witness

    def _assignments(self, plain: Sequence[FactCondition], bound: dict[str, Item]) -> Iterator[dict[str, Item]]:
        if not plain:
            yield bound
            return
        for item in self._passing(plain[0], bound):
            yield from self._assignments(plain[1:], {**bound, plain[0].alias: item})

    def _holds(
        self, condition: Condition, bound: Bound, conditions: Sequence[Condition], counted: set[str], witness: Witness
    ) -> bool:
        if isinstance(condition, FactCondition):
            return self._count_holds(condition, bound, conditions, witness)
        if isinstance(condition, AbsentCondition):
            return bool(counted & {*named(condition)}) or self._absent(condition, bound, witness)
        return self._any_holds(condition, bound, witness)

    def _count_holds(
        self, condition: FactCondition, bound: Bound, conditions: Sequence[Condition], witness: Witness
    ) -> bool:
        alias = condition.alias
        naming = [c for c in conditions if not isinstance(c, AnyCondition) and alias in named(c)]
        facts = []
        for item in self._passing(condition, bound):
            found = Witness()
            if all(
                self._absent(c, {**bound, alias: item}, found)
                if isinstance(c, AbsentCondition)
                else self._related(c, bound[c.alias], {alias: item})
                for c in naming
            ):
                facts.append(item)
                witness.coverage |= found.coverage
        witness.counted |= {(alias, item) for item in facts}
        return condition.count is not None and enough(facts, condition.count)

    def _any_holds(self, condition: AnyCondition, bound: Bound, witness: Witness) -> bool:
        holds = False
        for branch in condition.branches:
            for inner, found in self._solutions(branch, bound):
                holds = True
                witness.inside |= {(alias, item) for alias, item in inner.items() if alias not in bound}
                witness.inside |= found.counted
                witness.coverage |= found.coverage
        return holds

    def _absent(self, condition: AbsentCondition, bound: Bound, witness: Witness) -> bool:
        if any(True for _ in self._passing(condition, bound)):
            return False
        spec = self.vocabulary[condition.kind]
        if spec.absence is None:
            return spec.nature == "derived"
        anchor = bound[condition.anchor].fact
        hosts = [bound[j.alias].get(j.other) for j in condition.joins if j.field == "host" and j.operator == "=="]
        covering = [
            item
            for item in self._kinds.get(COVERAGE_KIND, ())
            if item.get("class") == spec.absence
            and all(host is not None and item.get("host") == host for host in hosts)
            and contains(item.fact, anchor)
        ]
        everywhere = frozenset() if hosts else self.places.of(spec.absence)
        if not covering or everywhere - {item.get("host") for item in covering}:
            return False
        witness.coverage |= {*covering}
        return True

    # --- facts ---

    def _passing(self, condition: FactCondition | AbsentCondition, bound: Bound) -> Iterator[Item]:
        """Facts that pass the condition, as far as it relates to aliases bound so far, and are not bound themselves."""
        for item in self._candidates(condition, bound):
            self._checks += 1
            if self._checks > MOST_CHECKS:
                raise _StoppedRule
            if all(item.whole is not other.whole for other in bound.values()) and self._related(condition, item, bound):
                yield item

    def _candidates(self, condition: FactCondition | AbsentCondition, bound: Bound) -> Sequence[Item]:
        """Facts of the kind that pass the tests and, by an index, the equality joins."""
        joins = [j for j in condition.joins if j.operator == "==" and j.alias in bound]
        ranks = self._ranks.get(condition.alias, 0) if isinstance(condition, FactCondition) else of_absent(condition)
        key = (condition.kind, condition.tests, tuple(join.field for join in joins), ranks)
        index = self._indexes.get(key)
        if index is None:
            index = self._indexes[key] = {}
            for item in self._kinds.get(condition.kind, ()):
                if all(_passes(test, item) for test in condition.tests):
                    for one in item.by_rank(ranks) if ranks else (item,):
                        index.setdefault(tuple(one.get(join.field) for join in joins), []).append(one)
        values = tuple(bound[join.alias].get(join.other) for join in joins)
        return () if None in values else index.get(values, ())

    def _related(self, condition: FactCondition | AbsentCondition, item: Item, bound: Bound) -> bool:
        for join in condition.joins:
            if join.alias in bound:
                value, other = item.get(join.field), bound[join.alias].get(join.other)
                if value is None or other is None or not COMPARISONS[join.operator](value, other):
                    return False
        for order in condition.order:
            if order.alias in bound:
                pair = (item.fact, bound[order.alias].fact)
                first, second = pair if order.relation == "before" else pair[::-1]
                if before(first, second) is not Order.YES:
                    return False
        for within in condition.within:
            if within.alias in bound and _further(item.fact, bound[within.alias].fact, within.microseconds):
                return False
        return not (isinstance(condition, FactCondition) and condition.unexplained and item.id in self.explained)


def _passes(test: Test, item: Item) -> bool:
    value = item.get(test.field)
    if test.operator == "known":
        return (value is not None) is test.value
    return value is not None and COMPARISONS[test.operator](value, test.value)


def _further(first: Fact, second: Fact, microseconds: int) -> bool:
    one, other = spans(first, second)
    return any(
        ends is not None and starts is not None and starts - ends > microseconds
        for ends, starts in ((one.latest, other.earliest), (other.latest, one.earliest))
    )
