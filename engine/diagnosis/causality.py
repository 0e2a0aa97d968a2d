"""The causal graph of one incident: which fact explains which, and what stands at the roots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from engine.facts.model import Fact
from engine.facts.vocabulary import Vocabulary
from engine.inference import Derived

ABNORMAL = ("fault", "symptom")


@dataclass(frozen=True, slots=True)
class Link:
    """``effect`` is a consequence of ``cause`` by a propagation rule; both are fact ids."""

    cause: str
    effect: str
    rule: str


@dataclass(frozen=True)
class CausalGraph:
    """Facts by id and the links between them."""

    facts: Mapping[str, Fact]
    links: tuple[Link, ...]
    causes: Mapping[str, tuple[Link, ...]]
    """Links by effect."""

    def explained(self, fact: str) -> bool:
        """Whether anything explains the fact."""
        return fact in self.causes

    def roots_of(self, fact: str) -> tuple[str, ...]:
        """The unexplained facts from which a chain of links leads to ``fact``; itself where nothing explains it.

        A loop of facts that explain one another counts as its own root.
        """
        found: set[str] = set()
        seen: set[str] = set()
        stack = [fact]
        while stack:
            current = stack.pop()
            if current in seen:
                continue
            seen.add(current)
            parents = [link.cause for link in self.causes.get(current, ())]
            if not parents:
                found.add(current)
            stack.extend(parents)
        return tuple(sorted(found or {fact}, key=number))

    def ancestors(self, fact: str) -> frozenset[str]:
        """Everything that leads to ``fact``, without itself."""
        seen: set[str] = set()
        stack = [link.cause for link in self.causes.get(fact, ())]
        while stack:
            current = stack.pop()
            if current not in seen:
                seen.add(current)
                stack.extend(link.cause for link in self.causes.get(current, ()))
        return frozenset(seen - {fact})


def number(fact_id: str) -> tuple[int, str]:
    """Sort key that orders f2 before f10."""
    return (int(fact_id[1:]), "") if fact_id[1:].isdigit() else (2**31, fact_id)


def build_graph(facts: Sequence[Fact], derived: Iterable[Derived]) -> CausalGraph:
    """The graph from the ``causal.explained`` facts that inference derived."""
    by_id = {fact.id: fact for fact in facts}
    links = {
        Link(str(item.fields["cause"]), str(item.fields["effect"]), str(item.fields["rule"]))
        for item in derived
        if item.kind == "causal.explained"
    }
    known = sorted(
        (link for link in links if link.cause in by_id and link.effect in by_id and link.cause != link.effect),
        key=lambda link: (number(link.effect), number(link.cause), link.rule),
    )
    causes: dict[str, list[Link]] = {}
    for link in known:
        causes.setdefault(link.effect, []).append(link)
    return CausalGraph(by_id, tuple(known), {effect: tuple(found) for effect, found in causes.items()})


def first_faults(graph: CausalGraph, vocabulary: Vocabulary) -> list[Fact]:
    """Abnormal facts of the incident that nothing explains: faults first, then symptoms, each by onset."""
    roots = [
        fact
        for fact in graph.facts.values()
        if fact.scope == "incident" and vocabulary[fact.kind].nature in ABNORMAL and not graph.explained(fact.id)
    ]
    return sorted(roots, key=lambda fact: (vocabulary[fact.kind].nature != "fault", number(fact.id)))
