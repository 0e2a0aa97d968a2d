"""One incident: facts and rules in, a diagnosis out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.diagnosis.causality import CausalGraph, build_graph, first_faults
from engine.diagnosis.missing import missing_evidence
from engine.diagnosis.model import Consequence, Diagnosis, Hypothesis, Suspect
from engine.diagnosis.phase import phase_at, phase_rules
from engine.diagnosis.scoring import build_hypotheses
from engine.diagnosis.verdict import reach_verdict
from engine.diagnosis.wording import fill
from engine.facts.manifest import Manifest
from engine.facts.model import Fact
from engine.facts.timeline import Timeline
from engine.inference import Engine, Inference
from engine.rules.model import EvidenceRule, PropagationRule, Rule, Text
from engine.rules.pack import Pack, compile_rules

SUSPECT_RANKS = 8
"""More ranks than this in one fact name nobody."""

FALLBACK_OWNER = "platform"
"""Who collects the missing evidence where nothing points anywhere."""


def rules_of(pack: Pack) -> tuple[Rule, ...]:
    """The rules that the engine of :func:`diagnose` must evaluate."""
    return (*compile_rules(pack), *phase_rules(pack.profiles.get("phases", {})))


def diagnose(
    timeline: Timeline, manifest: Manifest, pack: Pack, engine: Engine, warnings: Sequence[str] = ()
) -> Diagnosis:
    """Infer, build the causal graph, score the causes and say what is missing."""
    inference = engine.run(timeline.facts)
    graph = build_graph(timeline.facts, inference.derived)
    hypotheses = build_hypotheses(inference.firings, pack.evidence, pack.leaves, graph, pack.vocabulary)
    top = next((item for item in hypotheses if item.status != "ruled_out" and item.support), None)
    first = _first_fault(top, graph, pack)
    phase = phase_at(first, inference.firings, graph.facts, top.leaf.phase if top else None)
    verdict = reach_verdict(hypotheses, timeline.facts, phase, {"fallback": FALLBACK_OWNER})
    questions = {question.asks_for: question.id for question in pack.questions}
    missing = missing_evidence(hypotheses, pack.leaves, timeline.facts, pack.vocabulary, manifest, questions)
    judged = {item.id for item in hypotheses}
    return Diagnosis(
        manifest=manifest,
        verdict=verdict,
        first_fault=None if verdict.outcome == "no_fault" else first,
        suspects=() if verdict.outcome == "no_fault" else _suspects(top, inference, pack.evidence, graph),
        hypotheses=tuple(hypotheses),
        undetermined=tuple(sorted(cause for cause in pack.leaves if cause not in judged)),
        consequences=_consequences(graph, pack.propagation),
        missing=missing,
        facts=graph.facts,
        assumptions=timeline.assumptions,
        warnings=(*warnings, *timeline.warnings),
        pack=(pack.name, pack.version, pack.hash),
        backend=f"{inference.backend} {inference.version}".strip(),
        backend_note=inference.note,
    )


def _first_fault(top: Hypothesis | None, graph: CausalGraph, pack: Pack) -> Fact | None:
    """The root behind the best hypothesis' earliest fact, else the first unexplained abnormal fact."""
    if top is not None and top.first is not None:
        own = {fact for item in top.support for fact in item.facts}
        roots = [root for root in graph.roots_of(top.first) if root in own]
        return graph.facts[roots[0] if roots else top.first]
    roots_of_all = first_faults(graph, pack.vocabulary)
    return roots_of_all[0] if roots_of_all else None


def _consequences(graph: CausalGraph, rules: Mapping[str, PropagationRule]) -> tuple[Consequence, ...]:
    found: list[Consequence] = []
    for link in graph.links:
        rule = rules.get(link.rule)
        sides = {"cause": graph.facts[link.cause], "effect": graph.facts[link.effect]}
        reason = fill(rule.reason, sides) if rule is not None else Text(link.rule, link.rule)
        found.append(Consequence(link.effect, link.cause, link.rule, reason))
    return tuple(found)


def _suspects(
    top: Hypothesis | None, inference: Inference, rules: Mapping[str, EvidenceRule], graph: CausalGraph
) -> tuple[Suspect, ...]:
    """Whom the rules of the best hypothesis name, each once, in the order of their weight."""
    if top is None:
        return _silent(graph)
    order = {item.rule: position for position, item in enumerate(top.support) if item.explained_by is None}
    found: dict[tuple[int | None, str | None, str | None, str | None], Suspect] = {}
    for firing in sorted(inference.firings, key=lambda firing: (order.get(firing.rule_id, 0), firing.bindings)):
        rule = rules.get(firing.rule_id)
        if rule is None or firing.rule_id not in order:
            continue
        facts = {alias: graph.facts[fact] for alias, fact in firing.bindings if fact in graph.facts}
        why = fill(rule.reason, facts)
        for suspect in _named(rule, facts, why):
            found.setdefault((suspect.rank, suspect.host, suspect.device, suspect.port), suspect)
    return _most_specific(list(found.values())) or _silent(graph)


def _most_specific(suspects: Sequence[Suspect]) -> tuple[Suspect, ...]:
    """Leave out what another suspect says more precisely: a host beside a rank on it, a rank beside the same with host."""
    return tuple(item for item in suspects if not any(_covers(other, item) for other in suspects))


def _covers(other: Suspect, item: Suspect) -> bool:
    pairs = [(getattr(other, name), getattr(item, name)) for name in ("rank", "host", "device", "port")]
    return all(mine is None or mine == theirs for theirs, mine in pairs) and any(
        mine is None and theirs is not None for theirs, mine in pairs
    )


def _named(rule: EvidenceRule, facts: Mapping[str, Fact], why: Text) -> list[Suspect]:
    named: list[Suspect] = []
    for alias in dict.fromkeys(alias for alias, _ in rule.suspects):
        fact = facts.get(alias)
        if fact is None:
            continue
        fields = [name for other, name in rule.suspects if other == alias]
        host = fact.host if "host" in fields else fact.peer if "peer" in fields else None
        device = fact.device if "device" in fields else None
        port = fact.port if "port" in fields else None
        ranks: list[int | None] = [None]
        if "rank" in fields and 0 < len(fact.ranks) <= SUSPECT_RANKS:
            ranks = list(fact.ranks)
        named.extend(
            Suspect(rank, host, device, port, why) for rank in ranks if (rank, host, device, port) != (None,) * 4
        )
    return named


def _silent(graph: CausalGraph) -> tuple[Suspect, ...]:
    """Where nothing points to a cause, the ranks that did not report are the suspects."""
    why = Text(
        "Its log is there but it does not report what the others report", "其日志存在,但没有上报其他进程都上报的内容"
    )
    silent = [fact for fact in graph.facts.values() if fact.kind == "comm.rank_silent" and fact.scope == "incident"]
    return tuple(Suspect(rank, fact.host, None, None, why) for fact in silent for rank in fact.ranks)
