"""Files of memory, CPU and pids cgroups (v1 and v2) and the kill counter of ``/proc/vmstat``.

Counters run since the cgroup was created (vmstat: since boot), so one snapshot says "some time before" and no more;
two of them tell what happened between.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.facts.model import CounterSample, Observation, Scalar
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.host._statement import Counting, state

_PAIR = re.compile(r"(?:(?P<file>[\w./@-]{1,200}):)?(?P<key>[a-z_]+) (?P<value>\d{1,18})$")
_SINGLE = re.compile(r"(?:(?P<file>[\w./@-]{1,200}):)?(?P<value>\d{1,18}|max)$")
_CPU_KEYS = ("nr_periods", "nr_throttled")
_COUNTED = ("oom_kill", "oom_group_kill", "max", "nr_throttled")
_LEAST_THROTTLED = 25
"""Percent of periods from which throttling is told: below, a short burst of threads met the quota, as it may."""

_GROUP = re.compile(r"(?:^|/)(?:sys/fs/)?cgroup/(?P<group>.+)/[^/]+$")
_LIMITS = ("memory.max", "memory.limit_in_bytes")
_USES = ("memory.current", "memory.usage_in_bytes", "memory.peak", "memory.max_usage_in_bytes")
_PATH = re.compile(
    r"(?P<name>memory[._]events(?:[._]local)?|memory[._]oom_control|vmstat|cpu[._]stat|pids[._]max|memory[._]max|"
    r"memory[._]limit_in_bytes|memory[._]current|memory[._]usage_in_bytes|memory[._]peak)"
)


def sniff(head: Head) -> Verdict:
    """Kill or throttling counters, or a single value in a file of that name."""
    name = head.path.rpartition("/")[2]
    counts = "oom_kill " in head.text or "nr_throttled " in head.text
    if counts and re.search(r"(?:^|:)(?:oom_kill|nr_throttled) \d+$", head.text, re.M):
        return Verdict(0.9, "cgroup or vmstat counters")
    single = _PATH.search(name) and head.lines and _SINGLE.fullmatch(head.lines[0].strip())
    named = any(file in head.text for file in ("memory.max", "memory.current", "pids.max"))
    listed = named and re.search(r"(?:memory\.max|memory\.current|pids\.max):?\s*\n?(?:\d+|max)$", head.text, re.M)
    return Verdict(0.8, "value of a cgroup file") if single or listed else Verdict(0.0, "no cgroup file")


def read(file: EvidenceFile, context: Context) -> Iterator[Observation | CounterSample]:
    """``host.oom_counter``, ``host.oom_event``, ``host.cpu_throttled``, ``host.limit`` and ``host.memory_use``.

    What a cgroup counts also comes as counter samples of family ``cgroup``, with the group as device.
    """
    counting = Counting(file, "cgroup", "cgroup_files", context.snapshot_time(file.path))
    current = _name(file.path.rpartition("/")[2])
    cpu: dict[str, int] = {}
    memory: dict[str, int] = {}
    last: Line | None = None
    for line in file.lines():
        text = line.text.strip()
        pair, single = _PAIR.fullmatch(text), _SINGLE.fullmatch(text)
        if pair and pair["key"] in _COUNTED:
            group = _GROUP.search(pair["file"] or file.path)
            where = _name(pair["file"] or "") or current
            if where != "vmstat":
                yield counting.sample(line, pair["key"], int(pair["value"]), group["group"] if group else None)
        if pair and pair["key"] in _CPU_KEYS:
            cpu[pair["key"]] = int(pair["value"])
            last = line
            if len(cpu) == len(_CPU_KEYS):
                yield from _throttled(file, line, cpu)
                cpu = {}
        elif pair and pair["key"] == "oom_kill":
            yield from _kills(file, line, _name(pair["file"] or "") or current, int(pair["value"]))
        elif single:
            name = _name(single["file"] or "") or current
            last = line
            yield from _single(file, line, name, single["value"], memory)
        else:
            current = _name(text) or current
    if last is not None:
        yield from _use(file, last, memory)


def _name(text: str) -> str:
    match = _PATH.search(text)
    return match["name"].replace("_", ".", 1) if match else ""


def _kills(file: EvidenceFile, line: Line, name: str, value: int) -> Iterator[Observation]:
    counted = "vmstat" if name == "vmstat" else "memory.oom_control" if "oom" in name else "memory.events"
    yield state(file, line, "host.oom_counter", {"file": counted, "value": value})
    if value > 0 and counted != "vmstat":
        yield state(file, line, "host.oom_event", {"reporter": "memory.events", "events": value})


def _throttled(file: EvidenceFile, line: Line, cpu: dict[str, int]) -> Iterator[Observation]:
    periods, throttled = cpu["nr_periods"], cpu["nr_throttled"]
    percent = round(100 * throttled / periods) if periods else 0
    if percent >= _LEAST_THROTTLED:
        fields: dict[str, Scalar] = {"periods": periods, "throttled": throttled, "percent": percent}
        yield state(file, line, "host.cpu_throttled", fields)


def _single(file: EvidenceFile, line: Line, name: str, text: str, memory: dict[str, int]) -> Iterator[Observation]:
    value = -1 if text == "max" else int(text)
    if name == "pids.max":
        yield state(file, line, "host.limit", {"name": "pids_max", "value": value})
    elif name in _LIMITS and 0 < value < 1 << 60:
        memory["limit"] = value
    elif name in _USES:
        memory["used"] = max(memory.get("used", 0), value)


def _use(file: EvidenceFile, line: Line, memory: dict[str, int]) -> Iterator[Observation]:
    if "limit" in memory and "used" in memory:
        percent = min(100, round(100 * memory["used"] / memory["limit"]))
        fields: dict[str, Scalar] = {
            "scope": "cgroup",
            "total_kb": memory["limit"] // 1024,
            "available_kb": max(0, memory["limit"] - memory["used"]) // 1024,
            "used_percent": percent,
        }
        yield state(file, line, "host.memory_use", fields)


_EVENTS = "low 0\nhigh 0\nmax 4711\noom 3\noom_kill 2\noom_group_kill 0\n"
_CPU = "usage_usec 8821\nuser_usec 1\nsystem_usec 1\nnr_periods 1000\nnr_throttled 720\nthrottled_usec 99\n"
_LISTING = (
    "/sys/fs/cgroup/memory.max:1000000000\n/sys/fs/cgroup/memory.current:990000000\n/sys/fs/cgroup/pids.max:512\n"
)

ADAPTER = Adapter(
    name="cgroup_files",
    branch="host",
    emits=(
        "host.oom_counter",
        "host.oom_event",
        "host.cpu_throttled",
        "host.limit",
        "host.memory_use",
        "host.counter_rise",
    ),
    coverage=None,
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            _EVENTS,
            (
                ("host.oom_counter", {"file": "memory.events", "value": 2}),
                ("host.oom_event", {"reporter": "memory.events", "events": 2}),
                ("counter", {"family": "cgroup", "counter": "oom_kill", "value": 2, "device": "kubepods/pod7"}),
            ),
            path="sys/fs/cgroup/kubepods/pod7/memory.events",
        ),
        Sample("pgfault 12\noom_kill 1\n", (("host.oom_counter", {"file": "vmstat", "value": 1}),), path="vmstat"),
        Sample(
            _CPU,
            (
                ("host.cpu_throttled", {"periods": 1000, "throttled": 720, "percent": 72}),
                ("counter", {"counter": "nr_throttled", "value": 720}),
            ),
            path="cpu.stat",
        ),
        Sample(_CPU.replace("720", "12"), (("counter", {"counter": "nr_throttled", "value": 12}),), path="cpu.stat"),
        Sample(
            _LISTING,
            (
                ("host.memory_use", {"scope": "cgroup", "used_percent": 99}),
                ("host.limit", {"name": "pids_max", "value": 512}),
            ),
        ),
        Sample("step 12\nloss 3\n"),
    ),
)
