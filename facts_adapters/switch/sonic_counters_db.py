"""Dumps of SONiC's ``COUNTERS_DB``: ``sonic-db-dump -n COUNTERS_DB -y``, ``redis-dump``, the file of a techsupport.

Values stand under object ids, which the maps ``COUNTERS_PORT_NAME_MAP``, ``COUNTERS_QUEUE_NAME_MAP`` and
``COUNTERS_PG_NAME_MAP`` of the same dump name (sonic-swss orchagent portsorch.cpp, pfcactionhandler.h). An entry is the
hash itself or has it under ``value``. The database counts since the last restart of ``swss`` and knows nothing of a
user's clearing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engine.facts.model import CounterSample, Observation, Scalar, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.switch._tables import Counters, observation, whole

_LONGEST = 128 << 20
_KEY = re.compile(r'"((?:COUNTERS|USER_WATERMARKS|PERSISTENT_WATERMARKS):oid:0x[0-9a-fA-F]+)"\s*:')
_PORT = {
    "SAI_PORT_STAT_IF_IN_ERRORS": ("sonic_port", "RX_ERR"),
    "SAI_PORT_STAT_IF_OUT_ERRORS": ("sonic_port", "TX_ERR"),
    "SAI_PORT_STAT_IF_IN_DISCARDS": ("sonic_port", "RX_DRP"),
    "SAI_PORT_STAT_IF_OUT_DISCARDS": ("sonic_port", "TX_DRP"),
    "SAI_PORT_STAT_ETHER_RX_OVERSIZE_PKTS": ("sonic_port", "RX_OVR"),
    "SAI_PORT_STAT_ETHER_TX_OVERSIZE_PKTS": ("sonic_port", "TX_OVR"),
    "SAI_PORT_STAT_IF_IN_UCAST_PKTS": ("sonic_port", "RX_OK"),
    "SAI_PORT_STAT_IF_OUT_UCAST_PKTS": ("sonic_port", "TX_OK"),
    "SAI_PORT_STAT_IF_IN_FEC_CORRECTABLE_FRAMES": ("sonic_fec", "FEC_CORR"),
    "SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES": ("sonic_fec", "FEC_UNCORR"),
    "SAI_PORT_STAT_IF_IN_FEC_SYMBOL_ERRORS": ("sonic_fec", "FEC_SYMBOL_ERR"),
}
_PAUSE = re.compile(
    r"SAI_PORT_STAT_PFC_(?P<queue>[0-7])_(?P<what>RX_PKTS|TX_PKTS|RX_PAUSE_DURATION_US|ON2OFF_RX_PKTS)$"
)
_PAUSE_NAMES = {
    "RX_PKTS": "rx_pfc",
    "TX_PKTS": "tx_pfc",
    "RX_PAUSE_DURATION_US": "rx_pause_us",
    "ON2OFF_RX_PKTS": "rx_pause_transitions",
}
_QUEUE = {
    "SAI_QUEUE_STAT_PACKETS": ("sonic_queue", "packets"),
    "SAI_QUEUE_STAT_BYTES": ("sonic_queue", "bytes"),
    "SAI_QUEUE_STAT_DROPPED_PACKETS": ("sonic_queue", "drop_packets"),
    "SAI_QUEUE_STAT_DROPPED_BYTES": ("sonic_queue", "drop_bytes"),
    "SAI_QUEUE_STAT_WRED_DROPPED_PACKETS": ("sonic_queue", "wred_drop_packets"),
    "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS": ("sonic_queue", "ecn_marked_packets"),
    "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED": ("sonic_pfcwd", "storm_detected"),
    "PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED": ("sonic_pfcwd", "storm_restored"),
    "PFC_WD_QUEUE_STATS_TX_PACKETS": ("sonic_pfcwd", "tx_ok"),
    "PFC_WD_QUEUE_STATS_TX_DROPPED_PACKETS": ("sonic_pfcwd", "tx_drop"),
    "PFC_WD_QUEUE_STATS_RX_PACKETS": ("sonic_pfcwd", "rx_ok"),
    "PFC_WD_QUEUE_STATS_RX_DROPPED_PACKETS": ("sonic_pfcwd", "rx_drop"),
}
_GROUP_DROP = "SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS"
_GROUP_HEADROOM = "SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES"

Hash = Mapping[str, Any]


def _sniff(head: Head) -> Verdict:
    if '"COUNTERS:oid:0x' in head.text or '"COUNTERS_PORT_NAME_MAP"' in head.text:
        return Verdict(1.0, "dump of SONiC's counters database")
    return Verdict(0.0, "")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation | CounterSample]:
    with file.open() as stream:
        text = stream.read(_LONGEST).decode("utf-8", "replace")
    try:
        document = json.loads(text[max(text.find("{"), 0) :])
    except (ValueError, RecursionError) as error:
        context.warn(file.path, 1, f"not JSON: {error}")
        return
    if not isinstance(document, dict):
        return
    lines = _lines(text)
    make = Counters(file, "sonic_counters_db", file.host, context.snapshot_time(file.path))
    for table, read in (("PORT", _port), ("QUEUE", _queue), ("PG", _group)):
        for name, oid in _hash(document, f"COUNTERS_{table}_NAME_MAP").items():
            key = f"COUNTERS:{oid}"
            values = _hash(document, key)
            if values:
                where = Source(file.path, lines.get(key, 1), f"{name} {key}")
                yield from read(str(name).rpartition("|")[2], values, make, where)
    yield from _headroom(document, lines, make)


def _lines(text: str) -> dict[str, int]:
    """The line that each object stands in."""
    found: dict[str, int] = {}
    line, counted = 1, 0
    for match in _KEY.finditer(text):
        line += text.count("\n", counted, match.start())
        counted = match.start()
        found.setdefault(match[1], line)
    return found


def _hash(document: Hash, key: str) -> Hash:
    entry = document.get(key)
    inner = entry.get("value", entry) if isinstance(entry, dict) else {}
    return inner if isinstance(inner, dict) else {}


def _split(name: str) -> tuple[str, int] | None:
    port, _, number = name.rpartition(":")
    return (port, int(number)) if port and number.isdecimal() else None


def _port(port: str, values: Hash, make: Counters, where: Source) -> Iterator[CounterSample]:
    for key, value in values.items():
        count, known, pause = whole(str(value)), _PORT.get(key), _PAUSE.match(key)
        if known:
            yield from make.sample(*known, count, where, port)
        elif pause:
            queue = int(pause["queue"])
            yield from make.sample("sonic_pfc", f"{_PAUSE_NAMES[pause['what']]}{queue}", count, where, port, queue)


def _queue(name: str, values: Hash, make: Counters, where: Source) -> Iterator[Observation | CounterSample]:
    place = _split(name)
    if place is None:
        return
    port, queue = place
    for key, value in values.items():
        if key in _QUEUE:
            yield from make.sample(*_QUEUE[key], whole(str(value)), where, port, queue)
    yield from _watchdog(port, queue, values, make, where)


def _watchdog(port: str, queue: int, values: Hash, make: Counters, where: Source) -> Iterator[Observation]:
    detected = whole(str(values.get("PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED", "")))
    status = str(values.get("PFC_WD_STATUS", ""))
    if detected:
        lost = [whole(str(values.get(f"PFC_WD_QUEUE_STATS_{side}_DROPPED_PACKETS", ""))) or 0 for side in ("TX", "RX")]
        fields: dict[str, Scalar | None] = {
            "queue": queue,
            "status": status if status in ("operational", "stormed") else "unknown",
            "detected": detected,
            "restored": whole(str(values.get("PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED", ""))),
            "dropped": sum(lost),
        }
        yield observation("switch.pfc_watchdog", where, fields, host=make.host, port=port, when=make.when)
    if status == "stormed":
        storm: dict[str, Scalar | None] = {"queue": queue, "text": f"PFC_WD_STATUS of {port}:{queue} is stormed"}
        yield observation("switch.pfc_storm", where, storm, host=make.host, port=port, when=make.when)
    action = str(values.get("PFC_WD_ACTION", ""))
    detection = whole(str(values.get("PFC_WD_DETECTION_TIME", "")))
    if action and detection:
        restoration = whole(str(values.get("PFC_WD_RESTORATION_TIME", "")))
        config: dict[str, Scalar | None] = {
            "action": action if action in ("drop", "forward", "alert") else "unknown",
            "detection_ms": detection // 1000,
            "restoration_ms": restoration // 1000 if restoration is not None else None,
        }
        yield observation("switch.pfc_watchdog_config", where, config, host=make.host, port=port, when=make.when)


def _group(name: str, values: Hash, make: Counters, where: Source) -> Iterator[CounterSample]:
    place = _split(name)
    if place and _GROUP_DROP in values:
        port, group = place
        yield from make.sample("sonic_pg", f"pg{group}_drop", whole(str(values[_GROUP_DROP])), where, port, group)


def _headroom(document: Hash, lines: Mapping[str, int], make: Counters) -> Iterator[CounterSample]:
    """The most headroom that each lossless group ever used since a user last cleared it."""
    for name, oid in _hash(document, "COUNTERS_PG_NAME_MAP").items():
        key, place = f"USER_WATERMARKS:{oid}", _split(str(name))
        used = whole(str(_hash(document, key).get(_GROUP_HEADROOM, "")))
        if place and used:
            port, group = place
            where = Source(make.file.path, lines.get(key, 1), f"{name} {key}")
            yield from make.sample("sonic_watermark", f"pg{group}_headroom", used, where, port, group)


ADAPTER = Adapter(
    name="sonic_counters_db",
    branch="switch",
    emits=(
        "switch.counter_rise",
        "switch.counter_symptom",
        "switch.counter_activity",
        "switch.counter_value",
        "switch.counter_idle",
        "switch.pfc_watchdog",
        "switch.pfc_watchdog_config",
        "switch.pfc_storm",
    ),
    coverage="switch_counters",
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            '{\n "COUNTERS:oid:0x1000000000002": {"expireat": 1.0, "ttl": -0.001, "type": "hash", "value": {\n'
            '  "SAI_PORT_STAT_IF_IN_ERRORS": "14", "SAI_PORT_STAT_PFC_3_RX_PKTS": "900"}},\n'
            ' "COUNTERS:oid:0x15000000000003": {"type": "hash", "value": {"PFC_WD_STATUS": "stormed",\n'
            '  "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED": "2", "PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED": "1",\n'
            '  "PFC_WD_QUEUE_STATS_TX_DROPPED_PACKETS": "70", "PFC_WD_ACTION": "drop",\n'
            '  "PFC_WD_DETECTION_TIME": "200000"}},\n'
            ' "COUNTERS_PORT_NAME_MAP": {"type": "hash", "value": {"Ethernet0": "oid:0x1000000000002"}},\n'
            ' "COUNTERS_QUEUE_NAME_MAP": {"type": "hash", "value": {"Ethernet0:3": "oid:0x15000000000003"}}\n}\n',
            (
                ("counter", {"family": "sonic_port", "counter": "RX_ERR", "value": 14, "port": "Ethernet0"}),
                ("counter", {"family": "sonic_pfc", "counter": "rx_pfc3", "value": 900, "queue": 3}),
                ("counter", {"family": "sonic_pfcwd", "counter": "storm_detected", "value": 2, "queue": 3}),
                ("switch.pfc_watchdog", {"queue": 3, "status": "stormed", "detected": 2, "dropped": 70}),
                ("switch.pfc_storm", {"queue": 3, "port": "Ethernet0"}),
                ("switch.pfc_watchdog_config", {"action": "drop", "detection_ms": 200}),
            ),
            "leaf1/dump/COUNTERS_DB.json",
        ),
        Sample(
            '{"COUNTERS:oid:0x1a0001": {"SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS": "12"},'
            ' "USER_WATERMARKS:oid:0x1a0001": {"SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES": "4096"},'
            ' "COUNTERS_PG_NAME_MAP": {"Ethernet8:3": "oid:0x1a0001"}}',
            (
                ("counter", {"family": "sonic_pg", "counter": "pg3_drop", "value": 12, "port": "Ethernet8"}),
                ("counter", {"family": "sonic_watermark", "counter": "pg3_headroom", "value": 4096}),
            ),
        ),
        Sample('{"COUNTERS_PORT_NAME_MAP": {"Ethernet0": "oid:0x1000000000002"}, "COUNTERS_LAG_NAME_MAP": {}}', ()),
    ),
)
