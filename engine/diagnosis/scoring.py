"""From fired rules to hypotheses: log-odds with one weight per group of dependent evidence, then a status."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from engine.diagnosis.causality import CausalGraph, number
from engine.diagnosis.first_fault import first_of
from engine.diagnosis.model import Evidence, Hypothesis, Status
from engine.diagnosis.wording import fill
from engine.facts.model import Fact, Order, before
from engine.facts.vocabulary import Vocabulary
from engine.inference import Firing
from engine.rules.model import EvidenceRule, Leaf, Strength

WEIGHTS: Mapping[Strength, float] = {"decisive": 6.0, "strong": 3.5, "moderate": 2.0, "weak": 0.8}
"""Log-odds of the words that rule authors use."""

LIKELY = 0.4
CONFIRMED = 1.5
EARLIER_BONUS = 0.5
CONSEQUENCE_SHARE = 0.1
"""What is left of a support whose facts are consequences of another cause."""


def probability(score: float) -> float:
    """The probability that a log-odds score stands for."""
    return 1.0 / (1.0 + math.exp(-score))


def build_hypotheses(
    firings: Sequence[Firing],
    rules: Mapping[str, EvidenceRule],
    leaves: Mapping[str, Leaf],
    graph: CausalGraph,
    vocabulary: Vocabulary,
    windowed: bool = False,
) -> list[Hypothesis]:
    """All causes that something supports or rules out, best first; what is only weakened stays undetermined.

    ``windowed`` says that the incident has a window: a host, NIC or switch event that nothing dates may then be from
    another day, so it confirms nothing and weighs no more than strong evidence.
    """
    fired: dict[str, list[tuple[EvidenceRule, Firing]]] = defaultdict(list)
    for firing in firings:
        rule = rules.get(firing.rule_id)
        if rule is not None:
            fired[rule.cause].append((rule, firing))
    ground = _Ground(graph, vocabulary, windowed)
    found = [_hypothesis(leaves[cause], items, ground) for cause, items in sorted(fired.items()) if cause in leaves]
    return rank(_prefer_earlier([item for item in found if item.support or item.status == "ruled_out"], graph))


@dataclass(frozen=True, slots=True)
class _Ground:
    """What all evidence is judged on."""

    graph: CausalGraph
    vocabulary: Vocabulary
    windowed: bool

    def is_fault(self, fact: Fact) -> bool:
        return self.vocabulary[fact.kind].nature == "fault"

    def undated(self, fact: Fact) -> bool:
        """Whether the fact may lie outside the incident's window for all that is known.

        Samples of counters are taken around an incident, and a kernel log without boot time is the one of its host.
        """
        spec = self.vocabulary[fact.kind]
        event = spec.nature in ("fault", "symptom") and spec.branch in ("host", "nic", "switch")
        bracketed = "counter" in fact.fields or fact.clock.startswith("boot:")
        return self.windowed and event and not fact.onset.known and not bracketed


def rank(hypotheses: Iterable[Hypothesis]) -> list[Hypothesis]:
    """Best first: ruled-out ones last, then by score, then by id."""
    return sorted(hypotheses, key=lambda item: (item.status == "ruled_out", -item.score, item.id))


def _hypothesis(leaf: Leaf, items: Sequence[tuple[EvidenceRule, Firing]], ground: _Ground) -> Hypothesis:
    own = {fact for rule, firing in items if rule.effect == "supports" for _, fact in firing.bindings}
    support = _counted(
        (rule.group, _evidence(rule, firing, ground, own)) for rule, firing in items if rule.effect == "supports"
    )
    against = _counted(
        (rule.group, _evidence(rule, firing, ground, None)) for rule, firing in items if rule.effect != "supports"
    )
    ruled_out = _ruled_out(items, ground, own)
    score = leaf.prior + sum(item.weight for item in support if item.counted)
    score -= sum(item.weight for item in against if item.counted)
    standing = [item for item in support if item.explained_by is None]
    consequence = None if standing or not support else support[0].explained_by
    return Hypothesis(
        leaf=leaf,
        status="ruled_out" if ruled_out else _status(score, leaf, standing),
        score=score,
        support=support,
        against=against,
        first=first_of(support, ground.graph, ground.vocabulary),
        consequence_of=consequence,
    )


def _ruled_out(items: Sequence[tuple[EvidenceRule, Firing]], ground: _Ground, own: set[str]) -> bool:
    """Whether a rule rules the cause out and no decisive evidence of other facts stands against that.

    What rules out speaks of the facts that it binds: a kill that was seen remains one although another log is silent.
    """
    denied = [{fact for _, fact in firing.bindings} for rule, firing in items if rule.effect == "rules_out"]
    if not denied:
        return False
    spoken_of = frozenset().union(*denied)
    return all(
        spoken_of.intersection(fact for _, fact in firing.bindings)
        for rule, firing in items
        if rule.effect == "supports" and rule.strength == "decisive"
        if _is_decisive(_evidence(rule, firing, ground, own))
    )


def _is_decisive(item: Evidence) -> bool:
    return item.strength == "decisive" and item.verified and item.timed and item.explained_by is None


def _status(score: float, leaf: Leaf, standing: Sequence[Evidence]) -> Status:
    decisive = any(_is_decisive(item) for item in standing)
    if decisive and score >= CONFIRMED:
        return "confirmed"
    if score >= LIKELY:
        return "likely"
    return "possible" if standing and score > leaf.prior else "undetermined"


def _evidence(rule: EvidenceRule, firing: Firing, ground: _Ground, own: set[str] | None) -> Evidence:
    facts = {alias: ground.graph.facts[fact] for alias, fact in firing.bindings if fact in ground.graph.facts}
    first = facts.get(rule.first) if rule.first else None
    explained_by = None if own is None else _explained_elsewhere(first, facts.values(), ground, own)
    timed = first is None or not ground.undated(first)
    weight = WEIGHTS[rule.strength] if timed else min(WEIGHTS[rule.strength], WEIGHTS["strong"])
    return Evidence(
        rule=rule.id,
        strength=rule.strength,
        reason=fill(rule.reason, facts),
        facts=tuple(sorted({fact.id for fact in facts.values()}, key=number)),
        weight=weight if explained_by is None else weight * CONSEQUENCE_SHARE,
        firsts=(first.id,) if first is not None else (),
        verified=rule.verified and all(fact.fields.get("verified") is not False for fact in facts.values()),
        timed=timed,
        explained_by=explained_by,
    )


def _explained_elsewhere(first: Fact | None, bound: Iterable[Fact], ground: _Ground, own: set[str]) -> str | None:
    """The earlier fact, outside this hypothesis, of which the evidence is a consequence; ``None`` where it stands."""
    watched = [first] if first is not None else [fact for fact in bound if ground.is_fault(fact)]
    outside: list[str] = []
    for fact in watched:
        roots = [root for root in ground.graph.roots_of(fact.id) if root != fact.id]
        if not roots or ground.graph.ancestors(fact.id) & own:
            return None
        outside.extend(roots)
    return min(outside, key=number) if outside else None


def _counted(items: Iterable[tuple[str, Evidence]]) -> tuple[Evidence, ...]:
    """One entry a rule, in the words of its strongest firing; of the rules of one group only the strongest counts."""
    by_rule: dict[str, list[tuple[str, Evidence]]] = defaultdict(list)
    for group, item in sorted(items, key=lambda pair: _strength_order(pair[1])):
        by_rule[item.rule].append((group, item))
    spoken: set[str] = set()
    result: list[Evidence] = []
    for firings in by_rule.values():
        group, best = firings[0]
        alike = [item for _, item in firings if (item.explained_by is None) is (best.explained_by is None)]
        facts = tuple(sorted({fact for item in alike for fact in item.facts}, key=number))
        firsts = tuple(sorted({fact for item in alike for fact in item.firsts}, key=number))
        result.append(replace(best, facts=facts, firsts=firsts, counted=group not in spoken))
        spoken.add(group)
    return tuple(result)


def _strength_order(item: Evidence) -> tuple[float, tuple[int, str], str]:
    return (-item.weight, number((*item.firsts, *item.facts, "f0")[0]), item.rule)


def _prefer_earlier(hypotheses: Sequence[Hypothesis], graph: CausalGraph) -> list[Hypothesis]:
    """Between failures of different kinds the certainly earlier one gains a little."""
    strong = [item for item in hypotheses if item.status in ("confirmed", "likely") and item.first]
    result: list[Hypothesis] = []
    for item in hypotheses:
        others = [other for other in strong if other.id != item.id]
        if item in strong and others and all(_precedes(item, other, graph) for other in others):
            item = replace(item, score=item.score + EARLIER_BONUS)
        result.append(item)
    return result


def _precedes(item: Hypothesis, other: Hypothesis, graph: CausalGraph) -> bool:
    if item.first is None or other.first is None or item.first == other.first:
        return False
    return before(graph.facts[item.first], graph.facts[other.first]) is Order.YES
