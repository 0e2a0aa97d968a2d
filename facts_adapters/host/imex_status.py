"""``nvidia-imex-ctl -N`` (IMEX 550 .. 580): the nodes of a domain, which of them are ready, and the domain's state."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.facts.model import Observation
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.host._statement import state

_NODE = re.compile(
    r"Node #(?P<node>\d{1,6})\s+[-*] (?P<address>\S+)\s+[-*]\s+-?\s*(?P<status>[A-Z][A-Z_ ]*[A-Z])\s*(?:- Version: ?"
    r"(?P<version>\S*))?\s*$"
)
_DOMAIN = re.compile(r"Domain State: (?P<state>[A-Z]+)")
_WORKS = ("READY", "UP")


def sniff(head: Head) -> Verdict:
    """Nodes, or the legend of the table of connections."""
    if "Node #" in head.text and any(_NODE.match(line.strip()) for line in head.lines):
        return Verdict(0.95, "nvidia-imex-ctl -N")
    return Verdict(0.0, "no nodes of an IMEX domain")


def read(file: EvidenceFile, context: Context) -> Iterator[Observation]:
    """``host.fabric_manager`` of the domain and of each node that is not ready, which is the peer."""
    when = context.snapshot_time(file.path)
    versions: set[str] = set()
    for line in file.lines():
        text = line.text.strip()
        node, domain = _NODE.match(text), _DOMAIN.match(text)
        if node:
            versions |= {node["version"]} if node["version"] else set()
            if node["status"] not in _WORKS:
                told = f"node {node['node']} ({node['address']}) is {node['status']}"
                found = state(file, line, "host.fabric_manager", _fields("error", told), when)
                found.peer = node["address"]
                yield found
        elif domain:
            works = domain["state"] in _WORKS
            told = f"IMEX domain is {domain['state']}"
            yield state(file, line, "host.fabric_manager", _fields("running" if works else "error", told), when)
            if len(versions) > 1:
                mixed = f"nodes run {', '.join(sorted(versions)[:4])}"
                yield state(file, line, "host.fabric_manager", _fields("version_mismatch", mixed), when)
            versions = set()


def _fields(known: str, text: str) -> dict[str, str]:
    return {"service": "imex", "state": known, "text": text}


_LEGEND = "Connectivity Table Legend:\nN - Never Connected\nC - Connected - Ready for operation\n\n"
_DEGRADED = (
    _LEGEND
    + """\
5/12/2026 06:08:10.580
Nodes:
Node #0   * 10.0.0.5 *   - READY                - Version: 570.133.20
Node #1   - 10.0.0.6     - UNAVAILABLE          - Version:

 Nodes From\\To  0   1
       0        C   D
       1        I   I
Domain State: DEGRADED
"""
)
_UP = (
    _LEGEND
    + "Nodes:\nNode #0   - 10.0.0.5   - READY - Version: 570.133\n"
    + "Node #1   - 10.0.0.6   - READY - Version: 575.57\nDomain State: UP\n"
)

ADAPTER = Adapter(
    name="imex_status",
    branch="host",
    emits=("host.fabric_manager",),
    coverage=None,
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            _DEGRADED,
            (
                ("host.fabric_manager", {"service": "imex", "state": "error", "peer": "10.0.0.6"}),
                ("host.fabric_manager", {"service": "imex", "text": "IMEX domain is DEGRADED"}),
            ),
        ),
        Sample(
            _UP,
            (
                ("host.fabric_manager", {"service": "imex", "state": "running"}),
                ("host.fabric_manager", {"service": "imex", "state": "version_mismatch"}),
            ),
        ),
        Sample("Node #1 of the domain is ready\n"),
    ),
)
