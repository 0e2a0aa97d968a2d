"""``chronyc tracking`` as text and as CSV (``-c``), chrony 1.x .. 4.x.

The bound is the one of chronyc(1): the clock is off by less than |system time| + root dispersion + half the root delay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.host._statement import state

_FIELD = re.compile(r"\s{0,40}(?P<name>[A-Z][\w ()]{0,40}?) {0,40}: (?P<value>.+)")
_SYSTEM = re.compile(r"(?P<seconds>[\d.]+) seconds (?P<side>slow|fast) of NTP time")
_SECONDS = re.compile(r"(?P<seconds>-?[\d.]+) seconds")
_CSV_FIELDS = 14
_MICRO = 1_000_000


def sniff(head: Head) -> Verdict:
    """The two fields that only this output has, or its CSV line."""
    if "System time" in head.text and "Root dispersion" in head.text:
        return Verdict(0.95, "chronyc tracking")
    return Verdict(0.9, "chronyc -c tracking") if any(_csv(line) for line in head.lines[:50]) else Verdict(0.0, "no")


def read(file: EvidenceFile, context: Context) -> Iterator[Observation]:
    """``host.clock_offset`` with its bound; positive is ahead of true time."""
    fields: dict[str, str] = {}
    where: Line | None = None
    for line in file.lines():
        csv = _csv(line.text)
        if csv:
            yield state(file, line, "host.clock_offset", csv)
            continue
        match = _FIELD.match(line.text)
        if match is None:
            continue
        if match["name"] == "Reference ID" and where is not None:
            yield state(file, where, "host.clock_offset", _tracking(fields))
            fields, where = {}, None
        fields[match["name"]] = match["value"]
        if match["name"] == "System time":
            where = line
    if where is not None:
        yield state(file, where, "host.clock_offset", _tracking(fields), context.snapshot_time(file.path))


def _tracking(fields: dict[str, str]) -> dict[str, Scalar]:
    found: dict[str, Scalar] = {}
    leap = fields.get("Leap status", "")
    if leap:
        found["synchronised"] = not leap.startswith("Not")
    system = _SYSTEM.search(fields.get("System time", ""))
    if system is None:
        return found
    seconds = float(system["seconds"]) * (-1 if system["side"] == "slow" else 1)
    found["offset_us"] = round(seconds * _MICRO)
    delay, dispersion = _seconds(fields.get("Root delay")), _seconds(fields.get("Root dispersion"))
    if delay is not None and dispersion is not None:
        found["bound_us"] = max(1, round((dispersion + delay / 2) * _MICRO))
    return found


def _seconds(text: str | None) -> float | None:
    match = _SECONDS.match(text or "")
    return abs(float(match["seconds"])) if match else None


def _csv(text: str) -> dict[str, Scalar]:
    """Fields of a CSV line: id, name, stratum, time, offset (positive: slow), ..., delay, dispersion, ..., leap."""
    cells = text.strip().split(",")
    if len(cells) != _CSV_FIELDS or not re.fullmatch(r"[0-9A-F]{8}", cells[0]) or not cells[2].isdigit():
        return {}
    try:
        offset, delay, dispersion = float(cells[4]), float(cells[10]), float(cells[11])
    except ValueError:
        return {}
    return {
        "offset_us": round(-offset * _MICRO),
        "bound_us": max(1, round((abs(dispersion) + abs(delay) / 2) * _MICRO)),
        "synchronised": not cells[13].startswith("Not"),
    }


_TEXT = """\
Reference ID    : 0A000003 (10.0.0.3)
Stratum         : 3
Ref time (UTC)  : Tue Mar 03 04:17:36 2026
System time     : 0.004208317 seconds slow of NTP time
Last offset     : +0.003115082 seconds
Root delay      : 0.001742608 seconds
Root dispersion : 0.000587144 seconds
Leap status     : Normal
"""
_LINE = "0A000003,10.0.0.3,3,1772511456.4,-0.5,0.0025,0.0022,7.214,0.118,0.203,0.002,0.001,517.3,Normal\n"

ADAPTER = Adapter(
    name="chrony_tracking",
    branch="host",
    emits=("host.clock_offset",),
    coverage=None,
    sniff=sniff,
    read=read,
    samples=(
        Sample(_TEXT, (("host.clock_offset", {"offset_us": -4208, "bound_us": 1458, "synchronised": True}),)),
        Sample(_LINE, (("host.clock_offset", {"offset_us": 500000, "bound_us": 2000, "synchronised": True}),)),
        Sample("System time is kept by chrony\n"),
    ),
)
