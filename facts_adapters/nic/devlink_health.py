"""``devlink health`` as text or JSON: reporters of a driver and whether they hold an error.

A reporter that is healthy again and dumped its error says when that was (``last_dump_date``, local time of the host);
one that counts errors without a date says nothing about when. Sources: iproute2 ``devlink/devlink.c``, Linux
``Documentation/networking/devlink/devlink-health.rst``, ``mlx5.rst`` (reporters fw, fw_fatal, tx, rx).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engine.facts.model import Observation, Reading, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.nic import _ports
from facts_adapters.quoting import line_at, quote

_DEVICE = re.compile(r"^(?:pci|auxiliary)/(?P<bdf>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])(?:/\d{1,6})?:\s*$")
_REPORTER = re.compile(r"^\s+reporter (?P<name>\w{1,40})(?P<rest>(?: .*)?)$")
_STATE = re.compile(
    r"\bstate (?P<state>healthy|error) error (?P<errors>\d{1,9}) recover (?P<recovered>\d{1,9})(?P<rest>.*)$"
)
_DUMP = re.compile(r"last_dump_date (?P<date>\d{4}-\d\d-\d\d) last_dump_time (?P<time>\d\d:\d\d:\d\d)")
_JSON = re.compile(r'"health"\s*:\s*\{\s*"(?:pci|auxiliary)/')
_BDF = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_TYPES = {"fw_fatal": "fatal", "fw": "health", "tx": "queue_error", "rx": "queue_error", "vnic": "health"}


def _sniff(head: Head) -> Verdict:
    if _JSON.search(head.text):
        return Verdict(0.95, "JSON of devlink health")
    if any(_DEVICE.match(line) for line in head.lines) and any(_REPORTER.match(line) for line in head.lines):
        return Verdict(0.95, "devlink health")
    return Verdict(0.0, "")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation]:
    when = _ports.snapshot(file, context)
    bdf, reporter = "", ""
    if _JSON.search(_beginning(file)):
        yield from _json(file, context, when)
        return
    for line in _ports.lines(file):
        device, named, state = _DEVICE.match(line.text), _REPORTER.match(line.text), _STATE.search(line.text)
        bdf = device["bdf"] if device else bdf
        reporter = named["name"] if named else reporter
        if state and bdf and reporter:
            dump = _DUMP.search(state["rest"])
            dumped = context.reading(f"{dump['date']} {dump['time']}") if dump else None
            healthy, errors = state["state"] == "healthy", int(state["errors"])
            yield from _fault(file, quote(file, line), bdf, reporter, healthy, errors, dumped, when)


def _beginning(file: EvidenceFile) -> str:
    with file.open() as stream:
        return stream.read(4096).decode("utf-8", "replace")


def _fault(
    file: EvidenceFile,
    source: Source,
    bdf: str,
    reporter: str,
    healthy: bool,
    errors: int,
    dumped: Reading | None,
    when: Reading | None,
) -> Iterator[Observation]:
    if healthy and not (errors and dumped):
        return
    kind = "recovered" if healthy else _TYPES.get(reporter, "other")
    fields: _ports.Fields = {"type": kind, "bdf": bdf, "text": f"reporter {reporter}: {source.text.strip()}"[:300]}
    yield _ports.observe("nic.firmware_fault", source, fields, host=file.host, when=dumped or when)


def _json(file: EvidenceFile, context: Context, when: Reading | None) -> Iterator[Observation]:
    with file.open() as stream:
        text = stream.read(1 << 20).decode("utf-8", "replace")
    try:
        devices = json.loads(text)["health"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        context.warn(file.path, 1, f"not JSON of devlink health: {error}")
        return
    for name, reporters in devices.items() if isinstance(devices, dict) else ():
        bdf = _BDF.search(name)
        for entry in reporters if isinstance(reporters, list) and bdf else ():
            if isinstance(entry, dict) and bdf:
                source = Source(file.path, line_at(text, max(text.find(f'"{name}"'), 0)), json.dumps(entry)[:300])
                yield from _entry(file, context, source, bdf[0], entry, when)


def _entry(
    file: EvidenceFile, context: Context, source: Source, bdf: str, entry: Mapping[str, Any], when: Reading | None
) -> Iterator[Observation]:
    reporter, errors = entry.get("reporter"), entry.get("error")
    date, time = entry.get("last_dump_date"), entry.get("last_dump_time")
    dumped = context.reading(f"{date} {time}") if isinstance(date, str) and isinstance(time, str) else None
    if isinstance(reporter, str) and entry.get("state") in ("healthy", "error"):
        count = errors if isinstance(errors, int) else 0
        yield from _fault(file, source, bdf, reporter, entry["state"] == "healthy", count, dumped, when)


ADAPTER = Adapter(
    name="devlink_health",
    branch="nic",
    emits=("nic.firmware_fault",),
    coverage=None,
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            "pci/0000:3b:00.0:\n  reporter fw\n    state healthy error 0 recover 0 auto_dump true\n"
            "  reporter fw_fatal\n"
            "    state error error 1 recover 0 last_dump_date 2026-11-30 last_dump_time 13:10:55 grace_period 1200000"
            " auto_recover true auto_dump true\n",
            (("nic.firmware_fault", {"type": "fatal", "bdf": "0000:3b:00.0"}),),
        ),
        Sample(
            "pci/0000:9b:00.0/65535:\n  reporter tx\n    state healthy error 3 recover 3 last_dump_date 2026-11-30"
            " last_dump_time 13:10:55 grace_period 500 auto_recover true auto_dump true\n",
            (("nic.firmware_fault", {"type": "recovered", "bdf": "0000:9b:00.0"}),),
        ),
        Sample(
            '{"health":{"pci/0000:3b:00.0":[{"reporter":"fw","state":"error","error":2,"recover":1}]}}',
            (("nic.firmware_fault", {"type": "health", "bdf": "0000:3b:00.0"}),),
        ),
        Sample("pci/0000:9b:00.0:\n  reporter fw\n    state healthy error 3 recover 3 auto_dump true\n"),
        Sample("health: state error error 1 recover 0\n"),
    ),
)
