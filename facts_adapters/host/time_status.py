"""State of the clock from other tools: ``timedatectl``, ``ntpq -p``, ``ptp4l`` and ``phc2sys`` lines.

``ntpq`` gives the offset in ms (positive: the peer is ahead, so this clock is behind), PTP in ns (positive: ahead),
``timedatectl timesync-status`` (systemd 239 .. 256) as server minus client, with the root distance as its bound.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.host._statement import state

_SYNCED = re.compile(r"\s*(?:System clock synchronized: |NTP synchronized: |NTPSynchronized=)(?P<answer>yes|no)\s*$")
_PEER = re.compile(
    r"\*(?P<peer>\S+) +\S+ +\d+ +[ul\-bs] +\S+ +\d+ +\d+ +(?P<delay>[\d.]+) +(?P<offset>-?[\d.]+) +(?P<jitter>[\d.]+)"
)
_PTP = re.compile(r"(?:ptp4l|phc2sys)\[[\d.]+\]:.* (?:master|sys|phc) offset +(?P<offset>-?\d{1,18}) s(?P<servo>\d)")
_SUMMARY = re.compile(r"(?:ptp4l|phc2sys)\[[\d.]+\]:.* rms +(?P<rms>\d{1,18}) max +(?P<most>\d{1,18}) freq ")
_DISTANCE = re.compile(r"Root distance: (?P<value>[\d.\w ]{1,40}?)(?: \(max: .*)?$")
_OFFSET = re.compile(r"\s*Offset: (?P<sign>[+-]?)(?P<value>[\d.\w ]{1,40})$")
_AMOUNT = re.compile(r"(?P<number>\d{1,12}(?:\.\d{1,9})?) ?(?P<unit>us|ms|min|s|h|d)\b")
_US = {"us": 1, "ms": 1_000, "s": 1_000_000, "min": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000}
_LOCKED = "2"


def sniff(head: Head) -> Verdict:
    """Lines of one of the tools."""
    text = head.text
    if "ynchronized" in text and any(_SYNCED.match(line) for line in head.lines):
        return Verdict(0.9, "timedatectl")
    if "Root distance: " in text and any(_OFFSET.match(line) for line in head.lines):
        return Verdict(0.9, "timedatectl timesync-status")
    if any(_PEER.match(line) for line in head.lines if line.startswith("*")):
        return Verdict(0.9, "ntpq -p")
    if " offset " in text and any(name in text for name in ("ptp4l[", "phc2sys[")) and _PTP.search(text):
        return Verdict(0.9, "PTP")
    if " rms " in text and any(name in text for name in ("ptp4l[", "phc2sys[")) and _SUMMARY.search(text):
        return Verdict(0.9, "PTP")
    return Verdict(0.0, "no state of the clock")


def read(file: EvidenceFile, context: Context) -> Iterator[Observation]:
    """``host.clock_offset``; of many PTP lines only the largest offset is told."""
    worst: tuple[int, Observation] | None = None
    when = context.snapshot_time(file.path)
    distance: int | None = None
    for line in file.lines():
        distance = _amount(_DISTANCE.search(line.text)) or distance
        served = _OFFSET.match(line.text) if distance is not None else None
        if served:
            yield state(file, line, "host.clock_offset", _of_server(served, distance), when)
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
        elif summary := _SUMMARY.search(line.text):
            most = round(int(summary["most"]) / 1000)
            if worst is None or most > worst[0]:
                worst = most, state(file, line, "host.clock_offset", {"bound_us": max(1, most), "synchronised": True})
    if worst:
        yield worst[1]


def _amount(match: re.Match[str] | None) -> int | None:
    """A length of time as systemd prints it (``1min 2.5s``), in microseconds."""
    parts = list(_AMOUNT.finditer(match["value"])) if match else []
    return round(sum(float(part["number"]) * _US[part["unit"]] for part in parts)) if parts else None


def _of_server(match: re.Match[str], distance: int | None) -> dict[str, Scalar]:
    """The offset of this clock: the tool prints that of the server."""
    offset = _amount(match) or 0
    sign = 1 if match["sign"] == "-" else -1
    return {"offset_us": sign * offset, "bound_us": max(1, distance or 0), "synchronised": True}


_TIMEDATECTL = """\
               Local time: Wed 2026-03-11 08:00:00 UTC
           Universal time: Wed 2026-03-11 08:00:00 UTC
System clock synchronized: no
              NTP service: inactive
"""
_SHOWN = "Timezone=UTC\nLocalRTC=no\nCanNTP=yes\nNTP=no\nNTPSynchronized=no\n"
_SERVER = """\
       Server: 10.0.0.2 (ntp.lan)
Poll interval: 34min 8s (min: 32s; max 34min 8s)
         Leap: normal
Root distance: 1.129ms (max: 5s)
       Offset: -2.511ms
        Delay: 612us
 Packet count: 1123
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
        Sample(_SHOWN, (("host.clock_offset", {"synchronised": False}),)),
        Sample(_SERVER, (("host.clock_offset", {"offset_us": 2511, "bound_us": 1129}),)),
        Sample(
            "ptp4l[812.121]: rms 812 max 150100 freq  -3812 +/- 212 delay  1234 +/-   1\n",
            (("host.clock_offset", {"bound_us": 150, "synchronised": True}),),
        ),
        Sample("clock of the iteration: 12\n"),
        Sample("Offset: -2.511ms\n"),
    ),
)
