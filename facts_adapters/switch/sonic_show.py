"""Tables of SONiC's ``show`` commands: port, error, FEC, PFC, watchdog, queue, WRED and priority group counters.

Numbers have thousands commas, ``N/A`` is missing. A file may hold one table or a session of many commands, also the
same command several times. ``RX_OVR`` and ``TX_OVR`` are oversize frames, and a line ``Last cached time was`` marks
numbers that count from there (sonic-utilities ``portstat``, ``pfcstat``, ``pfcwd``, ``queuestat``, ``pg-drop``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from engine.facts.model import CounterSample, Observation, Scalar
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.quoting import quote
from facts_adapters.switch._loads import Load, utilisation
from facts_adapters.switch._tables import Counters, Row, Table, observation, tables, whole

_KNOWN = re.compile(
    r"^[ \t]*(?:IFACE\s+STATE\s|Port Rx\s+PFC0|Port Tx\s+PFC0|QUEUE\s+STATUS\s+STORM|PORT\s+ACTION\s+DETECTION TIME"
    r"|Port\s+TxQ\s|Port\s+PG0\s|Port\s+Priority\s+RX Pause)",
    re.MULTILINE,
)
_PFC = re.compile(r"PFC([0-7])$")
_UNICAST = re.compile(r"UC(\d+)$")
_OF_EOS = re.compile(r"Et\d")
"""Ports of Arista EOS, whose table of queues has the same titles."""

_PERCENT = re.compile(r"\d{1,3}(?:\.\d+)?%")
_QUEUE = re.compile(r"(?P<port>\S+):(?P<queue>\d+)$")
_SUMS = {
    "Counter/pkts": "packets",
    "Drop/pkts": "drop_packets",
    "WredDrp/pkts": "wred_drop_packets",
    "EcnMarked/pkts": "ecn_marked_packets",
}
_PORT_COLUMNS = ("RX_OK", "RX_ERR", "RX_DRP", "RX_OVR", "TX_OK", "TX_ERR", "TX_DRP", "TX_OVR")
Read = Callable[["Table", EvidenceFile], Iterator[Observation | CounterSample]]


def _counters(table: Table, file: EvidenceFile) -> Counters:
    return Counters(file, "sonic_show", file.host or table.host, table.when, table.cleared)


def _ports(table: Table, file: EvidenceFile) -> Iterator[Observation | CounterSample]:
    make = _counters(table, file)
    for row in table.rows:
        port = row.cells.get("IFACE", "")
        for name in _PORT_COLUMNS:
            yield from make.sample("sonic_port", name, whole(row.cells.get(name)), quote(file, row.line), port)
        if row.cells.get("STATE") == "D" and (whole(row.cells.get("RX_OK")) or 0) > 0:
            fields: dict[str, Scalar | None] = {"up": False}
            yield observation(
                "switch.port_state", quote(file, row.line), fields, host=make.host, port=port, when=table.when
            )
    yield from _utilisation(table, file)


def _utilisation(table: Table, file: EvidenceFile) -> Iterator[Observation]:
    loads = [
        Load(row.cells.get("IFACE", ""), direction, float(text[:-1]), quote(file, row.line))
        for direction in ("rx", "tx")
        for row in table.rows
        if _PERCENT.fullmatch(text := row.cells.get(f"{direction.upper()}_UTIL", "")) and row.cells.get("STATE") == "U"
    ]
    yield from utilisation(loads, file.host or table.host, table.when)


def _fec(table: Table, file: EvidenceFile) -> Iterator[Observation | CounterSample]:
    make = _counters(table, file)
    for row in table.rows:
        for name in ("FEC_CORR", "FEC_UNCORR", "FEC_SYMBOL_ERR"):
            value = whole(row.cells.get(name))
            yield from make.sample("sonic_fec", name, value, quote(file, row.line), row.cells.get("IFACE"))


def _pfc(table: Table, file: EvidenceFile) -> Iterator[Observation | CounterSample]:
    make = _counters(table, file)
    side = "rx" if "Rx" in table.columns[0] else "tx"
    for row in table.rows:
        port = row.cells.get(table.columns[0])
        for name, text in row.cells.items():
            match = _PFC.match(name)
            if match:
                counter = f"{side}_pfc{match[1]}"
                yield from make.sample("sonic_pfc", counter, whole(text), quote(file, row.line), port, int(match[1]))


def _history(table: Table, file: EvidenceFile) -> Iterator[Observation | CounterSample]:
    make = _counters(table, file)
    port: str | None = None
    for row in table.rows:
        values = list(row.cells.values())
        port = values[0] or port
        match = _PFC.search(values[1]) if len(values) > 3 else None
        if match:
            queue, where = int(match[1]), quote(file, row.line)
            yield from make.sample("sonic_pfc", f"rx_pause_transitions{queue}", whole(values[2]), where, port, queue)
            yield from make.sample("sonic_pfc", f"rx_pause_us{queue}", whole(values[3]), where, port, queue)


def _watchdog(table: Table, file: EvidenceFile) -> Iterator[Observation | CounterSample]:
    make = _counters(table, file)
    for row in table.rows:
        match = _QUEUE.match(row.cells.get("QUEUE", ""))
        if not match:
            continue
        port, queue, where = match["port"], int(match["queue"]), quote(file, row.line)
        detected, restored = _pair(row, "STORM DETECTED/RESTORED")
        sent, lost = _pair(row, "TX OK/DROP")
        received, refused = _pair(row, "RX OK/DROP")
        for counter, value in (
            ("storm_detected", detected),
            ("storm_restored", restored),
            ("tx_ok", sent),
            ("tx_drop", lost),
            ("rx_ok", received),
            ("rx_drop", refused),
        ):
            yield from make.sample("sonic_pfcwd", counter, value, where, port, queue)
        status = row.cells.get("STATUS", "").strip()
        fields: dict[str, Scalar | None] = {
            "queue": queue,
            "status": status if status in ("operational", "stormed") else "unknown",
            "detected": detected,
            "restored": restored,
            "dropped": (lost or 0) + (refused or 0),
        }
        if detected:
            yield observation("switch.pfc_watchdog", where, fields, host=make.host, port=port, when=table.when)
        if status == "stormed":
            storm: dict[str, Scalar | None] = {"queue": queue, "text": row.line.text.strip()}
            yield observation("switch.pfc_storm", where, storm, host=make.host, port=port, when=table.when)


def _pair(row: Row, column: str) -> tuple[int | None, int | None]:
    first, _, second = row.cells.get(column, "").partition("/")
    return whole(first), whole(second)


def _watchdog_config(table: Table, file: EvidenceFile) -> Iterator[Observation | CounterSample]:
    for row in table.rows:
        action = row.cells.get("ACTION", "")
        fields: dict[str, Scalar | None] = {
            "action": action if action in ("drop", "forward", "alert") else "unknown",
            "detection_ms": whole(row.cells.get("DETECTION TIME")),
            "restoration_ms": whole(row.cells.get("RESTORATION TIME")),
        }
        host, port = file.host or table.host, row.cells.get("PORT")
        yield observation(
            "switch.pfc_watchdog_config", quote(file, row.line), fields, host=host, port=port, when=table.when
        )


def _queues(table: Table, file: EvidenceFile) -> Iterator[Observation | CounterSample]:
    make = _counters(table, file)
    for row in table.rows:
        match = _UNICAST.match(row.cells.get("TxQ", ""))
        if not match or _OF_EOS.match(row.cells.get("Port", "")):
            continue
        for column, counter in _SUMS.items():
            value = whole(row.cells.get(column))
            yield from make.sample(
                "sonic_queue", counter, value, quote(file, row.line), row.cells.get("Port"), int(match[1])
            )


def _groups(table: Table, file: EvidenceFile) -> Iterator[Observation | CounterSample]:
    headroom = "headroom" in table.title.lower()
    if not headroom and "dropped" not in table.title.lower() and "drop" not in table.command + file.path:
        return
    make = _counters(table, file)
    family, what = ("sonic_watermark", "headroom") if headroom else ("sonic_pg", "drop")
    for row in table.rows:
        for group in range(8):
            value = whole(row.cells.get(f"PG{group}"))
            port = row.cells.get("Port")
            if value or not headroom:
                yield from make.sample(family, f"pg{group}_{what}", value, quote(file, row.line), port, group)


def _reader(table: Table) -> Read | None:
    columns = set(table.columns)
    first = table.columns[0] if table.columns else ""
    if "FEC_CORR" in columns:
        return _fec
    if "IFACE" in columns and ("RX_ERR" in columns or "RX_OK" in columns):
        return _ports
    if first in ("Port Rx", "Port Tx"):
        return _pfc
    if "RX Pause Transitions" in " ".join(table.columns):
        return _history
    if "STORM DETECTED/RESTORED" in columns:
        return _watchdog
    if "DETECTION TIME" in columns:
        return _watchdog_config
    if "TxQ" in columns:
        return _queues
    return _groups if "PG0" in columns else None


def _sniff(head: Head) -> Verdict:
    return Verdict(1.0, "table of a SONiC show command") if _KNOWN.search(head.text) else Verdict(0.0, "")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation | CounterSample]:
    for table in tables(file, context, _KNOWN):
        reader = _reader(table)
        if reader:
            yield from reader(table, file)


ADAPTER = Adapter(
    name="sonic_show",
    branch="switch",
    emits=(
        "switch.counter_rise",
        "switch.counter_symptom",
        "switch.counter_activity",
        "switch.counter_value",
        "switch.counter_idle",
        "switch.pfc_watchdog",
        "switch.pfc_storm",
        "switch.pfc_watchdog_config",
        "switch.port_state",
        "switch.utilisation",
    ),
    coverage="switch_counters",
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            "admin@leaf1:~$ show queue counters | grep -E 'TxQ|UC3'\n"
            "       Port  TxQ     Counter/pkts          Counter/bytes  Drop/pkts     Drop/bytes\n"
            "  Ethernet8  UC3    4,812,004,117     14,917,212,762,700     11,407     35,361,700\n"
            " Ethernet16  UC3    4,790,110,208     14,849,341,644,800          0              0\n",
            (("counter", {"counter": "drop_packets", "value": 11407, "queue": 3, "port": "Ethernet8"}),),
        ),
        Sample(
            "admin@leaf1:~$ date\nTue May 12 10:48:37 UTC 2026\n\nadmin@leaf1:~$ show pfc counters\n"
            "    Port Rx  PFC0    PFC3\n-----------  ----  ------\n  Ethernet0     0  28,323\n",
            (("counter", {"family": "sonic_pfc", "counter": "rx_pfc3", "value": 28323, "port": "Ethernet0"}),),
        ),
        Sample(
            "      QUEUE    STATUS    STORM DETECTED/RESTORED    TX OK/DROP    RX OK/DROP\n"
            "-----------  --------  -------------------------  ------------  ------------\n"
            "Ethernet4:3   stormed                        1/0    0/37092618           0/0\n",
            (
                ("switch.pfc_watchdog", {"queue": 3, "status": "stormed", "detected": 1, "dropped": 37092618}),
                ("switch.pfc_storm", {"queue": 3, "port": "Ethernet4"}),
                ("counter", {"family": "sonic_pfcwd", "counter": "storm_detected", "value": 1}),
            ),
        ),
        Sample(
            "    IFACE    STATE    RX_OK    RX_UTIL    RX_ERR    RX_DRP    TX_UTIL\n"
            "---------  -------  -------  ---------  --------  --------  ---------\n"
            "Ethernet0        U  249,269      0.05%         2       N/A     97.10%\n"
            "Ethernet8        D      269      0.05%         0         0      0.00%\n",
            (
                ("counter", {"family": "sonic_port", "counter": "RX_ERR", "value": 2, "port": "Ethernet0"}),
                ("switch.port_state", {"up": False, "port": "Ethernet8"}),
                ("switch.utilisation", {"direction": "tx", "percent": 97, "level": "full", "port": "Ethernet0"}),
            ),
        ),
        Sample(
            "Ingress headroom per PG:\n     Port    PG0    PG3\n---------  -----  -----\nEthernet8      0  41472\n",
            (
                (
                    "counter",
                    {"family": "sonic_watermark", "counter": "pg3_headroom", "value": 41472, "port": "Ethernet8"},
                ),
            ),
        ),
        Sample("Ingress shared pool occupancy per PG:\n     Port    PG0\n---------  -----\nEthernet8  41472\n", ()),
        Sample("Port Rx and Tx of the tables\n------\nnothing\n", ()),
    ),
)
