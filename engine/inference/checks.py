"""What a rule must be for both backends to give it the same, exact meaning.

The YAML reader refuses most of this with a position already; here stands what inference itself relies on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from engine.facts.model import Scalar
from engine.facts.vocabulary import COVERAGE_KIND, FieldType, Vocabulary
from engine.inference.aliases import named
from engine.inference.items import FURTHEST, ID
from engine.inference.results import Refusal
from engine.inference.strata import simple
from engine.rules.model import AbsentCondition, AnyCondition, Condition, FactCondition, Join, Rule, Test

ORDERED = ("<", "<=", ">", ">=")
LARGEST = 2**62
"""Integers in rules lie below this; larger ones in facts still compare exactly with them."""

Simple = FactCondition | AbsentCondition


def refused(rules: Sequence[Rule], vocabulary: Vocabulary) -> tuple[Refusal, ...]:
    """Everything that keeps the rules from being evaluated, apart from loops through absence."""
    derived = {rule.emits.kind for rule in rules if rule.emits}
    found = [Refusal(rule.id, reason) for rule in rules for reason in _RuleCheck(rule, vocabulary, derived).reasons()]
    return tuple(sorted(set(found)))


class _RuleCheck:
    """The checks of one rule; ``kinds`` and ``counted`` are the aliases in sight."""

    def __init__(self, rule: Rule, vocabulary: Vocabulary, derived: set[str]) -> None:
        self.rule = rule
        self.vocabulary = vocabulary
        self.derived = derived
        self.kinds: dict[str, str] = {}
        self.counted: set[str] = set()

    def reasons(self) -> Iterator[str]:
        """Why the rule cannot be evaluated."""
        yield from self.conditions(self.rule.when)
        if not any(isinstance(condition, FactCondition) for condition in simple(self.rule.when)):
            yield "it asks for no fact at all"
        yield from self._emission()

    def conditions(self, conditions: Sequence[Condition]) -> Iterator[str]:
        """Why the conditions cannot be evaluated, given the aliases in sight; puts theirs in sight."""
        counted_here: set[str] = set()
        for condition in conditions:
            if isinstance(condition, AnyCondition):
                yield from self._any(condition)
                continue
            if condition.kind not in self.vocabulary:
                yield f"unknown kind {condition.kind}"
                if isinstance(condition, FactCondition):
                    self.kinds[condition.alias] = condition.kind
                continue
            yield from self._relations(condition, counted_here)
            if isinstance(condition, AbsentCondition):
                yield from self._absent(condition)
            else:
                yield from self._fact(condition)
                if condition.count:
                    counted_here.add(condition.alias)

    def _any(self, condition: AnyCondition) -> Iterator[str]:
        if not condition.branches:
            yield "any without branches never holds"
        for branch in condition.branches:
            inner = _RuleCheck(self.rule, self.vocabulary, self.derived)
            inner.kinds, inner.counted = dict(self.kinds), set(self.counted)
            if not branch:
                yield "an empty branch of any always holds"
            if any(isinstance(part, AnyCondition) for part in branch):
                yield "any inside any"
                continue
            yield from inner.conditions(branch)

    def _fact(self, condition: FactCondition) -> Iterator[str]:
        if condition.alias in self.kinds:
            yield f"the alias {condition.alias} is bound twice"
        self.kinds[condition.alias] = condition.kind
        if condition.count is None:
            return
        self.counted.add(condition.alias)
        if condition.count.at_least < 1:
            yield f"a count of at least {condition.count.at_least} always holds"
        if len(condition.count.distinct) > 2:
            yield "facts can be counted as distinct in at most two fields"
        for name in condition.count.distinct:
            yield from self._known(condition.kind, name)

    def _absent(self, condition: AbsentCondition) -> Iterator[str]:
        spec = self.vocabulary[condition.kind]
        if spec.absence is None and spec.nature != "derived":
            yield f"the absence of {condition.kind} can never be shown: the vocabulary gives it no class of coverage"
        if spec.absence is not None and COVERAGE_KIND not in self.vocabulary:
            yield f"the vocabulary has no {COVERAGE_KIND}"

    def _relations(self, condition: Simple, counted_here: set[str]) -> Iterator[str]:
        for test in condition.tests:
            yield from self._test(condition.kind, test)
        for join in condition.joins:
            yield from self._join(condition.kind, join)
        for within in condition.within:
            if not 0 <= within.microseconds < FURTHEST:
                yield f"within {within.microseconds} microseconds is no distance"
        names = set(named(condition))
        for alias in sorted(names - self.kinds.keys()):
            yield f"unknown alias {alias}"
        several = names & self.counted
        listed = " and ".join(sorted(several))
        if several - counted_here:
            yield f"a condition inside any names {listed}, which stands for several facts"
        elif isinstance(condition, FactCondition) and condition.count and several:
            yield f"the counted {condition.alias} names {listed}, which stands for several facts"
        elif isinstance(condition, AbsentCondition) and len(several) > 1:
            yield f"an absence names {listed}, which both stand for several facts"

    def _known(self, kind: str, name: str) -> Iterator[str]:
        if kind in self.vocabulary and self.vocabulary[kind].type_of(name) is None:
            yield f"{kind} has no field {name}"

    def _type(self, kind: str, name: str) -> FieldType | None:
        return "str" if name == ID else self.vocabulary[kind].type_of(name)

    def _test(self, kind: str, test: Test) -> Iterator[str]:
        expected = self.vocabulary[kind].type_of(test.field)
        if expected is None:
            yield from self._known(kind, test.field)
        elif test.operator == "known":
            if type(test.value) is not bool:
                yield f"{kind}.{test.field}: known is true or false"
        elif test.operator in ("in", "not_in"):
            if not isinstance(test.value, tuple) or not test.value:
                yield f"{kind}.{test.field}: {test.operator} needs a list of values"
            else:
                for value in test.value:
                    yield from _constant(kind, test.field, value, expected)
        elif test.operator not in ("==", "!=", *ORDERED):
            yield f"{kind}.{test.field}: unknown operator {test.operator}"
        else:
            yield from _constant(kind, test.field, test.value, expected)
            if test.operator in ORDERED and expected in ("str", "bool"):
                yield f"{kind}.{test.field}: {test.operator} does not order values of type {expected}"

    def _join(self, kind: str, join: Join) -> Iterator[str]:
        if join.operator not in ("==", "!="):
            yield f"{kind}.{join.field}: a join is == or !="
        other_kind = self.kinds.get(join.alias)
        if other_kind is None or other_kind not in self.vocabulary:
            return
        own, other = self._type(kind, join.field), self._type(other_kind, join.other)
        if own is None:
            yield from self._known(kind, join.field)
        if other is None:
            yield from self._known(other_kind, join.other)
        if own and other and own != other:
            yield f"{kind}.{join.field} ({own}) cannot be compared with {join.alias}.{join.other} ({other})"

    def _emission(self) -> Iterator[str]:
        emission = self.rule.emits
        if emission is None:
            return
        if emission.kind not in self.vocabulary:
            yield f"unknown kind {emission.kind}"
            return
        spec = self.vocabulary[emission.kind]
        if spec.nature != "derived":
            yield f"it derives {emission.kind}, which is not of nature derived"
        for name, value in emission.constants:
            expected = spec.type_of(name)
            yield from _constant(spec.kind, name, value, expected) if expected else self._known(spec.kind, name)
        names = [name for name, _ in emission.constants] + [name for name, _, _ in emission.copies]
        if len({*names}) < len(names):
            yield f"it sets a field of {emission.kind} twice"
        plain = _plain_kinds(self.rule.when)
        for name, alias, other in emission.copies:
            if alias not in plain:
                yield f"it copies from {alias}, which is not the alias of one fact"
                continue
            if other == ID and plain[alias] in self.derived:
                yield f"it copies the id of {alias}, a derived fact: that could go on for ever"
            if plain[alias] in self.vocabulary and spec.type_of(name) != self._type(plain[alias], other):
                yield f"it cannot copy {alias}.{other} to {emission.kind}.{name}: not fields of one type"


def _plain_kinds(conditions: Sequence[Condition]) -> Mapping[str, str]:
    return {c.alias: c.kind for c in conditions if isinstance(c, FactCondition) and c.count is None}


def _constant(kind: str, name: str, value: Scalar | tuple[Scalar, ...], expected: FieldType) -> Iterator[str]:
    types = {"str": (str,), "int": (int,), "float": (float, int), "bool": (bool,)}[expected]
    if type(value) not in types:
        yield f"{kind}.{name} is {expected}, not {value!r:.60}"
    elif isinstance(value, float) and not math.isfinite(value):
        yield f"{kind}.{name}: {value} is no number to compare with"
    elif isinstance(value, int) and abs(value) >= LARGEST:
        yield f"{kind}.{name}: {value} is too large a number"
