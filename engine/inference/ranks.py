"""Facts of several ranks: which conditions look at one rank at a time, and how many ranks they need to look at.

An episode folded over ranks stands for one fact of each. A condition that joins on the rank takes it rank by rank; what
is found is the episode.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from engine.inference.strata import simple
from engine.rules.model import AbsentCondition, Condition, FactCondition

RANK = "rank"
ALL = sys.maxsize
"""As many ranks as there are."""


def looked_at(conditions: Sequence[Condition]) -> Mapping[str, int]:
    """By alias, of how many ranks its fact has to be looked at, for aliases that are joined on, or counted by, ranks.

    Who differs from each of ``n`` others in the rank can be found among ``n + 1`` ranks, so that episodes of a thousand
    ranks do not make a million pairs. An absence asks about every rank, and so does an equality.
    """
    most: dict[str, int] = {}
    for condition in simple(conditions):
        counted = isinstance(condition, FactCondition) and condition.count and RANK in condition.count.distinct
        if isinstance(condition, FactCondition) and counted:
            most[condition.alias] = ALL
        for join in condition.joins:
            exact = join.operator == "==" or isinstance(condition, AbsentCondition)
            ends = [join.alias] if join.other == RANK else []
            if join.field == RANK and isinstance(condition, FactCondition):
                ends.append(condition.alias)
            for alias in ends:
                most[alias] = ALL if exact else min(ALL, most.get(alias, 1) + 1)
    return most


def of_absent(condition: AbsentCondition) -> int:
    """As :func:`looked_at` for what must be absent; 0 where its rank does not matter."""
    return ALL if any(join.field == RANK for join in condition.joins) else 0
