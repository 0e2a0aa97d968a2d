"""SONiC ``show interfaces status``, ``show lldp table``, ``show pfc priority``: states, neighbours, priorities."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.quoting import quote
from facts_adapters.switch._tables import Row, Table, observation, tables, whole

_KNOWN = re.compile(
    r"^[ \t]*(?:Interface\s+(?:Lanes\s+)?Speed\s+MTU\s|LocalPort\s+RemoteDevice\s|Interface\s+Lossless priorities)",
    re.MULTILINE,
)
_NEIGHBOURS = re.compile(r"^[ \t]*LocalPort\s+RemoteDevice\s")
_DESCRIBED = re.compile(r"Interface\s+\d+ as (?P<name>\S+)")
_SWITCH_PORT = re.compile(r"(?:Ethernet|Eth|swp|et-|\d+GE)[\d/]")


def _sniff(head: Head) -> Verdict:
    return Verdict(0.95, "ports of a SONiC switch") if _KNOWN.search(head.text) else Verdict(0.0, "")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation]:
    for table in tables(file, context, _NEIGHBOURS):
        columns = set(table.columns)
        for row in table.rows:
            if {"Oper", "Admin"} <= columns:
                yield from _status(file, table, row)
            elif "RemoteDevice" in columns:
                yield from _neighbour(file, table, row)
            elif "Lossless priorities" in columns:
                yield from _priorities(file, table, row)


def _status(file: EvidenceFile, table: Table, row: Row) -> Iterator[Observation]:
    port, host = row.cells.get("Interface"), file.host or table.host
    where = quote(file, row.line)
    if row.cells.get("Oper") == "down" and row.cells.get("Admin") == "up":
        state: dict[str, Scalar | None] = {"up": False, "admin_up": True}
        yield observation("switch.port_state", where, state, host=host, port=port, when=table.when)
    mtu = whole(row.cells.get("MTU"))
    if mtu and row.cells.get("Oper") == "up":
        yield observation("switch.mtu", where, {"mtu": mtu}, host=host, port=port, when=table.when)


def _neighbour(file: EvidenceFile, table: Table, row: Row) -> Iterator[Observation]:
    port, peer = row.cells.get("LocalPort"), row.cells.get("RemoteDevice", "").partition(".")[0]
    far, described = row.cells.get("RemotePortID", ""), row.cells.get("RemotePortDescr", "")
    host = file.host or table.host
    if not port or not peer or not port.startswith("Ethernet"):
        return
    if _SWITCH_PORT.match(far) or _SWITCH_PORT.match(described):
        peer_port = far if _SWITCH_PORT.match(far) else described
        yield Observation(
            "switch.trunk",
            quote(file, row.line),
            {"peer_port": peer_port, "origin": "seen"},
            host=host,
            port=port,
            peer=peer,
        )
    elif host:
        named = _DESCRIBED.match(described)
        netdev = named["name"] if named else described if described and " " not in described else far
        fields: dict[str, Scalar] = {"switch": host, "switch_port": port, "netdev": netdev, "origin": "seen"}
        yield Observation("switch.attached", quote(file, row.line), fields, host=peer, device=netdev)


def _priorities(file: EvidenceFile, table: Table, row: Row) -> Iterator[Observation]:
    listed = row.cells.get("Lossless priorities", "")
    enabled = [part for part in listed.split(",") if part.strip().isdecimal()]
    fields: dict[str, Scalar | None] = {
        "priorities": ",".join(part.strip() for part in enabled) or "none",
        "priority": int(enabled[0]) if len(enabled) == 1 else None,
    }
    host, port = file.host or table.host, row.cells.get("Interface")
    yield observation("switch.lossless_config", quote(file, row.line), fields, host=host, port=port, when=table.when)


ADAPTER = Adapter(
    name="sonic_ports",
    branch="switch",
    emits=("switch.port_state", "switch.mtu", "switch.trunk", "switch.attached", "switch.lossless_config"),
    coverage=None,
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            "  Interface        Lanes    Speed    MTU    Alias    Oper    Admin\n"
            "-----------  -----------  -------  -----  -------  ------  -------\n"
            "  Ethernet0  49,50,51,52     400G   9100   etp1      down       up\n"
            "  Ethernet8  53,54,55,56     400G   9100   etp2        up       up\n",
            (
                ("switch.port_state", {"up": False, "admin_up": True, "port": "Ethernet0"}),
                ("switch.mtu", {"mtu": 9100, "port": "Ethernet8"}),
            ),
        ),
        Sample(
            "admin@leaf1:~$ show lldp table\nCapability codes: (R) Router\n"
            "LocalPort    RemoteDevice    RemotePortID       Capability    RemotePortDescr\n"
            "-----------  --------------  -----------------  ------------  -----------------\n"
            "Ethernet0    gpu1.dc.example  58:a2:e1:00:00:01  R             eth2\n"
            "Ethernet192  spine1          Ethernet8          BR            Ethernet8\n",
            (
                ("switch.attached", {"host": "gpu1", "netdev": "eth2", "switch": "leaf1", "switch_port": "Ethernet0"}),
                ("switch.trunk", {"port": "Ethernet192", "peer": "spine1", "peer_port": "Ethernet8"}),
            ),
        ),
        Sample(
            "admin@leaf1:~$ show lldp table | grep -E 'Local|gpu1'\n"
            "LocalPort    RemoteDevice    RemotePortID    Capability    RemotePortDescr\n"
            "Ethernet0    gpu1            eth2            OR            Interface   8 as eth2\n",
            (("switch.attached", {"host": "gpu1", "netdev": "eth2", "switch": "leaf1", "switch_port": "Ethernet0"}),),
        ),
        Sample(
            "Interface    Lossless priorities\n-----------  ---------------------\n"
            "Ethernet0    3,4\nEthernet4    N/A\n",
            (
                ("switch.lossless_config", {"priorities": "3,4", "port": "Ethernet0"}),
                ("switch.lossless_config", {"priorities": "none", "port": "Ethernet4"}),
            ),
        ),
        Sample("Interface of the day\n------\nnone\n", ()),
    ),
)
