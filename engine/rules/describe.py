"""Conditions and rules in one line of plain words."""

from __future__ import annotations

from engine.facts.model import SECOND, Fact, Scalar
from engine.rules.model import AbsentCondition, AnyCondition, Condition, FactCondition, Join, Precedes, Test, Within

_OPERATORS = {"in": "one of", "not_in": "none of", "!=": "≠", "<=": "≤", ">=": "≥", "==": "="}


def condition_text(condition: Condition) -> str:
    """``kill: host.oom_kill, extent = memcg``."""
    if isinstance(condition, AnyCondition):
        branches = (" and ".join(condition_text(part) for part in branch) for branch in condition.branches)
        return "any of: " + "; or ".join(branches)
    parts = relation_texts(condition)
    if isinstance(condition, AbsentCondition):
        head = f"no {condition.kind} around {condition.anchor}"
    else:
        name = "" if condition.alias.startswith("_") else f"{condition.alias}: "
        head = f"{name}{condition.kind}"
        if condition.count:
            distinct = f" with different {', '.join(condition.count.distinct)}" if condition.count.distinct else ""
            head += f", at least {condition.count.at_least}{distinct}"
        if condition.unexplained:
            parts.append("unexplained")
    return ", ".join([head, *parts])


def relation_texts(condition: FactCondition | AbsentCondition) -> list[str]:
    """Tests, joins, order and distance, each in words."""
    return [
        *map(test_text, condition.tests),
        *map(join_text, condition.joins),
        *map(order_text, condition.order),
        *map(within_text, condition.within),
    ]


def test_text(test: Test) -> str:
    """``signal = 9``."""
    if test.operator == "known":
        return f"{test.field} {'known' if test.value else 'not known'}"
    return f"{test.field} {_OPERATORS.get(test.operator, test.operator)} {value_text(test.value)}"


def join_text(join: Join) -> str:
    """``host = kill.host``."""
    return f"{join.field} {_OPERATORS[join.operator]} {join.alias}.{join.other}"


def order_text(order: Precedes) -> str:
    """``after kill``."""
    return f"{order.relation} {order.alias}"


def within_text(within: Within) -> str:
    """``within 120 s of kill``."""
    return f"within {within.microseconds / SECOND:g} s of {within.alias}"


def value_text(value: Scalar | tuple[Scalar, ...] | None) -> str:
    """A constant as it is written in YAML."""
    if isinstance(value, tuple):
        return ", ".join(map(value_text, value))
    if isinstance(value, bool):
        return str(value).lower()
    return "not known" if value is None else str(value)


def fact_text(fact: Fact) -> str:
    """``host.oom_kill host=n1 pid=42 (logs/dmesg.txt:17)``."""
    subject = [
        f"{name}={getattr(fact, name)}"
        for name in ("job", "host", "rank", "device", "port", "peer")
        if getattr(fact, name) is not None
    ]
    own = [f"{name}={value_text(value)}" for name, value in sorted(fact.fields.items())]
    return f"{' '.join([fact.kind, *subject, *own])} ({fact.source.path}:{fact.source.line})"
