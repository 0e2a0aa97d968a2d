"""``lldpctl`` and ``lldpcli show neighbors`` as text: one block for every interface and its neighbour."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from engine.facts.model import Observation, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.switch.lldp import SWITCH_PORT, link
from facts_adapters.switch.topology import short_name

_INTERFACE = re.compile(r"^Interface:\s+(?P<name>[^\s,]+), via: \S+")
_ENTRY = re.compile(r"^\s+(?:(?:Chassis|Port):\s+)?(?P<key>SysName|PortID|PortDescr):\s+(?P<value>\S.*?)\s*$")
_PER_HOST = re.compile(r"(?:^|/)(?:lldp|neighbou?rs?)[\w-]*/(?P<host>[A-Za-z][\w-]*?\d+[\w-]*)\.(?:txt|log|out)$")
"""A file below a folder that is named after the tool is named after its host."""

_PORT_KIND = re.compile(r"^(?:ifname|local|ifalias)\s+")


def _sniff(head: Head) -> Verdict:
    if "Interface:" in head.text and any(_INTERFACE.match(line) for line in head.lines):
        return Verdict(1.0, "neighbours as lldpcli prints them")
    return Verdict(0.0, "")


def _read(file: EvidenceFile, _context: Context) -> Iterable[Observation]:
    begin: Line | None = None
    entries: dict[str, str] = {}
    for line in file.lines():
        match = _INTERFACE.match(line.text)
        if match:
            yield from _printed(file, begin, entries)
            begin, entries = line, {"name": match["name"]}
        elif begin and (found := _ENTRY.match(line.text)):
            begin = line if found["key"] == "SysName" and "SysName" not in entries else begin
            entries.setdefault(found["key"], found["value"])
    yield from _printed(file, begin, entries)


def _printed(file: EvidenceFile, begin: Line | None, entries: dict[str, str]) -> Iterator[Observation]:
    """What one block of the text form says, if it names the neighbour and its port."""
    if begin is None:
        return
    ports = [_PORT_KIND.sub("", entries[key]) for key in ("PortID", "PortDescr") if key in entries]
    far = next((port for port in ports if SWITCH_PORT.match(port)), None)
    if far and "SysName" in entries:
        peer = short_name(entries["SysName"])
        source = Source(file.path, begin.number, f"{entries['name']}: {peer} {far}")
        named = _PER_HOST.search(file.path)
        yield link(file.host or (named["host"] if named else None), source, entries["name"], peer, far)


ADAPTER = Adapter(
    name="lldp_text",
    branch="switch",
    emits=("switch.attached", "switch.trunk"),
    coverage=None,
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            "LLDP neighbors:\n"
            "Interface:    eth2, via: LLDP, RID: 3, Time: 4 days, 02:11:10\n"
            "  Chassis:     \n    ChassisID:    mac b8:3f:d2:00:00:01\n    SysName:      leaf1.example.net\n"
            "  Port:        \n    PortID:       local Ethernet0\n    PortDescr:    gpu1 rail 0\n",
            (("switch.attached", {"device": "eth2", "switch": "leaf1", "switch_port": "Ethernet0", "origin": "seen"}),),
        ),
        Sample(
            "Interface:    rail2np0, via: LLDP, RID: 2, Time: 21 days, 04:11:10\n"
            "  Chassis:\n    SysName:      leaf-r3\n  Port:\n    PortID:       local etp3a\n    PortDescr:    hgx03\n",
            (("switch.attached", {"device": "rail2np0", "switch": "leaf-r3", "switch_port": "etp3a"}),),
        ),
        Sample(
            "Interface:    swp49, via: LLDP, RID: 1, Time: 1 day, 00:00:10\n"
            "  Chassis:\n    SysName:      spine2\n  Port:\n    PortID:       ifname swp7\n",
            (("switch.trunk", {"port": "swp49", "peer": "spine2", "peer_port": "swp7"}),),
        ),
        Sample(
            "Interface:    eth0, via: LLDP, RID: 1, Time: 1 day, 00:00:10\n"
            "  Chassis:\n    SysName:      gpu2\n  Port:\n    PortID:       mac b8:3f:d2:00:00:02\n",
            (),
        ),
    ),
)
