"""Which fields of which kinds rules look at; only these are read from facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engine.facts.vocabulary import COVERAGE_KIND, FieldType, Vocabulary
from engine.inference.items import ID
from engine.inference.strata import EXPLAINED, simple
from engine.rules.model import AbsentCondition, Emission, FactCondition, Rule


def fields_used(rules: Iterable[Rule], vocabulary: Vocabulary) -> dict[str, dict[str, FieldType]]:
    """By kind, the fields that checked rules look at, with their types; every kind that a rule names is there."""
    named: dict[tuple[str, str], None] = {}
    for rule in rules:
        named.update(dict.fromkeys(_in_conditions(rule, vocabulary)))
        if rule.emits is not None:
            named.update(dict.fromkeys(_in_emission(rule, rule.emits)))
    used: dict[str, dict[str, FieldType]] = {}
    for kind, name in named:
        fields = used.setdefault(kind, {})
        found = vocabulary[kind].type_of(name) if name not in ("", ID) else None
        if found:
            fields[name] = found
    return used


def _kinds(rule: Rule) -> dict[str, set[str]]:
    """By alias, the kinds that it stands for: one, or in different branches of ``any`` different ones."""
    kinds: dict[str, set[str]] = {}
    for condition in simple(rule.when):
        if isinstance(condition, FactCondition):
            kinds.setdefault(condition.alias, set()).add(condition.kind)
    return kinds


def _in_conditions(rule: Rule, vocabulary: Vocabulary) -> Iterator[tuple[str, str]]:
    """Kinds and fields, the field empty where a kind is only named."""
    kinds = _kinds(rule)
    for condition in simple(rule.when):
        kind = condition.kind
        yield kind, ""
        for test in condition.tests:
            yield kind, test.field
        for join in condition.joins:
            yield kind, join.field
            for other in kinds[join.alias]:
                yield other, join.other
        if isinstance(condition, AbsentCondition):
            if vocabulary[kind].absence is not None:
                yield COVERAGE_KIND, "class"
                yield COVERAGE_KIND, "host"
            continue
        if condition.count:
            yield from ((kind, name) for name in condition.count.distinct)
        if condition.unexplained:
            yield EXPLAINED, "effect"


def _in_emission(rule: Rule, emission: Emission) -> Iterator[tuple[str, str]]:
    kinds = _kinds(rule)
    yield emission.kind, ""
    yield from ((emission.kind, name) for name, _ in emission.constants)
    for name, alias, other in emission.copies:
        yield emission.kind, name
        yield from ((kind, other) for kind in kinds[alias])
