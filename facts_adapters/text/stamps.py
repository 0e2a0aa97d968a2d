"""Time stamps as logs print them, read without guessing.

A stamp becomes a :class:`Reading`: an interval as wide as the stamp's resolution. Zone offsets, ``Z``, ``UTC`` and
``GMT`` make it UTC; other zone abbreviations stay local, because ``CST`` and ``IST`` each name several zones. A stamp
without a year is given in 1970 and marked (29 February in 1972, since 1970 has none).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from functools import lru_cache

from engine.facts.model import SECOND, Reading

MINUTE = 60 * SECOND
_DAY = 86_400 * SECOND
_EPOCH = date(1970, 1, 1).toordinal()
_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTHS = {name: i for i, name in enumerate(_MONTH_NAMES, start=1)}

LONGEST_STAMP = 64
"""Characters looked at from where a stamp may begin."""

_MON = r"(?P<mon>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
_WDAY = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6}\.?,? +)"
_HMS = r"(?P<h>\d\d?):(?P<mi>\d\d):(?P<s>\d\d)"
_HHMMSS = r"(?P<h>\d\d):?(?P<mi>\d\d):?(?P<s>\d\d)"
_FRAC = r"(?:[.,:](?P<frac>\d{1,9})(?:\.(?P<more>\d{3}))?)?"
_AMPM = r"(?: ?(?P<half>[AaPp][Mm]))?"
_NEAR = r"(?:(?P<zone>Z|[+-]\d\d(?::?\d\d)?)(?![\d:])| ?(?P<name>UTC|GMT)(?!\w)| (?P<far>[+-]\d\d:?\d\d)(?![\d:]))?"
_ZONE = r"(?:(?P<zone>Z|[+-]\d\d:?\d\d)| (?P<name>UTC|GMT|[+-]\d\d(?::?\d\d)?|[A-Z]{2,5}))"

_Shape = tuple[re.Pattern[str], Callable[[re.Match[str]], Reading | None]]


def micros(year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0) -> int | None:
    """Microseconds since the epoch of a wall clock read as UTC; ``None`` where there is no such time."""
    midnight = _midnight(year, month, day)
    if midnight is None or hour > 23 or minute > 59 or second > 60:
        return None
    return midnight + (hour * 3600 + minute * 60 + second) * SECOND


@lru_cache(maxsize=4096)
def _midnight(year: int, month: int, day: int) -> int | None:
    try:
        return (date(year, month, day).toordinal() - _EPOCH) * _DAY
    except ValueError:
        return None


@lru_cache(maxsize=512)
def offset(zone: str) -> int | None:
    """Microseconds east of UTC of ``Z``, ``UTC``, ``GMT`` or a numeric offset; ``None`` for any other name."""
    if zone in ("Z", "UTC", "GMT", "z"):
        return 0
    digits = zone[1:].replace(":", "")
    if zone[:1] not in "+-" or not digits.isdigit() or len(digits) not in (2, 4):
        return None
    hours, minutes = int(digits[:2]), int(digits[2:] or 0)
    if hours > 18 or minutes > 59:
        return None
    east = (hours * 60 + minutes) * MINUTE
    return -east if zone[0] == "-" else east


def wall(start: int | None, width: int, zone: str | None = None, *, year_known: bool = True) -> Reading | None:
    """A reading of ``width`` microseconds from ``start``, moved to UTC where ``zone`` is an offset."""
    if start is None:
        return None
    east = offset(zone) if zone else None
    if east is None:
        return Reading(start, start + width - 1, "local", year_known)
    return Reading(start - east, start - east + width - 1, "utc", year_known, zone)


def boot(seconds: str) -> Reading:
    """A kernel stamp ``12345.678901``: seconds since boot with as many digits as are printed."""
    whole, _, frac = seconds.partition(".")
    width = 10 ** (6 - min(len(frac), 6))
    start = int(whole) * SECOND + (int(frac[:6].ljust(6, "0")) if frac else 0)
    return Reading(start, start + width - 1, "boot", False)


def epoch(digits: str) -> Reading | None:
    """Seconds (10 digits, fraction allowed), milli-, micro- or nanoseconds since the epoch, always UTC."""
    whole, _, frac = digits.partition(".")
    if not whole.isdigit() or (frac and not frac.isdigit()):
        return None
    if len(whole) in (9, 10):
        width = 10 ** (6 - min(len(frac), 6))
        start = int(whole) * SECOND + (int(frac[:6].ljust(6, "0")) if frac else 0)
    elif len(whole) == 13:
        width, start = 1000, int(whole) * 1000
    elif len(whole) == 16:
        width, start = 1, int(whole)
    elif len(whole) == 19:
        width, start = 1, int(whole) // 1000
    else:
        return None
    return Reading(start, start + width - 1, "utc", True, "UTC")


def _fraction(frac: str | None, more: str | None = None) -> tuple[int, int]:
    """(microseconds, width) of a printed fraction; ``more`` continues it (``113.403`` of plog)."""
    if not frac:
        return 0, SECOND
    digits = (frac + (more or ""))[:6] if not more or len(frac) == 3 else frac[:6]
    return int(digits.ljust(6, "0")), 10 ** (6 - len(digits))


def _year(text: str) -> int:
    return int(text)


def _clock(match: re.Match[str], groups: dict[str, str | None]) -> tuple[int, int, int] | None:
    hour = int(match["h"])
    half = groups.get("half")
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half.lower() == "pm" else 0)
    return hour, int(match["mi"]), int(match["s"])


def _full(match: re.Match[str]) -> Reading | None:
    """Any shape with the named parts; year optional."""
    groups = match.groupdict()
    clock = _clock(match, groups)
    month = MONTHS[match["mon"].lower()] if groups.get("mon") else int(match["mo"])
    day = int(match["d"])
    year_text = groups.get("y") or groups.get("y2")
    year = _year(year_text) if year_text else (1972 if (month, day) == (2, 29) else 1970)
    if clock is None:
        return None
    start = micros(year, month, day, *clock)
    extra, width = _fraction(groups.get("frac"), groups.get("more"))
    zone = groups.get("zone") or groups.get("name") or groups.get("far")
    return wall(None if start is None else start + extra, width, zone, year_known=bool(year_text))


def _european(match: re.Match[str]) -> Reading | None:
    """``MM/DD/YYYY``; the other way round only where the first number cannot be a month."""
    first, second = int(match["mo"]), int(match["d"])
    month, day = (second, first) if first > 12 else (first, second)
    start = micros(int(match["y"]), month, day, int(match["h"]), int(match["mi"]), int(match["s"]))
    extra, width = _fraction(match["frac"])
    return wall(None if start is None else start + extra, width)


def _glog(match: re.Match[str]) -> Reading | None:
    """The letter, month and day of glog and its kin.

    Nine digits are PyTorch's, whose fraction is of another clock: the second alone counts.
    """
    number = match["md"]
    month, day = int(number[:-2]), int(number[-2:])
    year = int(match["y"]) if match["y"] else (1972 if (month, day) == (2, 29) else 1970)
    start = micros(year, month, day, int(match["h"]), int(match["mi"]), int(match["s"]))
    frac = match["frac"]
    if len(frac) == 9:
        extra, width = 0, SECOND
    elif frac.endswith("000"):
        extra, width = int(frac), 1000
    else:
        extra, width = int(frac), 1
    return wall(None if start is None else start + extra, width, year_known=bool(match["y"]))


def _minute(match: re.Match[str]) -> Reading | None:
    start = micros(1970, MONTHS[match["mon"].lower()], int(match["d"]), int(match["h"]), int(match["mi"]))
    return wall(start, MINUTE, year_known=False)


def _shape(pattern: str, read: Callable[[re.Match[str]], Reading | None] = _full) -> _Shape:
    return re.compile(pattern), read


_DIGIT: tuple[_Shape, ...] = (
    _shape(rf"(?P<y>(?:19|20)\d\d)[-/.](?P<mo>\d\d?)[-/.](?P<d>\d\d?)(?:[T_]|-| +){_HMS}{_FRAC}{_AMPM}{_NEAR}"),
    _shape(rf"(?P<y>(?:19|20)\d\d)(?P<mo>\d\d)(?P<d>\d\d)[T_ -]?{_HHMMSS}{_FRAC}{_NEAR}(?!\d)"),
    _shape(rf"(?P<mo>\d\d)/(?P<d>\d\d)/(?P<y>(?:19|20)\d\d)(?: \||,)? {_HMS}(?:[.,](?P<frac>\d{{1,9}}))?", _european),
    _shape(rf"(?P<d>\d\d)/{_MON}/(?P<y>\d{{4}})[: ]{_HMS}{_FRAC}{_NEAR}"),
    _shape(rf"(?P<mo>\d\d)-(?P<d>\d\d) {_HMS}{_FRAC}(?!\d)"),
    _shape(rf"(?P<y>(?:19|20)\d\d) {_MON} +(?P<d>\d\d?) {_HMS}{_FRAC}(?: (?P<zone>UTC|GMT|[+-]\d\d:?\d\d)(?!\w))?"),
    _shape(rf"(?P<d>\d\d?)[ -]{_MON}[ -](?P<y>\d{{4}}),? +{_HMS}{_FRAC}{_AMPM}{_ZONE}?(?!\w)"),
)
_LETTER: tuple[_Shape, ...] = (
    _shape(rf"[A-Z](?P<y>(?:19|20)\d\d)?(?P<md>\d{{3,4}}) {_HMS}\.(?P<frac>\d{{9}}|\d{{6}})(?!\d)", _glog),
    _shape(rf"{_WDAY}?{_MON} +(?P<d>\d\d?),? +(?P<y>(?:19|20)\d\d),? +{_HMS}{_FRAC}{_AMPM}(?:{_ZONE}(?!\w))?"),
    _shape(rf"{_WDAY}?{_MON} +(?P<d>\d\d?) +{_HMS}{_FRAC}{_AMPM}{_ZONE}? (?P<y>(?:19|20)\d\d)(?![\w.:-])"),
    _shape(rf"{_WDAY}?{_MON} +(?P<d>\d\d?) +{_HMS}{_FRAC}{_NEAR}"),
    _shape(rf"{_WDAY}(?P<d>\d\d?)[ -]{_MON}[ -](?P<y>\d{{4}}),? +{_HMS}{_FRAC}{_AMPM}{_ZONE}?(?!\w)"),
    _shape(rf"{_WDAY}(?P<y>(?:19|20)\d\d)-(?P<mo>\d\d)-(?P<d>\d\d) {_HMS}{_FRAC}{_ZONE}?(?!\w)"),
    _shape(rf"{_MON}(?P<d>\d\d?) (?P<h>\d\d):(?P<mi>\d\d)(?![:\d])", _minute),
)


def parse(text: str, position: int = 0) -> tuple[Reading, int] | None:
    """The stamp that begins exactly at ``position`` and where it ends, ``None`` where none begins there."""
    found = _parse(text[position : position + LONGEST_STAMP])
    return (found[0], position + found[1]) if found else None


@lru_cache(maxsize=8192)
def _parse(text: str) -> tuple[Reading, int] | None:
    first = text[:1]
    for pattern, read in _DIGIT if first.isdigit() else _LETTER if first.isalpha() else ():
        match = pattern.match(text)
        if match:
            reading = read(match)
            if reading:
                return reading, match.end()
    return None


_BOOT = re.compile(r"\[?\s*(\d{1,9}\.\d{6})\]?$")
_EPOCH_TEXT = re.compile(r"\d{9,10}(?:\.\d+)?$|\d{13}$|\d{16}$|\d{19}$")


def reading(text: str) -> Reading | None:
    """A text that is a time stamp and nothing else, in any known shape; brackets and quotes around it are allowed.

    A second stamp of the same kind, or any other text behind it, makes it no stamp.
    """
    stripped = text.strip().strip("'\"").strip()
    if _BOOT.match(stripped) and (stripped.startswith("[") or len(stripped.partition(".")[0]) < 9):
        return boot(stripped.strip("[] "))
    bare = stripped.strip("[]() *")
    if _EPOCH_TEXT.match(bare):
        return epoch(bare)
    found = parse(bare)
    return found[0] if found and not bare[found[1] :].strip() else None


_MINUTE_LABEL = re.compile(
    r"(?:(?:t\d{1,3}|before|after|during|sample|snapshot|snap)[_-])?(?P<day>20\d\d[01]\d[0-3]\d)[T_-]?(?P<hour>[0-2]\d)(?P<minute>[0-5]\d)(?P<zone>Z)?$"
)


def label_reading(label: str) -> Reading | None:
    """The time that the name of a folder states; a name may leave out the seconds, as ``20251104T0215Z`` does."""
    found = reading(label)
    match = None if found else _MINUTE_LABEL.match(label)
    if match is None:
        return found
    whole = reading(f"{match['day']}T{match['hour']}{match['minute']}00" + ("Z" if match["zone"] else ""))
    return replace(whole, latest=whole.earliest + 59_999_999) if whole else None
