"""Which fact of a hypothesis came first."""

from __future__ import annotations

from collections.abc import Sequence

from engine.diagnosis.causality import ABNORMAL, CausalGraph, number
from engine.diagnosis.model import Evidence
from engine.facts.model import Fact, Order, before
from engine.facts.vocabulary import Vocabulary

COMPARISON = "compare.differs"
CONCLUDED = ("waits", "comparison")
"""Adapters whose facts no line states: they were concluded from what several ranks left."""

TIMELESS = ("state", "config")
"""Natures that say how something is, not that it happened."""


def first_of(support: Sequence[Evidence], graph: CausalGraph, vocabulary: Vocabulary) -> str | None:
    """The first fault if the hypothesis is right, as a fact id; ``None`` where no rule names one.

    The strongest evidence that stands names it, of equals one that states a fault rather than a symptom or what was
    found afterwards, unless other evidence names a fact that is certainly earlier. A setting is no event: where only a
    setting is named, the first abnormal fact that goes with it is taken. A state without a time, such as a stack, says
    where a rank stood: a fault of the same rank that other evidence names says when it began. A state of no rank was
    looked up afterwards: an event that other evidence names comes before it, unless it stands below in the same file.
    """
    standing = [item for item in support if item.explained_by is None]
    naming = [item for item in standing if item.firsts]
    if not naming:
        return None
    top = naming[0].weight
    naming.sort(key=lambda item: item.weight < top or not _states_fault(item, graph, vocabulary))
    named = [sorted(item.firsts, key=lambda fact: _order(graph.facts[fact])) for item in naming]
    chosen = named[0][0]
    if _setting(graph.facts[chosen], vocabulary):
        own = [fact for item in standing for fact in item.facts]
        for nature in ABNORMAL:
            events = [fact for fact in own if vocabulary[graph.facts[fact].kind].nature == nature]
            if events:
                return first_in(sorted(events, key=lambda fact: _order(graph.facts[fact])), graph)
        return chosen
    others = [fact for group in named[1:] for fact in group]
    began = _dated_faults(others, graph.facts[chosen], graph, vocabulary)
    if began:
        return first_in(began, graph)
    events = [fact for fact in others if vocabulary[graph.facts[fact].kind].nature not in TIMELESS]
    faults = [fact for fact in events if vocabulary[graph.facts[fact].kind].nature == "fault"]
    looked_up = vocabulary[graph.facts[chosen].kind].nature == "state" and not graph.facts[chosen].ranks
    if looked_up and faults:
        found = first_in(sorted(events, key=lambda fact: _order(graph.facts[fact])), graph)
        return chosen if above(graph.facts[chosen], graph.facts[found]) else found
    return first_in([*named[0], *events], graph)


def first_in(facts: Sequence[str], graph: CausalGraph) -> str:
    """Of some facts (ids), the first in the given order, unless a later one is certainly earlier in time.

    Where time does not tell, what the same file says on an earlier line comes first.
    """
    chosen = facts[0]
    for fact in facts[1:]:
        order = before(graph.facts[fact], graph.facts[chosen])
        if order is Order.YES or (order is Order.CANNOT_TELL and above(graph.facts[fact], graph.facts[chosen])):
            chosen = fact
    return chosen


def above(fact: Fact, other: Fact) -> bool:
    """Whether ``fact`` stands on an earlier line of the same file."""
    return fact.source.path == other.source.path and 0 < fact.source.line < other.source.line


def _order(fact: Fact) -> tuple[bool, bool, float, tuple[int, str]]:
    """A rank's own log tells more than a copy of its words elsewhere; of undated counters the one that rose most."""
    delta = fact.fields.get("delta")
    counted = isinstance(delta, (int, float)) and not fact.onset.known
    return (not fact.ranks, counted, -float(delta or 0) if counted else 0.0, number(fact.id))


def _states_fault(item: Evidence, graph: CausalGraph, vocabulary: Vocabulary) -> bool:
    named = [graph.facts[fact] for fact in item.firsts]
    return any(vocabulary[fact.kind].nature == "fault" and fact.adapter not in CONCLUDED for fact in named)


def _dated_faults(facts: Sequence[str], state: Fact, graph: CausalGraph, vocabulary: Vocabulary) -> list[str]:
    """Of some facts the dated faults of the rank of ``state``, in order; none where ``state`` is an event or dated."""
    if vocabulary[state.kind].nature != "state" or state.onset.known or not state.ranks:
        return []
    found = [
        fact
        for fact in facts
        if vocabulary[graph.facts[fact].kind].nature == "fault"
        and graph.facts[fact].onset.known
        and set(graph.facts[fact].ranks) & set(state.ranks)
    ]
    return sorted(found, key=lambda fact: _order(graph.facts[fact]))


def _setting(fact: Fact, vocabulary: Vocabulary) -> bool:
    return fact.kind == COMPARISON or vocabulary[fact.kind].nature == "config"
