"""A lone flap names no cause; with a symptom of the job, or more than once, it may."""

from __future__ import annotations

import pytest

from engine.diagnosis.lone_flap import rests_on_lone_flap
from engine.diagnosis.model import Evidence, Hypothesis
from engine.facts.model import Fact, Source
from engine.rules.pack import load_packs

PACK = load_packs()


def _fact(number: int, kind: str, count: int = 1) -> Fact:
    return Fact(f"f{number}", kind, {}, Source("dmesg.txt", number, ""), host="n1", device="eth2", count=count)


def _flap(*more: Fact, downs: int = 1) -> bool:
    facts = [_fact(1, "nic.link_down", downs), _fact(2, "nic.link_up"), *more]
    leaf = PACK.leaves["nic.link-flap"]
    reason = leaf.title
    support = Evidence("nic.link-flap/down-then-up", "strong", reason, ("f1", "f2"), 3.5)
    cause = Hypothesis(leaf, "likely", 1.5, (support,), ())
    return rests_on_lone_flap(cause, facts, PACK.vocabulary)


@pytest.mark.parametrize("kind", ["comm.collective_timeout", "job.exception"])
def test_symptom_of_the_job_lets_a_flap_be_the_cause(kind: str) -> None:
    assert _flap()
    assert not _flap(_fact(3, kind))


def test_many_flaps_are_not_lone() -> None:
    assert not _flap(downs=4)
