"""Why a cause was found or why not: each rule with its conditions, each fact with what explains it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engine.diagnosis.model import Diagnosis, Evidence, Hypothesis
from engine.facts.model import Fact
from engine.inference import infer
from engine.report.contract import iso
from engine.report.words import word
from engine.rules.model import EvidenceRule, PropagationRule, Rule, Text
from engine.rules.pack import Pack, compile_propagation
from engine.rules.try_rule import render_trial, try_rule


def explain(target: str, diagnosis: Diagnosis, pack: Pack, language: str) -> list[str] | None:
    """Lines that explain a cause, a rule or a fact; ``None`` where ``target`` is none of them."""
    if target in diagnosis.facts:
        return list(_fact(diagnosis.facts[target], diagnosis, language))
    if target in pack.leaves:
        return list(_cause(target, diagnosis, pack, language))
    rule = pack.rule(target)
    return list(_rule(rule, diagnosis, pack)) if rule is not None else None


def _say(text: Text, language: str) -> str:
    return text.zh if language == "zh" else text.en


def _cause(cause: str, diagnosis: Diagnosis, pack: Pack, language: str) -> Iterable[str]:
    leaf = pack.leaves[cause]
    found = next((item for item in diagnosis.hypotheses if item.id == cause), None)
    status = word(language, found.status if found else "undetermined")
    score = f" {found.score:+.1f} (prior {leaf.prior:+.1f})" if found else ""
    yield f"{cause}: {_say(leaf.title, language)}: {status}{score}"
    if found:
        yield from _why(found, diagnosis, language)
    fired = {item.rule for item in (*found.support, *found.against)} if found else set()
    rules = [rule for rule in pack.evidence.values() if rule.cause == cause]
    for rule in rules:
        if rule.id not in fired:
            yield from (f"  {line}" for line in _rule(rule, diagnosis, pack))
    for kind, why in leaf.minimal_evidence:
        present = any(fact.kind == kind and fact.scope == "incident" for fact in diagnosis.facts.values())
        yield f"  {'✓' if present else '-'} {kind}: {_say(why, language)}"


def _why(found: Hypothesis, diagnosis: Diagnosis, language: str) -> Iterable[str]:
    for part, items in (("for", found.support), ("against", found.against)):
        for item in items:
            yield f"  {word(language, part)}: {_say(item.reason, language)}  [{item.rule}, {item.strength}]"
            yield from _basis(item, diagnosis, language)


def _basis(item: Evidence, diagnosis: Diagnosis, language: str) -> Iterable[str]:
    if not item.counted:
        yield "      a stronger rule of the same group already counts"
    if item.explained_by:
        yield f"      {word(language, 'consequence_of')} {_brief(diagnosis.facts[item.explained_by])}"
    for fact in item.facts:
        yield f"      {_brief(diagnosis.facts[fact])}"


def _brief(fact: Fact) -> str:
    where = f" {fact.host}" if fact.host else ""
    rank = f" rank {fact.rank}" if fact.rank is not None else ""
    return f"{fact.id} {fact.kind}{where}{rank} {iso(fact.onset.earliest) or ''} {fact.source.path}:{fact.source.line}"


def _rule(rule: EvidenceRule | PropagationRule, diagnosis: Diagnosis, pack: Pack) -> Sequence[str]:
    context: list[Rule] = [rule for item in pack.propagation.values() for rule in compile_propagation(item)]
    trial = try_rule(rule, tuple(diagnosis.facts.values()), pack.vocabulary, infer, context)
    return render_trial(trial)


def _fact(fact: Fact, diagnosis: Diagnosis, language: str) -> Iterable[str]:
    yield _brief(fact)
    yield f"  {fact.source.text}"
    fields = ", ".join(f"{name}={fact.fields[name]}" for name in sorted(fact.fields))
    if fields:
        yield f"  {fields}"
    yield f"  onset {iso(fact.onset.earliest)} .. {iso(fact.onset.latest)}, clock {fact.clock}, scope {fact.scope}"
    yield from (f"  assumed: {note}" for note in fact.assumptions)
    yield from (f"  {name} read as: {read or '-'}" for name, read in sorted((fact.as_read or {}).items()))
    for item in diagnosis.consequences:
        if item.fact == fact.id:
            yield f"  because of {_brief(diagnosis.facts[item.cause])}: {_say(item.reason, language)} [{item.rule}]"
        elif item.cause == fact.id:
            yield f"  leads to {_brief(diagnosis.facts[item.fact])} [{item.rule}]"
    for found in diagnosis.hypotheses:
        for evidence in (*found.support, *found.against):
            if fact.id in evidence.facts:
                yield f"  speaks in {evidence.rule} ({found.id}, {word(language, found.status)})"
