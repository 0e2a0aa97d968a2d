"""Which fact of a hypothesis came first."""

from __future__ import annotations

from collections.abc import Sequence

from engine.diagnosis.causality import ABNORMAL, CausalGraph, number
from engine.diagnosis.model import Evidence
from engine.facts.model import Fact, Order, before
from engine.facts.vocabulary import Vocabulary

COMPARISON = "compare.differs"
TIMELESS = ("state", "config")
"""Natures that say how something is, not that it happened."""


def first_of(support: Sequence[Evidence], graph: CausalGraph, vocabulary: Vocabulary) -> str | None:
    """The first fault if the hypothesis is right, as a fact id; ``None`` where no rule names one.

    The strongest evidence that stands names it, unless other evidence names a fact that is certainly earlier. A
    setting is no event: where only a setting is named, the first abnormal fact that goes with it is taken. A state is
    what was found afterwards: an event that evidence of the same strength names comes before it, and before a state
    without a time also one of the same rank that strong evidence names.
    """
    standing = [item for item in support if item.explained_by is None]
    named = [sorted(item.firsts, key=lambda fact: _order(graph.facts[fact])) for item in standing if item.firsts]
    if not named:
        return None
    chosen = named[0][0]
    if _setting(graph.facts[chosen], vocabulary):
        own = [fact for item in standing for fact in item.facts]
        for nature in ABNORMAL:
            events = [fact for fact in own if vocabulary[graph.facts[fact].kind].nature == nature]
            if events:
                return first_in(sorted(events, key=lambda fact: _order(graph.facts[fact])), graph)
        return chosen
    others = [fact for group in named[1:] for fact in group]
    events = [fact for fact in others if vocabulary[graph.facts[fact].kind].nature not in TIMELESS]
    strongest = [item for item in standing if item.firsts and item.strength == standing[0].strength]
    told = [fact for item in strongest for fact in item.firsts if vocabulary[graph.facts[fact].kind].nature == "fault"]
    if vocabulary[graph.facts[chosen].kind].nature == "state":
        told = told or _reported(graph.facts[chosen], standing, graph, vocabulary)
        if told:
            return first_in(sorted([*told, *events], key=lambda fact: _order(graph.facts[fact])), graph)
    return first_in([*named[0], *events], graph)


def _reported(state: Fact, standing: Sequence[Evidence], graph: CausalGraph, vocabulary: Vocabulary) -> list[str]:
    """Faults that strong evidence names on the ranks of a state of unknown time: they were there when it was found."""
    if state.onset.known or not state.ranks:
        return []
    strong = [fact for item in standing if item.strength in ("decisive", "strong") for fact in item.firsts]
    faults = [fact for fact in strong if vocabulary[graph.facts[fact].kind].nature == "fault"]
    return [fact for fact in faults if set(graph.facts[fact].ranks) & set(state.ranks)]


def first_in(facts: Sequence[str], graph: CausalGraph) -> str:
    """Of some facts (ids), the first in the given order, unless a later one is certainly earlier in time."""
    chosen = facts[0]
    for fact in facts[1:]:
        if before(graph.facts[fact], graph.facts[chosen]) is Order.YES:
            chosen = fact
    return chosen


def _order(fact: Fact) -> tuple[bool, bool, float, tuple[int, str]]:
    """A rank's own log tells more than a copy of its words elsewhere; of undated counters the one that rose most."""
    delta = fact.fields.get("delta")
    counted = isinstance(delta, (int, float)) and not fact.onset.known
    return (not fact.ranks, counted, -float(delta or 0) if counted else 0.0, number(fact.id))


def _setting(fact: Fact, vocabulary: Vocabulary) -> bool:
    return fact.kind == COMPARISON or vocabulary[fact.kind].nature == "config"
