"""The match table of one rule."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from engine.inference import infer
from engine.rules.examples import facts_of
from engine.rules.model import Rule
from engine.rules.pack import Pack, compile_propagation, load_packs
from engine.rules.try_rule import Trial, try_rule

KILL = {"kind": "host.oom_kill", "at": 0, "host": "n1", "extent": "memcg", "process": "python"}
EXIT = {"kind": "job.process_exit", "at": 3, "host": "n1", "rank": 2, "signal": 9}
COVERED = {"kind": "coverage.source", "class": "scheduler", "from": -100, "to": 100}


@pytest.fixture(scope="module")
def pack() -> Pack:
    return load_packs(builtin=Path(__file__).resolve().parent / "pack")


def tried(pack: Pack, rule_id: str, *facts: dict[str, Any], context: Sequence[Rule] = ()) -> Trial:
    rule = pack.rule(rule_id)
    assert rule is not None
    return try_rule(rule, facts_of(facts, pack.vocabulary), pack.vocabulary, infer, context)


def why(trial: Trial) -> str:
    (failed,) = [attempt for attempt in trial.attempts if attempt.status == "fails"]
    return "; ".join(failed.why)


RULE = "host.oom-kill/kernel-killed-rank"


def test_fires(pack: Pack) -> None:
    trial = tried(pack, RULE, KILL, EXIT, COVERED)
    assert trial.fires
    assert [attempt.status for attempt in trial.attempts] == ["holds"] * 3


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ([EXIT], "there is no host.oom_kill"),
        ([{**KILL, "scope": "other_run"}], "there is no host.oom_kill in the incident (1 outside its window"),
        ([{**KILL, "process": "sshd"}], "process none of sshd, slurmd: it is sshd"),
        ([{"kind": "host.oom_kill"}], "extent = memcg: it is not known; process none of sshd, slurmd: it is not known"),
        ([KILL, {**EXIT, "host": "n2"}], "host = kill.host: it is n2, kill.host is n1"),
        ([KILL, {**EXIT, "at": -3}], "after kill: it is not"),
        ([KILL, {**EXIT, "at": "unknown"}], "after kill: the clocks cannot tell"),
        ([KILL, {**EXIT, "at": 500}], "within 120 s of kill: it is at least 500 s away"),
        ([KILL, EXIT, {"kind": "job.cancelled", "at": -1}, COVERED], "it is there"),
        ([KILL, EXIT, {**COVERED, "to": -50}], "no source of class scheduler covers kill"),
    ],
)
def test_what_failed(pack: Pack, facts: list[dict[str, Any]], expected: str) -> None:
    trial = tried(pack, RULE, *facts)
    assert not trial.fires
    assert expected in why(trial)


def test_nearest_fact_is_the_one_with_least_wrong(pack: Pack) -> None:
    trial = tried(pack, RULE, KILL, {**EXIT, "signal": 15, "host": "n2"}, {**EXIT, "signal": 11})
    assert "signal=11" in trial.attempts[1].near[0]


def test_count_any_and_unexplained(pack: Pack) -> None:
    rule = "host.oom-kill/symptoms-follow"
    closed = {"kind": "comm.peer_closed", "at": 5, "host": "n2"}
    assert "no branch holds" in why(tried(pack, rule, KILL))
    assert "there is no job.process_exit" in why(tried(pack, rule, KILL, closed))
    assert why(tried(pack, rule, KILL, closed, EXIT)) == "fewer than 2 such facts"
    assert tried(pack, rule, KILL, closed, EXIT, {**EXIT, "rank": 3}).fires
    relation = compile_propagation(pack.propagation["kill-ends-process"])
    trial = tried(pack, "job.process-exit/ended-first", KILL, EXIT, context=relation)
    assert why(trial) == "a propagation explains it"


def test_variant_that_comes_furthest_is_shown(pack: Pack) -> None:
    trial = tried(pack, "exit-closes-peers", {"kind": "nic.link_down", "at": 0, "host": "n1"})
    assert [attempt.status for attempt in trial.attempts] == ["holds", "fails", "not_reached"]
    assert trial.attempts[0].condition == "cause: nic.link_down"
