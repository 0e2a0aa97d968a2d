"""Status of pods from ``kubectl get pods -o json|yaml`` (core v1).

How containers ended, restarts, evictions, pods that never ran and why, and which pod ran on which node. Training jobs
are read by :mod:`facts_adapters.job.kubernetes_workloads`.

A container that says OOMKilled lost its first process; a killed child shows elsewhere and leaves ``Error`` here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from engine.facts.model import Observation, Reading, Scalar, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.documents import at, mapping, mappings
from facts_adapters.job._kubernetes import EMITS, Happening, documents, observe, stamp
from facts_adapters.job._outcome import outcome

_PHASES = {"Succeeded": "COMPLETED", "Failed": "FAILED", "Unknown": "UNKNOWN"}


def sniff(head: Head) -> Verdict:
    """Pods with a status, in JSON or YAML."""
    text = head.text
    shape = text.lstrip()[:1] in ("{", "[") or re.match(r"\s*(?:---\s*)?apiVersion:", text)
    kind = shape and re.search(r'"?kind"?: ?"?Pod(?:List)?"?\s*[,\n}]', text)
    if kind and re.search(r'"?(?:containerStatuses|conditions|phase)"?:', text):
        return Verdict(0.95, "status of pods")
    return Verdict(0.0, "no pod status")


def read(file: EvidenceFile, context: Context) -> Iterator[Observation]:
    """Facts of every pod in the file."""
    for item, line, name in documents(file, context):
        if str(item.get("kind") or "Pod") == "Pod":
            yield from _pod(Pod(file.path, line, name, item), context)


class Pod:
    """One pod: its name, its node and the parts of its status."""

    def __init__(self, path: str, line: int, name: str, item: Mapping[str, Any]) -> None:
        node = at(item, "spec", "nodeName")
        self.name = name
        self.node = str(node) if node else None
        self.status = mapping(at(item, "status"))
        self.address = self.status.get("podIP")
        self.source = Source(
            path, line, f"pod {name} on {node}: {self.status.get('phase')} {self.status.get('reason') or ''}"
        )

    def observation(self, kind: str, fields: dict[str, Scalar], when: Reading | None = None) -> Observation:
        """A fact about this pod's node."""
        return Observation(kind, self.source, fields, host=self.node, when=when)

    def happening(self, reason: str, message: str, when: Reading | None) -> Happening:
        """The same pod as the subject of a reason."""
        return Happening(reason, message, self.source, self.name, self.node, when)


def _pod(pod: Pod, context: Context) -> Iterator[Observation]:
    if pod.node:
        fields: dict[str, Scalar] = {"name": pod.name}
        if pod.address:
            fields["address"] = str(pod.address)
        yield pod.observation("job.placement", fields)
    phase = str(pod.status.get("phase") or "")
    reason = str(pod.status.get("reason") or "")
    if phase == "Pending":
        yield pod.observation("job.rendezvous_incomplete", {"missing": pod.name})
    if reason:
        yield observe(pod.happening(reason, str(pod.status.get("message") or ""), _end(pod.status, context)))
    for part in ("initContainerStatuses", "containerStatuses"):
        for container in mappings(pod.status.get(part)):
            yield from _container(pod, container, context)
    for condition in mappings(pod.status.get("conditions")):
        if at(condition, "type") == "DisruptionTarget" and at(condition, "status") == "True":
            when = stamp(at(condition, "lastTransitionTime"), context)
            happening = pod.happening(str(condition.get("reason") or ""), str(condition.get("message") or ""), when)
            yield observe(happening, "conditions")
        elif at(condition, "type") == "PodScheduled" and at(condition, "reason") == "Unschedulable":
            when = stamp(at(condition, "lastTransitionTime"), context)
            yield observe(pod.happening("FailedScheduling", str(condition.get("message") or ""), when))
    if phase in _PHASES:
        state: dict[str, Scalar] = {"state": _PHASES[phase], "reporter": "kubernetes", "entity": "pod"}
        yield pod.observation("job.scheduler_end", state, _end(pod.status, context))


def _end(status: Mapping[str, Any], context: Context) -> Reading | None:
    for container in mappings(status.get("containerStatuses")):
        ended = stamp(at(container, "state", "terminated", "finishedAt"), context)
        if ended:
            return ended
    return None


def _container(pod: Pod, container: Mapping[str, Any], context: Context) -> Iterator[Observation]:
    restarts = container.get("restartCount")
    if isinstance(restarts, int) and restarts > 0:
        yield pod.observation("job.restart", {"attempt": restarts, "what": "container"})
    for part in ("lastState", "state"):
        ended = at(container, part, "terminated")
        if isinstance(ended, dict):
            yield from _terminated(pod, ended, context)
    waiting = at(container, "state", "waiting")
    if isinstance(waiting, dict) and waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
        yield observe(pod.happening(str(waiting["reason"]), str(waiting.get("message") or ""), None))


def _terminated(pod: Pod, ended: Mapping[str, Any], context: Context) -> Iterator[Observation]:
    code, reason = ended.get("exitCode"), str(ended.get("reason") or "")
    when = stamp(ended.get("finishedAt"), context)
    if reason == "OOMKilled":
        yield pod.observation("host.oom_event", {"reporter": "kubernetes"}, when)
    if isinstance(code, int) and code != 0:
        fields: dict[str, Scalar] = {"reporter": "kubernetes", **outcome(code)}
        signal = ended.get("signal")
        if isinstance(signal, int) and signal > 0:
            fields["signal"] = signal
        yield pod.observation("job.process_exit", fields, when)


ADAPTER = Adapter(
    name="kubernetes_pods",
    branch="job",
    emits=EMITS,
    coverage="orchestrator",
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            '{"kind": "List", "items": [{"kind": "Pod", "metadata": {"name": "train-worker-1"}, "spec": '
            '{"nodeName": "gpu13"},\n'
            '"status": {"phase": "Failed", "podIP": "10.1.2.3", "containerStatuses": [{"name": "pytorch", '
            '"restartCount": 2,\n'
            '"state": {"terminated": {"exitCode": 137, "reason": "OOMKilled", "finishedAt": '
            '"2026-02-01T10:00:00Z"}}}]}}]}\n',
            (
                ("job.placement", {"name": "train-worker-1", "address": "10.1.2.3", "host": "gpu13"}),
                ("job.restart", {"attempt": 2}),
                ("host.oom_event", {"host": "gpu13"}),
                ("job.process_exit", {"signal": 9, "exit_code": 137, "reporter": "kubernetes"}),
                ("job.scheduler_end", {"state": "FAILED", "entity": "pod"}),
            ),
            path="k8s/pods.json",
        ),
        Sample(
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: train-worker-2\nspec:\n  nodeName: gpu14\nstatus:\n  "
            "phase: Failed\n"
            "  reason: Evicted\n  message: 'The node was low on resource: ephemeral-storage.'\n",
            (("host.pod_evicted", {"pod": "train-worker-2", "host": "gpu14"}),),
            path="k8s/pod.yaml",
        ),
        Sample(
            '{"kind":"Pod","metadata":{"name":"train-worker-3"},"status":{"phase":"Pending","conditions":[{"type":'
            '"PodScheduled","status":"False","reason":"Unschedulable","message":"0/9 nodes are available: 9 '
            'Insufficient nvidia.com/gpu.","lastTransitionTime":"2026-02-01T10:00:00Z"}]}}\n',
            (
                ("job.rendezvous_incomplete", {"missing": "train-worker-3"}),
                ("host.pod_event", {"reason": "FailedScheduling", "pod": "train-worker-3"}),
            ),
            path="k8s/pod.json",
        ),
        Sample('{"kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"phase": "none"}}\n', path="k8s/cm.json"),
    ),
)
