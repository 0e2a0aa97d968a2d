"""In which phase the job was: by what it said itself, by what had just begun, and only then by what is usual."""

from __future__ import annotations

import pytest

from engine.diagnosis.phase import phase_at, phase_rules
from engine.facts.model import Fact, Observation, Reading
from engine.inference import Engine
from engine.rules.pack import load_packs
from tests.facts.building import SECOND, VOCABULARY, seen, timeline, utc

RULES = phase_rules(load_packs().profiles["phases"])


def phase(*items: Observation, at: str, usual: str | None = None) -> str | None:
    """The phase at the first fact of kind ``at``."""
    placed: tuple[Fact, ...] = timeline(*items).facts
    with Engine(RULES, VOCABULARY, "reference") as engine:
        firings = engine.run(placed).firings
    moment = next(fact for fact in placed if fact.kind == at)
    return phase_at(moment, firings, {fact.id: fact for fact in placed}, usual)


def mark(where: str, line: int, stamp: str, path: str = "rank0.log", **given: object) -> Observation:
    return seen("job.phase_mark", path, line, host="n1", when=utc(f"2026-03-01T{stamp}"), phase=where, **given)


def exit_(line: int, stamp: str) -> Observation:
    return seen(
        "job.process_exit", "rank0.log", line, host="n1", when=utc(f"2026-03-01T{stamp}"), exit_code=1, lag=(0, 0)
    )


def kernel(kind: str, seconds: int, line: int, **given: object) -> Observation:
    return seen(kind, "dmesg", line, host="n1", when=Reading(seconds * SECOND, seconds * SECOND, "boot"), **given)


def test_nothing_says_nothing() -> None:
    assert phase(seen("job.exception", error="ValueError"), at="job.exception") is None


def test_what_is_usual_for_the_cause_counts_where_nothing_else_tells() -> None:
    assert phase(exit_(1, "10:00:00"), at="job.process_exit") == "steady"
    assert phase(exit_(1, "10:00:00"), at="job.process_exit", usual="startup") == "startup"


def test_what_the_job_said_of_itself_counts_more_than_what_is_usual() -> None:
    begun = mark("first_sync", 1, "09:00:00", what="training_begins")
    assert phase(begun, exit_(2, "10:00:00"), at="job.process_exit", usual="startup") == "first_sync"


def test_what_the_job_said_afterwards_does_not_count() -> None:
    said = [mark("startup", 1, "09:00:00"), mark("steady", 3, "11:00:00", step=1)]
    assert phase(*said, exit_(2, "10:00:00"), at="job.process_exit") == "startup"


def test_after_a_restart_what_was_said_before_does_not_count() -> None:
    """A later attempt that dies before its first step was never in steady state, whatever the first one reached."""
    again = seen("job.restart", "rank0.log", 5, host="n1", when=utc("2026-03-01T10:00:00"), what="workers")
    said = [mark("steady", 2, "09:00:00", step=1), mark("steady", 4, "09:30:00", step=900), again]
    assert phase(*said, exit_(6, "10:01:00"), at="job.process_exit") == "recovery"
    assert phase(*said, mark("steady", 6, "10:01:00"), exit_(7, "10:02:00"), at="job.process_exit") == "steady"
    assert phase(*said, exit_(4, "09:59:00"), at="job.process_exit") == "steady"


def test_a_restart_that_may_lie_after_the_fault_takes_nothing_away() -> None:
    again = seen("job.restart", "agent.log", 5, host="n2", when=utc("2026-03-01T10:00:00"), what="workers")
    assert phase(mark("steady", 2, "09:00:00", step=1), again, exit_(6, "10:01:00"), at="job.process_exit") == "steady"


@pytest.mark.parametrize(("seconds", "found"), [(100, "startup"), (130, "steady")])
def test_what_fails_as_a_driver_starts_fails_while_starting(seconds: int, found: str) -> None:
    started = kernel("nic.driver_started", 10, 1, driver="mlx5_core")
    fault = kernel("nic.firmware_fault", 10 + seconds, 2, type="failed_command")
    assert phase(started, fault, at="nic.firmware_fault") == found


def test_a_driver_that_starts_again_after_the_fault_marks_nothing() -> None:
    fault = kernel("nic.firmware_fault", 5_000, 1, type="health")
    assert phase(fault, kernel("nic.driver_started", 5_010, 2), at="nic.firmware_fault") == "steady"


def test_a_job_that_trains_says_more_than_a_driver_that_starts() -> None:
    """One of its hosts came up while others trained; the clocks tell nothing, so the mark counts."""
    started = kernel("nic.driver_started", 10, 1, driver="mlx5_core")
    fault = kernel("nic.firmware_fault", 20, 2, type="failed_command")
    assert phase(mark("steady", 1, "09:00:00"), started, fault, at="nic.firmware_fault") == "steady"


@pytest.mark.parametrize(("done", "found"), [(0, "first_sync"), (1, "steady")])
def test_a_bar_of_which_nothing_is_done_shows_the_first_step(done: int, found: str) -> None:
    bar = seen("job.work_in_progress", "rank0.log", 1, label="Train", purpose="training", done=done, total=100)
    late = seen("comm.collective_timeout", "rank0.log", 2, seq=9, lag=(0, 0))
    assert phase(bar, late, at="comm.collective_timeout", usual="data") == found


def test_the_exchange_of_addresses_is_starting_until_a_communicator_is_begun() -> None:
    failed = seen("comm.bootstrap_failed", "rank0.log", 2, rank=0)
    assert phase(failed, at="comm.bootstrap_failed") == "startup"
    begun = seen("comm.init_started", "rank0.log", 1, rank=0, nranks=16)
    assert phase(begun, failed, at="comm.bootstrap_failed") == "first_sync"


@pytest.mark.parametrize(("library", "found"), [("nccl", "first_sync"), ("ucx", "startup")])
def test_libraries_create_their_queues_at_different_times(library: str, found: str) -> None:
    failed = seen("comm.memory_registration_failed", call="ibv_create_cq", errno=12, library=library)
    assert phase(failed, at="comm.memory_registration_failed", usual="startup") == found


def elsewhere(stamp: str) -> Observation:
    when = utc(f"2026-03-01T{stamp}")
    return seen("job.phase_mark", "rank9.log", 1, host="n2", when=when, phase="steady", step=1)


def test_a_mark_of_another_host_counts_by_its_stamp_where_the_clocks_settle_nothing() -> None:
    """Hosts agree within 120 s only: 20 s say nothing certain, and a phase is no evidence."""
    begun = mark("startup", 1, "09:00:00")
    assert phase(begun, elsewhere("10:00:20"), exit_(2, "10:00:00"), at="job.process_exit") == "startup"
    assert phase(begun, elsewhere("09:59:40"), exit_(2, "10:00:00"), at="job.process_exit") == "steady"


def test_a_cause_of_a_later_attempt_takes_the_training_for_that_of_an_earlier_one() -> None:
    trained = mark("steady", 1, "09:00:00", step=1)
    assert phase(trained, exit_(2, "10:00:00"), at="job.process_exit", usual="recovery") == "recovery"
    assert phase(trained, exit_(2, "10:00:00"), at="job.process_exit", usual="startup") == "steady"
