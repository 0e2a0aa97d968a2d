"""The log of one rank that stops early: told where its neighbours go on, never where it may have been cut so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest

from engine.facts.log_ends import LogEnds, compare_ends, read_log_ends
from engine.facts.model import Fact, Observation, Reading
from engine.facts.timeline import Timeline
from tests.facts.building import facts, timeline
from tests.facts.waits.endings import gave_up, local_at, own_log
from tests.facts.waits.test_waits import without

ENDS, REPORTED = 2_980, 3_600
"""Seconds at which the log of rank 5 ends, and at which the others report; four ranks a host."""


def logs(*own: Observation, leave_out: Sequence[int] = (5,)) -> list[Observation]:
    """The logs of eight ranks that go on to the time-out, beside those that are given."""
    others = [rank for rank in range(8) if rank not in leave_out]
    return [*own, *(own_log(rank, REPORTED) for rank in others), *(gave_up(rank, REPORTED) for rank in others)]


def stops(items: Iterable[Observation]) -> list[Fact]:
    return facts(*items).get("comm.log_stops", [])


def compared(items: Iterable[Observation], lost: set[int]) -> tuple[list[tuple[int, str | None]], tuple[int, ...]]:
    """The suspects with their signs, and the undecided; eight ranks in one operation."""
    made: Timeline = timeline(*without(lost), *items)
    assert made.waits is not None
    return [(item.rank, item.sign) for item in made.waits.suspects], made.waits.undecided


def test_a_log_stops_where_its_neighbours_go_on() -> None:
    (stopped,) = stops(logs(own_log(5, ENDS)))
    assert (stopped.rank, stopped.host, stopped.source.line) == (5, "n01", 90)
    assert stopped.fields == {"seconds": 619, "reporters": 7}
    assert stopped.local.latest == local_at(ENDS).latest


def zone(item: Observation, name: str) -> Observation:
    def moved(reading: Reading | None) -> Reading | None:
        return replace(reading, basis="utc", zone=name) if reading else None

    return replace(item, when=moved(item.when), after=moved(item.after), until=moved(item.until))


EARLY = [own_log(rank, ENDS) for rank in (4, 6, 7)]


@pytest.mark.parametrize(
    "items",
    [
        pytest.param(logs(own_log(5, REPORTED - 40)), id="less than a minute before"),
        pytest.param(logs(own_log(5, REPORTED + 9)), id="goes on without a report"),
        pytest.param(logs(own_log(5, ENDS, undated=1)), id="lines without a stamp at the end"),
        pytest.param([*logs(leave_out=(4, 5, 6, 7)), own_log(5, ENDS)], id="no neighbour on its host"),
        pytest.param([*logs(leave_out=(4, 5, 6, 7)), own_log(5, ENDS), *EARLY], id="its host was collected early"),
        pytest.param([*logs(leave_out=(5, 6)), own_log(5, ENDS), own_log(6, ENDS)], id="another of its host ends too"),
        pytest.param(logs(own_log(5, ENDS, path="train/n01/rank_005.log.1")), id="rotated"),
        pytest.param(logs(own_log(5, ENDS, path="old/train/n01/rank_005.log")), id="another depth"),
        pytest.param(logs(own_log(5, -200, after=local_at(-900))), id="an earlier run"),
        pytest.param([*logs(own_log(5, ENDS)), gave_up(5, REPORTED, path="train/all.log")], id="reports elsewhere"),
        pytest.param([*logs(own_log(5, ENDS)), own_log(5, REPORTED, path="train/n01/rank_5.err")], id="a second log"),
        pytest.param([own_log(rank, ENDS) for rank in range(8)], id="nobody reports"),
        pytest.param([*logs(leave_out=range(1, 8)), *(own_log(rank, ENDS) for rank in range(1, 8))], id="one reports"),
        pytest.param(logs(zone(own_log(5, ENDS), "+00:00")), id="a clock that cannot be compared"),
    ],
)
def test_a_log_that_may_end_early_for_another_reason_says_nothing(items: list[Observation]) -> None:
    assert stops(items) == []


def test_clocks_of_other_hosts_need_not_be_comparable() -> None:
    away = [own_log(rank, 200, after=local_at(-3_000)) for rank in range(4)]
    away += [gave_up(rank, 200) for rank in range(4)]
    (stopped,) = stops([*logs(own_log(5, ENDS), leave_out=(0, 1, 2, 3, 5)), *away])
    assert stopped.rank == 5
    stated = [zone(item, "+00:00") for item in [*logs(own_log(5, ENDS), leave_out=(0, 1, 2, 3, 5)), *away]]
    assert stops(stated) == []  # the others gave up long before: it had other reasons to end


def test_a_log_that_stops_speaks_against_a_rank_that_left_nothing() -> None:
    assert compared(logs(own_log(5, ENDS)), {5}) == ([(5, "stopped")], ())
    assert compared(logs(own_log(5, ENDS)), {5, 6}) == ([(5, "stopped")], ())
    assert compared(logs(own_log(5, ENDS), leave_out=(5, 0)), {5, 0}) == ([], (0, 5))


def test_a_log_that_was_collected_early_is_no_silence() -> None:
    assert compared([*logs(leave_out=(4, 5, 6, 7)), own_log(5, ENDS), *EARLY], {5}) == ([], (5,))
    assert compared(logs(own_log(5, ENDS, undated=3)), {5}) == ([], (5,))
    assert compared(logs(own_log(5, REPORTED + 30)), {5}) == ([(5, "silent")], ())


def test_a_log_of_another_run_is_none_of_this_one() -> None:
    assert stops(logs(own_log(5, ENDS, run="prev"))) == []


def test_the_profile_may_be_missing() -> None:
    assert read_log_ends({}) == LogEnds()
    assert compare_ends([], LogEnds()) == ([], {})


def test_many_silent_logs_are_no_matter_of_single_ranks() -> None:
    ranks = range(200)
    ended = {rank for rank in ranks if rank % 4 == 1}
    items = [own_log(rank, ENDS if rank in ended else REPORTED) for rank in ranks]
    items += [gave_up(rank, REPORTED) for rank in ranks if rank not in ended]
    assert stops(items) == []
