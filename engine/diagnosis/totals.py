"""Totals since an unknown time: every port that has lived for long shows some."""

from __future__ import annotations

from collections.abc import Sequence

from engine.diagnosis.lone_flap import NETWORK
from engine.diagnosis.model import Hypothesis
from engine.facts.model import Fact

TOTALS = ("nic.counter_value", "nic.counter_saturated", "switch.counter_value", "switch.counter_saturated")
"""Kinds that say what a counter stood at, and not when it rose."""

READINGS = ("switch.pfc_watchdog",)
"""Kinds that hold a total beside a state."""


def rests_on_totals(cause: Hypothesis, facts: Sequence[Fact]) -> bool:
    """Whether all that speaks for a network cause is what counters stood at."""
    if cause.leaf.branch not in NETWORK:
        return False
    used = {number for item in cause.support if item.counted for number in item.facts}
    bound = [fact for fact in facts if fact.id in used]
    return bool(bound) and all(fact.kind in (*TOTALS, *READINGS) for fact in bound)
