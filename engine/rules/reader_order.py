"""Orders of onsets that no incident can have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.rules.model import Condition, FactCondition


def impossible_order(conjunction: Sequence[Condition]) -> list[str]:
    """Aliases of plain conditions that would have to precede each other in a circle; empty where there are none."""
    earlier: dict[str, set[str]] = {}
    for condition in conjunction:
        if isinstance(condition, FactCondition) and condition.count is None:
            for order in condition.order:
                first, second = (condition.alias, order.alias)[:: 1 if order.relation == "before" else -1]
                earlier.setdefault(second, set()).add(first)
    return sorted(alias for alias in earlier if alias in _reachable(earlier, alias))


def _reachable(edges: Mapping[str, set[str]], start: str) -> set[str]:
    reached, waiting = set[str](), [start]
    while waiting:
        new = edges.get(waiting.pop(), set()) - reached
        reached |= new
        waiting += new
    return reached
