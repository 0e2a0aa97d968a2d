"""Neighbour tables of switches: NX-OS and IOS, Huawei VRP, H3C Comware (list and blocks), ``lldpcli -f keyvalue``.

Each row names the switch's own port, the neighbour and the neighbour's port. A neighbour whose port looks like that of
a switch makes a trunk, any other an attachment of a host. MAC addresses in place of names are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from engine.facts.model import Observation, Scalar, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.quoting import quote
from facts_adapters.switch._tables import host_of, lines, port_name, prompt
from facts_adapters.switch.topology import short_name

_HEADERS: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (re.compile(r"^Device ID\s+Local Intf\s+Hold-time\s+Capability\s+Port ID"), ("peer", "port", "", "+", "far")),
    (re.compile(r"^Local Intf\s+Neighbor Dev\s+Neighbor Intf\s+Exptime"), ("port", "peer", "far", "")),
    (
        re.compile(r"^Local Interface\s+Exptime\(s\)\s+Neighbor Interface\s+Neighbor Device"),
        ("port", "", "far", "peer"),
    ),
    (re.compile(r"^System Name\s+Local Interface\s+Chassis ID\s+Port ID"), ("peer", "port", "", "far")),
    (re.compile(r"^Local Interface\s+Chassis ID\s+Port ID\s+System Name"), ("port", "", "far", "peer")),
)
"""Column titles and what each word of a row is; ``+`` are letters that may be missing."""

_BLOCK = re.compile(r"^LLDP neighbor-information of port \d+\s?\[(?P<port>[^\]]+)\]")
_ENTRY = re.compile(r"^\s+(?P<key>Port ID|Port description|System name|PortId|SysName)\s*:\s?(?P<value>\S.*?)\s*$")
_KEYVALUE = re.compile(
    r"^lldp\.(?P<port>[\w./-]{1,40})\.(?P<key>chassis\.name|port\.ifname|port\.local|port\.descr)=(?P<value>.+)$"
)
_MAC = re.compile(r"^(?:[0-9a-f]{2}[:.-]?){5}[0-9a-f]{2}$|^(?:[0-9a-f]{4}[.-]){2}[0-9a-f]{4}$", re.IGNORECASE)
_SWITCH_PORT = re.compile(
    r"^(?:Ethernet|Eth|Et|swp|Gi|Te|Twe|Hu|Fo|GE|XGE|HGE|FGE|WGE|TGE|THGE|FHGE|\d+GE"
    r"|(?:X|M|Ten-)?GigabitEthernet|[A-Z][A-Za-z-]*GigE|et-|xe-|ge-)\d[\d/:.s]*$"
)
"""Ports as switches name them; a host's ``eth2`` is none."""

_CODES = re.compile(r"^[A-Z](?:,? ?[A-Z])*$")


@dataclass
class _Session:
    host: str | None
    columns: tuple[str, ...] = ()
    block: str | None = None


def _sniff(head: Head) -> Verdict:
    for line in head.lines:
        text = line.strip()
        if any(pattern.match(text) for pattern, _ in _HEADERS) or _BLOCK.match(text) or _KEYVALUE.match(text):
            return Verdict(0.95, "LLDP neighbours of a switch")
    return Verdict(0.0, "")


def _read(file: EvidenceFile, _context: Context) -> Iterable[Observation]:
    session = _Session(file.host)
    entries: dict[str, dict[str, str]] = {}
    places: dict[str, Line] = {}
    for line in lines(file):
        text = line.text.strip()
        shell = prompt(line.text)
        header = next((words for pattern, words in _HEADERS if pattern.match(text)), None)
        block, entry, pair = _BLOCK.match(text), _ENTRY.match(line.text), _KEYVALUE.match(text)
        if shell:
            session = _Session(file.host or host_of(shell))
        elif header:
            session.columns, session.block = header, None
        elif block:
            session.columns, session.block = (), block["port"]
            places[block["port"]] = line
        elif entry and session.block:
            entries.setdefault(session.block, {}).setdefault(entry["key"], entry["value"])
        elif pair:
            places.setdefault(pair["port"], line)
            entries.setdefault(pair["port"], {}).setdefault(pair["key"], pair["value"].strip())
        elif session.columns:
            yield from _row(session, text, quote(file, line))
    for port, values in entries.items():
        yield from _described(session.host, port, values, quote(file, places[port]))


def _row(session: _Session, text: str, where: Source) -> Iterator[Observation]:
    words = text.split()
    found: dict[str, str] = {}
    for name in session.columns:
        if not words:
            return
        if name == "+":
            while len(words) > 1 and _CODES.match(words[0]):
                words.pop(0)
            continue
        word = words.pop(0)
        if name:
            found[name] = word
    yield from neighbour(session.host, found["port"], found["peer"], found["far"], where)


def _described(host: str | None, port: str, values: Mapping[str, str], where: Source) -> Iterator[Observation]:
    peer = values.get("System name") or values.get("SysName") or values.get("chassis.name") or ""
    ports = [
        values[key]
        for key in ("Port ID", "PortId", "port.ifname", "port.local", "Port description", "port.descr")
        if key in values
    ]
    named = [text.split()[0] for text in ports if text and not _MAC.match(text)]
    far = next((text for text in named if _SWITCH_PORT.match(text)), named[0] if named else "")
    yield from neighbour(host, port, peer, far, where)


def neighbour(host: str | None, port: str, peer: str, far: str, where: Source) -> Iterator[Observation]:
    """What one neighbour says of the switch (or, for a host's own interface, of the host) that sees it."""
    if not peer or not far or _MAC.match(peer) or _MAC.match(far) or peer in ("-", "--"):
        return
    own_is_switch = _SWITCH_PORT.match(port) is not None
    far_is_switch = _SWITCH_PORT.match(far) is not None
    peer = short_name(peer.partition("(")[0])
    if own_is_switch and far_is_switch:
        trunk: dict[str, Scalar] = {"peer_port": port_name(far), "origin": "seen"}
        yield Observation("switch.trunk", where, trunk, host=host, port=port_name(port), peer=peer)
    elif own_is_switch and host:
        fields: dict[str, Scalar] = {"switch": host, "switch_port": port_name(port), "netdev": far, "origin": "seen"}
        yield Observation("switch.attached", where, fields, host=peer, device=far)
    elif far_is_switch:
        fields = {"switch": peer, "switch_port": port_name(far), "netdev": port, "origin": "seen"}
        yield Observation("switch.attached", where, fields, host=host, device=port)


ADAPTER = Adapter(
    name="lldp_tables",
    branch="switch",
    emits=("switch.attached", "switch.trunk"),
    coverage=None,
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            "leaf1# show lldp neighbors\nCapability codes:\n  (R) Router, (B) Bridge\n"
            "Device ID            Local Intf      Hold-time  Capability  Port ID\n"
            "spine1.dc.example    Eth1/49         120        BR          Ethernet1/7\n"
            "gpu1                 Eth1/3          120                    eth2\n"
            "58a2.e100.0001       Eth1/4          120                    58a2.e100.0001\n",
            (
                (
                    "switch.trunk",
                    {"host": "leaf1", "port": "Ethernet1/49", "peer": "spine1", "peer_port": "Ethernet1/7"},
                ),
                (
                    "switch.attached",
                    {"host": "gpu1", "netdev": "eth2", "switch": "leaf1", "switch_port": "Ethernet1/3"},
                ),
            ),
        ),
        Sample(
            "<leaf2>display lldp neighbor brief\n"
            "Local Interface         Exptime(s)  Neighbor Interface      Neighbor Device\n"
            "---------------------------------------------------------------------------\n"
            "100GE1/0/1                     107  100GE1/0/24             spine2\n"
            "100GE1/0/5                      95  enp1s0                  gpu5\n",
            (
                ("switch.trunk", {"host": "leaf2", "port": "100GE1/0/1", "peer": "spine2", "peer_port": "100GE1/0/24"}),
                ("switch.attached", {"host": "gpu5", "netdev": "enp1s0", "switch_port": "100GE1/0/5"}),
            ),
        ),
        Sample(
            "<leaf3>display lldp neighbor-information verbose\n"
            "LLDP neighbor-information of port 47[HundredGigE1/0/47]:\n LLDP agent nearest-bridge:\n"
            " Port ID type        : Interface name\n Port ID             : HundredGigE1/0/2\n"
            " Port description    : to leaf3\n System name         : spine3\n",
            (("switch.trunk", {"host": "leaf3", "port": "HundredGigE1/0/47", "peer": "spine3"}),),
        ),
        Sample(
            "lldp.eth2.via=LLDP\nlldp.eth2.chassis.name=leaf1.dc.example\nlldp.eth2.port.ifname=Ethernet12\n",
            (("switch.attached", {"device": "eth2", "switch": "leaf1", "switch_port": "Ethernet12"}),),
        ),
        Sample("Device ID and Local Intf of the neighbours\nspine1 Eth1/49 120 BR Ethernet1/7\n", ()),
    ),
)
