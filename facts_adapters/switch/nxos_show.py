"""Cisco NX-OS ``show interface [priority-flow-control|counters errors]``, ``show queuing interface|pfc-queue``.

A queue without PFC in operation shows ``Off``; the hexadecimal bit map behind ``On`` names the priorities.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from engine.facts.model import CounterSample, Observation, Scalar, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.quoting import quote
from facts_adapters.switch._loads import Load, utilisation
from facts_adapters.switch._tables import Counters, host_of, lines, observation, port_name, prompt, whole

_PFC_HEAD = re.compile(r"^Port\s+Mode\s+Oper\s*\(VL bmap\)\s+RxPPP\s+TxPPP")
_PFC_ROW = re.compile(
    r"^(?P<port>\S+)\s+(?:Auto|On|Off|on|off|auto)\s+(?P<oper>On|Off)\s*(?:\((?P<bits>[0-9a-fA-F]+)\))?\s+(?P<rx>[\d,]+)\s+(?P<tx>[\d,]+)\s*$"
)
_QUEUING = re.compile(r"Egress Queuing for (?P<port>\S+)|^(?P<old>\S+) queuing information:")
_GROUP = re.compile(r"QOS GROUP (?P<group>\d+)")
_BOX = re.compile(r"^\|\s*(?P<name>[A-Z][\w &]*?Pkts)\s*\|\s*(?P<value>[\d,]+)\s*\|")
_MMU = re.compile(r"^(?:Ingress MMU Drop Pkts|\s*Pkts discarded on ingress\s*:)\s*(?P<value>\d+)")
_WATCHDOG = re.compile(r"^(?P<port>\S+) Interface PFC watchdog: \[(?P<on>\w+)\]")
_WATCHDOG_COUNT = re.compile(r"^\|?\s*(?P<name>Shutdown|Restored|Total pkts dropped)\s*[|:]\s*(?P<value>\d+)")
_ERRORS = re.compile(r"^(?P<port>(?:Ethernet|port-channel)\S+) is (?P<state>up|down)")
_LOAD = re.compile(r"\btxload (?P<tx>\d{1,3})/255, rxload (?P<rx>\d{1,3})/255")
_ERROR = re.compile(
    r"(?P<value>\d+) (?P<name>CRC|input error|output error|input discard|output discard|Rx pause|Tx pause)"
)
_NAMES = {
    "Dropped Pkts": "dropped_packets",
    "WRED & AFD Drop Pkts": "wred_drop_packets",
    "CRC": "crc",
    "input error": "input_errors",
    "output error": "output_errors",
    "input discard": "input_discards",
    "output discard": "output_discards",
    "Rx pause": "rx_pause",
    "Tx pause": "tx_pause",
    "Shutdown": "shutdown",
    "Restored": "restored",
    "Total pkts dropped": "dropped",
}


_TABLE = re.compile(r"^Port\s+(?P<titles>(?:Align-Err|InDiscards|Single-Col|IntMacTx-Er)\b.*)$")
_TABLE_ROW = re.compile(r"^(?P<port>(?:Eth|Po)\d[\d/]*)\s+(?P<cells>[\d-][\d\s-]*)$")
_COLUMNS = {
    "FCS-Err": "crc",
    "Xmit-Err": "output_errors",
    "Rcv-Err": "input_errors",
    "OutDiscards": "output_discards",
    "InDiscards": "input_discards",
}


@dataclass
class _Place:
    """Where in the output the reader is."""

    port: str | None = None
    group: int | None = None
    watchdog: bool = False
    columns: tuple[str, ...] = ()
    loads: list[Load] = field(default_factory=list)


def _sniff(head: Head) -> Verdict:
    for literal, pattern, why in (
        ("RxPPP", _PFC_HEAD, "priority flow control of NX-OS"),
        ("ueuing ", _QUEUING, "queuing of NX-OS"),
        ("PFC watchdog", _WATCHDOG, "PFC queues of NX-OS"),
        ("Align-Err", _TABLE, "error counters of NX-OS"),
    ):
        if literal in head.text and re.search(pattern.pattern, head.text, re.MULTILINE):
            return Verdict(0.95, why)
    cisco = (
        "input discard" in head.text
        and "line protocol is" not in head.text
        and re.search(r"^Ethernet\d+/\d+ is (?:up|down)", head.text, re.MULTILINE)
    )
    return Verdict(0.9, "show interface of NX-OS") if cisco else Verdict(0.0, "")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation | CounterSample]:
    make = Counters(file, "nxos_show", file.host, context.snapshot_time(file.path))
    place = _Place()
    for line in lines(file):
        shell = prompt(line.text)
        stamp = context.reading(line.text.strip()) if re.search(r"\d:\d\d:\d\d", line.text) else None
        if shell:
            yield from utilisation(place.loads, make.host, make.when)
            place.loads.clear()
        if shell or stamp:
            host = make.host or (host_of(shell) if shell else None)
            make = Counters(file, make.adapter, host, stamp or make.when)
            continue
        yield from _line(file, line, make, place)
    yield from utilisation(place.loads, make.host, make.when)


def _line(file: EvidenceFile, line: Line, make: Counters, place: _Place) -> Iterator[Observation | CounterSample]:
    where = quote(file, line)
    table, cells = _TABLE.match(line.text), _TABLE_ROW.match(line.text)
    if table:
        place.columns, place.port = tuple(table["titles"].split()), None
    elif cells and place.columns:
        yield from _cells(cells, place.columns, make, where)
        return
    row, queuing, group = _PFC_ROW.match(line.text), _QUEUING.search(line.text), _GROUP.search(line.text)
    watchdog, errors = _WATCHDOG.match(line.text), _ERRORS.match(line.text)
    if row:
        yield from make.sample("nxos_pfc", "RxPPP", whole(row["rx"]), where, row["port"])
        yield from make.sample("nxos_pfc", "TxPPP", whole(row["tx"]), where, row["port"])
        bits = int(row["bits"], 16) if row["bits"] and row["oper"] == "On" else 0
        enabled = [i for i in range(8) if bits >> i & 1]
        fields: dict[str, Scalar | None] = {
            "priorities": ",".join(map(str, enabled)) or "none",
            "priority": enabled[0] if len(enabled) == 1 else None,
        }
        yield observation("switch.lossless_config", where, fields, host=make.host, port=row["port"], when=make.when)
    elif queuing or watchdog or errors:
        match = queuing or watchdog or errors
        assert match
        place.port = next(text for text in match.groupdict().values() if text)
        place.group, place.watchdog = None, watchdog is not None
    elif place.port and (load := _LOAD.search(line.text)):
        place.loads.extend(Load(place.port, side, int(load[side]) / 2.55, where) for side in ("rx", "tx"))
    elif place.port:
        yield from _count(line, make, place, where)
    if group:
        place.group = int(group["group"])


def _cells(row: re.Match[str], titles: tuple[str, ...], make: Counters, where: Source) -> Iterator[CounterSample]:
    """A row of ``show interface counters errors``; ``--`` is no value."""
    for title, cell in zip(titles, row["cells"].split(), strict=False):
        if title in _COLUMNS:
            yield from make.sample("nxos_port", _COLUMNS[title], whole(cell), where, port_name(row["port"]))


def _count(line: Line, make: Counters, place: _Place, where: Source) -> Iterator[CounterSample]:
    box, mmu, count = _BOX.match(line.text), _MMU.match(line.text), _WATCHDOG_COUNT.match(line.text)
    if count and place.watchdog:
        yield from make.sample("nxos_pfc", _NAMES[count["name"]], whole(count["value"]), where, place.port, place.group)
    elif box and box["name"] in _NAMES:
        yield from make.sample("nxos_queue", _NAMES[box["name"]], whole(box["value"]), where, place.port, place.group)
    elif mmu:
        yield from make.sample("nxos_queue", "ingress_drop_packets", whole(mmu["value"]), where, place.port)
    else:
        for error in _ERROR.finditer(line.text):
            yield from make.sample("nxos_port", _NAMES[error["name"]], whole(error["value"]), where, place.port)


ADAPTER = Adapter(
    name="nxos_show",
    branch="switch",
    emits=(
        "switch.counter_rise",
        "switch.counter_symptom",
        "switch.counter_value",
        "switch.lossless_config",
        "switch.utilisation",
    ),
    coverage="switch_counters",
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            "============================================================\n"
            "Port               Mode Oper(VL bmap)  RxPPP      TxPPP\n"
            "============================================================\n"
            "Ethernet1/2        Auto On   (8)       4088353    1890\n",
            (
                ("counter", {"family": "nxos_pfc", "counter": "RxPPP", "value": 4088353, "port": "Ethernet1/2"}),
                ("switch.lossless_config", {"priorities": "3", "priority": 3, "port": "Ethernet1/2"}),
            ),
        ),
        Sample(
            "Egress Queuing for Ethernet2/1 [System]\n|                QOS GROUP 3                |\n"
            "|           Dropped Pkts |              17|               0|               0|\n",
            (("counter", {"family": "nxos_queue", "counter": "dropped_packets", "value": 17, "queue": 3}),),
        ),
        Sample(
            "leaf1# show interface counters errors\n\n"
            "--------------------------------------------------------------------------------\n"
            "Port          Align-Err    FCS-Err   Xmit-Err    Rcv-Err  UnderSize OutDiscards\n"
            "--------------------------------------------------------------------------------\n"
            "mgmt0                 --         --         --         --         --          --\n"
            "Eth1/3                 0         61          0         66          0        4303\n",
            (
                (
                    "counter",
                    {"family": "nxos_port", "counter": "crc", "value": 61, "port": "Ethernet1/3", "host": "leaf1"},
                ),
                ("counter", {"counter": "output_discards", "value": 4303}),
            ),
        ),
        Sample(
            "leaf1# show interface\nEthernet1/49 is up\n"
            "  reliability 255/255, txload 249/255, rxload 40/255\n    0 input discard\n"
            "Ethernet1/50 is up\n  reliability 255/255, txload 3/255, rxload 41/255\n    0 input discard\n",
            (
                ("switch.utilisation", {"direction": "tx", "percent": 98, "level": "full", "port": "Ethernet1/49"}),
                ("switch.utilisation", {"direction": "tx", "percent": 1, "level": "idle", "port": "Ethernet1/50"}),
            ),
        ),
        Sample("Port Mode of the day\n", ()),
    ),
)
