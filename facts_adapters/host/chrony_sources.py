"""``chronyc sources`` as text and CSV (``-c``), ``sourcestats`` as text (chrony 2.x .. 4.x): the selected source.

The offset in brackets is the one that was measured; positive means that this clock is ahead (chronyc(1)). The error
behind ``+/-`` is the bound. Statistics estimate the past and give nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.host._statement import state

_SOURCE = re.compile(
    r"(?P<mode>[\^=#])(?P<state>[*+?x~-]) (?P<name>\S+) +\d+ +-?\d+ +(?P<reach>[0-7]+) +\S+ +"
    r"[+-]?\d+\w+\[ *(?P<sign>[+-]?)(?P<offset>\d{1,12})(?P<unit>[num]?s)\] \+/- +(?P<error>\d{1,12})(?P<scale>[num]?s)"
)
_CSV = re.compile(
    r"[\^=#],(?P<state>[*+?x~-]),[^,]{1,100},\d{1,2},-?\d{1,3},[0-7]{1,3},\d{1,12},-?\d{1,9}\.\d{1,12},"
    r"(?P<offset>-?\d{1,9}\.\d{1,12}),(?P<error>\d{1,9}\.\d{1,12})$"
)
_STATISTICS = re.compile(r"Name/IP Address +NP +NR +Span +Frequency +Freq Skew +Offset +Std Dev")
_US = {"ns": 0.001, "us": 1.0, "ms": 1_000.0, "s": 1_000_000.0}
_SELECTED = "*"


def sniff(head: Head) -> Verdict:
    """Rows with the mark of a source, or the heading of the statistics."""
    if "+/-" in head.text and any(_SOURCE.match(line) for line in head.lines):
        return Verdict(0.95, "chronyc sources")
    if head.text[:1] in ("^", "=", "#") and any(_CSV.match(line) for line in head.lines):
        return Verdict(0.9, "chronyc -c sources")
    found = "Std Dev" in head.text and any(_STATISTICS.match(line) for line in head.lines)
    return Verdict(0.9, "chronyc sourcestats") if found else Verdict(0.0, "no sources of a time service")


def read(file: EvidenceFile, context: Context) -> Iterator[Observation]:
    """``host.clock_offset`` against the selected source, or that none is selected."""
    when = context.snapshot_time(file.path)
    last: Line | None = None
    selected = False
    for line in file.lines():
        row = _SOURCE.match(line.text) or _CSV.match(line.text.rstrip())
        if row is None:
            continue
        last = line
        if row["state"] == _SELECTED:
            selected = True
            yield state(file, line, "host.clock_offset", _measured(row), when)
    if last is not None and not selected:
        yield state(file, last, "host.clock_offset", {"synchronised": False}, when)


def _measured(row: re.Match[str]) -> dict[str, Scalar]:
    """The measured offset and its bound; CSV gives seconds, with the sign in the number."""
    cells = row.groupdict()
    offset = float(row["offset"]) * _US[cells.get("unit") or "s"] * (-1 if cells.get("sign") == "-" else 1)
    bound = max(1, round(float(row["error"]) * _US[cells.get("scale") or "s"]))
    return {"offset_us": round(offset), "bound_us": bound, "synchronised": True}


_GOOD = """\
210 Number of sources = 2
MS Name/IP address         Stratum Poll Reach LastRx Last sample
===============================================================================
^* ntp1.lan                      2  10   377   512    -12us[  -14us] +/-   11ms
^+ 10.0.0.3                      2   6   377    23   +120us[ +118us] +/-   30ms
"""
_BAD = """\
MS Name/IP address         Stratum Poll Reach LastRx Last sample
===============================================================================
^? ntp1.lan                      0  10     0     -     +0ns[   +0ns] +/-    0ns
^x 10.0.0.3                      2   6   377    23    +12ms[  +12ms] +/-   30ms
"""
_HISTORY = """\
Name/IP Address            NP  NR  Span  Frequency  Freq Skew  Offset  Std Dev
==============================================================================
ntp1.lan                   12   6   23m     +0.012      0.087    +12us    31us
"""

ADAPTER = Adapter(
    name="chrony_sources",
    branch="host",
    emits=("host.clock_offset",),
    coverage=None,
    sniff=sniff,
    read=read,
    samples=(
        Sample(_GOOD, (("host.clock_offset", {"offset_us": -14, "bound_us": 11000, "synchronised": True}),)),
        Sample(_BAD, (("host.clock_offset", {"synchronised": False}),)),
        Sample(
            "^,*,10.0.0.3,2,6,377,23,-0.000012000,-0.000014000,0.011000000\n",
            (("host.clock_offset", {"offset_us": -14, "bound_us": 11000, "synchronised": True}),),
        ),
        Sample(_HISTORY),
        Sample("^* is the mark of the selected source\n"),
    ),
)
