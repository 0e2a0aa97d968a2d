"""What a log certainly covers: doubt about its clock narrows it, and never makes silence out of hours it never saw."""

from __future__ import annotations

from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from engine.facts.manifest import Manifest
from engine.facts.model import Fact, Observation, Reading, Span
from engine.inference import infer
from engine.rules.model import AbsentCondition, FactCondition, Join, Rule
from tests.facts.building import SECOND, VOCABULARY, facts, local, micros, seen, utc

NO_KILL = Rule(
    "no-kill",
    (
        FactCondition("job.process_exit", "ended"),
        AbsentCondition("host.oom_kill", "ended", joins=(Join("host", "==", "ended", "host"),)),
    ),
)
HOURS = ("2026-03-01T08:00:00", "2026-03-01T12:00:00")


def covers(
    first: Reading | None, last: Reading | None, source: str = "kernel_log", path: str = "logs/n1.log"
) -> Observation:
    return seen("coverage.source", path, 0, lines=10, after=first, until=last, host="n1", **{"class": source})


def covered(item: Observation, manifest: Manifest | None = None) -> Fact:
    return facts(item, manifest=manifest)["coverage.source"][0]


def holds(*items: Observation, manifest: Manifest | None = None) -> bool:
    placed = [fact for found in facts(*items, manifest=manifest).values() for fact in found]
    return bool(infer([NO_KILL], placed, VOCABULARY, "both").firings)


def test_doubt_about_the_clock_narrows_what_is_covered() -> None:
    fact = covered(covers(utc(HOURS[0]), utc(HOURS[1])))
    assert fact.onset == Span(micros(HOURS[0]) + 120 * SECOND, micros(HOURS[1]) - 120 * SECOND)
    assert fact.local == Span(micros(HOURS[0]), micros(HOURS[1]))


def test_a_known_offset_moves_and_only_its_bound_narrows() -> None:
    manifest = Manifest("x", clock_hosts={"n1": (60 * SECOND, SECOND)})
    fact = covered(covers(utc(HOURS[0]), utc(HOURS[1])), manifest)
    assert fact.onset == Span(micros(HOURS[0]) - 59 * SECOND, micros(HOURS[1]) - 61 * SECOND)


def test_the_seconds_of_a_coarse_stamp_narrow_too() -> None:
    manifest = Manifest("x", clock_hosts={"n1": (0, 0)})
    fact = covered(covers(utc(HOURS[0], 1.0), utc(HOURS[1], 1.0)), manifest)
    assert fact.onset == Span(micros(HOURS[0]) + SECOND, micros(HOURS[1]))


def test_a_log_of_four_hours_without_a_zone_certainly_covers_no_hour_of_utc() -> None:
    fact = covered(covers(local(HOURS[0]), local(HOURS[1])))
    assert fact.onset == Span()
    assert fact.local == Span(micros(HOURS[0]), micros(HOURS[1]))


def test_a_log_of_days_without_a_zone_covers_its_middle() -> None:
    fact = covered(covers(local("2026-03-01T00:00:00"), local("2026-03-05T00:00:00")))
    hour = 3_600 * SECOND
    assert fact.onset == Span(
        micros("2026-03-01T00:00:00") + 12 * hour + 120 * SECOND,
        micros("2026-03-05T00:00:00") - 14 * hour - 120 * SECOND,
    )


def test_stamps_that_end_before_they_begin_cover_nothing() -> None:
    fact = covered(covers(utc(HOURS[1]), utc(HOURS[0])))
    assert fact.onset == fact.local == Span()


def test_a_log_without_stamps_covers_nothing() -> None:
    fact = covered(covers(None, None))
    assert fact.onset == fact.local == Span()


def test_where_it_may_lie_is_still_reported() -> None:
    fact = covered(covers(utc(HOURS[0]), utc(HOURS[1])))
    assert fact.reported == Span(micros(HOURS[0]) - 120 * SECOND, micros(HOURS[1]) + 120 * SECOND)


def ended(stamp: Reading) -> Observation:
    return seen("job.process_exit", "logs/rank0.log", 7, when=stamp, host="n1", exit_code=-9, signal=9, lag=(0, 0))


def test_a_log_without_a_zone_does_not_show_the_silence_of_hours_that_it_never_saw() -> None:
    """A kernel log of 08:00 to 12:00 somewhere on earth says nothing of 18:00 UTC."""
    assert not holds(covers(local(HOURS[0]), local(HOURS[1])), ended(utc("2026-03-01T18:00:00")))
    assert not holds(covers(local(HOURS[0]), local(HOURS[1])), ended(utc("2026-03-01T10:00:00")))


def test_on_one_clock_coverage_stays_exact() -> None:
    assert holds(covers(utc(HOURS[0]), utc(HOURS[1])), ended(utc(HOURS[1])))
    assert not holds(covers(utc(HOURS[0]), utc(HOURS[1])), ended(utc("2026-03-01T12:00:01")))


def test_a_job_log_without_a_zone_is_on_the_clock_of_its_own_lines() -> None:
    """Containers often run in UTC while hosts do not, so a job's log covers no kernel's hour, but does its own."""
    found = facts(
        covers(local(HOURS[0]), local(HOURS[1]), "job_log", path="logs/rank0.log"),
        ended(local("2026-03-01T10:00:00")),
        seen("host.oom_kill", "dmesg", when=local("2026-03-01T10:00:00"), host="n1", process="python"),
    )
    log, exit_, kill = (found[kind][0] for kind in ("coverage.source", "job.process_exit", "host.oom_kill"))
    assert log.clock == exit_.clock
    assert log.clock != kill.clock


def test_two_logs_of_one_host_and_equal_length_cover_both_their_times() -> None:
    found = facts(
        covers(utc(HOURS[0]), utc("2026-03-01T11:00:00"), path="kern.log.1"),
        covers(utc("2026-03-01T11:10:00"), utc(HOURS[1]), path="kern.log"),
    )
    assert [fact.source.path for fact in found["coverage.source"]] == ["kern.log.1", "kern.log"]


minutes = st.integers(0, 4_000)


@given(minutes, minutes, minutes, st.integers(-14 * 60, 12 * 60), st.integers(-120, 120))
def test_nothing_is_called_covered_that_some_clock_would_leave_out(
    first: int, length: int, at: int, zone: int, ahead: int
) -> None:
    """Whatever zone within 26 hours and offset within the bound the writer has, what counts as covered is."""
    start = datetime(2026, 3, 1)  # noqa: DTZ001
    begins, ends = start + timedelta(minutes=first), start + timedelta(minutes=first + length)
    span = covered(covers(local(begins.isoformat()), local(ends.isoformat()))).onset
    moment = micros(start.isoformat()) + at * 60 * SECOND
    if span.earliest is not None and span.latest is not None and span.earliest <= moment <= span.latest:
        shown = moment - zone * 60 * SECOND + ahead * SECOND
        assert micros(begins.isoformat()) <= shown <= micros(ends.isoformat())
