"""``show_gids`` of the vendor's driver package, and listings of ``/sys/class/infiniband/*/ports/*/gids``."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from engine.facts.model import Observation
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.nic import _gids, _ports

_ROW = re.compile(
    r"^\s*(?P<device>[A-Za-z][\w-]*)\s+(?P<port>\d+)\s+(?P<index>\d+)\s+(?P<gid>[0-9a-f]{4}(?::[0-9a-f]{4}){7})"
    r"(?:\s+(?P<ip>\d+\.\d+\.\d+\.\d+))?(?:\s+(?P<version>v[12]|IB/RoCE v1|RoCE v2))?"
    r"(?:\s+(?P<netdev>[A-Za-z]\S*))?\s*$"
)
_FILE = re.compile(
    r"(?P<device>[A-Za-z][\w-]*)/ports/(?P<port>\d+)/gids/(?P<index>\d+):(?P<gid>[0-9a-f]{4}(?::[0-9a-f]{4}){7})\s*$"
)
_FILE_TYPE = re.compile(
    r"(?P<device>[A-Za-z][\w-]*)/ports/(?P<port>\d+)/gid_attrs/types/(?P<index>\d+):\s*(?P<type>.*RoCE.*|IB.*)$"
)


def _sniff(head: Head) -> Verdict:
    rows = sum(1 for line in head.lines[:200] if _ROW.match(line) or ("/gids/" in line and _FILE.search(line[-300:])))
    header = any(re.match(r"DEV\s+PORT\s+INDEX\s+GID", line[:80]) for line in head.lines if line.startswith("DEV"))
    return Verdict(1.0, "GID table") if header or rows else Verdict(0.0, "")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation]:
    del context
    tables: dict[str, list[_gids.Entry]] = defaultdict(list)
    lines = list(_ports.lines(file))
    types = {
        (m["device"], m["port"], m["index"]): "v2" if "v2" in m["type"] else "v1" if "RoCE" in m["type"] else "ib"
        for line in lines
        if "/gid_attrs/" in line.text and (m := _FILE_TYPE.search(line.text))
    }
    for line in lines:
        match = _ROW.match(line.text) or (_FILE.search(line.text) if "/gids/" in line.text else None)
        if not match:
            continue
        parts = match.groupdict()
        version = types.get((match["device"], match["port"], match["index"]))
        if parts.get("version"):
            version = "v2" if "v2" in parts["version"] else "v1"
        port = f"{match['device']}:{match['port']}"
        netdev = parts.get("netdev")
        tables[port].append(
            _gids.Entry(line, match["device"], port, int(match["index"]), match["gid"], version, netdev)
        )
    for port, entries in tables.items():
        yield from _gids.table(file, port, entries)


_HEAD = "DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV\n---\t----\t-----\t---\t\t\t\t\t------------  \t---\t---\n"

ADAPTER = Adapter(
    name="show_gids",
    branch="nic",
    emits=("nic.gid", "nic.gid_table", "nic.address_missing"),
    coverage=None,
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            _HEAD + "mlx5_0\t1\t3\t0000:0000:0000:0000:0000:ffff:0a01:0203\t10.1.2.3  \tv2\teth2\nn_gids_found=1\n",
            (
                ("nic.gid", {"index": 3, "class": "ipv4", "version": "v2", "netdev": "eth2", "device": "mlx5_0"}),
                ("nic.gid_table", {"entries": 1, "routable": 1, "lowest_index": 3, "lowest_routable": 3}),
            ),
        ),
        Sample(
            "/sys/class/infiniband/mlx5_2/ports/1/gids/0:fe80:0000:0000:0000:1070:fd03:00a1:b2c4\n",
            (
                ("nic.gid", {"index": 0, "class": "link_local"}),
                ("nic.gid_table", {"entries": 1, "routable": 0, "lowest_index": 0}),
            ),
        ),
        Sample(_HEAD + "n_gids_found=0\n", ()),
    ),
)
