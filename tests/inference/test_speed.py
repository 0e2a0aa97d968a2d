"""Bounds on time and memory, wide enough for a busy machine."""

from __future__ import annotations

import random
import resource
import time
from pathlib import Path

import pytest

from engine.facts.model import Fact
from engine.facts.vocabulary import Vocabulary
from engine.inference import Engine
from engine.rules.model import AbsentCondition, Rule, Test
from tests.inference.building import coverage, fact, joined, rule, spec, want

KINDS = 60
VOCABULARY = Vocabulary(
    {f"host.k{n}": spec(f"host.k{n}", absence="kernel_log", pid="int", state="str") for n in range(KINDS)}
    | {"coverage.source": spec("coverage.source", "coverage", **{"class": "str"})}
)


def rules(number: int) -> list[Rule]:
    """Two or three facts on one host in order and near, every fifth with an absence."""
    chosen = random.Random(1)
    made: list[Rule] = []
    for place in range(number):
        first, second, third = (f"host.k{n}" for n in chosen.sample(range(KINDS), 3))
        when = [want(first), want(second, "b", same={"host": "a.host"}, after=["a"], within={"a": 60})]
        if place % 3 == 0:
            when.append(
                want(third, "c", Test("state", "in", ("x", "y")), same={"host": "a.host"}, differ={"pid": "b.pid"})
            )
        absence = [AbsentCondition(third, "a", joins=joined({"host": "a.host"}))] if place % 5 == 1 else []
        made.append(rule(*when, *absence, rule_id=f"r{place:03}"))
    return made


def incident(number: int, seed: int = 1) -> list[Fact]:
    chosen = random.Random(seed)
    facts = [coverage(f"c{n}", "kernel_log", 0, 3600, host=f"n{n}") for n in range(50)]
    for place in range(number):
        kind = f"host.k{chosen.randrange(KINDS)}"
        host = f"n{chosen.randrange(50)}"
        at = chosen.randrange(3600)
        facts.append(fact(f"f{place}", kind, at, host=host, pid=chosen.randrange(9), state=chosen.choice("xyz")))
    return facts


def test_the_reference_takes_2000_facts_and_300_rules() -> None:
    facts = incident(2000)
    with Engine(rules(300), VOCABULARY, "reference") as engine:
        start = time.process_time()
        found = engine.run(facts)
        took = time.process_time() - start
    assert len(found.firings) > 50
    assert not found.note
    assert took < 1.0, f"{took:.2f} s; about 0.1 s on an idle machine"


def resident() -> float:
    """Megabytes of this process in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_durable_rules_takes_many_incidents_without_growing() -> None:
    pytest.importorskip("engine.inference.durable")
    incidents = [incident(100, seed) for seed in range(20)]
    with Engine(rules(100), VOCABULARY) as engine:
        for facts in incidents:
            assert engine.run(facts).backend == "durable"
        before, start = resident(), time.process_time()
        for _ in range(10):
            for facts in incidents:
                engine.run(facts)
        took, grown = time.process_time() - start, resident() - before
    assert grown < 20, f"{grown:.1f} MB"
    assert took < 20, f"{took:.1f} s for 200 incidents"


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_engines_give_back_what_they_took() -> None:
    pytest.importorskip("engine.inference.durable")
    facts = incident(100)
    some = rules(60)

    def used() -> None:
        with Engine(some, VOCABULARY) as engine:
            engine.run(facts)

    for _ in range(5):
        used()
    before = resident()
    for _ in range(20):
        used()
    assert resident() - before < 20
