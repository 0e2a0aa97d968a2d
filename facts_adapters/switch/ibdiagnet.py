"""``ibdiagnet2.db_csv``: counters and links of every port of an InfiniBand fabric.

Sections stand between ``START_NAME`` and ``END_NAME``, the first line of each names its columns. ``NODES`` gives the
descriptions of GUIDs, ``PM_INFO`` the counters, ``LINKS`` the cables. Columns differ with the version and are found by
name (ibutils2 2.x to 3.x).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from engine.facts.model import CounterSample, Observation, Reading
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.quoting import quote
from facts_adapters.switch.ibnetdiscover import link
from facts_adapters.switch.ibqueryerrors import node_name

_BEGIN = re.compile(r"^START_(?P<name>[A-Z0-9_]+)\s*$")
_USED = ("NODES", "PM_INFO", "LINKS")
_COUNTERS = (
    "SymbolErrorCounter",
    "LinkErrorRecoveryCounter",
    "LinkDownedCounter",
    "PortRcvErrors",
    "PortRcvRemotePhysicalErrors",
    "PortRcvSwitchRelayErrors",
    "PortXmitDiscards",
    "PortXmitConstraintErrors",
    "PortRcvConstraintErrors",
    "LocalLinkIntegrityErrors",
    "ExcessiveBufferOverrunErrors",
    "VL15Dropped",
    "PortXmitWait",
)
_STAMP = re.compile(r"^# (?:.*?)(?:at|on|:)?\s*(?P<stamp>.*\d:\d\d:\d\d.*)$")
_LONGEST_ROW = 16_000


@dataclass
class _Fabric:
    """What the file told so far."""

    names: dict[str, tuple[str, bool]] = field(default_factory=dict)
    """(description, whether it is a switch) by GUID."""
    section: str = ""
    columns: list[str] = field(default_factory=list)
    when: Reading | None = None


def _sniff(head: Head) -> Verdict:
    if "START_" in head.text and any(
        line.startswith(("START_NODES", "START_PM_INFO", "START_LINKS")) for line in head.lines
    ):
        return Verdict(1.0, "CSV database of ibdiagnet")
    return Verdict(0.0, "")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation | CounterSample]:
    fabric = _Fabric(when=context.snapshot_time(file.path))
    for line in file.lines():
        text = line.text.strip()
        begin = _BEGIN.match(text)
        if begin:
            fabric.section, fabric.columns = begin["name"], []
        elif text.startswith("END_") or not text:
            fabric.section = "" if text else fabric.section
        elif text.startswith("#"):
            stamp = _STAMP.match(text)
            fabric.when = fabric.when or (context.reading(stamp["stamp"]) if stamp else None)
        elif fabric.section in _USED and len(text) <= _LONGEST_ROW:
            cells = [cell.strip() for cell in next(csv.reader([text]), [])]
            if not fabric.columns:
                fabric.columns = cells
            else:
                yield from _row(fabric, dict(zip(fabric.columns, cells, strict=False)), line, file)


def _row(
    fabric: _Fabric, row: Mapping[str, str], line: Line, file: EvidenceFile
) -> Iterator[Observation | CounterSample]:
    if fabric.section == "NODES":
        guid = row.get("NodeGUID") or row.get("NodeGuid") or ""
        fabric.names[guid.lower()] = (row.get("NodeDesc", "").strip('" '), row.get("NodeType") == "2")
    elif fabric.section == "PM_INFO":
        yield from _counters(fabric, row, line, file)
    else:
        ends = [_end(fabric, row, number) for number in ("1", "2")]
        if ends[0] and ends[1]:
            yield from link(ends[0], ends[1], quote(file, line))


def _end(fabric: _Fabric, row: Mapping[str, str], number: str) -> tuple[str, str, bool] | None:
    guid = (row.get(f"NodeGuid{number}") or row.get(f"NodeGUID{number}") or "").lower()
    port = row.get(f"PortNum{number}") or row.get(f"PortNumber{number}") or ""
    known = fabric.names.get(guid)
    return (known[0], port, known[1]) if known and port else None


def _counters(fabric: _Fabric, row: Mapping[str, str], line: Line, file: EvidenceFile) -> Iterator[CounterSample]:
    guid = (row.get("NodeGUID") or row.get("NodeGuid") or "").lower()
    port = row.get("PortNumber") or row.get("PortNum") or ""
    description, is_switch = fabric.names.get(guid, ("", False))
    if not port.isdecimal() or not guid:
        return
    name, device, _ = node_name(description) if description else (guid, None, False)
    for counter in _COUNTERS:
        value = _value(row, counter)
        if value is not None:
            yield CounterSample(
                source=quote(file, line),
                family="ibquery" if is_switch else "ibquery_host",
                counter=counter,
                value=value,
                host=name,
                device=None if is_switch else device,
                port=port if is_switch or not device else f"{device}:{port}",
                group=file.group,
                when=fabric.when,
                adapter="ibdiagnet",
            )


def _value(row: Mapping[str, str], counter: str) -> int | None:
    """The wide form of a counter where the version has it; ``0xfffffffffffffffe`` and texts are no values."""
    for name in (f"{counter}Ext", f"{counter}Extended", counter):
        text = row.get(name, "")
        if re.fullmatch(r"\d{1,19}", text):
            return int(text)
        if re.fullmatch(r"0x[0-9a-fA-F]{1,15}", text):
            return int(text, 16)
    return None


ADAPTER = Adapter(
    name="ibdiagnet",
    branch="switch",
    emits=(
        "switch.attached",
        "switch.trunk",
        "switch.counter_rise",
        "switch.counter_symptom",
        "switch.counter_activity",
        "switch.counter_value",
        "switch.counter_idle",
        "nic.counter_rise",
        "nic.counter_symptom",
        "nic.counter_activity",
        "nic.counter_value",
        "nic.counter_idle",
    ),
    coverage="switch_counters",
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            'START_NODES\nNodeDesc,NumPorts,NodeType,NodeGUID\n"MF0;leaf1:MQM9700/U1",65,2,0xb83fd20300a1\n'
            '"n1 mlx5_0",1,1,0x946dae0300d2\nEND_NODES\n\n'
            "START_LINKS\nNodeGuid1,PortNum1,NodeGuid2,PortNum2\n0x946dae0300d2,1,0xb83fd20300a1,7\nEND_LINKS\n\n"
            "START_PM_INFO\nNodeGUID,PortGUID,PortNumber,LinkDownedCounter,SymbolErrorCounter,SymbolErrorCounterExt\n"
            "0xb83fd20300a1,0xb83fd20300a1,7,4,65535,812345\n0x946dae0300d2,0x946dae0300d2,1,0,3,NA\nEND_PM_INFO\n",
            (
                ("switch.attached", {"host": "n1", "device": "mlx5_0", "switch": "leaf1", "switch_port": "7"}),
                (
                    "counter",
                    {"family": "ibquery", "counter": "LinkDownedCounter", "value": 4, "host": "leaf1", "port": "7"},
                ),
                ("counter", {"family": "ibquery", "counter": "SymbolErrorCounter", "value": 812345}),
                (
                    "counter",
                    {"family": "ibquery_host", "counter": "SymbolErrorCounter", "value": 3, "port": "mlx5_0:1"},
                ),
            ),
            "ibdiagnet2.db_csv",
        ),
        Sample("START_CABLE_INFO\nNodeGuid,PortNum,Vendor\n0x1,1,x\nEND_CABLE_INFO\n", ()),
        Sample("START_NODES is where it begins\n", ()),
    ),
)
