from __future__ import annotations

from typing import Any

import pytest

from engine.facts.clocks import ClockBook, Offset, align_by_shared_events, zone_offset
from engine.facts.manifest import Manifest, SourceHint
from engine.facts.model import Order, Reading, Span, before
from tests.facts.building import SECOND, facts, local, micros, seen, timeline, utc

HOUR = 3_600 * SECOND


@pytest.mark.parametrize(
    ("name", "hours"),
    [("UTC", 0), ("+08:00", 8), ("+08", 8), ("-0530", -5.5), ("UTC+2", 2), ("Europe/Berlin", 2), ("Asia/Kolkata", 5.5)],
)
def test_zone_offsets_in_summer(name: str, hours: float) -> None:
    assert zone_offset(name, micros("2026-07-01T12:00:00")) == hours * HOUR


def test_unknown_zone_is_no_offset() -> None:
    assert zone_offset("Mars/Olympus", 0) is None
    assert zone_offset("+8x", 0) is None


def test_a_zone_of_the_source_beats_the_zone_of_the_incident() -> None:
    manifest = Manifest("x", timezone="Asia/Tokyo", sources=(SourceHint("logs/rank0.log", timezone="UTC"),))
    book = ClockBook(manifest, {"n1": Offset(0, 0, "test")})
    stamp = local("2026-03-01T12:00:00")
    assert book.place(stamp, "logs/rank0.log", "n1", "job").utc == Span(stamp.earliest, stamp.earliest)
    placed = book.place(stamp, "logs/other.log", "n1", "job")
    assert placed.utc == Span(stamp.earliest - 9 * HOUR, stamp.earliest - 9 * HOUR)
    assert any("Asia/Tokyo" in note for note in placed.assumptions)


def test_a_host_clock_that_is_ahead_is_set_back_and_widened() -> None:
    book = ClockBook(Manifest("x"), {"n1": Offset(83 * SECOND, SECOND // 10, "manifest")})
    stamp = utc("2026-03-01T12:00:00")
    assert book.place(stamp, "a", "n1", "job").utc == Span(
        stamp.earliest - 83 * SECOND - SECOND // 10, stamp.earliest - 83 * SECOND + SECOND // 10
    )


def test_no_zone_at_all_means_any_zone() -> None:
    placed = ClockBook(Manifest("x"), {"n1": Offset(0, 0, "t")}).place(local("2026-03-01T12:00:00"), "a", "n1", "job")
    assert placed.utc.earliest is not None
    assert placed.utc.latest is not None
    assert placed.utc.latest - placed.utc.earliest == 26 * HOUR
    assert any("no time zone" in note for note in placed.assumptions)


@pytest.mark.parametrize(
    ("stamp", "window", "year"),
    [
        ("12-31T23:59:00", ("2025-12-31T23:00:00", "2026-01-01T01:00:00"), 2025),
        ("01-01T00:10:00", ("2025-12-31T23:00:00", "2026-01-01T01:00:00"), 2026),
        ("06-15T00:10:00", ("2026-06-14T23:00:00", "2026-06-15T01:00:00"), 2026),
    ],
)
def test_the_year_comes_from_the_window_also_over_new_year(stamp: str, window: tuple[str, str], year: int) -> None:
    manifest = Manifest("x", timezone="UTC", window=Span(micros(window[0]), micros(window[1])))
    placed = ClockBook(manifest, {"n1": Offset(0, 0, "t")}).place(local(stamp, year_known=False), "a", "n1", "job")
    assert placed.utc.earliest == micros(f"{year}-{stamp}")


def test_the_year_of_the_manifest_is_enough() -> None:
    manifest = Manifest("x", timezone="UTC", year=2024)
    placed = ClockBook(manifest, {"n1": Offset(0, 0, "t")}).place(
        local("02-28T10:00:00", year_known=False), "a", "n1", "job"
    )
    assert placed.utc.earliest == micros("2024-02-28T10:00:00")


def test_without_any_year_the_order_in_utc_stays_open_but_the_own_clock_is_kept() -> None:
    placed = ClockBook(Manifest("x", timezone="UTC")).place(local("02-28T10:00:00", year_known=False), "a", "n1", "job")
    assert placed.utc == Span()
    assert placed.local.known


def test_kernel_stamps_count_from_boot_where_the_boot_is_known() -> None:
    found = facts(
        seen("host.boot", "proc/stat", when=utc("2026-03-01T00:00:00"), host="n1", text="btime"),
        seen(
            "host.oom_kill", "dmesg", when=Reading(3_600 * SECOND, 3_600 * SECOND, "boot"), host="n1", process="python"
        ),
    )
    kill = found["host.oom_kill"][0]
    assert kill.onset.earliest is not None
    assert kill.onset.latest is not None
    assert kill.onset.earliest <= micros("2026-03-01T01:00:00") <= kill.onset.latest


def test_kernel_stamps_without_a_boot_time_have_no_wall_time() -> None:
    found = facts(
        seen(
            "host.oom_kill", "dmesg", when=Reading(3_600 * SECOND, 3_600 * SECOND, "boot"), host="n1", process="python"
        )
    )
    assert found["host.oom_kill"][0].onset == Span()


def test_chrony_gives_the_offset_of_a_host() -> None:
    found = facts(
        seen("host.clock_offset", "chrony", host="n1", offset_us=5 * SECOND, bound_us=1_000, synchronised=True),
        seen("host.oom_kill", "syslog", when=utc("2026-03-01T10:00:05"), host="n1", process="python"),
    )
    assert found["host.oom_kill"][0].onset == Span(
        micros("2026-03-01T10:00:00") - 1_000, micros("2026-03-01T10:00:00") + 1_000
    )


def test_a_clock_that_chrony_calls_not_synchronised_stays_unknown() -> None:
    result = timeline(
        seen("host.clock_offset", "chrony", host="n1", offset_us=0, bound_us=10, synchronised=False),
        seen("host.oom_kill", "syslog", when=utc("2026-03-01T10:00:05"), host="n1", process="python"),
    )
    assert any("unknown" in note for note in result.assumptions)


def test_hosts_are_aligned_by_an_event_that_all_of_them_print_at_once() -> None:
    mark: dict[str, Any] = {"phase": "startup", "what": "rendezvous_complete"}
    found = facts(
        seen("job.phase_mark", "a", when=utc("2026-03-01T10:00:00"), host="n1", **mark),
        seen("job.phase_mark", "b", when=utc("2026-03-01T10:01:30"), host="n2", **mark),
        seen("job.phase_mark", "c", when=utc("2026-03-01T10:00:00"), host="n3", **mark),
        seen("job.process_exit", "b", 2, when=utc("2026-03-01T11:01:00"), host="n2", exit_code=1, signal=0, lag=(0, 0)),
        seen("comm.peer_closed", "a", 2, when=utc("2026-03-01T11:00:05"), host="n1", address="n2"),
    )
    exit_, closed = found["job.process_exit"][0], found["comm.peer_closed"][0]
    assert before(exit_, closed) is Order.YES


def test_shared_events_respect_known_offsets() -> None:
    estimated = align_by_shared_events(
        {"e": {"n1": Span(100, 100), "n2": Span(160, 160)}}, spread=2, known={"n1": Offset(50, 1, "manifest")}
    )
    assert estimated == {"n2": Offset(110, 2, "shared events")}
