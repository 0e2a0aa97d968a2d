"""Order of evaluation: a rule that asks for "none" of a derived kind waits for all rules that derive it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from engine.inference.results import InvalidRules, Refusal
from engine.rules.model import AbsentCondition, AnyCondition, Condition, FactCondition, Rule

EXPLAINED = "causal.explained"
"""The derived kind that ``unexplained`` asks about; its field ``effect`` holds the id of the explained fact."""


def simple(conditions: Iterable[Condition]) -> Iterable[FactCondition | AbsentCondition]:
    """All fact and absent conditions, those inside ``any`` included."""
    for condition in conditions:
        if isinstance(condition, AnyCondition):
            for branch in condition.branches:
                yield from branch
        else:
            yield condition


@dataclass(frozen=True, slots=True)
class Asked:
    """The kinds that a rule asks about: those of which it needs a fact, may use one, or wants none."""

    needed: frozenset[str]
    used: frozenset[str]
    unwanted: frozenset[str]


def asked_by(rule: Rule) -> Asked:
    """The kinds that a rule asks about."""
    facts = [condition for condition in simple(rule.when) if isinstance(condition, FactCondition)]
    unwanted = {condition.kind for condition in simple(rule.when) if isinstance(condition, AbsentCondition)}
    unwanted |= {EXPLAINED for condition in facts if condition.unexplained}
    needed = {condition.kind for condition in rule.when if isinstance(condition, FactCondition)}
    return Asked(frozenset(needed), frozenset(condition.kind for condition in facts), frozenset(unwanted))


def stratify(rules: Sequence[Rule]) -> list[list[Rule]]:
    """The rules in layers, each to be evaluated to the end before the next.

    Raises :class:`InvalidRules` where a rule depends on the absence of what is derived from itself.
    """
    asked = [asked_by(rule) for rule in rules]
    makers: dict[str, list[int]] = {}
    for index, rule in enumerate(rules):
        if rule.emits:
            makers.setdefault(rule.emits.kind, []).append(index)
    layer = [0] * len(rules)
    for _ in range(len(rules) + 1):
        height = {kind: max(layer[index] for index in indexes) for kind, indexes in makers.items()}
        new = [
            max(
                [0, *(height[kind] for kind in one.used & height.keys())]
                + [height[kind] + 1 for kind in one.unwanted & height.keys()]
            )
            for one in asked
        ]
        if new == layer:
            placed = list(zip(rules, layer, strict=True))
            return [[rule for rule, at in placed if at == number] for number in range(max(layer, default=0) + 1)]
        layer = new
    raise InvalidRules(_loops(rules, asked, makers))


def _loops(rules: Sequence[Rule], asked: Sequence[Asked], makers: Mapping[str, Sequence[int]]) -> Iterable[Refusal]:
    for index, one in enumerate(asked):
        for kind in sorted(one.unwanted & makers.keys()):
            for maker in makers[kind]:
                path = _path(index, maker, rules, asked)
                if path:
                    chain = " -> ".join(rules[step].id for step in path)
                    yield Refusal(
                        rules[index].id,
                        f"it asks that no {kind} was derived, and {rules[maker].id} derives {kind} from what follows "
                        f"from it ({chain}); such rules have no meaning",
                    )


def _path(start: int, end: int, rules: Sequence[Rule], asked: Sequence[Asked]) -> list[int] | None:
    """Rules from ``start`` to ``end``, each asking about a kind that the one before derives."""
    paths = [[start]]
    seen = {start}
    while paths:
        path = paths.pop(0)
        if path[-1] == end:
            return path
        emission = rules[path[-1]].emits
        for index, one in enumerate(asked):
            if emission and emission.kind in one.used | one.unwanted and index not in seen:
                seen.add(index)
                paths.append([*path, index])
    return None
