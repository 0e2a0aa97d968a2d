"""``kubectl get events`` as JSON, YAML or table, and the Events part of ``kubectl describe``.

A table with ages gives facts without time, but two ages of one pod tell how long its image was pulled; kubectl to 1.12
puts name and kind into columns of their own. A table whose first column is an RFC 3339 time dates its facts. Times in
JSON are the first that is there of ``eventTime``, ``lastTimestamp``, ``firstTimestamp``, ``series.lastObservedTime``
and the creation time, all UTC.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from engine.facts.model import Observation, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.documents import at, mapping
from facts_adapters.job._kubernetes import EMITS, Happening, documents, observe, stamp

_AGE = r"(?:<\w+>|(?:\d+[dhms])+)"
_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)"
_ROW = re.compile(
    rf"^(?:(?P<namespace>[a-z0-9][a-z0-9-]*)\s+)?(?:(?P<time>{_TIME})|(?P<age>{_AGE}))(?: \(x\d+ over {_AGE}\))?\s+"
    r"(?P<type>Normal|Warning)\s+(?P<reason>[A-Z]\w+)\s+(?P<kind>[A-Za-z][\w.]*)/(?P<name>\S+)\s+(?P<message>\S.*)$"
)
_OLD_ROW = re.compile(
    rf"^(?P<age>{_AGE})\s+(?P<first>{_AGE})\s+\d+\s+(?P<name>[a-z0-9][\w.-]*)\s+(?P<kind>[A-Z]\w+)\s+(?:\S+\{{\S+\}}\s+)?"
    r"(?P<type>Normal|Warning)\s+(?P<reason>[A-Z]\w+)\s+(?P<component>[a-z][\w.-]*(?:, \S+)?)\s+(?P<message>\S.*)$"
)
_UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
SLOW_PULL = 60
"""Seconds that an image is certainly pulled for before that is told."""

_Pulls = dict[tuple[str, str, str], int]
_IMAGE = re.compile(r'\bimage "(?P<image>[^"]+)"')
_PRESENT = "already present"

_DESCRIBED = re.compile(
    rf"^\s+(?P<type>Normal|Warning)\s+(?P<reason>[A-Z]\w+)\s+(?P<age>{_AGE})(?: \(x\d+ over {_AGE}\))?\s+"
    r"(?P<component>[a-z][\w.-]*(?:, \S+)?)\s{2,}(?P<message>\S.*)$"
)
_TIMES = (
    ("eventTime",),
    ("lastTimestamp",),
    ("deprecatedLastTimestamp",),
    ("firstTimestamp",),
    ("deprecatedFirstTimestamp",),
    ("series", "lastObservedTime"),
    ("metadata", "creationTimestamp"),
)


def sniff(head: Head) -> Verdict:
    """Events in JSON or YAML, or at least one row of an event table."""
    text = head.text
    about = ("involvedObject" in text or "regarding" in text) and "reason" in text
    if about and re.search(r'"?(?:involvedObject|regarding)"?:', text) and re.search(r'"?reason"?:', text):
        return Verdict(0.95, "kubectl get events -o json/yaml")
    typed = [line for line in head.lines if "Normal" in line or "Warning" in line]
    rows = sum(1 for line in typed if _ROW.match(line) or _OLD_ROW.match(line) or _DESCRIBED.match(line))
    return Verdict(0.9, f"{rows} rows of an event table") if rows else Verdict(0.0, "no event rows")


def read(file: EvidenceFile, context: Context) -> Iterator[Observation]:
    """One fact per event."""
    first = next(iter(file.lines()), None)
    text = first.text.lstrip() if first else ""
    if text[:1] == "{" or re.match(r"(?:---|apiVersion:|items:|- apiVersion:)", text):
        for item, line, _ in documents(file, context):
            if at(item, "kind") in ("Event", None):
                yield _event(file, item, line, context)
        return
    pulling: _Pulls = {}
    for row in file.lines():
        source = Source(file.path, row.number, row.text[:2000])
        found = _ROW.match(row.text) or _OLD_ROW.match(row.text)
        if found:
            yield from _row(found, source, pulling, context)
        elif described := _DESCRIBED.match(row.text):
            _, _, node_name = described["component"].partition(", ")
            yield observe(Happening(described["reason"], described["message"], source, "", node_name or None))


def _row(found: re.Match[str], source: Source, pulling: _Pulls, context: Context) -> Iterator[Observation]:
    """The fact of one row; ``pulling`` keeps since when (seconds ago) images are pulled, until they are."""
    groups = found.groupdict()
    kind, reason, age = groups["kind"].lower(), groups["reason"], groups["age"]
    pod = groups["name"] if kind == "pod" else ""
    _, _, told_by = (groups.get("component") or "").partition(", ")
    node = groups["name"] if kind == "node" else _node(groups["message"]) or told_by or None
    when = stamp(groups.get("time"), context)
    yield observe(Happening(reason, groups["message"], source, pod, node, when))
    ages = _span(groups.get("first") or age or ""), _span(age or "")
    image = _IMAGE.search(groups["message"])
    pull = groups.get("namespace") or "", pod, image["image"] if image else ""
    if reason == "Pulling" and ages[0] is not None:
        pulling[pull] = ages[0][0]
    if reason == "Pulled" and _PRESENT not in groups["message"]:
        since = pulling.pop(pull, None)
        if since is not None and ages[1] is not None and since - ages[1][1] >= SLOW_PULL:
            fields = {"reason": "PulledSlowly", "pod": pod, "text": groups["message"][:200]}
            yield Observation("host.pod_event", source, {**fields}, host=node)


def _span(age: str) -> tuple[int, int] | None:
    """Least and most seconds that an age stands for: ``2m`` may be anything below three minutes."""
    parts = re.findall(r"(\d{1,6})([dhms])", age)
    if not parts:
        return None
    least = sum(int(number) * _UNITS[unit] for number, unit in parts)
    return least, least + _UNITS[parts[-1][1]] - 1


def _event(file: EvidenceFile, item: Mapping[str, Any], line: int, context: Context) -> Observation:
    subject = mapping(at(item, "involvedObject")) or mapping(at(item, "regarding"))
    message = str(item.get("message") or item.get("note") or "")
    reason = str(item.get("reason") or "")
    name = str(at(subject, "name") or "")
    when = next((time for path in _TIMES if (time := stamp(at(item, *path), context))), None)
    node = at(item, "source", "host") or at(item, "deprecatedSource", "host")
    if at(subject, "kind") == "Node":
        node = name
    node = node or _node(message)
    pod = name if at(subject, "kind") == "Pod" else ""
    source = Source(file.path, line, f"{reason}: {message}"[:2000])
    return observe(Happening(reason, message, source, pod, str(node) if node else None, when))


def _node(message: str) -> str | None:
    """The node that a message says it happened on."""
    found = re.search(r"\bon node ([a-z0-9][\w.-]*\w)", message)
    return found[1] if found else None


ADAPTER = Adapter(
    name="kubernetes_events",
    branch="job",
    emits=EMITS,
    coverage="orchestrator",
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            "LAST SEEN   TYPE      REASON      OBJECT               MESSAGE\n"
            "4m11s       Warning   Evicted     pod/train-worker-0   The node was low on resource: memory.\n"
            "4m11s       Normal    Killing     pod/train-worker-0   Stopping container pytorch\n"
            "3m          Normal    NodeNotReady   node/gpu12        Node gpu12 status is now: NodeNotReady\n",
            (
                ("host.pod_evicted", {"pod": "train-worker-0", "reason": "The node was low on resource: memory."}),
                ("host.pod_event", {"reason": "Killing"}),
                ("host.node_lost", {"host": "gpu12", "reporter": "kubernetes"}),
            ),
        ),
        Sample(
            '{"apiVersion": "v1", "kind": "List", "items": [{"kind": "Event", "type": "Warning", "reason": '
            '"Preempted",\n'
            '"message": "Preempted by a pod on node gpu12", "eventTime": null, "lastTimestamp": '
            '"2026-02-01T10:00:00Z",\n'
            '"metadata": {"name": "train-worker-0.17"}, "involvedObject": {"kind": "Pod", "name": "train-worker-0"},\n'
            '"source": {"component": "default-scheduler"}}]}\n',
            (("job.cancelled", {"reason": "preemption", "entity": "pod"}),),
            path="k8s/events.json",
        ),
        Sample(
            "LAST SEEN   FIRST SEEN   COUNT   NAME   KIND   SUBOBJECT   TYPE   REASON   SOURCE   MESSAGE\n"
            "2m   2m   1   llm-master-0   Pod   spec.containers{m}   Normal   Pulling   kubelet, gpu5   pulling it\n"
            "52s   52s   1   llm-master-0   Pod   spec.containers{m}   Normal   Pulled   kubelet, gpu5   pulled it\n",
            (("host.pod_event", {"reason": "PulledSlowly", "pod": "llm-master-0", "host": "gpu5"}),),
        ),
        Sample(
            "Events:\n  Type     Reason     Age    From               Message\n"
            "  ----     ------     ----   ----               -------\n"
            "  Warning  OOMKilling  2m    kernel-monitor, gpu12   Memory cgroup out of memory: Killed process 812\n",
            (("host.oom_event", {"reporter": "kubernetes", "host": "gpu12"}),),
        ),
        Sample(
            '{"apiVersion":"v1","kind":"List","items":[\n'
            '{"type":"Normal","reason":"Preempted","message":"Preempted by pod 4f on node gpu7",'
            '"involvedObject":{"kind":"Pod","name":"w-1"},"lastTimestamp":"2026-02-01T10:00:00Z"}]}\n',
            (("job.cancelled", {"reason": "preemption", "host": "gpu7"}),),
            path="events.json",
        ),
        Sample(
            "2026-02-01T10:00:00Z   Normal   CommandIssued   job/llm   Start to execute command AbortJob, and clean\n"
            "2026-02-01T10:00:02Z   Normal   Killing         pod/llm-worker-3   Stopping container worker\n",
            (
                ("job.cancelled", {"reason": "other", "entity": "job"}),
                ("host.pod_event", {"reason": "Killing", "pod": "llm-worker-3"}),
            ),
        ),
        Sample(
            "LAST SEEN   TYPE      REASON      OBJECT               MESSAGE\n"
            '2m          Normal    Pulled      pod/llm-master-0     Successfully pulled image "t:1" in 9m52s\n'
            '2m          Normal    Pulled      pod/llm-worker-0     Successfully pulled image "t:1" in 52.1s\n',
            (
                ("host.pod_event", {"reason": "PulledSlowly", "pod": "llm-master-0"}),
                ("host.pod_event", {"reason": "Pulled"}),
            ),
        ),
        Sample("2m  Normal speed on port pod/7\nWarning: nothing\n"),
    ),
)
