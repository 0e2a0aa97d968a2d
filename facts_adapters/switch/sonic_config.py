"""SONiC ``config_db.json``: PFC, DSCP mapping, ECN and watchdog of the ports, and what some ports lack."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from engine.facts.model import Observation, Scalar, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.quoting import line_at, nested_key
from facts_adapters.switch._tables import observation

_LONGEST = 16 << 20
_COMMON = {0, *range(8, 57, 8), 10, 12, 14, 18, 20, 22, 25, 26, 27, 28, 30, 34, 36, 38, 46}
_MARKS = ('"PORT_QOS_MAP"', '"DSCP_TO_TC_MAP"', '"DEVICE_METADATA"', '"WRED_PROFILE"')


@dataclass(frozen=True, slots=True)
class _Config:
    """The document with its text, for the lines that facts refer to."""

    path: str
    text: str
    tables: dict[str, Any]
    host: str | None

    def at(self, *names: str) -> Source:
        """The line of the last of nested keys."""
        place = nested_key(self.text, names)
        return Source(self.path, line_at(self.text, place), f'"{names[-1]}"')

    def table(self, name: str) -> dict[str, dict[str, Any]]:
        """A table by its name; rows that are no objects are left out."""
        rows = self.tables.get(name)
        return {key: row for key, row in rows.items() if isinstance(row, dict)} if isinstance(rows, dict) else {}


def _sniff(head: Head) -> Verdict:
    hits = sum(mark in head.text for mark in _MARKS)
    if head.text.lstrip().startswith("{") and (hits >= 2 or (hits and "config_db" in head.path)):
        return Verdict(1.0, "SONiC configuration database")
    return Verdict(0.0, "")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation]:
    with file.open() as stream:
        text = stream.read(_LONGEST).decode("utf-8", "replace")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        context.warn(file.path, 1, f"not JSON: {error}")
        return
    if not isinstance(document, dict):
        return
    metadata = document.get("DEVICE_METADATA", {}).get("localhost", {})
    config = _Config(file.path, text, document, file.host or metadata.get("hostname"))
    yield from _ports(config)
    yield from _codes(config)


def _priorities(row: dict[str, Any]) -> tuple[int, ...]:
    return tuple(sorted({int(part) for part in str(row.get("pfc_enable", "")).split(",") if part.strip().isdecimal()}))


def _ports(config: _Config) -> Iterator[Observation]:
    ports = {name: row for name, row in config.table("PORT_QOS_MAP").items() if name != "global"}
    if not ports:
        return
    queues = config.table("QUEUE")
    marking = {
        name for name, row in config.table("WRED_PROFILE").items() if str(row.get("ecn", "ecn_none")) != "ecn_none"
    }
    common = Counter(_priorities(row) for row in ports.values()).most_common(1)[0][0]
    watched = config.table("PFC_WD")
    for name, row in ports.items():
        enabled = _priorities(row)
        ecn = any(
            str(queue.get("wred_profile", "")).strip("[]").rpartition("|")[2] in marking
            for key, queue in queues.items()
            if name in key.partition("|")[0].split(",") and key.rpartition("|")[2] in map(str, enabled)
        )
        fields: dict[str, Scalar | None] = {
            "priorities": ",".join(map(str, enabled)) or "none",
            "priority": enabled[0] if len(enabled) == 1 else None,
            "watchdog": (name in watched or bool(row.get("pfcwd_sw_enable")))
            if watched or "pfcwd_sw_enable" in row
            else None,
            "ecn": ecn if queues else None,
        }
        where = config.at("PORT_QOS_MAP", name)
        yield observation("switch.lossless_config", where, fields, host=config.host, port=name)
        yield from _gaps(config, name, row, enabled, common)


def _gaps(
    config: _Config, name: str, row: dict[str, Any], enabled: tuple[int, ...], common: tuple[int, ...]
) -> Iterator[Observation]:
    def gap(missing: str, priority: int | None, text: str) -> Observation:
        fields: dict[str, Scalar | None] = {"missing": missing, "priority": priority, "text": text}
        return observation("switch.lossless_gap", config.at("PORT_QOS_MAP", name), fields, host=config.host, port=name)

    for priority in sorted(set(common) - set(enabled)):
        yield gap("pfc", priority, f"{name} lacks PFC on priority {priority}")
    if config.table("DSCP_TO_TC_MAP") and enabled and not _dscp_map(config, row):
        yield gap("dscp_map", None, f"{name} has no DSCP mapping")


def _dscp_map(config: _Config, row: dict[str, Any]) -> str | None:
    """Name of the DSCP map of a port, its own or the switch-wide one."""
    own = row.get("dscp_to_tc_map") or config.table("PORT_QOS_MAP").get("global", {}).get("dscp_to_tc_map")
    return str(own).strip("[]").rpartition("|")[2] if own else None


def _codes(config: _Config) -> Iterator[Observation]:
    used = Counter(_dscp_map(config, row) for row in config.table("PORT_QOS_MAP").values())
    protected = {priority for row in config.table("PORT_QOS_MAP").values() for priority in _priorities(row)}
    for name, codes in config.table("DSCP_TO_TC_MAP").items():
        if used and not used.get(name):
            continue
        for code, group in codes.items():
            if not (str(code).isdecimal() and str(group).isdecimal()):
                continue
            if int(code) in _COMMON or int(group) in protected:
                fields: dict[str, Scalar | None] = {
                    "dscp": int(code),
                    "priority": int(group),
                    "protected": int(group) in protected,
                }
                where = config.at("DSCP_TO_TC_MAP", name, str(code))
                yield observation("switch.dscp_priority", where, fields, host=config.host)


ADAPTER = Adapter(
    name="sonic_config",
    branch="switch",
    emits=("switch.lossless_config", "switch.lossless_gap", "switch.dscp_priority"),
    coverage=None,
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            '{\n "DSCP_TO_TC_MAP": {"AZURE": {"26": "3", "0": "0"}},\n "PORT_QOS_MAP": {\n'
            '  "Ethernet0": {"dscp_to_tc_map": "AZURE", "pfc_enable": "3,4"},\n'
            '  "Ethernet4": {"dscp_to_tc_map": "AZURE", "pfc_enable": "3,4"},\n'
            '  "Ethernet8": {"dscp_to_tc_map": "AZURE", "pfc_enable": "4"}\n },\n'
            ' "DEVICE_METADATA": {"localhost": {"hostname": "leaf1"}}\n}\n',
            (
                ("switch.lossless_config", {"priorities": "3,4", "port": "Ethernet0", "host": "leaf1"}),
                ("switch.lossless_config", {"priorities": "4", "priority": 4, "port": "Ethernet8"}),
                ("switch.lossless_gap", {"missing": "pfc", "priority": 3, "port": "Ethernet8"}),
                ("switch.dscp_priority", {"dscp": 26, "priority": 3, "protected": True}),
            ),
            "leaf1/config_db.json",
        ),
        Sample('{"PORT": {"Ethernet0": {"mtu": "9100"}}}', (), "leaf1/ports.json"),
    ),
)
