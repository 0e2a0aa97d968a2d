"""When a host started: ``/proc/stat`` (btime), ``last -x``, ``last reboot``, ``journalctl --list-boots``, ``who -b``.

``btime`` is epoch seconds; the others print local time. ``last`` without ``-F`` has no year. A boot in ``last -x``
without a shutdown record before it, or a session that ended in ``crash``, was not clean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.facts.model import SECOND, Observation, Reading, Scalar
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.host._statement import state

_BTIME = re.compile(r"(?:/proc/stat:)?btime (?P<epoch>\d{9,11})$")
_DATE = r"(?P<date>\w{3} \w{3} +\d+ \d\d:\d\d(?::\d\d)?(?: \d{4})?|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[+-]\d\d:?\d\d|Z)?)"
_BOOT = re.compile(r"reboot +system boot +(?P<kernel>\S+) +" + _DATE)
_DOWN = re.compile(r"(?:shutdown +system down|runlevel +\(to lvl [06]\))")
_LISTED = re.compile(
    r"\s*-?\d+ +[0-9a-f]{32} +(?P<date>\w{3} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?: [A-Z]{2,5}| [+-]\d\d)?)"
)
_SINCE = re.compile(r"\s*system boot +(?P<date>\d{4}-\d\d-\d\d \d\d:\d\d)")


def sniff(head: Head) -> Verdict:
    """A btime line, boot records, or a list of boots."""
    patterns = [_LISTED]
    patterns += [_BTIME] if "btime " in head.text else []
    patterns += [_BOOT, _SINCE] if "system boot" in head.text else []
    if any(pattern.match(line) for line in head.lines for pattern in patterns):
        return Verdict(0.9, "boot times")
    return Verdict(0.0, "no boot time")


def read(file: EvidenceFile, context: Context) -> Iterator[Observation]:
    """``host.boot`` for every boot that the file states."""
    lines = list(file.lines())
    for index, line in enumerate(lines):
        btime = _BTIME.match(line.text)
        if btime:
            second = int(btime["epoch"]) * SECOND
            when = Reading(second, second + SECOND - 1, "utc")
            yield state(file, line, "host.boot", {"text": line.text.strip()}, when)
            continue
        boot = _BOOT.match(line.text)
        if boot:
            fields: dict[str, Scalar] = {"text": f"system boot {boot['kernel']}"}
            clean = _clean(lines, index)
            if clean is not None:
                fields["clean"] = clean
            yield state(file, line, "host.boot", fields, _when(boot["date"], context))
            continue
        listed = _LISTED.match(line.text) or _SINCE.match(line.text)
        if listed:
            date = re.sub(r"^\w{3} (?=\d{4}-)", "", listed["date"])
            yield state(file, line, "host.boot", {"text": "system boot"}, _when(date, context))


def _when(text: str, context: Context) -> Reading | None:
    return context.reading(re.sub(r" +", " ", text))


def _clean(lines: list[Line], index: int) -> bool | None:
    """Whether a shutdown record precedes the boot (records stand newest first); ``None`` where none could be there."""
    crashed = any(re.search(r"- crash\b", line.text) for line in lines[index + 1 : index + 40])
    for line in lines[index + 1 :]:
        if _DOWN.match(line.text):
            return True
        if _BOOT.match(line.text):
            shown = any(_DOWN.match(other.text) for other in lines)
            return False if shown or crashed else None
    return False if crashed else None


_LAST = """\
reboot   system boot  6.8.0-47-generic Thu Aug 13 07:41:58 2026   still running
user     pts/0        10.0.0.9         Thu Aug 13 05:39:44 2026 - crash                     (02:02)
reboot   system boot  6.8.0-47-generic Tue Jul 21 07:41:58 2026   still running
shutdown system down  6.8.0-47-generic Tue Jul 21 07:36:58 2026 - Tue Jul 21 07:41:58 2026  (00:05)
reboot   system boot  6.8.0-47-generic Tue Jun 30 07:41:58 2026 - Tue Jul 21 07:36:58 2026 (20+23:55)

wtmp begins Tue Jun 30 07:41:58 2026
"""
_STAT = """\
cpu  9922 0 1112 888 11 0 12 0 0 0
ctxt 48210774913
btime 1771934206
processes 3907716
"""
_BOOTS = """\
 -1 5a7c0d1e2f3a4b5c6d7e8f9012345678 Wed 2026-07-01 10:00:00 UTC—Wed 2026-07-22 06:18:33 UTC
  0 0a7c0d1e2f3a4b5c6d7e8f9012345678 Wed 2026-07-22 06:24:07 UTC—Thu 2026-07-23 06:18:33 UTC
"""

ADAPTER = Adapter(
    name="boot_times",
    branch="host",
    emits=("host.boot",),
    coverage=None,
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            _LAST,
            (
                ("host.boot", {"text": "system boot 6.8.0-47-generic", "clean": False}),
                ("host.boot", {"clean": True}),
            ),
        ),
        Sample(_STAT, (("host.boot", {"text": "btime 1771934206"}),)),
        Sample(_BOOTS, (("host.boot", {"text": "system boot"}),)),
        Sample("user     pts/0        10.0.0.9         Thu Aug 13 05:39:44 2026 - 10:00  (01:00)\n"),
    ),
)
