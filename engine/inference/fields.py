"""Which fields of which kinds rules look at; only these are read from facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engine.facts.vocabulary import COVERAGE_KIND, FieldType, Vocabulary
from engine.inference.items import ID
from engine.inference.strata import EXPLAINED, simple
from engine.rules.model import AbsentCondition, FactCondition, Rule


def fields_used(rules: Iterable[Rule], vocabulary: Vocabulary) -> dict[str, dict[str, FieldType]]:
    """By kind, the fields that checked rules look at, with their types; every kind that a rule names is there."""
    used: dict[str, dict[str, FieldType]] = {}
    for rule in rules:
        for kind, name in (*_in_conditions(rule, vocabulary), *_in_emission(rule)):
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
        yield condition.kind, ""
        yield from ((condition.kind, test.field) for test in condition.tests)
        for join in condition.joins:
            yield condition.kind, join.field
            yield from ((kind, join.other) for kind in kinds[join.alias])
        if isinstance(condition, AbsentCondition):
            if vocabulary[condition.kind].absence is not None:
                yield from ((COVERAGE_KIND, "class"), (COVERAGE_KIND, "host"))
            continue
        if condition.count:
            yield from ((condition.kind, name) for name in condition.count.distinct)
        if condition.unexplained:
            yield EXPLAINED, "effect"


def _in_emission(rule: Rule) -> Iterator[tuple[str, str]]:
    if rule.emits is None:
        return
    kinds = _kinds(rule)
    yield rule.emits.kind, ""
    yield from ((rule.emits.kind, name) for name, _ in rule.emits.constants)
    for name, alias, other in rule.emits.copies:
        yield rule.emits.kind, name
        yield from ((kind, other) for kind in kinds[alias])
