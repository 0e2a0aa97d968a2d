"""From the time a line states to an interval in UTC, with every assumption named.

A reading passes four steps: year (from the manifest or the nearest known stamp), zone (from the text, the manifest or
lines that carry both clocks), boot time (for kernel stamps) and the offset of the host's clock (manifest, chrony or
PTP output, shared events, else a stated bound). What stays unknown widens the interval; nothing is guessed away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from engine.facts.manifest import Manifest
from engine.facts.model import SECOND, Observation, Reading, Span

DAY = 86_400 * SECOND
ZONES_WEST = 12 * 3_600 * SECOND
ZONES_EAST = 14 * 3_600 * SECOND
UNKNOWN_CLOCK_BOUND = 120 * SECOND
"""Bound assumed for a host whose clock nothing tells about; reports say so."""

BOOT_BOUND = 2 * SECOND
BOOT_DRIFT = 100
"""Parts per million by which the boot clock may have drifted from the wall clock since boot."""

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True, slots=True)
class Offset:
    """How far a host's clock is ahead of UTC, in microseconds, with a symmetric bound and where that comes from."""

    value: int
    bound: int
    origin: str


@dataclass(frozen=True, slots=True)
class Placed:
    """A reading on its own clock and in UTC."""

    clock: str
    local: Span
    utc: Span
    assumptions: tuple[str, ...] = ()


@dataclass(slots=True)
class ClockBook:
    """Everything known about the clocks of an incident."""

    manifest: Manifest
    offsets: dict[str, Offset] = field(default_factory=dict)
    boots: dict[str, Span] = field(default_factory=dict)
    zones: dict[str, int] = field(default_factory=dict)
    """Per file: local minus UTC in microseconds, found from lines that carry both."""
    known_days: Span = field(default_factory=Span)
    """Hull of the stamps whose year and zone the texts state."""

    def place(self, reading: Reading, path: str, host: str | None, family: str) -> Placed:
        """Place one reading of a file; ``family`` keeps job logs and host logs apart where no zone is known."""
        if reading.basis == "boot":
            return self._place_boot(reading, path, host)
        notes: list[str] = []
        earliest, latest = reading.earliest, reading.latest
        if not reading.year_known:
            shift = self._year_shift(reading, path, notes)
            if shift is None:
                return Placed(f"noyear:{host or path}:{family}", Span(earliest, latest), Span(), tuple(notes))
            earliest, latest = earliest + shift, latest + shift
        zoned = reading.basis == "utc" or reading.zone is not None
        if zoned:
            return self._finish(earliest, latest, path, host, notes)
        offset = self._zone_offset(path, earliest, notes)
        if offset is not None:
            return self._finish(earliest - offset, latest - offset, path, host, notes)
        low, high = self._feasible_zones(earliest, latest)
        notes.append(f"no time zone stated for {path}: any of UTC-12 to UTC+14 is possible")
        bound = self.offset_of(host).bound
        utc = Span(earliest - high - bound, latest - low + bound)
        return Placed(f"zoneless:{host or path}:{family}", Span(earliest, latest), utc, tuple(notes))

    def offset_of(self, host: str | None) -> Offset:
        """The clock offset of a host, with the stated bound where nothing is known."""
        if host and host in self.offsets:
            return self.offsets[host]
        return Offset(0, UNKNOWN_CLOCK_BOUND, "unknown")

    def _finish(self, earliest: int, latest: int, path: str, host: str | None, notes: list[str]) -> Placed:
        offset = self.offset_of(host)
        if offset.origin == "unknown":
            notes.append(f"clock of {host or path} unknown: taken as within {UNKNOWN_CLOCK_BOUND // SECOND} s of UTC")
        utc = Span(earliest - offset.value - offset.bound, latest - offset.value + offset.bound)
        return Placed(f"wall:{host or path}", Span(earliest, latest), utc, tuple(notes))

    def _place_boot(self, reading: Reading, path: str, host: str | None) -> Placed:
        boot = self.boots.get(host or path)
        local = Span(reading.earliest, reading.latest)
        if boot is None or boot.earliest is None or boot.latest is None:
            note = f"boot time of {host or path} unknown: its kernel stamps have no wall time"
            return Placed(f"boot:{host or path}", local, Span(), (note,))
        drift = BOOT_BOUND + reading.latest * BOOT_DRIFT // 1_000_000
        bound = self.offset_of(host).bound
        earliest, latest = boot.earliest + reading.earliest - drift, boot.latest + reading.latest + drift
        utc = Span(earliest - bound, latest + bound)
        return Placed(f"boot:{host or path}", local, utc, (f"kernel stamps of {host or path} counted from its boot",))

    def _zone_offset(self, path: str, wall: int, notes: list[str]) -> int | None:
        stated = self.manifest.hint(path).timezone
        if stated:
            offset = zone_offset(stated, wall)
            if offset is not None:
                return offset
        if path in self.zones:
            notes.append(f"zone of {path} found from lines that carry both clocks")
            return self.zones[path]
        if self.manifest.timezone:
            offset = zone_offset(self.manifest.timezone, wall)
            if offset is not None:
                notes.append(f"{path} read in the incident's zone {self.manifest.timezone}")
                return offset
        return None

    def _feasible_zones(self, earliest: int, latest: int) -> tuple[int, int]:
        """Least and greatest local-minus-UTC that let the stamp touch the incident's window (a day around it)."""
        window = self.manifest.window
        if window is None or window.earliest is None or window.latest is None:
            return -ZONES_WEST, ZONES_EAST
        low = max(-ZONES_WEST, earliest - window.latest - DAY)
        high = min(ZONES_EAST, latest - window.earliest + DAY)
        return (low, high) if low <= high else (-ZONES_WEST, ZONES_EAST)

    def _year_shift(self, reading: Reading, path: str, notes: list[str]) -> int | None:
        """Microseconds to add to a stamp given in 1970 so that it lies in the right year.

        The incident's window decides, else the manifest's year, else the stamps whose year the texts state.
        """
        anchor, origin = _middle(self.manifest.window), "the incident's window"
        if anchor is None and self.manifest.year:
            shift = _shift_to_year(reading.earliest, self.manifest.year)
            notes.append(f"year {self.manifest.year} of {path} taken from the manifest")
            return shift
        if anchor is None:
            anchor, origin = _middle(self.known_days), "other stamps of the bundle"
        if anchor is None:
            notes.append(f"year of {path} unknown")
            return None
        near = (_EPOCH + timedelta(microseconds=anchor)).year
        shifts = [s for year in (near - 1, near, near + 1) if (s := _shift_to_year(reading.earliest, year)) is not None]
        if not shifts:
            return None
        best = min(shifts, key=lambda shift: abs(reading.earliest + shift - anchor))
        year = (_EPOCH + timedelta(microseconds=reading.earliest + best)).year
        notes.append(f"year {year} of {path} taken from {origin}")
        return best


def _middle(span: Span | None) -> int | None:
    if span is None or span.earliest is None:
        return None
    return span.earliest if span.latest is None else (span.earliest + span.latest) // 2


def _shift_to_year(stamp: int, year: int) -> int | None:
    """Microseconds that move a stamp of 1970 to the same month, day and time of ``year``; None on 29 February."""
    moment = _EPOCH + timedelta(microseconds=stamp)
    try:
        moved = moment.replace(year=year)
    except ValueError:
        return None
    return (moved - moment) // timedelta(microseconds=1)


@lru_cache(maxsize=4096)
def zone_offset(name: str, wall: int) -> int | None:
    """Local minus UTC in microseconds for a zone name or ``+08:00`` at a wall-clock time; ``None`` if unknown.

    ``wall`` is the local time as microseconds since the epoch read as UTC.
    """
    fixed = _fixed_offset(name)
    if fixed is not None:
        return fixed
    try:
        zone = ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
    local = (_EPOCH + timedelta(microseconds=wall)).replace(tzinfo=zone)
    delta = local.utcoffset()
    return None if delta is None else delta // timedelta(microseconds=1)


def _fixed_offset(name: str) -> int | None:
    if name.upper() in {"UTC", "Z", "GMT", "ETC/UTC"}:
        return 0
    text = name.upper().removeprefix("UTC").removeprefix("GMT")
    if not text or text[0] not in "+-":
        return None
    digits = text[1:].replace(":", "")
    if not digits.isdigit() or len(digits) not in (1, 2, 4):
        return None
    hours, minutes = (int(digits), 0) if len(digits) <= 2 else (int(digits[:2]), int(digits[2:]))
    offset = (hours * 3_600 + minutes * 60) * SECOND
    return offset if text[0] == "+" else -offset


def collect_offsets(observations: Sequence[Observation], manifest: Manifest) -> dict[str, Offset]:
    """Offsets from the manifest first, then from ``host.clock_offset`` observations (chrony, PTP), smallest bound."""
    offsets: dict[str, Offset] = {}
    for item in observations:
        if item.kind != "host.clock_offset" or item.host is None:
            continue
        value, bound = item.fields.get("offset_us"), item.fields.get("bound_us")
        if not isinstance(value, int) or item.fields.get("synchronised") is False:
            continue
        width = bound if isinstance(bound, int) else SECOND
        known = offsets.get(item.host)
        if known is None or width < known.bound:
            offsets[item.host] = Offset(value, max(width, 1), item.source.path)
    for host, (value, bound) in manifest.clock_hosts.items():
        offsets[host] = Offset(value, bound, "manifest")
    return offsets


def collect_boots(observations: Sequence[Observation]) -> dict[str, Span]:
    """Last boot time per host (per file where no host is known) from statements that are not kernel stamps."""
    boots: dict[str, Span] = {}
    for item in observations:
        reading = item.when
        if item.kind != "host.boot" or reading is None or reading.basis != "utc":
            continue
        key = item.host or item.source.path
        known = boots.get(key)
        if known is None or (known.earliest or 0) < reading.earliest:
            boots[key] = Span(reading.earliest, reading.latest)
    return boots


def align_by_shared_events(
    stamps: Mapping[str, Mapping[str, Span]], spread: int, known: Mapping[str, Offset]
) -> dict[str, Offset]:
    """Offsets of hosts estimated from events that happen on all of them within ``spread`` microseconds.

    ``stamps`` maps an event to the local span per host. The reference is a host with a known offset, else the median.
    Several events narrow nothing: the estimate with the smallest bound is kept.
    """
    found: dict[str, Offset] = {}
    for event in sorted(stamps):
        middles = {
            host: ((span.earliest + span.latest) // 2, (span.latest - span.earliest) // 2)
            for host, span in stamps[event].items()
            if span.earliest is not None and span.latest is not None
        }
        if len(middles) < 2:
            continue
        reference = _reference(middles, known)
        for host, (middle, width) in middles.items():
            if host in known:
                continue
            bound = spread + width
            if host not in found or bound < found[host].bound:
                found[host] = Offset(middle - reference, bound, "shared events")
    return found


def _reference(middles: Mapping[str, tuple[int, int]], known: Mapping[str, Offset]) -> int:
    anchored = sorted(middle - known[host].value for host, (middle, _) in middles.items() if host in known)
    if anchored:
        return anchored[len(anchored) // 2]
    ordered = sorted(middle for middle, _ in middles.values())
    return ordered[len(ordered) // 2]
