"""TCP counters of a host: ``nstat -az``, ``netstat -s``, ``/proc/net/netstat`` (cumulative since boot).

The names are those of nstat; ``netstat -s`` says the same in words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.facts.model import CounterSample, Reading
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.quoting import quote

_COUNTERS = (
    "ListenOverflows",
    "ListenDrops",
    "TCPReqQFullDrop",
    "TCPReqQFullDoCookies",
    "TCPTimeouts",
    "TCPAbortOnTimeout",
    "TCPLostRetransmit",
    "TCPSynRetrans",
)
_OF_TCP = ("TcpRetransSegs",)
_NSTAT = re.compile(r"(?:#?\s*)(?P<name>Tcp\w+) +(?P<value>\d{1,18}) +[\d.]+")
_WORDS = (
    (re.compile(r"\s*(?P<value>\d{1,18}) times the listen queue of a socket overflowed"), "TcpExtListenOverflows"),
    (re.compile(r"\s*(?P<value>\d{1,18}) SYNs to LISTEN sockets (?:dropped|ignored)"), "TcpExtListenDrops"),
    (re.compile(r"\s*(?P<value>\d{1,18}) segments retransmit(?:t)?ed"), "TcpRetransSegs"),
    (re.compile(r"\s*TCPLostRetransmit: (?P<value>\d{1,18})"), "TcpExtTCPLostRetransmit"),
    (re.compile(r"\s*TCPReqQFullDrop: (?P<value>\d{1,18})"), "TcpExtTCPReqQFullDrop"),
    (re.compile(r"\s*TCPReqQFullDoCookies: (?P<value>\d{1,18})"), "TcpExtTCPReqQFullDoCookies"),
)
_PROC = "TcpExt: "


def sniff(head: Head) -> Verdict:
    """One of the three shapes with a counter that matters here."""
    if "TcpExt" not in head.text and "TcpRetransSegs" not in head.text:
        return Verdict(0.0, "no TCP counters")
    if re.search(r"^#?[ \t]{0,8}Tcp(?:Ext\w+|RetransSegs) +\d+ +[\d.]+", head.text, re.M):
        return Verdict(0.95, "nstat")
    if "TcpExt: " in head.text and "ListenOverflows" in head.text:
        return Verdict(0.95, "/proc/net/netstat")
    if re.search(r"^TcpExt:$", head.text, re.M) and re.search(r"^Tcp:$", head.text, re.M):
        return Verdict(0.9, "netstat -s")
    return Verdict(0.0, "no TCP counters")


def read(file: EvidenceFile, context: Context) -> Iterator[CounterSample]:
    """Counter samples of family ``netstat``, one per counter that matters at a listening socket."""
    when = context.snapshot_time(file.path)
    names: list[str] = []
    for line in file.lines():
        if line.text.startswith(_PROC):
            cells = line.text.split()[1:]
            if names and all(cell.lstrip("-").isdigit() for cell in cells):
                for name, value in zip(names, cells, strict=False):
                    if name in _COUNTERS:
                        yield from _counter(file, line, f"TcpExt{name}", int(value), when)
            names = cells
            continue
        nstat = _NSTAT.match(line.text)
        if nstat and (nstat["name"].removeprefix("TcpExt") in _COUNTERS or nstat["name"] in _OF_TCP):
            yield from _counter(file, line, nstat["name"], int(nstat["value"]), when)
        for pattern, name in _WORDS:
            worded = pattern.match(line.text)
            if worded:
                yield from _counter(file, line, name, int(worded["value"]), when)


def _counter(file: EvidenceFile, line: Line, name: str, value: int, when: Reading | None) -> Iterator[CounterSample]:
    source = quote(file, line)
    yield CounterSample(
        source, "netstat", name, value, host=file.host, group=file.group, when=when, adapter="netstat_counters"
    )


_TABLE = """\
#kernel
TcpExtListenOverflows           8211               0.0
TcpExtListenDrops               8300               0.0
TcpExtDelayedACKs               91                 0.0
"""
_SUMMARY = """\
Tcp:
    12 active connection openings
TcpExt:
    8211 times the listen queue of a socket overflowed
    8300 SYNs to LISTEN sockets dropped
"""

ADAPTER = Adapter(
    name="netstat_counters",
    branch="host",
    emits=("host.listen_overflow", "host.counter_value", "host.tcp_retransmits"),
    coverage="nic_counters",
    sniff=sniff,
    read=read,
    samples=(
        Sample(_TABLE, (("counter", {"family": "netstat", "counter": "TcpExtListenOverflows", "value": 8211}),)),
        Sample(
            "#kernel\nTcpRetransSegs                  4402               0.0\n",
            (("counter", {"family": "netstat", "counter": "TcpRetransSegs", "value": 4402}),),
        ),
        Sample(_SUMMARY, (("counter", {"counter": "TcpExtListenDrops", "value": 8300}),)),
        Sample(
            "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 0 3 4\n",
            (("counter", {"counter": "TcpExtListenOverflows", "value": 3}),),
        ),
        Sample("TcpExtListenOverflows was looked at\n"),
    ),
)
