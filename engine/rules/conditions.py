"""Small questions about conditions that several readers of rules ask."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engine.rules.model import AbsentCondition, AnyCondition, Condition, FactCondition

EXPLAINED = "causal.explained"
"""Kind of the fact that a propagation derives: ``effect`` and ``cause`` are fact ids, ``rule`` the propagation's id."""


def simple(when: Iterable[Condition]) -> Iterator[FactCondition | AbsentCondition]:
    """The conditions of a conjunction, those inside ``any`` included."""
    for condition in when:
        if isinstance(condition, AnyCondition):
            for branch in condition.branches:
                yield from branch
        else:
            yield condition


def fact_kinds(*conjunctions: Iterable[Condition]) -> set[str]:
    """Kinds of which some fact is asked for, inside ``any`` or outside."""
    return {part.kind for when in conjunctions for part in simple(when) if isinstance(part, FactCondition)}


def needs_propagation(*conjunctions: Iterable[Condition]) -> bool:
    """Whether a rule asks for what only propagations derive: ``unexplained``, or a ``causal.explained`` fact."""
    return any(
        part.kind == EXPLAINED or (isinstance(part, FactCondition) and part.unexplained)
        for when in conjunctions
        for part in simple(when)
    )
