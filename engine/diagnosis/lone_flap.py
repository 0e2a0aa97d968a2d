"""A single loss of a link that hurt nobody: it names no cause for an incident in which no job shows a symptom."""

from __future__ import annotations

from collections.abc import Sequence

from engine.diagnosis.model import Hypothesis
from engine.facts.model import Fact
from engine.facts.vocabulary import Vocabulary

DOWNS = ("nic.link_down", "nic.bond_event", "switch.port_down")
FLAP = (*DOWNS, "nic.link_up", "nic.bond_restored", "switch.port_up", "switch.attached", "switch.trunk")
"""Kinds that say no more than that a link went down and came up, and where it leads."""

UPS = ("nic.link_up", "nic.bond_restored", "switch.port_up")
NETWORK = ("nic", "switch")


def rests_on_lone_flap(cause: Hypothesis, facts: Sequence[Fact], vocabulary: Vocabulary) -> bool:
    """Whether a network cause rests on one down and up of a link alone while nothing of a job or its library failed."""
    if cause.leaf.branch not in NETWORK:
        return False
    own = [fact for fact in facts if fact.scope == "incident"]
    if any(_job_failed(fact, vocabulary) for fact in own):
        return False
    used = {number for item in cause.support if item.counted for number in item.facts}
    bound = [fact for fact in own if fact.id in used]
    downs = [sum(fact.count for fact in own if fact.kind == kind) for kind in DOWNS]
    returned = any(fact.kind in UPS for fact in own)
    return returned and max(downs) == 1 and all(fact.kind in FLAP for fact in bound)


def _job_failed(fact: Fact, vocabulary: Vocabulary) -> bool:
    spec = vocabulary[fact.kind]
    return spec.branch in ("job", "comm") and spec.nature in ("fault", "symptom")
