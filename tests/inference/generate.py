"""Random vocabularies, rules and facts that use everything the model has, awkward values included."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

from engine.facts.model import Fact, Scalar, Source, Span
from engine.facts.vocabulary import FieldSpec, FieldType, KindSpec, Vocabulary
from engine.inference.aliases import told_apart
from engine.inference.compile import compile_rules
from engine.inference.results import InvalidRules
from engine.inference.strata import EXPLAINED, stratify
from engine.rules.model import (
    AbsentCondition,
    AnyCondition,
    Condition,
    Count,
    Emission,
    FactCondition,
    Join,
    Operator,
    Precedes,
    Rule,
    Test,
    Within,
)

TYPES: tuple[FieldType, ...] = ("str", "int", "float", "bool")
VALUES: dict[str, list[Scalar]] = {
    "str": [
        "a",
        "b",
        "A",
        "",
        "1",
        "true",
        "0",
        "主机",
        "a b",
        'q"\\',
        "line\nbreak",
        "nul\0",
        "\ud800",
        "{a}",
        "x" * 70_000,
    ],
    "int": [0, 1, -1, 2, 3, 7, 2**53, 2**62, 2**62 - 1, -(2**62), 2**63 - 1, 2**63, 2**64 - 1, -(2**63), 10**30],
    "float": [0.0, -0.0, 1.0, 0.5, -0.5, 1e-05, 1e16, 5e-324, -5e-324, 1.5, 2.0, 1e300, float("inf"), float("-inf"), 3],
    "bool": [True, False],
}
SMALL = 24
"""Conjunctions of a small rule, at most."""

MISTYPED: list[Scalar] = [True, 1, "1", 1.0, float("nan")]

COMMON = 3
"""Of the values of a type the first few are taken most often, so that joins find partners."""

HOSTS = ["n1", "n2", "n3"]
CLASSES = ["kernel_log", "job_log", "switch_log", "scheduler"]
WEIGHTS = [6, 3, 1, 1]
FILES = ["a.log", "b.log", "c/d.log"]
CLOCKS = ["n1", "n2", ""]


@dataclass
class Case:
    """A ruleset and a few incidents."""

    vocabulary: Vocabulary
    rules: list[Rule]
    incidents: list[list[Fact]]


class Generator:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.vocabulary = self._vocabulary()
        kinds = self.vocabulary.kinds.values()
        self.plain = [spec for spec in kinds if spec.nature not in ("derived", "coverage")]
        self.derived = [spec for spec in kinds if spec.nature == "derived"]
        self.hosts = HOSTS

    def case(self, rules: int, facts: int, incidents: int, small: bool = False) -> Case:
        """``small`` rules stand for few conjunctions, so that many of them can be compiled."""
        made = [self.rule(f"r{number}") for number in range(rules)]
        if small:
            made = [one for one in made if self.conjunctions(one) <= SMALL]
        if self.chance(0.1):  # alternatives of one rule
            made.append(self.alternative(made[0]))
        if self.chance(0.95):
            self.break_loops(made)
        return Case(self.vocabulary, made, [self.facts(self.random.randint(0, facts)) for _ in range(incidents)])

    def conjunctions(self, rule: Rule) -> int:
        try:
            return sum(len(plan.conjunctions) for plan in compile_rules([told_apart(rule)], self.vocabulary))
        except InvalidRules:
            return SMALL + 1

    def alternative(self, rule: Rule) -> Rule:
        """A rule with the same id and aliases."""
        first, *rest = rule.when
        assert isinstance(first, FactCondition)
        return replace(rule, when=(replace(first, tests=(self.test(self.vocabulary[first.kind]),)), *rest))

    def break_loops(self, rules: list[Rule]) -> None:
        """Take emissions away until the rules can be layered."""
        while not layered(rules):
            place = self.random.choice([place for place, rule in enumerate(rules) if rule.emits])
            rules[place] = replace(rules[place], emits=None)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    # --- vocabulary ---

    def _vocabulary(self) -> Vocabulary:
        kinds: dict[str, KindSpec] = {}
        for number in range(self.random.randint(1, 3)):
            kind = f"{'switch' if self.chance(0.15) else 'host'}.k{number}"
            names = {f"f{place}": FieldSpec(self.random.choice(TYPES)) for place in range(self.random.randint(0, 3))}
            absence = self.random.choice([None, *self.random.choices(CLASSES, WEIGHTS, k=3)])
            kinds[kind] = KindSpec(kind, "host", "fault", "", "", names, absence)
        for number in range(2):
            kind = f"causal.d{number}"
            names = {"ref": FieldSpec("str"), "number": FieldSpec("int"), "f0": FieldSpec(self.random.choice(TYPES))}
            absence = CLASSES[0] if self.chance(0.2) else None
            kinds[kind] = KindSpec(kind, "common", "derived", "", "", names, absence)
        effects = {name: FieldSpec("str") for name in ("effect", "cause", "rule")}
        kinds[EXPLAINED] = KindSpec(EXPLAINED, "common", "derived", "", "", effects)
        kinds["coverage.source"] = KindSpec(
            "coverage.source", "common", "coverage", "", "", {"class": FieldSpec("str"), "lines": FieldSpec("int")}
        )
        return Vocabulary(kinds)

    def value(self, kind: FieldType) -> Scalar:
        values = VALUES[kind]
        return self.random.choice(values[:COMMON]) if self.chance(0.8) else self.random.choice(values)

    def field(self, spec: KindSpec) -> str:
        return self.random.choice(["host", "host", "rank", "peer", *spec.fields, *spec.fields])

    # --- rules ---

    def rule(self, rule_id: str) -> Rule:
        scope: dict[str, tuple[KindSpec, str]] = {}
        number = self.random.choice([1, 1, 2, 2, 2, 3])
        when: list[Condition] = [
            self.fact(scope, f"a{place}", "counted" if self.chance(0.15) else "plain") for place in range(number)
        ]
        for _ in range(self.random.choice([0, 0, 0, 1, 1, 2])):
            place = self.random.randint(1, len(when))
            before = {c.alias: scope[c.alias] for c in when[:place] if isinstance(c, FactCondition)}
            when.insert(place, self.absent(before) if self.chance(0.6) else self.any(before, len(scope)))
        if self.chance(0.1):
            when.append(self.fact(scope, f"a{len(scope)}", "counted"))
        return Rule(rule_id, tuple(when), self.emission(scope) if self.chance(0.4) else None)

    def any(self, outer: dict[str, tuple[KindSpec, str]], number: int) -> AnyCondition:
        branches = []
        for _ in range(self.random.randint(1, 2)):
            scope = {alias: (spec, "outside" if role == "counted" else role) for alias, (spec, role) in outer.items()}
            branch: list[FactCondition | AbsentCondition] = []
            for _ in range(self.random.randint(0, 2)):
                alias = f"a{number + len(branch)}"  # a later alias outside may have the same name
                branch.append(self.fact(scope, alias, "counted" if self.chance(0.2) else "plain"))
            usable = {alias: one for alias, one in scope.items() if one[1] != "outside"}
            if usable and (not branch or self.chance(0.3)):
                branch.append(self.absent(usable))
            if not branch:
                branch.append(self.fact(scope, f"a{number}", "plain"))
            branches.append(tuple(branch))
        return AnyCondition(tuple(branches))

    def fact(self, scope: dict[str, tuple[KindSpec, str]], alias: str, role: str) -> FactCondition:
        spec = self.random.choice(self.plain)
        if self.chance(0.2):
            spec = self.random.choice([*self.derived, self.vocabulary["coverage.source"]])
        usable = {a: one for a, one in scope.items() if one[1] == "plain" or (role == "plain" and one[1] == "counted")}
        tests, joins, order, within = self.relations(spec, usable)
        count = None
        if role == "counted":
            distinct = self.random.sample(["host", "rank", *spec.fields], self.random.choice([0, 1, 1, 2]))
            count = Count(self.random.choice([1, 2, 2, 3]), tuple(dict.fromkeys(distinct)))
        scope[alias] = (spec, role)
        return FactCondition(spec.kind, alias, tests, joins, order, within, self.chance(0.1), count)

    def absent(self, scope: dict[str, tuple[KindSpec, str]]) -> AbsentCondition:
        specs = [spec for spec in (*self.plain, *self.derived) if spec.absence or spec.nature == "derived"]
        spec = self.random.choice(specs if self.chance(0.3) else [one for one in specs if one.absence] or specs)
        anchor = self.random.choice([*scope])
        counted = [alias for alias, (_, role) in scope.items() if role == "counted"]
        keep = {anchor} if anchor in counted else {*self.random.sample(counted, min(1, len(counted)))}
        if anchor not in keep and keep and self.chance(0.5):
            keep = set()
        usable = {alias: one for alias, one in scope.items() if alias not in counted or alias in keep}
        tests, joins, order, within = self.relations(spec, usable)
        if usable and self.chance(0.4):
            joins = (*joins, Join("host", "==", self.random.choice([*usable]), "host"))
        return AbsentCondition(spec.kind, anchor, tests, joins, order, within)

    def relations(
        self, spec: KindSpec, scope: dict[str, tuple[KindSpec, str]]
    ) -> tuple[tuple[Test, ...], tuple[Join, ...], tuple[Precedes, ...], tuple[Within, ...]]:
        tests = tuple(self.test(spec) for _ in range(self.random.choice([0, 0, 0, 0, 1, 1, 2])))
        joins: list[Join] = []
        order: list[Precedes] = []
        within: list[Within] = []
        for alias, (other, _) in scope.items():
            if self.chance(0.3):
                joins += self.join(spec, alias, other)
            if self.chance(0.2):
                order.append(Precedes(cast(Literal["before", "after"], self.random.choice(["before", "after"])), alias))
            if self.chance(0.02):
                order.append(Precedes(cast(Literal["before", "after"], self.random.choice(["before", "after"])), alias))
            if self.chance(0.2):
                within.append(Within(alias, self.random.choice([0, 1, 3, 10, 10])))
        return tests, tuple(joins), tuple(order), tuple(within)

    def test(self, spec: KindSpec) -> Test:
        name = self.field(spec)
        kind = spec.type_of(name)
        assert kind
        operators = ["==", "!=", "in", "not_in", "known", "known"]
        operators += ["<", "<=", ">", ">="] if kind in ("int", "float") else []
        operator = cast(Operator, self.random.choice(operators))
        if operator == "known":
            return Test(name, operator, self.chance(0.7))
        values = [self.constant(kind, name) for _ in range(self.random.randint(1, 3))]
        return Test(name, operator, tuple(values) if operator in ("in", "not_in") else values[0])

    def constant(self, kind: FieldType, name: str) -> Scalar:
        if name in ("host", "peer"):
            return self.random.choice(HOSTS)
        while True:
            value = self.value(kind)
            if isinstance(value, str | bool) or (abs(value) < 2**62 and value == value):
                return value

    def join(self, spec: KindSpec, alias: str, other: KindSpec) -> list[Join]:
        operator = cast(Literal["==", "!="], self.random.choice(["==", "==", "!="]))
        pairs = [
            (one, two)
            for one in ("host", "rank", "peer", *spec.fields, "id")
            for two in ("host", "rank", "peer", *other.fields, "id")
            if (spec.type_of(one) or "str") == (other.type_of(two) or "str")
        ]
        alike = [(one, two) for one, two in pairs if one == two] if self.chance(0.6) else pairs
        if self.chance(0.25):
            alike = [("rank", "rank")]
        return [Join(one, operator, alias, two) for one, two in [self.random.choice(alike)]]

    def emission(self, scope: dict[str, tuple[KindSpec, str]]) -> Emission:
        spec = self.random.choice(self.derived)
        plain = {alias: one for alias, (one, role) in scope.items() if role == "plain"}
        constants: dict[str, Scalar] = {}
        copies: dict[str, tuple[str, str]] = {}
        for name in ("host", *spec.fields):
            kind = spec.type_of(name)
            assert kind
            if self.chance(0.2):
                constants[name] = self.constant(kind, name)
            elif plain and self.chance(0.7):
                alias = self.random.choice([*plain])
                other = plain[alias]
                names = [n for n in ("host", "rank", "peer", *other.fields) if other.type_of(n) == kind]
                if kind == "str" and other.nature != "derived":
                    names += ["id", "id"]
                if names:
                    copies[name] = (alias, self.random.choice(names))
        return Emission(
            spec.kind, tuple(constants.items()), tuple((name, alias, other) for name, (alias, other) in copies.items())
        )

    # --- facts ---

    def facts(self, number: int) -> list[Fact]:
        self.hosts = HOSTS[: self.random.choice([1, 2, 3])]
        facts = [self.one(f"f{place}") for place in range(number)]
        self.random.shuffle(facts)
        return facts

    def one(self, fact_id: str) -> Fact:
        share = self.random.random()
        spec = self.random.choice(self.plain)
        if share < 0.2:
            spec = self.vocabulary["coverage.source"]
        elif share < 0.25:
            spec = self.random.choice(self.derived)
        covers = spec.kind == "coverage.source"
        fields: dict[str, Scalar] = {}
        for name, field in spec.fields.items():
            if self.chance(0.85):
                fields[name] = self.value(field.type)
            if self.chance(0.02):
                fields[name] = self.random.choice(MISTYPED)
        if covers:
            fields["class"] = self.random.choices(CLASSES, WEIGHTS)[0]
        if spec.kind == EXPLAINED:
            fields["effect"] = f"f{self.random.randint(0, 5)}"
        lies_at = self.random.randint(0, 20)
        line = self.random.randint(1, 9)
        rank = self.random.choice([0, 1, 2, None])
        several = rank is None and self.chance(0.6)
        ranks = tuple(self.random.sample(range(4), self.random.randint(2, 3))) if several else ()
        return Fact(
            fact_id,
            spec.kind,
            fields,
            Source(self.random.choice(FILES), line),
            host=self.random.choice([*self.hosts, None]),
            rank=rank,
            ranks=ranks if rank is None else (rank,),
            peer=self.random.choice([*HOSTS, None, None]),
            onset=self.span(0 if covers else lies_at, 20 if covers else 3),
            local=self.span(0 if covers else lies_at, 20 if covers else 2),
            clock=self.random.choice(CLOCKS),
            sequence=self.random.choice([line, line, None]),
            scope=cast(Literal["incident"], "outside_window" if self.chance(0.03) else "incident"),
        )

    def span(self, start: int, width: int) -> Span:
        earliest: int | None = start
        latest: int | None = start + self.random.choice([0, width])
        if self.chance(0.08):
            earliest = self.random.choice([None, None, -(2**60), -(2**59), -(2**70)])
        if self.chance(0.08):
            latest = self.random.choice([None, None, 2**60, 2**59, 2**70])
        return Span(earliest, latest)


def layered(rules: Sequence[Rule]) -> bool:
    """Whether the rules are free of loops through absence."""
    try:
        stratify(rules)
    except InvalidRules:
        return False
    return True


def uses(rules: Sequence[Rule]) -> dict[str, int]:
    """How many rules use each part of the model."""
    counts: dict[str, int] = {}
    for rule in rules:
        for name in {*_parts(rule.when), *(("emission",) if rule.emits else ())}:
            counts[name] = counts.get(name, 0) + 1
    return counts


def _parts(conditions: Sequence[Condition], inside: str = "") -> list[str]:
    names: list[str] = []
    for condition in conditions:
        if isinstance(condition, AnyCondition):
            names.append("any")
            for branch in condition.branches:
                names += _parts(branch, " in any")
            continue
        names.append(("absent" if isinstance(condition, AbsentCondition) else "fact") + inside)
        names += [f"test {test.operator}" for test in condition.tests]
        names += [f"join {join.operator}" for join in condition.joins]
        names += [order.relation for order in condition.order]
        names += ["within"] * bool(condition.within)
        if isinstance(condition, FactCondition):
            names += ["unexplained"] * condition.unexplained
            names += [f"count{inside}"] * (condition.count is not None)
        elif condition.kind.startswith("causal."):
            names.append("absent derived")
    return names
