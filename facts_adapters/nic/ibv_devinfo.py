"""``ibv_devinfo [-v]``: port state, active MTU, rate, GIDs and firmware of RDMA devices (rdma-core ``devinfo.c``).

``-v`` adds ``active_width: 4X (2)`` and ``active_speed: 100.0 Gbps (128)`` of one lane, and a line for every GID in
use, on Ethernet with its version (not in old releases): ``GID[  3]: ::ffff:10.0.0.1, RoCE v2``.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping

from engine.facts.model import Observation
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.nic import _gids, _ports
from facts_adapters.quoting import quote

_DEVICE = re.compile(r"^hca_id:\s*(?P<device>\S+)")
_PORT = re.compile(r"^\s+port:\s*(?P<port>\d+)\s*$")
_GID = re.compile(
    r"^\s+GID\[\s*(?P<index>\d{1,4})\]:\s+(?P<gid>[0-9a-fA-F:.]{2,45})(?:, (?P<version>IB/RoCE v1|RoCE v[12]))?\s*$"
)
_WIDTH = re.compile(r"(?P<lanes>\d{1,2})X ")
_SPEED = re.compile(r"(?P<gbps>\d{1,4}\.\d) Gbps")
_PAIR = re.compile(r"^\s*(?P<name>[a-z_]+):\s+(?P<value>.+?)\s*$")


def _sniff(head: Head) -> Verdict:
    return _ports.found(head, re.compile(r"^hca_id:\s", re.MULTILINE), "ibv_devinfo", 1.0)


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation]:
    when = _ports.snapshot(file, context)
    for begin, block in _ports.blocks(_ports.lines(file), _DEVICE):
        device = begin["device"]
        common, ports = _ports.pairs_by_port(device, block[1:], _PORT, _PAIR)
        for observation in (
            *_device(file, device, common),
            *_all_ports(file, device, ports),
            *_tables(file, device, block[1:], dict(ports)),
        ):
            observation.when = when
            yield observation


def _device(file: EvidenceFile, device: str, pairs: _ports.Pairs) -> Iterator[Observation]:
    firmware, board, guid = pairs.get("fw_ver"), pairs.get("board_id"), pairs.get("node_guid")
    if firmware:
        fields: _ports.Fields = {"version": firmware[1], "board": board[1] if board else None}
        yield _ports.observe("nic.firmware", quote(file, firmware[0]), fields, host=file.host, device=device)
    if guid and not guid[1].replace(":", "").strip("0"):
        fields = {"what": "guid", "text": f"node_guid: {guid[1]}"}
        yield _ports.observe("nic.address_missing", quote(file, guid[0]), fields, host=file.host, device=device)
    elif guid:
        yield from _ports.names(quote(file, guid[0]), {"guid": guid[1]}, host=file.host, device=device)


def _all_ports(file: EvidenceFile, device: str, ports: list[tuple[str, _ports.Pairs]]) -> Iterator[Observation]:
    for port, pairs in ports:
        mtu, largest = pairs.get("active_mtu"), pairs.get("max_mtu")
        if "state" in pairs:
            line, state = pairs["state"]
            layer = pairs.get("link_layer", (line, ""))[1]
            infiniband = layer == "InfiniBand"
            fields: _ports.Fields = {
                "state": _ports.port_state(state),
                "physical": _ports.physical_state(pairs["phys_state"][1]) if "phys_state" in pairs else None,
                "layer": layer if layer in ("InfiniBand", "Ethernet") else None,
                "sm_lid": _ports.number(pairs["sm_lid"][1]) if infiniband and "sm_lid" in pairs else None,
                "lid": _ports.number(pairs["port_lid"][1]) if infiniband and "port_lid" in pairs else None,
            }
            yield _ports.observe("nic.port_state", quote(file, line), fields, host=file.host, device=device, port=port)
        if mtu and _ports.number(mtu[1]) and "ACTIVE" in pairs.get("state", (mtu[0], "ACTIVE"))[1]:
            fields = {"mtu": _ports.number(mtu[1]), "max_mtu": _ports.number(largest[1]) if largest else None}
            yield _ports.observe(
                "nic.active_mtu", quote(file, mtu[0]), fields, host=file.host, device=device, port=port
            )
        rate = _rate(pairs)
        if rate and "ACTIVE" in pairs.get("state", (None, ""))[1]:
            where = quote(file, pairs["active_speed"][0])
            yield _ports.observe("nic.rate", where, {"rate_gbps": rate}, host=file.host, device=device, port=port)


def _rate(pairs: _ports.Pairs) -> int | None:
    """Gb/s of all lanes."""
    width = _WIDTH.match(pairs["active_width"][1]) if "active_width" in pairs else None
    speed = _SPEED.match(pairs["active_speed"][1]) if "active_speed" in pairs else None
    return round(int(width["lanes"]) * float(speed["gbps"])) if width and speed else None


def _tables(
    file: EvidenceFile, device: str, block: list[Line], ports: Mapping[str, _ports.Pairs]
) -> Iterator[Observation]:
    """The GID table of every port."""
    tables: dict[str, list[_gids.Entry]] = {}
    port = f"{device}:1"
    for line in block:
        head, gid = _PORT.match(line.text), _GID.match(line.text)
        if head:
            port = f"{device}:{head['port']}"
        address = _address(gid["gid"]) if gid else None
        if gid and address:
            version = ("v2" if "v2" in gid["version"] else "v1") if gid["version"] else None
            if "InfiniBand" in ports.get(port, {}).get("link_layer", (line, ""))[1]:
                version = "ib"
            entry = _gids.Entry(line, device, port, int(gid["index"]), address, version, None)
            tables.setdefault(port, []).append(entry)
    for name, entries in tables.items():
        yield from _gids.table(file, name, entries)


def _address(text: str) -> str | None:
    """The GID in the long form that other tools show."""
    try:
        return ipaddress.IPv6Address(text).exploded
    except ValueError:
        return None


ADAPTER = Adapter(
    name="ibv_devinfo",
    branch="nic",
    emits=(
        "nic.port_state",
        "nic.active_mtu",
        "nic.rate",
        "nic.gid",
        "nic.gid_table",
        "nic.firmware",
        "nic.address_missing",
        "identity.port",
    ),
    coverage=None,
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            "hca_id:\tmlx5_0\n\ttransport:\t\t\tInfiniBand (0)\n\tfw_ver:\t\t\t\t28.39.1002\n"
            "\tnode_guid:\t\t\t1070:fd03:00a1:b2c4\n"
            "\tboard_id:\t\t\tMT_0000000838\n\tphys_port_cnt:\t\t\t1\n"
            "\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n"
            "\t\t\tmax_mtu:\t\t4096 (5)\n\t\t\tactive_mtu:\t\t1024 (3)\n"
            "\t\t\tsm_lid:\t\t\t0\n\t\t\tlink_layer:\t\tEthernet\n",
            (
                ("nic.firmware", {"version": "28.39.1002", "board": "MT_0000000838"}),
                ("nic.port_state", {"state": "active", "layer": "Ethernet", "port": "mlx5_0:1"}),
                ("nic.active_mtu", {"mtu": 1024, "max_mtu": 4096}),
            ),
        ),
        Sample(
            "hca_id:\tmlx5_2\n\tfw_ver:\t\t\t\t28.39.4082\n\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n"
            "\t\t\tlink_layer:\t\tEthernet\n\t\t\tactive_width:\t\t4X (2)\n\t\t\tactive_speed:\t\t100.0 Gbps (128)\n"
            "\t\t\tGID[  1]:\t\tfe80::ba3f:d2ff:fe12:3456, RoCE v2\n"
            "\t\t\tGID[  3]:\t\t::ffff:10.0.0.1, RoCE v2\n",
            (
                ("nic.rate", {"rate_gbps": 400, "port": "mlx5_2:1"}),
                ("nic.gid", {"index": 3, "class": "ipv4", "version": "v2", "port": "mlx5_2:1"}),
                ("nic.gid_table", {"entries": 2, "routable": 1, "lowest_index": 1, "lowest_routable": 3}),
            ),
        ),
        Sample("No IB devices found\n", ()),
    ),
)
