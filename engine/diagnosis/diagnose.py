"""One incident: facts and rules in, a diagnosis out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from engine.diagnosis.causality import CausalGraph, build_graph, first_faults
from engine.diagnosis.first_fault import first_in
from engine.diagnosis.missing import missing_evidence
from engine.diagnosis.model import Consequence, Diagnosis, Hypothesis
from engine.diagnosis.phase import phase_at, phase_rules
from engine.diagnosis.priors import patterns_of, read_priors, reorder
from engine.diagnosis.scoring import build_hypotheses
from engine.diagnosis.suspects import find_suspects
from engine.diagnosis.verdict import reach_verdict
from engine.diagnosis.wording import fill
from engine.facts.manifest import Manifest
from engine.facts.model import Fact, Order, before
from engine.facts.timeline import Timeline
from engine.inference import Engine
from engine.rules.model import PropagationRule, Rule, Text
from engine.rules.pack import Pack, compile_rules

FALLBACK_OWNER = "platform"
"""Who collects the missing evidence where nothing points anywhere."""


def rules_of(pack: Pack) -> tuple[Rule, ...]:
    """The rules that the engine of :func:`diagnose` must evaluate."""
    return (*compile_rules(pack), *phase_rules(pack.profiles.get("phases", {})))


def diagnose(
    timeline: Timeline, manifest: Manifest, pack: Pack, engine: Engine, warnings: Sequence[str] = ()
) -> Diagnosis:
    """Infer, build the causal graph, score the causes and say what is missing."""
    inference = engine.run(timeline.facts, manifest.nodes)
    graph = build_graph(timeline.facts, inference.derived)
    hypotheses = build_hypotheses(
        inference.firings, pack.evidence, pack.leaves, graph, pack.vocabulary, manifest.window is not None
    )
    first = _first_fault(_top(hypotheses), graph, pack)
    hypotheses, notes = reorder(
        hypotheses,
        read_priors(pack.profiles.get("priors", {})),
        phase_at(first, inference.firings, graph.facts, None),
        patterns_of(timeline.facts),
    )
    top = _top(hypotheses)
    first = _first_fault(top, graph, pack)
    phase = phase_at(first, inference.firings, graph.facts, top.leaf.phase if top else None)
    verdict = reach_verdict(hypotheses, timeline.facts, phase, FALLBACK_OWNER, pack.vocabulary, manifest.title)
    if verdict.outcome == "no_fault":
        verdict = replace(verdict, phase=phase_at(None, inference.firings, graph.facts, None))
    questions = {question.asks_for: question.id for question in pack.questions}
    missing = missing_evidence(hypotheses, pack.leaves, timeline.facts, pack.vocabulary, manifest, questions)
    judged = {item.id for item in hypotheses}
    return Diagnosis(
        manifest=manifest,
        verdict=verdict,
        first_fault=None if verdict.outcome == "no_fault" else first,
        suspects=()
        if verdict.outcome == "no_fault"
        else find_suspects(top, first, inference, pack.evidence, graph, timeline.waits),
        hypotheses=tuple(hypotheses),
        undetermined=tuple(sorted(cause for cause in pack.leaves if cause not in judged)),
        consequences=_consequences(graph, pack.propagation),
        missing=missing,
        facts=graph.facts,
        assumptions=(*timeline.assumptions, *notes),
        warnings=(*warnings, *timeline.warnings),
        pack=(pack.name, pack.version, pack.hash),
        backend=f"{inference.backend} {inference.version}".strip(),
        backend_note=inference.note,
        waits=timeline.waits,
    )


def _top(hypotheses: Sequence[Hypothesis]) -> Hypothesis | None:
    return next((item for item in hypotheses if item.status != "ruled_out" and item.support), None)


def _first_fault(top: Hypothesis | None, graph: CausalGraph, pack: Pack) -> Fact | None:
    """The root behind the best hypothesis' earliest fact, else the first unexplained abnormal fact.

    What was concluded from dumps bears no time: it is the root only where nothing dated shows the same. Of one event
    that one file tells twice, the line that certainly stands first is taken. A root further down in the same file, and
    not certainly earlier, is not what came first.
    """
    if top is not None and top.first is not None:
        own = {fact for item in top.support for fact in item.facts}
        roots = [root for root in graph.roots_of(top.first) if root in own]
        earliest = graph.facts[top.first]
        if earliest.onset.known:
            roots = [root for root in roots if graph.facts[root].onset.known]
        roots = [root for root in roots if not _retold(earliest, graph.facts[root])]
        return graph.facts[first_in([roots[0], top.first], graph) if roots else top.first]
    roots_of_all = first_faults(graph, pack.vocabulary)
    alike = [fact.id for fact in roots_of_all if _nature(fact, pack) == _nature(roots_of_all[0], pack)]
    return graph.facts[first_in(alike, graph)] if alike else None


def _retold(earliest: Fact, root: Fact) -> bool:
    """Whether ``root`` certainly begins below ``earliest`` in one file, so that it names the same event later."""
    return root.source.path == earliest.source.path and before(earliest, root) is Order.YES


def _nature(fact: Fact, pack: Pack) -> str:
    return pack.vocabulary[fact.kind].nature


def _consequences(graph: CausalGraph, rules: Mapping[str, PropagationRule]) -> tuple[Consequence, ...]:
    found: list[Consequence] = []
    for link in graph.links:
        rule = rules.get(link.rule)
        sides = {"cause": graph.facts[link.cause], "effect": graph.facts[link.effect]}
        reason = fill(rule.reason, sides) if rule is not None else Text(link.rule, link.rule)
        found.append(Consequence(link.effect, link.cause, link.rule, reason))
    return tuple(found)
