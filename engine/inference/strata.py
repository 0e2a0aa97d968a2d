"""Order of evaluation: a rule that asks for "none" of a derived kind waits for all rules that derive it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    needed = frozenset([condition.kind for condition in rule.when if isinstance(condition, FactCondition)])
    used, unwanted = set(needed), set()
    for condition in simple(rule.when):
        if isinstance(condition, AbsentCondition):
            unwanted.add(condition.kind)
        else:
            used.add(condition.kind)
            if condition.unexplained:
                unwanted.add(EXPLAINED)
    return Asked(needed, frozenset(used), frozenset(unwanted))


def stratify(rules: Sequence[Rule]) -> list[list[Rule]]:
    """The rules in layers, each to be evaluated to the end before the next.

    Raises :class:`InvalidRules` where a rule depends on the absence of what is derived from itself.
    """
    placed = list(zip(layers_of(rules, [asked_by(rule) for rule in rules]), rules, strict=True))
    return [
        [rule for at, rule in placed if at == layer] for layer in range(max((at for at, _ in placed), default=0) + 1)
    ]


def layers_of(rules: Sequence[Rule], asked: Sequence[Asked]) -> list[int]:
    """The number of each rule's layer, as in :func:`stratify`; ``asked`` says what each asks about."""
    makers: dict[str, list[int]] = {}
    for index, rule in enumerate(rules):
        if rule.emits:
            makers.setdefault(rule.emits.kind, []).append(index)
    dependent = [
        (index, used, unwanted)
        for index, one in enumerate(asked)
        if (used := one.used & makers.keys()) | (unwanted := one.unwanted & makers.keys())
    ]
    layer = [0] * len(rules)
    for _ in range(len(makers) + 2):  # the longest way through the derived kinds, and once more to see it stand
        height = {kind: max([layer[index] for index in indexes]) for kind, indexes in makers.items()}
        new = layer.copy()
        for index, used, unwanted in dependent:
            new[index] = max([height[kind] for kind in used] + [height[kind] + 1 for kind in unwanted])
        if new == layer:
            return layer
        layer = new
    raise InvalidRules(_loops(rules, asked, makers))


def _loops(rules: Sequence[Rule], asked: Sequence[Asked], makers: Mapping[str, Sequence[int]]) -> Iterator[Refusal]:
    users: dict[str, list[int]] = {}
    for index, one in enumerate(asked):
        for kind in one.used | one.unwanted:
            users.setdefault(kind, []).append(index)
    for index, one in enumerate(asked):
        unwanted = sorted(one.unwanted & makers.keys())
        before = _reached(index, rules, users) if unwanted else {}
        for kind in unwanted:
            maker = next((maker for maker in makers[kind] if maker in before), None)
            if maker is not None:
                chain = " -> ".join(rules[step].id for step in _way(maker, before))
                yield Refusal(
                    rules[index].id,
                    f"it asks that no {kind} was derived, and {rules[maker].id} derives {kind} from what follows "
                    f"from it ({chain}); such rules have no meaning",
                )


def _reached(start: int, rules: Sequence[Rule], users: Mapping[str, Sequence[int]]) -> dict[int, int | None]:
    """The rules that depend on what ``start`` derives, it too, each with the one before it on the shortest way."""
    before: dict[int, int | None] = {start: None}
    waiting = deque([start])
    while waiting:
        index = waiting.popleft()
        emission = rules[index].emits
        for user in users.get(emission.kind, ()) if emission else ():
            if user not in before:
                before[user] = index
                waiting.append(user)
    return before


def _way(end: int, before: Mapping[int, int | None]) -> list[int]:
    way: list[int] = []
    step: int | None = end
    while step is not None:
        way.insert(0, step)
        step = before[step]
    return way
