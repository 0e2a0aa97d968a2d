"""Listings of the knowledge for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engine.facts.vocabulary import Vocabulary
from engine.report.words import branch_word, word
from engine.rules.describe import condition_text
from engine.rules.model import AnyCondition, Condition, EvidenceRule, Leaf, PropagationRule, Text
from engine.rules.pack import Pack


def list_knowledge(pack: Pack, branch: str | None, language: str) -> Iterable[str]:
    """Causes with their evidence rules, then the propagations."""
    for leaf in pack.leaves.values():
        if branch in (None, leaf.branch):
            yield f"{leaf.id:<34} {word(language, leaf.owner):<10} {_say(leaf.title, language)}"
            for rule in _rules_of(leaf, pack):
                yield f"    {rule.effect:<10} {rule.strength:<9} {rule.id}"
    if branch is None:
        yield ""
        for propagation in pack.propagation.values():
            yield f"{propagation.id:<44} {_say(propagation.reason, language)}"


def list_vocabulary(vocabulary: Vocabulary, search: str, language: str) -> Iterable[str]:
    """Fact kinds with nature, meaning and fields."""
    for kind in sorted(vocabulary.kinds):
        spec = vocabulary[kind]
        meaning = spec.meaning_zh if language == "zh" else spec.meaning_en
        if search.lower() in f"{kind} {meaning}".lower():
            fields = ", ".join(f"{name}:{field.type}" for name, field in spec.fields.items())
            yield f"{kind:<34} {spec.nature:<9} {meaning}{f'  ({fields})' if fields else ''}"


def describe(target: str, pack: Pack, language: str) -> Sequence[str] | None:
    """A cause, an evidence rule or a propagation in full; ``None`` where there is none of that id."""
    leaf = pack.leaves.get(target)
    if leaf is not None:
        return list(_leaf(leaf, pack, language))
    rule = pack.rule(target)
    if isinstance(rule, EvidenceRule):
        head = f"{rule.id}: {rule.effect}, {rule.strength}, group {rule.group}"
        return [head, f"  {_say(rule.reason, language)}", *_conditions(rule.when), f"  {_place(rule)}"]
    if rule is not None:
        return [rule.id, f"  {_say(rule.reason, language)}", *_conditions(rule.when), f"  {_place(rule)}"]
    return None


def _leaf(leaf: Leaf, pack: Pack, language: str) -> Iterable[str]:
    yield f"{leaf.id}: {_say(leaf.title, language)}"
    yield f"  {branch_word(language, leaf.branch)}, {word(language, 'owner')}: {word(language, leaf.owner)}"
    yield f"  {_say(leaf.summary, language)}"
    for kind, why in leaf.minimal_evidence:
        yield f"  {word(language, 'evidence')}: {kind}: {_say(why, language)}"
    for rule in _rules_of(leaf, pack):
        yield f"  {rule.effect} ({rule.strength}) {rule.id}: {_say(rule.reason, language)}"
    for key, steps in (("next_steps", leaf.next_steps), ("rollback", leaf.rollback)):
        yield from (f"  {word(language, key)}: {_say(step, language)}" for step in steps)
    yield f"  {word(language, 'handover')}: {_say(leaf.handover, language)}"
    yield from (f"  {word(language, 'references')}: {reference}" for reference in leaf.references)


def _rules_of(leaf: Leaf, pack: Pack) -> list[EvidenceRule]:
    return [rule for rule in pack.evidence.values() if rule.cause == leaf.id]


def _conditions(when: Iterable[Condition], indent: str = "  ") -> Iterable[str]:
    for condition in when:
        if isinstance(condition, AnyCondition):
            yield f"{indent}any of"
            for branch in condition.branches:
                yield f"{indent}  -"
                yield from _conditions(branch, indent + "    ")
        else:
            yield f"{indent}{condition_text(condition)}"


def _place(rule: EvidenceRule | PropagationRule) -> str:
    return f"{rule.place.path}:{rule.place.line}"


def _say(text: Text, language: str) -> str:
    return text.zh if language == "zh" else text.en
