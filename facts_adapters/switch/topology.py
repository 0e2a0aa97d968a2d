"""Cable plans and inventories: which NIC is cabled to which switch port, and which switch ports to each other.

CSV with a header and YAML or JSON exports of an inventory are recognised by their column names, whatever their order:
host, nic, netdev, switch, port, speed, and for links between switches switch_a, port_a, switch_b, port_b.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from engine.authored.document import InvalidDocument, parse_document
from engine.facts.model import Observation, Scalar, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.quoting import quote

_LONGEST = 8 << 20
_NAMES: Mapping[str, tuple[str, ...]] = {
    "host": ("host", "hostname", "node", "server", "host_name", "device_a_host"),
    "nic": ("nic", "hca", "rdma_device", "ib_device", "rdma", "adapter"),
    "netdev": ("netdev", "interface", "ifname", "iface", "host_port", "host_interface", "nic_port"),
    "switch": ("switch", "leaf", "tor", "switch_name", "peer_switch", "leaf_switch"),
    "port": ("port", "switch_port", "leaf_port", "tor_port", "peer_port", "switchport"),
    "speed": ("speed_gbps", "speed", "rate_gbps", "rate", "gbps"),
    "switch_a": ("switch_a", "a_switch", "local_switch", "leaf_switch_a", "src_switch", "from_switch"),
    "port_a": ("port_a", "a_port", "local_port", "src_port", "from_port"),
    "switch_b": ("switch_b", "b_switch", "remote_switch", "dst_switch", "to_switch"),
    "port_b": ("port_b", "b_port", "remote_port", "dst_port", "to_port"),
}
Roles = dict[str, str]


def short_name(name: str) -> str:
    """A switch's name without its domain; addresses stay as they are."""
    return name if re.fullmatch(r"[\d.]+", name) else name.partition(".")[0]


def roles_of(columns: Sequence[str]) -> Roles:
    """The role of each column title that is known, by role."""
    found: Roles = {}
    for title in columns:
        word = re.sub(r"[^a-z0-9]+", "_", title.strip().lower()).strip("_")
        for role, names in _NAMES.items():
            if word in names and role not in found:
                found[role] = title
    return found


def _attaches(roles: Roles) -> bool:
    return {"host", "switch", "port"} <= roles.keys() and ("nic" in roles or "netdev" in roles)


def _trunks(roles: Roles) -> bool:
    return {"switch_a", "port_a", "switch_b", "port_b"} <= roles.keys()


def _sniff(head: Head) -> Verdict:
    for line in head.lines[:20]:
        if any(mark in line for mark in ",;\t"):
            roles = roles_of(re.split(r"[,\t;]", line))
            if _attaches(roles) or _trunks(roles):
                return Verdict(0.95, "cable plan")
    if head.path.endswith((".yaml", ".yml", ".json")) and re.search(r"\bswitch\b", head.text):
        keys = set(re.findall(r"[\"{ ,-]([A-Za-z_]+)\"?\s*:", head.text))
        if _attaches({**roles_of(sorted(keys)), "host": "host"}) or re.search(
            r"^[^\w\n]{0,40}(?:isl|trunks|links)[^\w\n]{0,4}:", head.text, re.M
        ):
            return Verdict(0.9, "inventory of switch ports")
    return Verdict(0.0, "")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation]:
    if file.path.endswith((".yaml", ".yml", ".json")):
        yield from _document(file, context)
        return
    lines = [line for line in file.lines() if line.text.strip() and not line.text.lstrip().startswith("#")]
    while lines:
        delimiter = next((mark for mark in (",", "\t", ";") if mark in lines[0].text), ",")
        columns = next(csv.reader([lines[0].text], delimiter=delimiter))
        roles = roles_of(columns)
        if _attaches(roles) or _trunks(roles):
            for line in lines[1:]:
                row = dict(zip(columns, next(csv.reader([line.text], delimiter=delimiter)), strict=False))
                yield from _facts({role: row.get(title, "") for role, title in roles.items()}, quote(file, line))
            return
        lines = lines[1:]


def _facts(row: Mapping[str, Any], source: Source) -> Iterator[Observation]:
    text = {role: str(value).strip() for role, value in row.items() if value not in (None, "")}
    for role in ("switch", "switch_a", "switch_b"):
        if role in text:
            text[role] = short_name(text[role])
    if {"switch_a", "port_a", "switch_b", "port_b"} <= text.keys():
        ends = ((text["switch_a"], text["port_a"]), (text["switch_b"], text["port_b"]))
        for (host, port), (peer, peer_port) in (ends, ends[::-1]):
            fields: dict[str, Scalar] = {"peer_port": peer_port, "origin": "plan"}
            yield Observation("switch.trunk", source, fields, host=host, port=port, peer=peer)
    elif {"host", "switch", "port"} <= text.keys() and (text.get("nic") or text.get("netdev")):
        fields = {"switch": text["switch"], "switch_port": text["port"], "origin": "plan"}
        if text.get("netdev"):
            fields["netdev"] = text["netdev"]
        speed = re.match(r"(\d+)", text.get("speed", ""))
        if speed:
            fields["speed_gbps"] = int(speed[1])
        device = text.get("nic") or text["netdev"]
        yield Observation("switch.attached", source, fields, host=text["host"], device=device)


def _document(file: EvidenceFile, context: Context) -> Iterator[Observation]:
    with file.open() as stream:
        text = stream.read(_LONGEST).decode("utf-8", "replace")
    try:
        document = json.loads(text) if file.path.endswith(".json") else parse_document(text, file.path).value
    except (ValueError, RecursionError, InvalidDocument) as error:
        context.warn(file.path, 1, f"cannot be read as YAML or JSON: {error}".partition("\n")[0])
        return
    lines = text.splitlines()
    yield from _walk(document, None, lines, file.path)


def _walk(value: Any, key: str | None, lines: Sequence[str], path: str, depth: int = 0) -> Iterator[Observation]:
    """Rows anywhere in a document; a mapping of names to lists gives the name as the host of its rows."""
    if depth > 8:
        return
    if isinstance(value, dict):
        roles = roles_of([str(name) for name in value])
        row = {role: value[title] for role, title in roles.items() if not isinstance(value[title], (dict, list))}
        if "host" not in row and key:
            row["host"] = key
        found = list(_facts(row, _line_of(row, lines, path)))
        yield from found
        if not found:
            for name, inner in value.items():
                yield from _walk(inner, str(name), lines, path, depth + 1)
    elif isinstance(value, list):
        if len(value) == 4 and all(isinstance(part, str) for part in value):
            row = dict(zip(("switch_a", "port_a", "switch_b", "port_b"), value, strict=True))
            yield from _facts(row, _line_of(row, lines, path))
            return
        for inner in value:
            yield from _walk(inner, key, lines, path, depth + 1)


def _line_of(row: Mapping[str, Any], lines: Sequence[str], path: str) -> Source:
    """The line that holds most of a row's values."""
    words = [str(value) for value in row.values()]
    if len(lines) > 5_000 or not words:
        return Source(path, 1, "")
    counts = [sum(word in line for word in words) for line in lines]
    best = max(range(len(lines)), key=counts.__getitem__)
    return Source(path, best + 1, lines[best].strip()[:500])


ADAPTER = Adapter(
    name="topology",
    branch="switch",
    emits=("switch.attached", "switch.trunk"),
    coverage=None,
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            "host,nic,netdev,switch,port,speed_gbps\nn1,mlx5_0,eth2,leaf1,Ethernet0,400\n",
            (
                (
                    "switch.attached",
                    {
                        "host": "n1",
                        "device": "mlx5_0",
                        "netdev": "eth2",
                        "switch": "leaf1",
                        "switch_port": "Ethernet0",
                        "speed_gbps": 400,
                        "origin": "plan",
                    },
                ),
            ),
            "network/topology.csv",
        ),
        Sample(
            "switch_a,port_a,switch_b,port_b\nleaf1,Ethernet192,spine1,Ethernet0\n",
            (
                ("switch.trunk", {"host": "leaf1", "port": "Ethernet192", "peer": "spine1", "peer_port": "Ethernet0"}),
                ("switch.trunk", {"host": "spine1", "port": "Ethernet0", "peer": "leaf1"}),
            ),
            "network/isl.csv",
        ),
        Sample(
            "hosts:\n  n2:\n    - {nic: mlx5_0, netdev: eth2, switch: leaf1, port: Ethernet8}\n"
            "isl:\n  - [leaf1, Ethernet192, spine1, Ethernet0]\n",
            (
                ("switch.attached", {"host": "n2", "switch": "leaf1", "switch_port": "Ethernet8"}),
                ("switch.trunk", {"host": "leaf1", "port": "Ethernet192", "peer": "spine1"}),
            ),
            "network/topology.yaml",
        ),
        Sample("host,port,state\nn1,29500,LISTEN\n", (), "n1/listeners.csv"),
    ),
)
