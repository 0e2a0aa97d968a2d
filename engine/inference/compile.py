"""Lowers rules to flat conjunctions: patterns over one fact each, joined by comparisons of one property with another.

A rule is split at its plain conditions. Each counted condition, absence and ``any`` becomes a *part* of its own: the
plain conditions together with that one condition, so parts add up instead of multiplying, and no two of them fight
for the same fact. What holds for a rule is then put together from its parts by the facts of the plain conditions
(:mod:`engine.inference.parts`). Orders and distances become alternatives, because "on one clock" and "on two" are
different comparisons. Every fact carries every property that its kind is asked for, so there are no missing ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from engine.facts.model import Scalar
from engine.facts.vocabulary import COVERAGE_KIND, Vocabulary
from engine.inference.aliases import named
from engine.inference.parts import Counted, Either, Group, Leaf
from engine.inference.ranks import ALL, RANK, looked_at, of_absent
from engine.inference.results import InvalidRules, Refusal
from engine.inference.strata import simple
from engine.rules.model import (
    AbsentCondition,
    AnyCondition,
    Condition,
    FactCondition,
    Join,
    Precedes,
    Rule,
    Test,
    Within,
)

MOST_CONJUNCTIONS = 256
"""Flat conjunctions that one rule may stand for."""

MOST_FACTS = 14
"""Facts of one conjunction; the C core keeps 16 for a match."""

MOST_PREVENTED = 48
"""Alternatives of one absence; all lie below one node of the C core, which follows at most 64."""

MOST_COMPARISONS = 24
"""Comparisons of one pattern with earlier ones; the C core keeps 31 terms."""

Role = Literal["fact", "each", "none", "none of each", "coverage"]
"""A fact is sent once for each role that it plays: to match, to prevent a match, to cover a time. To match or prevent
for one of its ranks at a time (``each``) it is sent once for each of them."""

Property = tuple[Scalar, ...]
"""What is sent of a fact: ("field", name), ("id",), ("ordinal",), ("file",), ("line",), ("sequence",), ("clock",),
("local", "earliest"), ("covers local", "latest") ..., ("in", field, values), ("unexplained",), ("missing",),
("everywhere", coverage class), ("rank",), ("number of rank",)."""

Operator = Literal["==", "!=", "<", "<=", ">", ">="]

CLOCKS: tuple[tuple[str, Operator], ...] = (("local", "=="), ("onset", "!="))
"""Facts of one clock are compared by their local spans, others by their UTC spans."""

NUMBER_OF_RANK: Property = ("number of rank",)
"""The property that counts the ranks of a fact that is sent by rank."""

MISSING: Property = ("missing",)
"""The property whose value is the one that stands for no value."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A property compared with a constant; ``value`` ``None`` stands for no value."""

    property: Property
    operator: Operator
    value: Scalar | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A property compared with one of an earlier slot, the latter moved by ``offset``."""

    property: Property
    operator: Operator
    slot: int
    other: Property
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Pattern:
    """One fact of a conjunction; ``slot`` is where it is bound, or -1 where there must be none."""

    role: Role
    kind: str
    slot: int
    constants: tuple[Constant, ...] = ()
    comparisons: tuple[Comparison, ...] = ()


@dataclass(frozen=True, slots=True)
class Conjunction:
    """Patterns that hold together, and the leaf that they are evidence for."""

    leaf: int
    patterns: tuple[Pattern, ...]


Place = tuple[int, ...]
"""Where a condition stands in its rule: its number, or those of an ``any``, its branch and the condition."""

Placed = tuple[Place, FactCondition]


@dataclass(frozen=True, slots=True)
class Plan:
    """A rule, how to put its solutions together, and the conjunctions of its leaves."""

    rule: Rule
    group: Group
    conjunctions: tuple[Conjunction, ...]


def compile_rules(rules: Sequence[Rule], vocabulary: Vocabulary) -> list[Plan]:
    """Plans of checked rules; leaves are numbered through. Raises :class:`InvalidRules` where one grows too large."""
    plans: list[Plan] = []
    refusals: list[Refusal] = []
    leaves = itertools.count()
    for rule in rules:
        planner = _Planner(rule, vocabulary, leaves, looked_at(rule.when))
        plans.append(planner.plan())
        refusals += [Refusal(rule.id, reason) for reason in planner.too_large]
    if refusals:
        raise InvalidRules(refusals)
    return plans


def check_size(rules: Sequence[Rule], vocabulary: Vocabulary) -> None:
    """Raise :class:`InvalidRules` where a checked rule grows too large; most need no plan to see that they do not."""
    compile_rules([rule for rule in rules if not _surely_fits(rule)], vocabulary)


def _surely_fits(rule: Rule) -> bool:
    """Whether a rule stays below all limits by the mere number of its conditions and relations.

    An order has five alternatives, a distance doubles them, and so does coverage; there are not more parts than
    conditions. Every relation makes at most four comparisons, and so does what is compared anyway.
    """
    conditions = list(simple(rule.when))
    alternatives = 1
    for condition in conditions:
        alternatives *= 5 ** len(condition.order) * 2 ** len(condition.within)
        alternatives *= 2 if isinstance(condition, AbsentCondition) else 1
        relations = len(condition.joins) + len(condition.order) + len(condition.within)
        if 4 * (relations + 1) + len(conditions) > MOST_COMPARISONS:
            return False
    few = alternatives <= MOST_PREVENTED and alternatives * len(conditions) <= MOST_CONJUNCTIONS
    return few and len(conditions) < MOST_FACTS


@dataclass
class _Planner:
    rule: Rule
    vocabulary: Vocabulary
    leaves: Iterator[int]
    ranks: Mapping[str, int] = field(default_factory=dict)
    conjunctions: list[Conjunction] = field(default_factory=list)
    too_large: list[str] = field(default_factory=list)

    def plan(self) -> Plan:
        group = self._group(self.rule.when, (), ())
        return Plan(self.rule, group, tuple(self.conjunctions))

    def _group(self, conditions: Sequence[Condition], outer: Sequence[Placed], at: Place) -> Group:
        """``outer`` are the plain conditions in sight, in the order of their slots; ``at`` is the place of ``any``."""
        placed = [((*at, number), c) for number, c in enumerate(conditions)]
        base = [*outer, *((place, c) for place, c in placed if isinstance(c, FactCondition) and c.count is None)]
        counted = {c.alias for c in conditions if isinstance(c, FactCondition) and c.count}
        parts: list[Leaf | Counted | Either] = []
        for place, condition in placed:
            if isinstance(condition, AnyCondition):
                branches = enumerate(condition.branches)
                groups = tuple(self._group(branch, base, (*place, number)) for number, branch in branches)
                parts.append(Either(groups, len(base)))
            elif isinstance(condition, AbsentCondition):
                if not counted & {*named(condition)}:
                    parts.append(self._leaf(base, condition))
            elif condition.count:
                naming = [c for c in conditions if isinstance(c, AbsentCondition) and condition.alias in named(c)]
                parts.append(Counted(self._with([*base, (place, condition)], naming), condition.count))
        return Group(_aliases(base), tuple(parts)) if parts else self._with(base, ())

    def _with(self, base: Sequence[Placed], absences: Sequence[AbsentCondition]) -> Group:
        """Plain conditions, or also a counted one in the last slot, and the absences that name it."""
        parts = [self._leaf(base, absent) for absent in absences] or [self._leaf(base, None)]
        return Group(_aliases(base), tuple(parts))

    def _leaf(self, base: Sequence[Placed], absent: AbsentCondition | None) -> Leaf:
        leaf = Leaf(next(self.leaves), len(base))
        in_order = sorted(enumerate(base), key=lambda entry: entry[1][0])  # so that each names earlier ones only
        chain = [(slot, condition) for slot, (_, condition) in in_order]
        earlier: dict[str, int] = {}
        choices: list[list[Pattern]] = []
        for place, (slot, condition) in enumerate(chain):
            patterns = _patterns("each" if condition.alias in self.ranks else "fact", condition, slot, earlier)
            choices.append([self._by_rank(pattern, condition, chain[:place]) for pattern in patterns])
            earlier[condition.alias] = slot
        prevented: list[Pattern] = []
        if absent:
            spec = self.vocabulary[absent.kind]
            if spec.absence is not None:
                if not _on_hosts(absent):
                    place = [condition.alias for _, condition in chain].index(absent.anchor)
                    covered = Constant(("everywhere", spec.absence), "==", 1)
                    choices[place] = [replace(one, constants=(*one.constants, covered)) for one in choices[place]]
                choices.append(_covering(absent, spec.absence, earlier, len(chain)))
            same = [slot for slot, condition in chain if condition.kind == absent.kind]
            others = tuple(Comparison(("ordinal",), "!=", slot, ("ordinal",)) for slot in same)
            prevented = [
                replace(pattern, comparisons=(*pattern.comparisons, *others))
                for pattern in _patterns("none of each" if of_absent(absent) else "none", absent, -1, earlier)
            ]
        self._add(leaf.index, choices, prevented)
        return leaf

    def _by_rank(self, pattern: Pattern, condition: FactCondition, before: Sequence[tuple[int, Condition]]) -> Pattern:
        """Of a fact taken rank by rank no two ranks are bound at once, and only as many are looked at as needed."""
        same = [
            (slot, other.alias)
            for slot, other in before
            if isinstance(other, FactCondition) and other.kind == condition.kind
        ]
        others = tuple(
            Comparison(("ordinal",), "!=", slot, ("ordinal",))
            for slot, alias in same
            if condition.alias in self.ranks or alias in self.ranks
        )
        most = self.ranks.get(condition.alias, ALL)
        few = () if most == ALL else (Constant(NUMBER_OF_RANK, "<", most),)
        return replace(pattern, constants=(*pattern.constants, *few), comparisons=(*pattern.comparisons, *others))

    def _add(self, leaf: int, choices: Sequence[Sequence[Pattern]], prevented: Sequence[Pattern]) -> None:
        number = 1
        for choice in choices:
            number *= len(choice)
        if len(self.conjunctions) + number > MOST_CONJUNCTIONS:
            self.too_large.append(f"it stands for more than {MOST_CONJUNCTIONS} combinations; split it")
            return
        if len(choices) > MOST_FACTS:
            self.too_large.append(f"it takes {len(choices)} facts at once; {MOST_FACTS} are possible")
        if len(prevented) > MOST_PREVENTED:
            self.too_large.append(f"an absence stands for {len(prevented)} alternatives; {MOST_PREVENTED} are possible")
        for chosen in itertools.product(*choices):
            patterns = (*chosen, *prevented)
            if any(len(pattern.comparisons) > MOST_COMPARISONS for pattern in patterns):
                self.too_large.append(f"a condition makes over {MOST_COMPARISONS} comparisons, more than are possible")
            self.conjunctions.append(Conjunction(leaf, patterns))


def _aliases(base: Iterable[Placed]) -> tuple[str, ...]:
    return tuple(condition.alias for _, condition in base)


def _patterns(
    role: Role, condition: FactCondition | AbsentCondition, slot: int, earlier: Mapping[str, int]
) -> list[Pattern]:
    """The alternatives of one condition. Relations to aliases without a slot here are judged in another part."""
    constants = [constant for test in condition.tests for constant in _constants(test)]
    if isinstance(condition, FactCondition) and condition.unexplained:
        constants.append(Constant(("unexplained",), "==", 1))
    joins: list[Comparison] = []
    for join in condition.joins:
        if join.alias in earlier:
            own, other, at = _joined(join.field), _joined(join.other), earlier[join.alias]
            constants.append(Constant(own, "!=", None))
            joins.append(Comparison(own, join.operator, at, other))
            if join.operator == "!=":
                joins.append(Comparison(MISSING, "!=", at, other))
    relations = [
        _time(
            [order for order in condition.order if order.alias == alias],
            [within for within in condition.within if within.alias == alias],
            earlier[alias],
        )
        for alias in dict.fromkeys([*(o.alias for o in condition.order), *(w.alias for w in condition.within)])
        if alias in earlier
    ]
    unique = tuple(dict.fromkeys(constants))
    return [
        Pattern(role, condition.kind, slot, unique, tuple(dict.fromkeys([*joins, *itertools.chain(*chosen)])))
        for chosen in itertools.islice(itertools.product(*relations), MOST_CONJUNCTIONS + 1)
    ]


def _joined(name: str) -> Property:
    """What a join compares: whoever is joined on the rank is taken rank by rank."""
    return ("rank",) if name == RANK else _field(name)


def _field(name: str) -> Property:
    return ("id",) if name == "id" else ("field", name)


def _constants(test: Test) -> Iterator[Constant]:
    own = _field(test.field)
    if test.operator == "known":
        yield Constant(own, "!=" if test.value else "==", None)
        return
    if test.operator != "==":
        yield Constant(own, "!=", None)
    if test.operator in ("in", "not_in"):
        assert isinstance(test.value, tuple)
        yield Constant(("in", test.field, *test.value), "==", int(test.operator == "in"))
    else:
        assert not isinstance(test.value, tuple)
        yield Constant(own, test.operator, test.value)  # type: ignore[arg-type]


def _time(orders: Sequence[Precedes], withins: Sequence[Within], slot: int) -> list[tuple[Comparison, ...]]:
    """The alternative ways in which orders and distances to one other fact hold."""
    alternatives: list[tuple[Comparison, ...]] = []
    for basis, clocks in CLOCKS:
        clock = Comparison(("clock",), clocks, slot, ("clock",))
        near = tuple(itertools.chain(*(_near(within, basis, slot) for within in withins)))
        ways = [_ways(order, basis, slot) for order in orders]
        alternatives += [(clock, *near, *itertools.chain(*chosen)) for chosen in itertools.product(*ways)]
    return alternatives


def _ways(order: Precedes, basis: str, slot: int) -> list[tuple[Comparison, ...]]:
    """The ways in which an order is certain on one clock (``local``) or across two: :func:`engine.facts.model.before`.

    The clock tells, or the lines of one file tell and the clock does not contradict; of two clocks neither of them may
    be contradicted by the lines.
    """
    same_file = Comparison(("file",), "==", slot, ("file",))
    other_file = Comparison(("file",), "!=", slot, ("file",))
    if order.relation == "before":
        by_clock = Comparison((basis, "latest"), "<", slot, (basis, "earliest"))
        not_opposed = Comparison((basis, "earliest"), "<=", slot, (basis, "latest"))
        by_line = Comparison(("line",), "<", slot, ("sequence",))
        no_line_opposes = Comparison(("sequence",), "<=", slot, ("line",))
    else:
        by_clock = Comparison((basis, "earliest"), ">", slot, (basis, "latest"))
        not_opposed = Comparison((basis, "latest"), ">=", slot, (basis, "earliest"))
        by_line = Comparison(("sequence",), ">", slot, ("line",))
        no_line_opposes = Comparison(("line",), ">=", slot, ("sequence",))
    lines_tell = (same_file, by_line, not_opposed)
    if basis == "local":
        return [(by_clock,), lines_tell]
    return [(by_clock, other_file), (by_clock, same_file, no_line_opposes), lines_tell]


def _near(within: Within, basis: str, slot: int) -> tuple[Comparison, ...]:
    return (
        Comparison((basis, "earliest"), "<=", slot, (basis, "latest"), within.microseconds),
        Comparison((basis, "latest"), ">=", slot, (basis, "earliest"), -within.microseconds),
    )


def _on_hosts(absent: AbsentCondition) -> list[Join]:
    """The joins that say on which host nothing must be; without any it is everywhere."""
    return [join for join in absent.joins if join.field == "host" and join.operator == "=="]


def _covering(absent: AbsentCondition, coverage: str, slots: Mapping[str, int], slot: int) -> list[Pattern]:
    anchor = slots[absent.anchor]
    hosts = tuple(
        Comparison(("field", "host"), "==", slots[join.alias], _field(join.other)) for join in _on_hosts(absent)
    )
    constants = [Constant(("field", "class"), "==", coverage)]
    if hosts:
        constants.append(Constant(("field", "host"), "!=", None))
    return [
        Pattern(
            "coverage", COVERAGE_KIND, slot, tuple(constants),
            (
                Comparison(("clock",), clocks, anchor, ("clock",)),
                *dict.fromkeys(hosts),
                Comparison((f"covers {basis}", "earliest"), "<=", anchor, (basis, "earliest")),
                Comparison((f"covers {basis}", "latest"), ">=", anchor, (basis, "latest")),
            ),
        )
        for basis, clocks in CLOCKS
    ]  # fmt: skip
