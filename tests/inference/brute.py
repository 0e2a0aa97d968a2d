"""A second opinion on what rules mean: tries every tuple of facts, knows no index, shares no code with the engine.

It follows the text of ``engine/inference/reference.py``, not its code, and is far too slow for anything but tests.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from engine.facts.model import Fact, Scalar, Source
from engine.facts.vocabulary import Vocabulary
from engine.rules.model import AbsentCondition, AnyCondition, Condition, FactCondition, Rule, Test

SUBJECT = ("job", "host", "rank", "device", "port", "peer")
Bound = dict[str, Fact]


@dataclass
class Found:
    """A firing: the plain bindings, and every fact that it rests on otherwise."""

    rule: Rule
    plain: tuple[tuple[str, str], ...]
    rest: set[tuple[str, str]] = field(default_factory=set)
    coverage: set[str] = field(default_factory=set)


@dataclass
class Result:
    firings: dict[tuple[str, frozenset[tuple[str, str]]], tuple[set[tuple[str, str]], set[str]]]
    derived: dict[str, tuple[str, dict[str, Scalar], str, frozenset[str]]]


class Brute:
    def __init__(self, rules: Sequence[Rule], facts: Sequence[Fact], vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.rules = sorted(rules, key=lambda rule: rule.id)
        far = 2**60
        self.facts: list[Fact] = sorted((f for f in facts if f.scope == "incident"), key=lambda f: self._when(f, far))
        self.given = [*self.facts]
        self.far = far
        self.explained: set[str] = set()

    def run(self) -> Result:
        result = Result({}, {})
        for height in range(max(map(self._height, self.rules)) + 1):
            self.explained = {str(self.value(f, "effect")) for f in self.facts if f.kind == "causal.explained"}
            rules = [rule for rule in self.rules if self._height(rule) == height]
            while True:
                found = [one for rule in rules for one in self._firings(rule)]
                if not self._derive(found, result):
                    break
            for one in found:
                rest, coverage = result.firings.setdefault((one.rule.id, frozenset(one.plain)), (set(), set()))
                rest |= one.rest
                coverage |= one.coverage
        return result

    # --- layers and derivation ---

    def _height(self, rule: Rule, above: tuple[Rule, ...] = ()) -> int:
        """The most absences of derived kinds on a way down from the rule."""
        height = 0
        for condition in flat(rule.when):
            negative = isinstance(condition, AbsentCondition)
            asked = [(condition.kind, negative)]
            if isinstance(condition, FactCondition) and condition.unexplained:
                asked.append(("causal.explained", True))
            for kind, none in asked:
                for maker in self.rules:
                    if maker.emits and maker.emits.kind == kind and maker not in above:
                        height = max(height, self._height(maker, (*above, rule)) + none)
        return height

    def _derive(self, found: Sequence[Found], result: Result) -> bool:
        order = {fact.id: place for place, fact in enumerate(self.facts)}
        by_id = {fact.id: fact for fact in self.facts}
        new: list[Fact] = []
        for one in sorted(found, key=lambda f: (f.rule.id, [order[i] for _, i in f.plain], [a for a, _ in f.plain])):
            emission = one.rule.emits
            if emission is None:
                continue
            bound = {alias: by_id[i] for alias, i in one.plain}
            values = dict(emission.constants)
            for name, alias, other in emission.copies:
                value = self.value(bound[alias], other)
                if value is not None:
                    values[name] = value
            types = self.vocabulary[emission.kind]
            values = {n: v for n in values if (v := self.typed(values[n], types.type_of(n))) is not None}
            name = f"{emission.kind}({', '.join(f'{n}={values[n]!r}' for n in sorted(values))})"
            if name in by_id or name in {fact.id for fact in new}:
                continue
            subject = {n: values[n] for n in SUBJECT if n in values}
            rest = {n: v for n, v in values.items() if n not in SUBJECT}
            new.append(Fact(name, emission.kind, rest, Source("", 0), **subject))  # type: ignore[arg-type]
            sources = frozenset({i for _, i in one.plain} | {i for _, i in one.rest} | one.coverage)
            result.derived[name] = (emission.kind, values, one.rule.id, sources)
        self.facts += new
        return bool(new)

    # --- rules ---

    def _firings(self, rule: Rule) -> Iterator[Found]:
        merged: dict[tuple[tuple[str, str], ...], Found] = {}
        for bound, found in self._solutions(rule, rule.when, {}):
            plain = tuple((alias, fact.id) for alias, fact in bound.items())
            one = merged.setdefault(plain, Found(rule, plain))  # it may hold for several ranks of its facts
            one.rest |= found.rest
            one.coverage |= found.coverage
        yield from merged.values()

    def _solutions(self, rule: Rule, conditions: Sequence[Condition], outer: Bound) -> Iterator[tuple[Bound, Found]]:
        ranked = self._ranked(rule)
        plain = [c for c in conditions if isinstance(c, FactCondition) and not c.count]
        counted = [c for c in conditions if isinstance(c, FactCondition) and c.count]
        names = {c.alias for c in counted}
        for facts in itertools.product(*(self._taken(c.kind, c.alias in ranked) for c in plain)):
            bound = {**outer, **{c.alias: fact for c, fact in zip(plain, facts, strict=True)}}
            if len({fact.id for fact in bound.values()}) < len(bound):
                continue
            if not all(self._passes(c, bound[c.alias], bound) for c in plain):
                continue
            found = Found(rule, ())
            if all(self._counts(c, c.alias in ranked, conditions, bound, found) for c in counted) and all(
                self._holds(rule, c, bound, names, found) for c in conditions if not isinstance(c, FactCondition)
            ):
                yield bound, found

    def _holds(self, rule: Rule, condition: Condition, bound: Bound, names: set[str], found: Found) -> bool:
        if isinstance(condition, AnyCondition):
            holds = False
            for branch in condition.branches:
                for inner, more in self._solutions(rule, branch, bound):
                    holds = True
                    own = {c.alias for c in branch if isinstance(c, FactCondition)}
                    found.rest |= {(a, f.id) for a, f in inner.items() if a in own} | more.rest
                    found.coverage |= more.coverage
            return holds
        assert isinstance(condition, AbsentCondition)
        if names & mentioned(condition):
            return True
        covering = self._absent(condition, bound)
        found.coverage |= covering or set()
        return covering is not None

    def _ranked(self, rule: Rule) -> set[str]:
        """Aliases whose facts are taken for each of their ranks."""
        found: set[str] = set()
        for c in flat(rule.when):
            for join in c.joins:
                found |= {join.alias} if join.other == "rank" else set()
                found |= {c.alias} if join.field == "rank" and isinstance(c, FactCondition) else set()
            if isinstance(c, FactCondition) and c.count and "rank" in c.count.distinct:
                found.add(c.alias)
        return found

    def _taken(self, kind: str, ranked: bool) -> list[Fact]:
        """Facts of a kind, if asked for as one for each of their ranks."""
        found: list[Fact] = []
        for fact in self.facts:
            if fact.kind == kind:
                several = ranked and fact.rank is None and len(fact.ranks) > 1
                found += [replace(fact, ranks=(rank,)) for rank in sorted({*fact.ranks})] if several else [fact]
        return found

    def _counts(
        self, condition: FactCondition, ranked: bool, conditions: Sequence[Condition], bound: Bound, found: Found
    ) -> bool:
        assert condition.count
        members = []
        taken = {fact.id for fact in bound.values()}
        for fact in self._taken(condition.kind, ranked):
            if fact.id in taken or not self._passes(condition, fact, bound):
                continue
            with_it = {**bound, condition.alias: fact}
            fits, coverage = True, set()
            for other in conditions:
                if isinstance(other, FactCondition) and not other.count:
                    fits = fits and self._passes(other, bound[other.alias], with_it)
                if isinstance(other, AbsentCondition) and condition.alias in mentioned(other):
                    covering = self._absent(other, with_it)
                    fits = fits and covering is not None
                    coverage |= covering or set()
            if fits:
                members.append(fact)
                found.coverage |= coverage
        found.rest |= {(condition.alias, fact.id) for fact in members}
        if not condition.count.distinct:
            return len({fact.id for fact in members}) >= condition.count.at_least
        keys = [[self._joined_value(fact, name) for name in condition.count.distinct] for fact in members]
        return any(
            all(None not in key for key in chosen)
            and all(all(x != y for x, y in zip(a, b, strict=True)) for a, b in itertools.combinations(chosen, 2))
            for chosen in itertools.combinations(keys, condition.count.at_least)
        )

    def _absent(self, condition: AbsentCondition, bound: Bound) -> set[str] | None:
        """Ids of the facts that cover the absence; ``None`` where it does not hold."""
        ranked = any(join.field == "rank" for join in condition.joins)
        others = {fact.id for fact in bound.values()}
        if any(
            self._passes(condition, fact, bound)
            for fact in self._taken(condition.kind, ranked)
            if fact.id not in others
        ):
            return None
        spec = self.vocabulary[condition.kind]
        if spec.nature == "derived" and spec.absence is None:
            return set()
        covering, shown = set(), set()
        for fact in self.facts:
            if fact.kind != "coverage.source" or self.value(fact, "class") != spec.absence:
                continue
            asked = [
                self.value(bound[j.alias], j.other) for j in condition.joins if (j.field, j.operator) == ("host", "==")
            ]
            if any(host is None or self.value(fact, "host") != host for host in asked):
                continue
            (a, b), (c, d) = self._spans(fact, bound[condition.anchor])
            if None not in (a, b, c, d) and a <= c and d <= b:  # type: ignore[operator]
                covering.add(fact.id)
                shown.add(fact.host)
        if not any((j.field, j.operator) == ("host", "==") for j in condition.joins):
            for name in self._places(spec.absence):
                if name not in shown:
                    return None
        return covering or None

    def _places(self, source: str | None) -> set[str]:
        """Names of hosts, or for a class of switches of switches; none where one source speaks of all."""
        if source in ("scheduler", "orchestrator"):
            return set()
        names: dict[bool, set[str]] = {True: set(), False: set()}
        for fact in self.given:
            if fact.host:
                says = str(fact.fields.get("class")) if fact.kind == "coverage.source" else fact.kind
                names[says.startswith(("switch.", "switch_"))].add(fact.host)
        return names[True] if str(source).startswith("switch_") else names[False] - names[True]

    # --- facts ---

    def _passes(self, condition: FactCondition | AbsentCondition, fact: Fact, bound: Mapping[str, Fact]) -> bool:
        """Relations to aliases that are not in ``bound`` are not looked at."""
        if fact.kind != condition.kind or not all(self._test(test, fact) for test in condition.tests):
            return False
        near = all(
            not self._far(fact, bound[within.alias], within.microseconds)
            for within in condition.within
            if within.alias in bound
        )
        if not near or not self._joined(condition, fact, bound) or not self._ordered(condition, fact, bound):
            return False
        return not (isinstance(condition, FactCondition) and condition.unexplained and fact.id in self.explained)

    def _joined(self, condition: FactCondition | AbsentCondition, fact: Fact, bound: Mapping[str, Fact]) -> bool:
        for join in condition.joins:
            if join.alias in bound:
                one, other = self._joined_value(fact, join.field), self._joined_value(bound[join.alias], join.other)
                if one is None or other is None or (one == other) != (join.operator == "=="):
                    return False
        return True

    def _ordered(self, condition: FactCondition | AbsentCondition, fact: Fact, bound: Mapping[str, Fact]) -> bool:
        pairs = [
            (fact, bound[o.alias]) if o.relation == "before" else (bound[o.alias], fact)
            for o in condition.order
            if o.alias in bound
        ]
        return all(self._precedes(first, second) for first, second in pairs)

    def _far(self, one: Fact, other: Fact, microseconds: int) -> bool:
        (a, b), (c, d) = self._spans(one, other)
        return (b is not None and c is not None and c - b > microseconds) or (
            a is not None and d is not None and a - d > microseconds
        )

    def _test(self, test: Test, fact: Fact) -> bool:
        value = self.value(fact, test.field)
        if test.operator == "known":
            return (value is not None) == test.value
        if value is None:
            return False
        options = test.value if isinstance(test.value, tuple) else (test.value,)
        if test.operator in ("in", "=="):
            return value in options
        if test.operator in ("not_in", "!="):
            return value not in options
        limit = options[0]
        assert isinstance(value, int | float)
        assert isinstance(limit, int | float)
        return {"<": value < limit, "<=": value <= limit, ">": value > limit, ">=": value >= limit}[test.operator]

    def value(self, fact: Fact, name: str) -> Scalar | None:
        if name == "id":
            return fact.id
        return self.typed(fact.get(name), self.vocabulary[fact.kind].type_of(name))

    def _joined_value(self, fact: Fact, name: str) -> Scalar | None:
        if name == "rank" and fact.rank is None and len(fact.ranks) == 1:
            return fact.ranks[0]
        return self.value(fact, name)

    def typed(self, value: Scalar | None, wanted: str | None) -> Scalar | None:
        if wanted == "float" and isinstance(value, int) and not isinstance(value, bool):
            value = float(value) if abs(value) < 2**1000 else None
        if value is None or {"str": str, "int": int, "float": float, "bool": bool}.get(wanted or "") is not type(value):
            return None
        if isinstance(value, float):
            return None if math.isnan(value) else value or 0.0
        return value

    def _precedes(self, first: Fact, second: Fact) -> bool:
        by_line = self._line_tells(first, second)
        (a, b), (c, d) = self._spans(first, second)
        if b is not None and c is not None and b < c:
            return not (first.clock != second.clock and self._line_tells(second, first))
        later = a is not None and d is not None and d < a
        return by_line and not later

    def _line_tells(self, first: Fact, second: Fact) -> bool:
        one_file = first.source.path == second.source.path
        return one_file and second.sequence is not None and first.source.line < second.sequence

    def _spans(self, one: Fact, other: Fact) -> list[tuple[int | None, int | None]]:
        spans = (one.local, other.local) if one.clock == other.clock else (one.onset, other.onset)
        return [(self._near(span.earliest), self._near(span.latest)) for span in spans]

    def _near(self, end: int | None) -> int | None:
        return end if end is not None and abs(end) < self.far else None

    def _when(self, fact: Fact, far: int) -> tuple[bool, int, bool, int, str, int, str]:
        self.far = far
        start, end = self._near(fact.onset.earliest), self._near(fact.onset.latest)
        return start is None, start or 0, end is None, end or 0, fact.source.path, fact.source.line, fact.id


def flat(conditions: Sequence[Condition]) -> Iterator[FactCondition | AbsentCondition]:
    for condition in conditions:
        if isinstance(condition, AnyCondition):
            yield from itertools.chain(*map(flat, condition.branches))
        else:
            yield condition


def mentioned(condition: AbsentCondition) -> set[str]:
    return {
        condition.anchor,
        *(j.alias for j in condition.joins),
        *(o.alias for o in condition.order),
        *(w.alias for w in condition.within),
    }
