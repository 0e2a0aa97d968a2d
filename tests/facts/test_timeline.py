from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.facts.manifest import Manifest
from engine.facts.model import Fact, Observation, Order, Source, Span, before
from tests.facts.building import SECOND, facts, local, micros, seen, timeline, utc

WINDOW = Manifest("x", window=Span(micros("2026-03-01T08:00:00"), micros("2026-03-01T10:00:00")))


def test_a_line_without_stamp_lies_between_its_neighbours() -> None:
    found = facts(
        seen("comm.peer_closed", "a", 5, after=utc("2026-03-01T10:00:00"), until=utc("2026-03-01T10:00:04"), host="n1")
    )
    fact = found["comm.peer_closed"][0]
    assert fact.local == Span(micros("2026-03-01T10:00:00"), micros("2026-03-01T10:00:04"))


def test_the_onset_lies_before_the_report_by_the_lag() -> None:
    lag = (600 * SECOND, 601 * SECOND)
    fact = facts(seen("comm.collective_timeout", when=utc("2026-03-01T10:10:00"), lag=lag, host="n1"))[
        "comm.collective_timeout"
    ][0]
    assert fact.local == Span(micros("2026-03-01T09:59:59"), micros("2026-03-01T10:00:00"))
    assert fact.sequence is None


def test_order_inside_a_file_is_certain_without_any_clock() -> None:
    found = facts(seen("job.exception", "a", 3, error="ValueError", rank=1), seen("comm.peer_closed", "a", 9, rank=2))
    assert before(found["job.exception"][0], found["comm.peer_closed"][0]) is Order.YES
    assert before(found["comm.peer_closed"][0], found["job.exception"][0]) is Order.NO


def test_order_between_files_without_clocks_is_not_invented() -> None:
    found = facts(seen("job.exception", "a", 3, error="ValueError"), seen("comm.peer_closed", "b", 9))
    assert before(found["job.exception"][0], found["comm.peer_closed"][0]) is Order.CANNOT_TELL


def test_lines_of_a_file_whose_stamps_run_backwards_are_not_ordered_by_line() -> None:
    found = facts(
        seen("comm.peer_closed", "a", 1, when=utc("2026-03-01T10:00:30"), host="n1"),
        seen("job.exception", "a", 2, when=utc("2026-03-01T10:00:10"), host="n1", error="ValueError"),
    )
    assert before(found["job.exception"][0], found["comm.peer_closed"][0]) is Order.YES


@pytest.mark.parametrize(
    ("stamp", "scope"),
    [
        ("2026-03-01T07:00:00", "outside_window"),
        ("2026-03-01T09:00:00", "incident"),
        ("2026-03-01T11:00:00", "outside_window"),
        ("2026-03-01T10:01:00", "incident"),
    ],
)
def test_evidence_outside_the_window_is_kept_and_marked(stamp: str, scope: str) -> None:
    clock = Manifest("x", window=WINDOW.window, clock_hosts={"n1": (0, SECOND)})
    fact = facts(seen("nic.link_down", when=utc(stamp), host="n1", device="eth2"), manifest=clock)["nic.link_down"][0]
    assert fact.scope == scope


def test_a_state_is_not_judged_by_the_time_of_its_snapshot() -> None:
    fact = facts(seen("host.shm_size", when=utc("2026-03-02T11:00:00"), host="n1", size_kb=65536), manifest=WINDOW)[
        "host.shm_size"
    ][0]
    assert fact.scope == "incident"


def test_another_runs_evidence_is_marked() -> None:
    fact = facts(seen("job.exception", "prev/log", error="ValueError", run="prev"))["job.exception"][0]
    assert fact.scope == "other_run"


def test_unknown_kinds_are_dropped_with_a_warning() -> None:
    result = timeline(seen("job.nonsense"))
    assert result.facts == ()
    assert result.warnings == ("no vocabulary entry for job.nonsense: its statements are left out",)


def test_a_rank_that_is_named_elsewhere_gets_its_host() -> None:
    found = facts(
        seen("comm.init_started", "a", rank=3, host="n1", nranks=8),
        seen("job.exception", "b", rank=3, error="KeyError"),
    )
    assert found["job.exception"][0].host == "n1"


stamps = st.integers(min_value=0, max_value=10_000_000)
kinds = st.sampled_from(["job.exception", "comm.peer_closed", "nic.link_down", "host.oom_kill"])


@st.composite
def observation_lists(draw: st.DrawFn) -> list[Observation]:
    found = []
    for line in range(1, draw(st.integers(2, 12)) + 1):
        when = utc("2026-03-01T00:00:00")
        shift = draw(stamps) * 1_000
        reading = type(when)(when.earliest + shift, when.latest + shift, "utc")
        host = draw(st.sampled_from(["n1", "n2", "n3"]))
        found.append(seen(draw(kinds), f"logs/{host}.log", line, host=host, rank=draw(st.integers(0, 3)), when=reading))
    return found


@given(observation_lists(), st.randoms(use_true_random=False))
def test_the_timeline_does_not_depend_on_the_order_of_reading(
    items: list[Observation], shuffler: random.Random
) -> None:
    shuffled = list(items)
    shuffler.shuffle(shuffled)
    assert timeline(*items) == timeline(*shuffled)


@given(observation_lists(), st.integers(-10_000, 10_000))
def test_a_constant_shift_of_all_clocks_changes_no_order(items: list[Observation], seconds: int) -> None:
    shifted = [
        seen(item.kind, item.source.path, item.source.line, host=item.host, rank=item.rank, when=_shift(item, seconds))
        for item in items
    ]
    first, second = timeline(*items).facts, timeline(*shifted).facts
    assert [fact.source for fact in first] == [fact.source for fact in second]
    for i, fact in enumerate(first):
        for j, other in enumerate(first):
            assert before(fact, other) is before(second[i], second[j])


def _shift(item: Observation, seconds: int) -> object:
    assert item.when is not None
    return type(item.when)(item.when.earliest + seconds * SECOND, item.when.latest + seconds * SECOND, "utc")


@given(observation_lists())
def test_before_is_antisymmetric(items: list[Observation]) -> None:
    placed = timeline(*items).facts
    for fact in placed:
        for other in placed:
            if before(fact, other) is Order.YES:
                assert before(other, fact) is Order.NO


def test_zoneless_job_logs_and_host_logs_do_not_share_a_clock() -> None:
    found = facts(
        seen("job.exception", "a", when=local("2026-03-01T10:00:00"), host="n1", error="KeyError"),
        seen("host.oom_kill", "b", when=local("2026-03-01T10:00:05"), host="n1", process="python"),
    )
    assert before(found["job.exception"][0], found["host.oom_kill"][0]) is Order.CANNOT_TELL


def test_on_a_job_of_one_node_the_local_rank_is_the_rank() -> None:
    exit_ = seen("job.process_exit", "a", local_rank=3, exit_code=1, signal=0)
    assert facts(exit_, manifest=Manifest("x", world_size=8))["job.process_exit"][0].rank == 3
    exit_ = seen("job.process_exit", "a", local_rank=3, exit_code=1, signal=0)
    assert facts(exit_, manifest=Manifest("x", world_size=16, gpus_per_node=8))["job.process_exit"][0].rank is None


def test_a_local_rank_on_a_host_whose_ranks_are_known_gives_the_rank() -> None:
    started = [seen("comm.init_started", f"r{rank}", rank=rank, host="n2", nranks=8) for rank in range(4, 8)]
    exit_ = seen("job.process_exit", "a", host="n2", local_rank=1, exit_code=1, signal=0)
    manifest = Manifest("x", world_size=8, gpus_per_node=4, nodes=("n1", "n2"))
    assert facts(*started, exit_, manifest=manifest)["job.process_exit"][0].rank == 5


def test_a_local_rank_on_a_host_of_which_only_some_ranks_are_known_stays_open() -> None:
    started = [seen("comm.init_started", f"r{rank}", rank=rank, host="n2", nranks=8) for rank in (5, 6)]
    exit_ = seen("job.process_exit", "a", host="n2", local_rank=1, exit_code=1, signal=0)
    manifest = Manifest("x", world_size=8, gpus_per_node=4, nodes=("n1", "n2"))
    assert facts(*started, exit_, manifest=manifest)["job.process_exit"][0].rank is None


def test_a_line_without_stamp_between_stamps_that_run_backwards_lies_between_them_all_the_same() -> None:
    late, early = utc("2026-03-01T10:00:30"), utc("2026-03-01T10:00:10")
    fact = facts(seen("comm.peer_closed", "a", 5, after=late, until=early, host="n1"))["comm.peer_closed"][0]
    assert fact.local == Span(early.earliest, late.earliest)


def test_a_line_that_reports_late_also_shows_that_stamps_run_backwards() -> None:
    """The watchdog's line of 10:00:30 stands before one of 10:00:00: several processes write into this file."""
    found = facts(
        seen("comm.watchdog_stuck", "a", 1, when=utc("2026-03-01T10:00:30"), host="n1", lag=(SECOND, SECOND)),
        seen("job.exception", "a", 2, when=utc("2026-03-01T10:00:00"), host="n1", error="ValueError"),
    )
    watchdog, error = found["comm.watchdog_stuck"][0], found["job.exception"][0]
    assert before(error, watchdog) is Order.YES
    assert before(watchdog, error) is Order.NO


def test_lines_of_two_hosts_in_one_file_that_contradict_their_clocks_have_no_order() -> None:
    """Either a clock is further off than was stated, or the file is no record of what came first."""
    exact = Manifest("x", clock_hosts={"n1": (0, SECOND), "n2": (0, SECOND)})
    found = facts(
        seen("job.exception", "job.out", 1, when=utc("2026-03-01T10:05:00"), host="n1", error="ValueError"),
        seen("comm.peer_closed", "job.out", 2, when=utc("2026-03-01T10:00:00"), host="n2"),
        manifest=exact,
    )
    error, closed = found["job.exception"][0], found["comm.peer_closed"][0]
    assert before(error, closed) is Order.CANNOT_TELL
    assert before(closed, error) is Order.CANNOT_TELL


moments = st.one_of(st.none(), st.integers(0, 12))


@st.composite
def placed_facts(draw: st.DrawFn) -> Fact:
    """Facts as a timeline can hold them: in one of few files, on one of few clocks, ends open or not."""

    def span() -> Span:
        earliest, latest = draw(moments), draw(moments)
        if earliest is not None and latest is not None:
            return Span(min(earliest, latest), max(earliest, latest))
        return Span(earliest, latest)

    line = draw(st.integers(1, 4))
    return Fact(
        "f", "job.exception", {}, Source(draw(st.sampled_from("ab")), line), onset=span(), local=span(),
        clock=draw(st.sampled_from("xy")), sequence=draw(st.sampled_from([line, None])),
    )  # fmt: skip


@given(placed_facts(), placed_facts())
def test_before_has_one_answer_seen_from_both_sides(one: Fact, other: Fact) -> None:
    mirrored = {Order.YES: Order.NO, Order.NO: Order.YES, Order.CANNOT_TELL: Order.CANNOT_TELL}
    assert before(one, other) is mirrored[before(other, one)]


@given(placed_facts(), placed_facts())
def test_what_lines_and_clocks_agree_on_is_certain(one: Fact, other: Fact) -> None:
    """Neither of the two alone is overruled where the other says nothing."""
    by_clock = replace(one, sequence=None), replace(other, sequence=None)
    if before(*by_clock) is Order.YES and one.clock == other.clock:
        assert before(one, other) is Order.YES
    if one.source.path == other.source.path and other.sequence and one.source.line < other.sequence:
        assert (before(one, other) is Order.YES) is (before(*by_clock) is not Order.NO)
