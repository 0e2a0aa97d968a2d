"""Planted culprits: named where the dumps determine them, and nobody else, whatever happens to the dumps."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from engine.facts.model import Observation
from engine.facts.waits import analyse
from tests.facts.building import seen, timeline
from tests.facts.waits.dumps import Recorder, dump_of
from tests.facts.waits.endings import logs_of
from tests.facts.waits.job import Simulation, Topology, Trouble, program
from tests.facts.waits.reading import analysed, outcome, read_dumps
from tests.facts.waits.scenarios import DAMAGES, RECORDERS, SCENARIOS, SMALL, Case, run_of, take_dumps

NOT_TOLD = {("device never begins", "starts not told")}
"""Without the moments at which devices began, an operation that one never began looks like one that nobody finishes."""


def case(scenario: str, recorder: str, seed: int, topology: Topology | None = None) -> Case:
    random = Random(f"{scenario} {recorder} {seed}")
    shape = topology or SMALL[seed % len(SMALL)]
    return take_dumps(run_of(scenario, shape, random), RECORDERS[recorder], random)


@pytest.mark.parametrize("recorder", RECORDERS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_whole_dumps_name_the_culprit_and_nobody_else(scenario: str, recorder: str) -> None:
    for seed in range(2):
        found = case(scenario, recorder, seed)
        waits = analysed(found.dumps)
        named = {item.rank for item in waits.suspects}
        if (scenario, recorder) in NOT_TOLD:
            assert named <= found.guilty
            continue
        assert named == (found.guilty - found.dead)
        assert set(waits.undecided) == found.dead
        assert outcome(waits) == found.outcome or (scenario, outcome(waits)) == ("one collective skipped", "circle")


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_damaged_dumps_of_healthy_ranks_never_make_them_guilty(scenario: str, damage: str) -> None:
    for seed, recorder in enumerate(("plain", "starts not told")):
        random = Random(f"{scenario} {damage} {seed}")
        hurt = DAMAGES[damage](case(scenario, recorder, seed), 2, random)
        assert {item.rank for item in analysed(hurt.dumps).suspects} <= hurt.guilty


def test_a_blocked_rank_is_found_although_other_dumps_are_lost() -> None:
    found = 0
    for seed in range(6):
        lost = DAMAGES["missing"](case("rank blocked in user code", "plain", seed), 2, Random(seed))
        waits = analysed(lost.dumps)
        found += {item.rank for item in waits.suspects} == lost.guilty
        assert set(waits.missing) == set(range(lost.run.topology.world)) - set(lost.dumps)
    assert found == 6


def test_of_two_groups_of_two_the_other_groups_tell_who_skipped() -> None:
    topology = Topology(tensor=2, data=4, pipeline=1)
    for seed in range(4):
        found = case("one collective skipped", "plain", seed, topology)
        assert {item.rank for item in analysed(found.dumps).suspects} <= found.guilty


def test_of_a_deadlock_of_two_the_other_groups_tell_who_had_the_other_order() -> None:
    topology = Topology(tensor=2, data=4, pipeline=1)
    found = case("deadlock across groups", "plain", 1, topology)
    waits = analysed(found.dumps)
    (circle,) = waits.circles
    assert found.guilty < set(circle.ranks)
    assert len(circle.ranks) == 2
    assert {item.rank for item in waits.suspects} == found.guilty


def test_a_deadlock_of_two_without_other_groups_names_the_circle_and_nobody() -> None:
    topology = Topology(tensor=2, data=1, pipeline=1)
    found = case("deadlock across groups", "plain", 1, topology)
    waits = analysed(found.dumps)
    assert [circle.ranks for circle in waits.circles] == [(0, 1)]
    assert waits.suspects == ()


@pytest.mark.parametrize("damage", ["missing", "empty"])
def test_a_deadlock_is_found_although_other_dumps_are_lost(damage: str) -> None:
    for seed in range(8):
        lost = DAMAGES[damage](case("deadlock across groups", "plain", seed), 2, Random(seed))
        waits = analysed(lost.dumps)
        assert {item.rank for item in waits.suspects} == lost.guilty
        assert lost.guilty < {rank for circle in waits.circles for rank in circle.ranks}
        assert waits.undecided == ()


def test_a_killed_rank_and_a_lost_dump_cannot_be_told_apart() -> None:
    killed = case("rank killed", "plain", 0)
    waits = analysed(killed.dumps)
    assert (waits.suspects, set(waits.undecided)) == ((), killed.guilty)
    lost = DAMAGES["missing"](killed, 1, Random(3))
    waits = analysed(lost.dumps)
    assert not waits.suspects
    assert killed.guilty <= set(waits.undecided)


def test_the_lost_dump_of_a_member_of_a_stalled_operation_makes_nobody_guilty() -> None:
    undecided = 0
    for seed in range(4):
        stalled = case("stall of one operation", "plain", seed)
        for rank in sorted(stalled.dumps):
            left = {number: data for number, data in stalled.dumps.items() if number != rank}
            waits = analysed(left)
            assert waits.suspects == ()
            undecided += waits.undecided == (rank,)
    assert undecided > 8


def test_where_all_is_finished_nobody_waits_and_that_is_a_fact() -> None:
    topology = SMALL[0]
    programs = [program(topology, rank, 2) for rank in range(topology.world)]
    run = Simulation(topology, programs, Trouble()).run(6, Random(1))
    dumps = {rank: dump_of(run, rank, Recorder(), Random(rank)) for rank in range(topology.world)}
    (fact,) = [fact for fact in timeline(*read_dumps(dumps)).facts if fact.kind == "comm.nobody_waits"]
    assert fact.fields == {"ranks": topology.world}
    lost = {rank: data for rank, data in dumps.items() if rank != 3}
    assert not any(fact.kind == "comm.nobody_waits" for fact in timeline(*read_dumps(lost)).facts)
    waiting = timeline(*read_dumps(case("stall of one operation", "plain", 1).dumps))
    assert not any(fact.kind == "comm.nobody_waits" for fact in waiting.facts)


def ended(rank: int, signal: int) -> Observation:
    return seen("job.process_exit", f"logs/{rank}", 1, rank=rank, host=f"n{rank // 4}", signal=signal)


def test_an_exit_that_no_other_rank_shares_tells_who_was_killed() -> None:
    for seed in range(3):
        killed = case("rank killed", "plain", seed)
        (guilty,) = killed.guilty
        exits = [ended(rank, 9 if rank == guilty else 6) for rank in range(killed.run.topology.world)]
        made = timeline(*read_dumps(killed.dumps), *exits)
        assert made.waits is not None
        assert [(item.rank, item.how, item.sign) for item in made.waits.suspects] == [(guilty, "no_report", "ended")]
        assert made.waits.undecided == ()
        shared = [ended(rank, 9) for rank in range(killed.run.topology.world)]
        assert timeline(*read_dumps(killed.dumps), *shared).waits == replace(
            made.waits, suspects=(), undecided=(guilty,)
        )


def test_an_exit_tells_who_was_killed_although_another_dump_is_lost() -> None:
    killed = case("rank killed", "plain", 1)
    (guilty,) = killed.guilty
    lost = DAMAGES["missing"](killed, 1, Random(3))
    made = timeline(*read_dumps(lost.dumps), ended(guilty, 9))
    assert made.waits is not None
    assert {item.rank for item in made.waits.suspects} == {guilty}


# --- logs beside dumps ---


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("damage", ["", "early", "torn"])
def test_logs_never_make_a_healthy_rank_guilty(scenario: str, damage: str) -> None:
    for seed in range(4):
        random = Random(f"{scenario} {damage} {seed}")
        whole = case(scenario, "plain", seed)
        hurt = DAMAGES["missing"](whole, 1 + seed % 2, random)
        lost = set(whole.dumps) - set(hurt.dumps)
        logs = logs_of(hurt, random, lost if damage == "early" else (), lost if damage == "torn" else ())
        made = timeline(*read_dumps(hurt.dumps), *logs)
        assert made.waits is not None
        assert {item.rank for item in made.waits.suspects} <= hurt.guilty


def test_a_log_that_stops_tells_who_was_killed_although_other_dumps_are_lost() -> None:
    for seed in range(4):
        killed = case("rank killed", "plain", seed)
        hurt = DAMAGES["missing"](killed, 2, Random(seed)) if seed % 2 else killed
        made = timeline(*read_dumps(hurt.dumps), *logs_of(hurt, Random(seed)))
        assert made.waits is not None
        assert {(item.rank, item.sign) for item in made.waits.suspects} == {(rank, "stopped") for rank in killed.guilty}


# --- what must not matter ---


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_order_of_files_and_names_of_groups_change_nothing(scenario: str) -> None:
    found = case(scenario, "plain", 4)
    whole = analysed(found.dumps)
    states = list(read_dumps(found.dumps))
    Random(5).shuffle(states)
    assert analyse(states) == whole
    renamed = take_dumps(replace(found), Recorder(names="mesh_{}_x"), Random(0))
    assert {item.rank for item in analysed(renamed.dumps).suspects} == {item.rank for item in whole.suspects}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_hosts_and_clocks_change_nothing_but_the_hosts_that_are_shown(scenario: str) -> None:
    found = case(scenario, "plain", 5)
    whole = analysed(found.dumps)
    states = [replace(state, host=f"n{(state.rank or 0) // 4}") for state in read_dumps(found.dumps)]
    moved = analyse(states)
    assert replace(moved, suspects=tuple(replace(item, host=None) for item in moved.suspects)) == whole
    assert {item.host for item in moved.suspects if item.rank in found.dumps} <= {
        f"n{rank // 4}" for rank in found.guilty
    }
    wild = take_dumps(replace(found), RECORDERS["wild clocks"], Random(1))
    assert analysed(wild.dumps) == whole


@pytest.mark.parametrize("scenario", ["rank blocked in user code", "wrong shape", "deadlock across groups"])
def test_without_any_one_healthy_dump_nobody_with_a_dump_is_blamed(scenario: str) -> None:
    found = case(scenario, "plain", 6)
    for rank in sorted(set(found.dumps) - found.guilty):
        left = {number: data for number, data in found.dumps.items() if number != rank}
        assert {item.rank for item in analysed(left).suspects} <= found.guilty | {rank}


def test_ranks_wait_for_a_suspect_along_the_whole_chain() -> None:
    found = case("rank blocked in user code", "plain", 7)
    (suspect,) = analysed(found.dumps).suspects
    assert suspect.waiting == found.run.topology.world - 1


def test_a_larger_job() -> None:
    topology = Topology(tensor=8, data=2, pipeline=4, expert=2)
    for scenario in ("rank blocked in user code", "wrong order", "stall of one operation"):
        found = case(scenario, "ring overrun", 64, topology)
        waits = analysed(found.dumps)
        assert {item.rank for item in waits.suspects} == found.guilty
        assert outcome(waits) == found.outcome
