"""``iperf3`` as text, ``-J`` and ``--json-stream``: bandwidth of TCP or UDP between two hosts, segments sent again.

The summary of the receiver counts, of several streams their sum. One TCP stream is often as fast as a processor, not
as the port. Sources: iperf 3.1 to 3.17 ``iperf_locale.c`` (formats), ``iperf_api.c`` (``iperf_print_results``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engine.facts.model import Observation, Reading, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.nic import _ports
from facts_adapters.quoting import line_at, quote

_BEGINS = re.compile(
    r"^(?:Connecting to host (?P<peer>[^\s,]{1,80}), port|Accepted connection from (?P<client>[^\s,]{1,80}), port)"
)
_SUMMARY = re.compile(
    r"^\[(?P<id>[ \d]{1,6}|SUM)\](?:\[[TR]X-[SC]\])?\s+[\d.]{1,12}\s?-\s?[\d.]{1,12}\s+sec\s+"
    r"[\d.]{1,12} [KMGT]?Bytes\s+(?P<rate>[\d.]{1,12}) (?P<prefix>[KMGT]?)(?P<unit>bits|Bytes)/sec\s*"
    r"(?P<rest>.{0,60}?)\s*(?P<side>sender|receiver)\s*$"
)
_TIME = re.compile(r"^Time: (?P<stamp>\w{3}, .{10,40})$")
_TO_GBPS = {"": 1e-9, "K": 1e-6, "M": 1e-3, "G": 1.0, "T": 1e3}
_CLOSED = re.compile(r"unable to connect to server.*(?:timed out|[Nn]o route|unreachable)")
_LONGEST = 32 << 20


def _sniff(head: Head) -> Verdict:
    if '"version"' in head.text and re.search(r'"version"\s*:\s*"iperf 3', head.text):
        return Verdict(0.95, "JSON of iperf3")
    if any(_BEGINS.match(line) for line in head.lines) or any(_SUMMARY.match(line) for line in head.lines):
        return Verdict(0.95, "report of iperf3")
    return Verdict(0.0, "")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation]:
    when = _ports.snapshot(file, context)
    with file.open() as stream:
        first = stream.read(4096).decode("utf-8", "replace").lstrip()
    if first.startswith("{"):
        yield from _json(file, context, when)
        return
    block: list[Line] = []
    peer: str | None = None
    for line in _ports.lines(file):
        begin = _BEGINS.match(line.text)
        if begin:
            yield from _text(file, context, peer, block, when)
            block, peer = [], begin["peer"] or begin["client"]
        block.append(line)
    yield from _text(file, context, peer, block, when)


def _text(
    file: EvidenceFile, context: Context, peer: str | None, block: list[Line], when: Reading | None
) -> Iterator[Observation]:
    found: dict[tuple[bool, str], tuple[Line, re.Match[str]]] = {}
    for line in block:
        summary, time = _SUMMARY.match(line.text), _TIME.match(line.text)
        if summary:
            found[summary["id"] == "SUM", summary["side"]] = (line, summary)
        elif time:
            when = context.reading(time["stamp"]) or when
    order = [(total, side) for total in (True, False) for side in ("receiver", "sender")]
    best = next((found[key] for key in order if key in found), None)
    sent = found.get((True, "sender")) or found.get((False, "sender"))
    again = re.match(r"\d{1,12}$", sent[1]["rest"]) if sent else None
    if best:
        line, summary = best
        rate = _ports.decimal(summary["rate"]) or 0.0
        gbps = rate * _TO_GBPS[summary["prefix"]] * (8 if summary["unit"] == "Bytes" else 1)
        yield _bandwidth(file, quote(file, line), gbps, int(again[0]) if again else None, peer, when)


def _bandwidth(
    file: EvidenceFile, source: Source, gbps: float, again: int | None, peer: str | None, when: Reading | None
) -> Observation:
    fields: _ports.Fields = {"gbps": round(gbps, 2), "tool": "iperf3", "retransmits": again}
    found = _ports.observe("nic.bandwidth", source, fields, host=file.host, when=when)
    found.peer = peer
    return found


def _json(file: EvidenceFile, context: Context, when: Reading | None) -> Iterator[Observation]:
    with file.open() as stream:
        text = stream.read(_LONGEST).decode("utf-8", "replace")
    start: Mapping[str, Any] = {}
    for found in _ports.json_rows(text, lambda number, reason: context.warn(file.path, number, reason)):
        row = found.entry
        data = row.get("data")
        if row.get("event") in ("start", "end") and isinstance(data, dict):
            row = {str(row["event"]): data}
        elif row.get("event") == "error":
            row = {"error": data}
        start = _object(row.get("start")) or start
        yield from _test(file, context, text, start, row, when)


def _test(
    file: EvidenceFile,
    context: Context,
    text: str,
    start: Mapping[str, Any],
    row: Mapping[str, Any],
    when: Reading | None,
) -> Iterator[Observation]:
    seconds = _object(start.get("timestamp")).get("timesecs")
    if isinstance(seconds, int):
        when = context.reading(str(seconds)) or when
    end = _object(row.get("end"))
    received = _object(end.get("sum_received")) or _object(end.get("sum"))
    sent = _object(end.get("sum_sent"))
    rate = received.get("bits_per_second") or sent.get("bits_per_second")
    if isinstance(rate, (int, float)) and 0 < rate < 1e15:
        name = "sum_received" if "sum_received" in end else "sum"
        place = line_at(text, max(text.find(f'"{name}"'), 0))
        again = sent.get("retransmits")
        source = Source(file.path, place, f"{name}: {rate:.0f} bits_per_second")
        yield _bandwidth(file, source, rate / 1e9, again if isinstance(again, int) else None, _peer(start), when)
    error = row.get("error")
    if isinstance(error, str) and _CLOSED.search(error[:500]):
        source = Source(file.path, line_at(text, max(text.find('"error"'), 0)), error[:300])
        fields: _ports.Fields = {"hint": "unreachable", "text": error[:300]}
        yield _ports.observe("switch.path_hint", source, fields, host=file.host, when=when)


def _peer(start: Mapping[str, Any]) -> str | None:
    """The address of the other end."""
    for name in ("connecting_to", "accepted_connection"):
        host = _object(start.get(name)).get("host")
        if isinstance(host, str):
            return host[:80]
    return None


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


_REPORT = (
    "Connecting to host 10.0.0.2, port 5201\n[  5] local 10.0.0.1 port 54756 connected to 10.0.0.2 port 5201\n"
    "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n"
    "[  5]   0.00-1.00   sec  1.18 GBytes  10.1 Gbits/sec    6   2.12 MBytes\n"
    "- - - - - - - - - - - - - - - - - - - - - - - - -\n[ ID] Interval           Transfer     Bitrate         Retr\n"
)

ADAPTER = Adapter(
    name="iperf3",
    branch="nic",
    emits=("nic.bandwidth", "switch.path_hint"),
    coverage=None,
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            _REPORT + "[  5]   0.00-1.00   sec  1.18 GBytes  10.1 Gbits/sec    6             sender\n"
            "[  5]   0.00-1.01   sec  1.16 GBytes  9.96 Gbits/sec                  receiver\n\niperf Done.\n",
            (("nic.bandwidth", {"gbps": 9.96, "retransmits": 6, "tool": "iperf3", "peer": "10.0.0.2"}),),
        ),
        Sample(
            _REPORT + "[  5]   0.00-10.00  sec  11.5 GBytes  9900 Mbits/sec    1             sender\n"
            "[  5]   0.00-10.00  sec  11.5 GBytes  9900 Mbits/sec                  receiver\n"
            "[SUM]   0.00-10.00  sec   109 GBytes  93.6 Gbits/sec  2210             sender\n"
            "[SUM]   0.00-10.04  sec   108 GBytes  92.9 Gbits/sec                  receiver\n",
            (("nic.bandwidth", {"gbps": 92.9, "retransmits": 2210}),),
        ),
        Sample(
            '{"start":{"version":"iperf 3.12","timestamp":{"timesecs":1796045309},'
            '"connecting_to":{"host":"10.0.0.2"}},\n'
            '"end":{"sum_sent":{"bits_per_second":10.07e9,"retransmits":6},\n'
            '"sum_received":{"bits_per_second":9.996e9}}}\n',
            (("nic.bandwidth", {"gbps": 10.0, "retransmits": 6, "peer": "10.0.0.2"}),),
        ),
        Sample(
            '{"event":"start","data":{"version":"iperf 3.17","connecting_to":{"host":"n2"}}}\n'
            '{"event":"interval","data":{"sum":{"bits_per_second":1}}}\n'
            '{"event":"end","data":{"sum":{"bits_per_second":2.5e10,"lost_percent":0}}}\n',
            (("nic.bandwidth", {"gbps": 25.0, "peer": "n2"}),),
        ),
        Sample(
            '{"start":{"connected":[],"version":"iperf 3.12"},"intervals":[],"end":{},\n'
            '"error":"unable to connect to server: No route to host"}\n',
            (("switch.path_hint", {"hint": "unreachable"}),),
        ),
        Sample(
            '{"start":{"version":"iperf 3.12"},"end":{},"error":"unable to connect to server: Connection refused"}\n',
        ),
        Sample(_REPORT),
        Sample("Connecting to host: done\n[SUM] 4 sender\n"),
    ),
)
