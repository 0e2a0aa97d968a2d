"""Arista EOS ``show … | json`` and eAPI answers: interfaces, errors, pause, watchdog, ECN, LLDP neighbours.

A watchdog table without ports says that the watchdog never fired; it is read as "no storm".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from engine.facts.model import CounterSample, Observation, Reading, Scalar, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.quoting import line_at, nested_key
from facts_adapters.switch._tables import Counters, host_of, observation, port_name, prompt
from facts_adapters.switch.lldp_tables import neighbour

_MARKS = re.compile(
    r'"(?:interfaceErrorCounters|interfaceCounters|intfQueueCounters|interfaceFlowControls)"\s*:|"inDiscards"\s*:'
    r'|"stuckCount"\s*:|"egressQueueCounters"\s*:|"lldpNeighbors"\s*:|"interfaceStatuses"\s*:'
)
_WATCHDOG = re.compile(r"watchdog", re.IGNORECASE)
_LONGEST = 16 << 20
_TOTALS = {"totalInErrors": "inErrors", "totalOutErrors": "outErrors"}


@dataclass(frozen=True, slots=True)
class _Document:
    """One JSON document of a session: its values, its text, where it begins and what command printed it."""

    values: dict[str, Any]
    text: str
    first_line: int
    command: str
    host: str | None

    def at(self, path: str, *names: str) -> Source:
        """The line of the last of nested keys."""
        place = nested_key(self.text, names)
        return Source(path, self.first_line + line_at(self.text, place) - 1, f'"{names[-1]}"')


def _documents(text: str, file: EvidenceFile) -> Iterator[_Document]:
    decoder = json.JSONDecoder()
    place, command, host = 0, file.path.rpartition("/")[2], file.host
    while True:
        start = text.find("{", place)
        if start < 0:
            return
        for line in text[place:start].splitlines():
            shell = prompt(line.strip())
            if shell:
                command, host = shell["command"] or command, file.host or host_of(shell)
        try:
            values, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            place = start + 1
            continue
        answers = values.get("result") if isinstance(values, dict) else None
        for answer in answers if isinstance(answers, list) else [values]:
            if isinstance(answer, dict):
                yield _Document(answer, text[start:end], line_at(text, start), command, host)
        place = end


def _sniff(head: Head) -> Verdict:
    if _MARKS.search(head.text):
        return Verdict(0.95, "JSON of Arista EOS")
    empty = re.fullmatch(r'\s*\{\s*"interfaces"\s*:\s*\{\s*\}\s*\}\s*', head.text)
    if empty and _WATCHDOG.search(head.path):
        return Verdict(0.9, "empty watchdog table of Arista EOS")
    return Verdict(0.0, "")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation | CounterSample]:
    with file.open() as stream:
        text = stream.read(_LONGEST).decode("utf-8", "replace")
    when = context.snapshot_time(file.path)
    for document in _documents(text, file):
        yield from _document(document, file, context, when)


def _document(
    document: _Document, file: EvidenceFile, context: Context, when: Reading | None
) -> Iterator[Observation | CounterSample]:
    values = document.values
    make = Counters(file, "arista_json", document.host, when)
    for name, row in _rows(values, "interfaceErrorCounters"):
        yield from _numbers(document, make, "arista_port", name, row)
    for name, row in _rows(values, "interfaceCounters"):
        family = "arista_pfc" if "rxFrames" in row or "txFrames" in row else "arista_port"
        yield from _numbers(document, make, family, name, row)
    for name, row in _rows(values, "intfQueueCounters"):
        for queue, count in (row.get("queueCounters") or {}).items():
            if str(queue).isdecimal() and str(count).isdecimal():
                where = document.at(file.path, name, queue)
                yield from make.sample(
                    "arista_queue", "ecn_marked_packets", int(count), where, port_name(name), int(queue)
                )
    yield from _neighbours(document, file)
    for name, row in _rows(values, "interfaceStatuses"):
        if row.get("linkStatus") == "errdisabled":
            yield _down(document, file, make, name)
    interfaces = values.get("interfaces")
    if isinstance(interfaces, dict):
        if not interfaces and _WATCHDOG.search(document.command + file.path):
            fields: dict[str, Scalar | None] = {"class": "pause_storm", "samples": 1}
            where = document.at(file.path, "interfaces")
            yield observation("switch.counter_idle", where, fields, host=document.host, when=when)
        for name, row in _rows(values, "interfaces"):
            yield from _interface(document, file, context, make, name, row)


def _neighbours(document: _Document, file: EvidenceFile) -> Iterator[Observation]:
    rows = document.values.get("lldpNeighbors")
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, dict) and all(
            isinstance(row.get(key), str) for key in ("port", "neighborDevice", "neighborPort")
        ):
            where = document.at(file.path, "lldpNeighbors", row["port"])
            yield from neighbour(document.host, row["port"], row["neighborDevice"], row["neighborPort"], where)


def _down(document: _Document, file: EvidenceFile, make: Counters, name: str) -> Observation:
    fields: dict[str, Scalar | None] = {"up": False, "admin_up": True}
    where = document.at(file.path, name)
    return observation("switch.port_state", where, fields, host=make.host, port=port_name(name), when=make.when)


def _rows(values: dict[str, Any], table: str) -> Iterator[tuple[str, dict[str, Any]]]:
    rows = values.get(table)
    if isinstance(rows, dict):
        yield from ((name, row) for name, row in rows.items() if isinstance(row, dict))


def _numbers(
    document: _Document, make: Counters, family: str, name: str, row: dict[str, Any]
) -> Iterator[CounterSample]:
    for counter, value in row.items():
        if isinstance(value, int) and not isinstance(value, bool):
            where = document.at(make.file.path, name, counter)
            yield from make.sample(family, counter, value, where, port_name(name))


def _interface(
    document: _Document, file: EvidenceFile, context: Context, make: Counters, name: str, row: dict[str, Any]
) -> Iterator[Observation | CounterSample]:
    stamp = row.get("lastUpdateTimestamp")
    if isinstance(stamp, (int, float)):
        make = Counters(file, make.adapter, make.host, context.reading(f"{stamp:.3f}") or make.when)
    yield from _numbers(document, make, "arista_port", name, row)
    yield from _detailed(document, file, make, name, row)
    for queue, counts in (row.get("txQueues") or {}).items():
        if isinstance(counts, dict) and str(queue).isdecimal():
            for counter in ("stuckCount", "recoveryCount"):
                where = document.at(file.path, name, queue)
                yield from make.sample(
                    "arista_pfc", counter, _count(counts.get(counter)), where, port_name(name), int(queue)
                )
            if _count(counts.get("stuckCount")):
                fields = {"queue": int(queue), "detected": _count(counts.get("stuckCount")), "status": "unknown"}
                yield observation(
                    "switch.pfc_watchdog", where, fields, host=make.host, port=port_name(name), when=make.when
                )


def _detailed(
    document: _Document, file: EvidenceFile, make: Counters, name: str, row: dict[str, Any]
) -> Iterator[Observation | CounterSample]:
    """The counters of ``show interfaces | json``, which stand one and two levels deeper."""
    counters = row.get("interfaceCounters")
    if not isinstance(counters, dict):
        return
    inner = counters.get("inErrorsDetail")
    flat = {**counters, **(inner if isinstance(inner, dict) else {})}
    flat.update({short: counters[name] for name, short in _TOTALS.items() if name in counters})
    yield from _numbers(document, make, "arista_port", name, flat)
    status = row.get("interfaceStatus")
    if status == "errdisabled" or (status == "notconnect" and _count(counters.get("inUcastPkts"))):
        yield _down(document, file, make, name)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


ADAPTER = Adapter(
    name="arista_json",
    branch="switch",
    emits=(
        "switch.attached",
        "switch.trunk",
        "switch.port_state",
        "switch.counter_rise",
        "switch.counter_activity",
        "switch.counter_value",
        "switch.counter_idle",
        "switch.pfc_watchdog",
    ),
    coverage="switch_counters",
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            '{"interfaceErrorCounters": {"Ethernet1/1": {"inErrors": 4, "fcsErrors": 4}}}',
            (("counter", {"family": "arista_port", "counter": "fcsErrors", "value": 4, "port": "Ethernet1/1"}),),
        ),
        Sample(
            '{"interfaces": {"Ethernet5/1": {"txQueues": {"3": {"stuckCount": 2, "recoveryCount": 1}}}}}',
            (
                ("counter", {"family": "arista_pfc", "counter": "stuckCount", "value": 2, "queue": 3}),
                ("switch.pfc_watchdog", {"queue": 3, "detected": 2, "port": "Ethernet5/1"}),
            ),
        ),
        Sample(
            '{"jsonrpc": "2.0", "result": [{"interfaces": {"Ethernet7/1": {"interfaceStatus": "notconnect",'
            ' "interfaceCounters": {"inUcastPkts": 9, "totalInErrors": 3, "linkStatusChanges": 6,'
            ' "inErrorsDetail": {"symbolErrors": 2}}}}}, {"lldpNeighbors": [{"port": "Ethernet49/1",'
            ' "neighborDevice": "spine1.dc", "neighborPort": "Ethernet7/1", "ttl": 120}]}]}',
            (
                ("counter", {"family": "arista_port", "counter": "inErrors", "value": 3, "port": "Ethernet7/1"}),
                ("counter", {"counter": "symbolErrors", "value": 2}),
                ("counter", {"counter": "linkStatusChanges", "value": 6}),
                ("switch.port_state", {"up": False, "port": "Ethernet7/1"}),
                ("switch.trunk", {"port": "Ethernet49/1", "peer": "spine1", "peer_port": "Ethernet7/1"}),
            ),
        ),
        Sample(
            '{\n    "interfaces": {}\n}\n',
            (("switch.counter_idle", {"class": "pause_storm"}),),
            "leaf1/show_priority_flow_control_counters_watchdog.json",
        ),
        Sample('{"interfaces": {}}', (), "leaf1/show_interfaces.json"),
    ),
)
