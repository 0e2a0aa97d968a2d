"""Every cause of the fault tree has what a verdict needs: rules for and against, evidence, questions, and a way on."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pytest
import yaml

from engine.rules.model import EvidenceRule, Leaf, Text
from engine.rules.pack import Pack, load_packs

EXCEPTIONS = Path(__file__).parent / "leaf_exceptions.yaml"
OWNERS = ("algorithm", "platform", "host", "network")
HAN = re.compile(r"[\u4e00-\u9fff]")


@cache
def pack() -> Pack:
    return load_packs()


@cache
def exceptions() -> Mapping[str, Mapping[str, str]]:
    found: Mapping[str, Mapping[str, str]] = yaml.safe_load(EXCEPTIONS.read_text(encoding="utf-8"))
    return found


LEAVES = sorted(pack().leaves)
each_leaf = pytest.mark.parametrize("cause", LEAVES)


def rules_of(cause: str) -> list[EvidenceRule]:
    return [rule for rule in pack().evidence.values() if rule.cause == cause]


def supports(rule: EvidenceRule) -> bool:
    return rule.effect == "supports"


WANTED: Mapping[str, Callable[[EvidenceRule], bool]] = {
    "weakens": lambda rule: rule.effect == "weakens",
    "confirms": lambda rule: supports(rule) and rule.strength == "decisive" and rule.verified,
    "rules_out": lambda rule: rule.effect == "rules_out",
}


@each_leaf
def test_rules_speak_for_it(cause: str) -> None:
    assert any(supports(rule) for rule in rules_of(cause))


@pytest.mark.parametrize("wanted", sorted(WANTED))
@each_leaf
def test_rules_weaken_confirm_and_rule_it_out_where_evidence_can(cause: str, wanted: str) -> None:
    there = any(WANTED[wanted](rule) for rule in rules_of(cause))
    excused = cause in exceptions()[wanted]
    assert there or excused, f"no rule {wanted} {cause}: write one, or say in {EXCEPTIONS.name} why nothing can"
    assert not (there and excused), f"{EXCEPTIONS.name} excuses {cause} from {wanted}, and there is a rule"


def test_exceptions_name_causes_and_reasons() -> None:
    assert set(exceptions()) == set(WANTED)
    for causes in exceptions().values():
        assert set(causes) <= set(LEAVES)
        assert all(len(reason.split()) > 4 for reason in causes.values())


@each_leaf
def test_minimal_evidence_can_be_asked_for_and_collected(cause: str) -> None:
    leaf = pack().leaves[cause]
    kinds = [kind for kind, _ in leaf.minimal_evidence]
    asked = {question.asks_for for question in pack().questions}
    assert kinds
    assert asked.intersection(kinds), f"no question asks for any of {kinds}"
    uncollected = [kind for kind in kinds if pack().vocabulary[kind].collect is None]
    assert not uncollected, f"the vocabulary does not say how to collect {uncollected}"


@each_leaf
def test_somebody_can_go_on_from_it(cause: str) -> None:
    leaf = pack().leaves[cause]
    assert leaf.owner in OWNERS
    assert len(leaf.next_steps) >= 2
    assert leaf.rollback
    assert leaf.references


def texts_of(leaf: Leaf) -> list[Text]:
    told = [leaf.title, leaf.summary, leaf.handover, *leaf.next_steps, *leaf.rollback]
    return [*told, *(why for _, why in leaf.minimal_evidence)]


@each_leaf
def test_it_speaks_english_and_chinese(cause: str) -> None:
    reasons = [rule.reason for rule in rules_of(cause)]
    for text in [*texts_of(pack().leaves[cause]), *reasons]:
        assert text.en.strip()
        assert not HAN.search(text.en), text.en
        assert HAN.search(text.zh), text.zh
