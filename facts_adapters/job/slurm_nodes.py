"""State of Slurm's nodes (20.11 .. 26.05): ``scontrol show node`` as text and JSON, ``sinfo --json``, ``sinfo -R``.

The reason of a drained or lost node says who set it and when. ``BootTime`` tells a reboot. A state without a reason has
no time: it is the state when somebody looked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from engine.facts.model import SECOND, Observation, Reading, Scalar, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.quoting import LineCounter, quote

_NODE = re.compile(r"^NodeName=(?P<name>[A-Za-z0-9][\w.-]*) ")
_STATE = re.compile(r"\bState=(?P<state>[A-Z][A-Z_+*~#!%$@^-]*)")
_BOOT = re.compile(r"\bBootTime=(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)")
_REASON = re.compile(r"\bReason=(?P<reason>.*?)(?: \[(?P<who>[\w.-]+)@(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\])?\s*$")
_LIST = re.compile(r"^REASON\s+USER\s+TIMESTAMP\s+NODELIST\s*$")
_ROW = re.compile(
    r"^(?P<reason>\S.*?)\s+(?P<who>\S+)\s+(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d|Unknown)\s+(?P<nodes>\S+)\s*$"
)
_HOSTS = re.compile(r"(?P<prefix>[A-Za-z0-9][\w.-]*?)\[(?P<numbers>[\d,-]+)\](?P<suffix>[\w.-]*)")
_GPUS = re.compile(r"gres/gpu count .*lower than configured|gpu count too low", re.IGNORECASE)
_LOST = re.compile(r"not responding|unexpectedly rebooted", re.IGNORECASE)
_UNKILLABLE = re.compile(r"kill task failed", re.IGNORECASE)
_UNWELL = ("DOWN", "DRAIN", "FAIL", "NOT_RESPONDING", "INVAL", "ERROR")
_MOST_HOSTS = 1_000
_MOST_BYTES = 64 << 20


@dataclass(slots=True)
class Node:
    """What one record says of a node."""

    name: str
    source: Source
    state: str = ""
    reason: str = ""
    since: Reading | None = None
    booted: Reading | None = None


def hosts(text: str) -> list[str]:
    """The names in a host list (``gpu[08-11,20],login1``); a list that is too long is cut."""
    found: list[str] = []
    for part in re.split(r",(?![^\[]*\])", text[:20_000]):
        match = _HOSTS.fullmatch(part)
        if not match:
            found += [part] if re.fullmatch(r"[A-Za-z0-9][\w.-]*", part) else []
            continue
        for span in match["numbers"].split(","):
            first, _, last = span.partition("-")
            if not first.isdecimal() or not (last or first).isdecimal() or len(first) > 9 or len(last) > 9:
                continue
            for number in range(int(first), min(int(last or first), int(first) + _MOST_HOSTS) + 1):
                found.append(f"{match['prefix']}{number:0{len(first)}d}{match['suffix']}")
        if len(found) > _MOST_HOSTS:
            break
    return found[:_MOST_HOSTS]


def sniff(head: Head) -> Verdict:
    """Records of nodes, or the list of reasons."""
    text = head.text
    if "NodeName=" in text and "State=" in text and re.search(r"^NodeName=\S+ Arch=", text, re.M):
        return Verdict(0.9, "scontrol show node")
    if text.lstrip().startswith("{") and '"nodes"' in text and '"slurmd_start_time"' in text:
        return Verdict(0.9, "scontrol show nodes --json")
    listed = "NODELIST" in text and any(_LIST.match(line) for line in head.lines)
    return Verdict(0.9, "sinfo -R") if listed else Verdict(0.0, "no node records")


def read(file: EvidenceFile, context: Context) -> Iterator[Observation]:
    """Lost and drained nodes, tasks that could not be killed, missing GPUs, boots."""
    first = next((line.text for line in file.lines() if line.text.strip()), "")
    nodes = _json(file, context) if first.lstrip().startswith("{") else _text(file, context)
    for node in nodes:
        yield from _facts(node)


def _facts(node: Node) -> Iterator[Observation]:
    def made(kind: str, fields: dict[str, Scalar]) -> Observation:
        return Observation(kind, node.source, fields, host=node.name, when=node.since)

    if node.booted:
        yield Observation("host.boot", node.source, {"text": "BootTime"}, host=node.name, when=node.booted)
    unwell = any(word in node.state for word in _UNWELL) or not node.state
    if not unwell:
        return
    text = node.reason[:200]
    if "DOWN*" in node.state or "NOT_RESPONDING" in node.state or _LOST.search(text):
        yield made("host.node_lost", {"reason": text or node.state, "reporter": "slurm"})
    elif _UNKILLABLE.search(text):
        yield made("job.hang_detected", {"what": "unkillable"})
    elif _GPUS.search(text):
        yield made("host.gpu_fault", {"class": "lost", "reporter": "other", "text": text})
    elif text:
        yield made("host.pod_event", {"reason": "node_reason", "text": text})


def _text(file: EvidenceFile, context: Context) -> Iterator[Node]:
    node: Node | None = None
    table = False
    for line in file.lines():
        begin, row = _NODE.match(line.text), _ROW.match(line.text) if table else None
        table = table or bool(_LIST.match(line.text))
        if row:
            since = context.reading(row["time"])
            for name in hosts(row["nodes"]):
                yield Node(name, quote(file, line), "", row["reason"], since)
        if begin:
            if node:
                yield node
            node = Node(begin["name"], quote(file, line))
        if node:
            _note(node, file, line, context)
    if node:
        yield node


def _note(node: Node, file: EvidenceFile, line: Any, context: Context) -> None:
    state, boot = _STATE.search(line.text), _BOOT.search(line.text)
    reason = _REASON.search(line.text)
    if state:
        node.state = state["state"]
        node.source = quote(file, line)
    if boot:
        node.booted = context.reading(boot["time"])
    if reason and reason["reason"] not in ("(null)", ""):
        node.reason = reason["reason"]
        node.source = quote(file, line)
        node.since = context.reading(reason["time"]) if reason["time"] else None


def _json(file: EvidenceFile, context: Context) -> Iterator[Node]:
    with file.open() as stream:
        text = stream.read(_MOST_BYTES).decode("utf-8", "replace")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        context.warn(file.path, 1, "no valid JSON of scontrol or sinfo")
        return
    records = content.get("nodes") if isinstance(content, dict) else None
    place, lines = 0, LineCounter(text)
    for record in records if isinstance(records, list) else ():
        name = record.get("name") if isinstance(record, dict) else None
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][\w.-]*", name):
            continue
        seen = text.find(f'"{name}"', place)
        place = seen if seen >= 0 else place
        states = record.get("state")
        state = "+".join(str(part) for part in states) if isinstance(states, list) else str(states or "")
        reason = record.get("reason") if isinstance(record.get("reason"), str) else ""
        source = Source(file.path, lines.at(place), f"node {name} {state} {reason}"[:500])
        since = _epoch(record.get("reason_changed_at") or record.get("reason_set_at"))
        yield Node(name, source, state, reason, since, _epoch(record.get("boot_time")))


def _epoch(value: Any) -> Reading | None:
    if isinstance(value, dict):
        value = value.get("number") if value.get("set", True) else None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 1 << 36:
        return None
    return Reading(value * SECOND, value * SECOND + SECOND - 1, "utc")


ADAPTER = Adapter(
    name="slurm_nodes",
    branch="job",
    emits=("host.node_lost", "host.boot", "host.gpu_fault", "host.pod_event", "job.hang_detected"),
    coverage="scheduler",
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            "NodeName=gpu12 Arch=x86_64 CoresPerSocket=32 \n   CPUAlloc=0 CPUEfctv=128 CPUTot=128 CPULoad=0.10\n"
            "   State=DOWN*+DRAIN ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A\n"
            "   BootTime=2026-02-01T09:00:00 SlurmdStartTime=2026-02-01T09:05:00\n"
            "   Reason=Not responding [slurm@2026-02-01T10:00:00]\n\n"
            "NodeName=gpu13 Arch=x86_64 CoresPerSocket=32 \n   State=IDLE+DRAIN ThreadsPerCore=2\n"
            "   Reason=Kill task failed [root@2026-02-01T10:07:00]\n",
            (
                ("host.node_lost", {"host": "gpu12", "reason": "Not responding", "reporter": "slurm"}),
                ("host.boot", {"host": "gpu12"}),
                ("job.hang_detected", {"host": "gpu13", "what": "unkillable"}),
            ),
        ),
        Sample(
            "REASON               USER      TIMESTAMP           NODELIST\n"
            "Not responding       slurm     2026-02-01T10:00:00 gpu[08-09]\n"
            "gres/gpu count repor root      2026-02-01T10:01:00 gpu14\n"
            "nhc: check_ib failed root      2026-02-01T10:02:00 gpu15\n",
            (
                ("host.node_lost", {"host": "gpu08"}),
                ("host.node_lost", {"host": "gpu09"}),
                ("host.pod_event", {"host": "gpu14", "text": "gres/gpu count repor"}),
                ("host.pod_event", {"host": "gpu15", "text": "nhc: check_ib failed"}),
            ),
        ),
        Sample(
            '{"nodes": [{"name": "gpu16", "state": ["IDLE", "DRAIN", "INVALID_REG"], "slurmd_start_time": '
            '{"set": true, "number": 1769936700}, "reason": "gres/gpu count reported lower than configured (7 < 8)", '
            '"reason_changed_at": {"set": true, "number": 1769940000}, "boot_time": {"set": true, "number": '
            "1769936400}}]}",
            (("host.gpu_fault", {"host": "gpu16", "class": "lost"}), ("host.boot", {"host": "gpu16"})),
            path="slurm/nodes.json",
        ),
        Sample("NodeName=gpu12 CPUs=128 Gres=gpu:8 State=UNKNOWN\nPartitionName=train Nodes=ALL State=UP\n"),
    ),
)
