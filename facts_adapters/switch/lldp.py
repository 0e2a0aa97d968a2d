"""``lldpctl -f json`` and ``json0`` on a host or switch: the neighbour behind every interface."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from engine.facts.model import Observation, Scalar, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.quoting import line_at
from facts_adapters.switch._tables import port_name
from facts_adapters.switch.topology import short_name

SWITCH_PORT = re.compile(
    r"(?:Ethernet|Eth|Et|swp|etp|Gi|Te|Twe|Hu|Fo|FourHundredGigE|WGE|HGE|\d+GE|et-|xe-)[\d/]", re.IGNORECASE
)
_OWN_PORT = re.compile(r"(?:Ethernet|swp)\d")
_LONGEST = 8 << 20


def _sniff(head: Head) -> Verdict:
    if '"lldp"' in head.text[:2000] and '"interface"' in head.text:
        return Verdict(1.0, "JSON of lldpctl")
    return Verdict(0.0, "")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation]:
    with file.open() as stream:
        text = stream.read(_LONGEST).decode("utf-8", "replace")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        context.warn(file.path, 1, f"not JSON: {error}")
        return
    for table in _many(document.get("lldp") if isinstance(document, dict) else None):
        for entry in _many(table.get("interface")):
            for name, row in _named(entry):
                yield from _neighbour(file, text, name, row)


def _many(value: Any) -> Iterator[dict[str, Any]]:
    """A table or a list of tables."""
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            yield item


def _named(entry: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(name, row) pairs of both forms: keyed by the interface, or with its name inside."""
    if isinstance(entry.get("name"), str):
        yield entry["name"], entry
        return
    for name, row in entry.items():
        for item in _many(row):
            yield name, item


def _text(value: Any) -> str | None:
    """A value that json0 wraps in a list of objects with ``value``."""
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str):
            return item
        if isinstance(item, dict) and isinstance(item.get("value"), str):
            return str(item["value"])
    return None


def _neighbour(file: EvidenceFile, text: str, name: str, row: dict[str, Any]) -> Iterator[Observation]:
    chassis = next(_many(row.get("chassis")), None)
    port = next(_many(row.get("port")), None)
    if not chassis or not port:
        return
    peer = _text(chassis.get("name"))
    if not peer:
        keys = [key for key, value in chassis.items() if isinstance(value, dict) and key != "id"]
        peer = keys[0] if len(keys) == 1 else None
    far = _text(port.get("id")) or _text(port.get("descr"))
    if far and not SWITCH_PORT.match(far):
        described = _text(port.get("descr"))
        far = described if described and SWITCH_PORT.match(described) else far
    if not peer or not far:
        return
    peer = short_name(peer)
    place = text.find(f'"{name}"')
    source = Source(file.path, line_at(text, place), f"{name}: {peer} {far}")
    yield link(file.host, source, name, peer, far)


def link(host: str | None, source: Source, name: str, peer: str, far: str) -> Observation:
    """A switch's own port makes a trunk, an interface of a host an attachment."""
    if _OWN_PORT.match(name):
        trunk: dict[str, Scalar] = {"peer_port": port_name(far), "origin": "seen"}
        return Observation("switch.trunk", source, trunk, host=host, port=name, peer=peer)
    fields: dict[str, Scalar] = {"switch": peer, "switch_port": port_name(far), "netdev": name, "origin": "seen"}
    return Observation("switch.attached", source, fields, host=host, device=name)


ADAPTER = Adapter(
    name="lldp",
    branch="switch",
    emits=("switch.attached", "switch.trunk"),
    coverage=None,
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            '{"lldp":{"interface":[{"eth2":{"via":"LLDP","chassis":{"leaf1":{"id":{"type":"mac","value":"b8:3f"}}},'
            '"port":{"id":{"type":"local","value":"Ethernet0"},"descr":"Ethernet0"}}}]}}',
            (("switch.attached", {"device": "eth2", "switch": "leaf1", "switch_port": "Ethernet0", "origin": "seen"}),),
        ),
        Sample(
            '{"lldp":[{"interface":[{"name":"eth4","chassis":[{"id":[{"type":"mac","value":"aa"}],"name":[{"value":"leaf2"}]}],'
            '"port":[{"id":[{"type":"ifname","value":"Ethernet8"}]}]}]}]}',
            (("switch.attached", {"device": "eth4", "switch": "leaf2", "switch_port": "Ethernet8"}),),
        ),
        Sample('{"lldp":{}, "note": "interface"}', ()),
    ),
)
