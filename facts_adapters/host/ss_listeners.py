"""Listening sockets: ``ss -ltnp`` (iproute2), ``netstat -ltnp`` (net-tools), ``lsof -i`` lines with LISTEN."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.host._statement import state

_SS = re.compile(
    r"(?:tcp +)?LISTEN +(?P<queued>\d{1,18}) +(?P<backlog>\d{1,18}) +"
    r"(?P<address>\S*):(?P<tcp_port>\d{1,18}) +\S+:\*(?P<rest>.*)"
)
_USERS = re.compile(r'\(\("(?P<process>[^"]+)",pid=(?P<pid>\d{1,18})')
_NETSTAT = re.compile(
    r"tcp6? +\d+ +\d+ +(?P<address>\S*):(?P<tcp_port>\d{1,18}) +\S+:\* +LISTEN(?: +(?P<pid>\d{1,18})/(?P<process>\S+))?"
)
_LSOF = re.compile(
    r"(?P<process>\S+) +(?P<pid>\d{1,18}) .*TCP (?P<address>\S*):(?P<tcp_port>\d{1,18}) \(LISTEN\)",
)


def sniff(head: Head) -> Verdict:
    """Lines of one of the three tools."""
    if "LISTEN" not in head.text:
        return Verdict(0.0, "no listening sockets")
    for pattern, why in ((_SS, "ss"), (_NETSTAT, "netstat"), (_LSOF, "lsof")):
        if any(pattern.match(line) for line in head.lines):
            return Verdict(0.9, f"{why} with listening sockets")
    return Verdict(0.0, "no listening sockets")


def read(file: EvidenceFile, _context: Context) -> Iterator[Observation]:
    """``host.listener`` for every listening TCP socket."""
    for line in file.lines():
        match = _SS.match(line.text) or _NETSTAT.match(line.text) or _LSOF.match(line.text)
        if match is None:
            continue
        groups = match.groupdict()
        users = _USERS.search(groups.get("rest") or "")
        owner = users.groupdict() if users else groups
        fields: dict[str, Scalar] = {"tcp_port": int(match["tcp_port"]), "address": match["address"].strip("[]")}
        if owner.get("process"):
            fields["process"] = str(owner["process"])
        if owner.get("pid"):
            fields["pid"] = int(owner["pid"] or 0)
        for name in ("backlog", "queued"):
            if groups.get(name):
                fields[name] = int(groups[name] or 0)
        yield state(file, line, "host.listener", fields)


_TABLE = """\
State  Recv-Q Send-Q Local Address:Port  Peer Address:Port Process
LISTEN 0      128          0.0.0.0:22         0.0.0.0:*     users:(("sshd",pid=1377,fd=3))
LISTEN 0      4096               *:8400             *:*     users:(("pt_main_thread",pid=58213,fd=60))
"""

ADAPTER = Adapter(
    name="ss_listeners",
    branch="host",
    emits=("host.listener",),
    coverage=None,
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            _TABLE,
            (
                ("host.listener", {"tcp_port": 8400, "process": "pt_main_thread", "pid": 58213, "backlog": 4096}),
                ("host.listener", {"tcp_port": 22, "process": "sshd"}),
            ),
        ),
        Sample(
            "tcp        0      0 0.0.0.0:29500           0.0.0.0:*               LISTEN      4711/python\n",
            (("host.listener", {"tcp_port": 29500, "process": "python", "pid": 4711}),),
        ),
        Sample("ESTAB 0 0 10.0.0.3:29500 10.0.0.4:41234\n"),
    ),
)
