"""State of the clock from other tools: ``timedatectl``, ``ntpq -p``, ``ptp4l`` and ``phc2sys`` lines.

``ntpq`` gives the offset in ms (positive: the peer is ahead, so this clock is behind), PTP in ns (positive: ahead).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.host._statement import state

_SYNCED = re.compile(r"\s*(?:System clock synchronized|NTP synchronized): (?P<answer>yes|no)")
_PEER = re.compile(
    r"\*(?P<peer>\S+) +\S+ +\d+ +[ul\-bs] +\S+ +\d+ +\d+ +(?P<delay>[\d.]+) +(?P<offset>-?[\d.]+) +(?P<jitter>[\d.]+)"
)
_PTP = re.compile(r"(?:ptp4l|phc2sys)\[[\d.]+\]:.* (?:master|sys|phc) offset +(?P<offset>-?\d{1,18}) s(?P<servo>\d)")
_LOCKED = "2"


def sniff(head: Head) -> Verdict:
    """Lines of one of the tools."""
    text = head.text
    if "synchronized: " in text and any(_SYNCED.match(line) for line in head.lines):
        return Verdict(0.9, "timedatectl")
    if any(_PEER.match(line) for line in head.lines if line.startswith("*")):
        return Verdict(0.9, "ntpq -p")
    if " offset " in text and any(name in text for name in ("ptp4l[", "phc2sys[")) and _PTP.search(text):
        return Verdict(0.9, "PTP")
    return Verdict(0.0, "no state of the clock")


def read(file: EvidenceFile, context: Context) -> Iterator[Observation]:
    """``host.clock_offset``; of many PTP lines only the largest offset is told."""
    worst: tuple[int, Observation] | None = None
    when = context.snapshot_time(file.path)
    for line in file.lines():
        synced, peer, ptp = _SYNCED.match(line.text), _PEER.match(line.text), _PTP.search(line.text)
        if synced:
            fields: dict[str, Scalar] = {"synchronised": synced["answer"] == "yes"}
            yield state(file, line, "host.clock_offset", fields, when)
        elif peer:
            offset = round(-float(peer["offset"]) * 1000)
            bound = max(1, round((float(peer["delay"]) / 2 + float(peer["jitter"])) * 1000))
            fields = {"offset_us": offset, "bound_us": bound, "synchronised": True}
            yield state(file, line, "host.clock_offset", fields, when)
        elif ptp:
            offset = round(int(ptp["offset"]) / 1000)
            fields = {"offset_us": offset, "bound_us": max(1, abs(offset)), "synchronised": ptp["servo"] == _LOCKED}
            if worst is None or abs(offset) > worst[0]:
                worst = abs(offset), state(file, line, "host.clock_offset", fields)
    if worst:
        yield worst[1]


_TIMEDATECTL = """\
               Local time: Wed 2026-03-11 08:00:00 UTC
           Universal time: Wed 2026-03-11 08:00:00 UTC
System clock synchronized: no
              NTP service: inactive
"""
_NTPQ = """\
     remote           refid      st t when poll reach   delay   offset  jitter
==============================================================================
*10.0.0.2        10.1.0.1         2 u   33   64  377    0.212  -1520.5   0.021
"""

ADAPTER = Adapter(
    name="time_status",
    branch="host",
    emits=("host.clock_offset",),
    coverage=None,
    sniff=sniff,
    read=read,
    samples=(
        Sample(_TIMEDATECTL, (("host.clock_offset", {"synchronised": False}),)),
        Sample(_NTPQ, (("host.clock_offset", {"offset_us": 1520500, "synchronised": True}),)),
        Sample(
            "ptp4l[8812.1]: master offset  -12000 s2 freq  +1234 path delay  567\n",
            (("host.clock_offset", {"offset_us": -12, "synchronised": True}),),
        ),
        Sample("clock of the iteration: 12\n"),
    ),
)
