"""A stamp's reading is an interval that holds the instant it was printed for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.facts.model import Reading
from facts_adapters.text.stamps import boot, epoch, offset, parse, reading

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]


def micros(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


def ctime(m: datetime) -> str:
    return f"{DAYS[m.weekday()]} {MONTHS[m.month - 1]} {m.day:2d} {m:%H:%M:%S}"


def twelve(m: datetime) -> str:
    return f"{(m.hour + 11) % 12 + 1:02d}:{m:%M:%S} {'AM' if m.hour < 12 else 'PM'}"


# name -> how the moment (naive wall clock) is printed; a year stands in all of these
WITH_YEAR: dict[str, Callable[[datetime], str]] = {
    "iso T": lambda m: f"{m:%Y-%m-%dT%H:%M:%S}",
    "iso blank": lambda m: f"{m:%Y-%m-%d %H:%M:%S}",
    "python logging": lambda m: f"{m:%Y-%m-%d %H:%M:%S},{m.microsecond // 1000:03d}",
    "iso micro": lambda m: f"{m:%Y-%m-%d %H:%M:%S.%f}",
    "iso nano": lambda m: f"{m:%Y-%m-%dT%H:%M:%S.%f}789",
    "slashes": lambda m: f"{m:%Y/%m/%d %H:%M:%S}",
    "torchelastic": lambda m: f"{m:%Y-%m-%d_%H:%M:%S}",
    "plog": lambda m: f"{m:%Y-%m-%d-%H:%M:%S}.{m.microsecond // 1000:03d}.{m.microsecond % 1000:03d}",
    "compact": lambda m: f"{m:%Y%m%d-%H%M%S}",
    "compact T": lambda m: f"{m:%Y%m%dT%H%M%S}",
    "united states": lambda m: f"{m:%m/%d/%Y %H:%M:%S}",
    "ctime": lambda m: f"{ctime(m)} {m.year}",
    "date with zone name": lambda m: f"{ctime(m)} CST {m.year}",
    "date of a locale": lambda m: f"{DAYS[m.weekday()]} {m:%d} {MONTHS[m.month - 1]} {m.year} {twelve(m)} JST",
    "date am pm": lambda m: f"{DAYS[m.weekday()]} {MONTHS[m.month - 1]} {m.day:2d} {twelve(m)} CST {m.year}",
    "fabric manager": lambda m: f"{MONTHS[m.month - 1]} {m:%d} {m.year} {m:%H:%M:%S}",
    "nx-os": lambda m: f"{m.year} {MONTHS[m.month - 1]} {m.day:2d} {m:%H:%M:%S}",
    "glog with year": lambda m: f"W{m:%Y%m%d %H:%M:%S.%f}",
}
WITHOUT_YEAR: dict[str, Callable[[datetime], str]] = {
    "syslog": lambda m: f"{MONTHS[m.month - 1]} {m.day:2d} {m:%H:%M:%S}",
    "sonic": lambda m: f"{MONTHS[m.month - 1]} {m.day:2d} {m:%H:%M:%S.%f}",
    "c10": lambda m: f"E{m.month}{m.day:02d} {m:%H:%M:%S}.715298746",
    "torch python": lambda m: f"W{m:%m%d %H:%M:%S}.{m.microsecond // 1000 * 1000:06d}",
    "glog": lambda m: f"I{m:%m%d %H:%M:%S.%f}",
    "month and day": lambda m: f"{m:%m-%d %H:%M:%S}",
    "dmesg -e": lambda m: f"{MONTHS[m.month - 1]}{m:%d %H:%M}",
}


def between(first: int, last: int) -> st.SearchStrategy[datetime]:
    start = (first - 1970) * 31_557_600_000_000
    return st.integers(start, (last - 1970) * 31_557_600_000_000).map(lambda at: EPOCH + timedelta(microseconds=at))


moments = between(1991, 2099)


@pytest.mark.parametrize("name", WITH_YEAR)
@given(moment=moments)
def test_a_full_stamp_holds_its_moment(name: str, moment: datetime) -> None:
    found = reading(WITH_YEAR[name](moment))
    assert found is not None
    assert found.basis == "local"
    assert found.year_known
    assert found.earliest <= micros(moment) <= found.latest
    assert found.latest - found.earliest < 1_000_000


@pytest.mark.parametrize("name", WITHOUT_YEAR)
@given(moment=moments)
def test_a_stamp_without_a_year_says_so(name: str, moment: datetime) -> None:
    found = reading(WITHOUT_YEAR[name](moment))
    assert found is not None
    assert not found.year_known
    year = 1972 if (moment.month, moment.day) == (2, 29) else 1970
    assert found.earliest <= micros(moment.replace(year=year)) <= found.latest


@given(moment=moments, minutes=st.integers(-12 * 4, 14 * 4).map(lambda quarter: quarter * 15), colon=st.booleans())
def test_an_offset_makes_it_utc(moment: datetime, minutes: int, colon: bool) -> None:
    local = moment.astimezone(timezone(timedelta(minutes=minutes)))
    zone = f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}{':' if colon else ''}{abs(minutes) % 60:02d}"
    for text in (
        f"{local:%Y-%m-%dT%H:%M:%S.%f}{zone}",
        f"{local:%Y-%m-%dT%H:%M:%S},{local.microsecond:06d}{zone}",
        f"{local:%Y-%m-%d %H:%M:%S} {zone}",
        f"{local:%d}/{MONTHS[local.month - 1]}/{local.year}:{local:%H:%M:%S} {zone}",
        f"{ctime(local)} {zone} {local.year}",
        f"{MONTHS[local.month - 1]} {local:%d} {local.year} {local:%H:%M:%S}{zone}",
    ):
        found = reading(text)
        assert found is not None, text
        assert found.basis == "utc"
        assert found.zone == zone
        assert found.earliest <= micros(moment) <= found.latest


@pytest.mark.parametrize("text", ["2026-03-12T08:00:00Z", "2026-03-12 08:00:00 UTC", "Thu Mar 12 08:00:00 UTC 2026"])
def test_utc_by_name(text: str) -> None:
    found = reading(text)
    assert found is not None
    assert (found.basis, found.earliest) == ("utc", 1_773_302_400_000_000)


@pytest.mark.parametrize("zone", ["CST", "IST", "PDT", "JST", "BST"])
def test_other_zone_names_are_never_guessed(zone: str) -> None:
    found = reading(f"Thu Mar 12 08:00:00 {zone} 2026")
    assert found is not None
    assert found.basis == "local"
    assert offset(zone) is None


def test_a_short_offset() -> None:
    found = reading("Tue Jun 23 07:34:12 +08 2026")
    assert found is not None
    assert found.basis == "utc"
    assert found.earliest == micros(datetime(2026, 6, 22, 23, 34, 12, tzinfo=timezone.utc))


def test_the_fraction_of_a_c10_stamp_is_of_another_clock() -> None:
    first, second = reading("E1130 13:34:45.904202049"), reading("E1130 13:34:45.672613677")
    assert first == second
    assert first is not None
    assert first.latest - first.earliest == 999_999


def test_months_are_not_padded_in_c10_stamps() -> None:
    july, december = reading("E708 07:25:24.012298746"), reading("E1206 18:44:12.715298746")
    assert july is not None
    assert december is not None
    assert july.earliest == micros(datetime(1970, 7, 8, 7, 25, 24, tzinfo=timezone.utc))
    assert december.earliest == micros(datetime(1970, 12, 6, 18, 44, 12, tzinfo=timezone.utc))


@given(st.integers(0, 10**9), st.integers(0, 999_999))
def test_seconds_since_boot(whole: int, part: int) -> None:
    found = boot(f"{whole}.{part:06d}")
    assert (found.basis, found.earliest, found.latest) == ("boot", whole * 1_000_000 + part, whole * 1_000_000 + part)


@given(moment=between(2002, 2099))
def test_epochs(moment: datetime) -> None:
    at = micros(moment)
    for text in (f"{at // 1_000_000}", f"{at // 1_000_000}.{at % 1_000_000:06d}", f"{at // 1000}", f"{at}", f"{at}123"):
        found = epoch(text)
        assert found is not None, text
        assert found.basis == "utc"
        assert found.earliest <= at <= found.latest


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "12:34:56",
        "2026-13-01 00:00:00",
        "2026-02-30 00:00:00",
        "2026-02-28 25:00:00",
        "Foo 12 10:22:05",
        "Jun 12",
        "1.5.3",
        "192.168.100.200",
        "2026-03-12 08:00:00 something",
        "E0000 00:00:00.000000",
    ],
)
def test_what_is_no_stamp(text: str) -> None:
    assert reading(text) is None


@given(st.text(max_size=80))
def test_any_text_is_read_without_error(text: str) -> None:
    found = reading(text)
    assert found is None or found.earliest <= found.latest
    assert parse(text) is None or parse(text)[1] <= len(text)  # type: ignore[index]


def test_parse_tells_where_the_stamp_ends() -> None:
    text = "[2026-03-12 08:00:00,123] rest"
    found = parse(text, 1)
    assert found is not None
    assert text[found[1] :] == "] rest"
    assert isinstance(found[0], Reading)
