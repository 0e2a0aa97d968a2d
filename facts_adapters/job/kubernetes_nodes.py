"""State of Kubernetes nodes: ``kubectl get nodes`` as table, JSON and YAML, ``kubectl describe node`` (1.20 .. 1.33).

Conditions of the kubelet, of the node controller and of node-problem-detector count where they are abnormal; which are,
is in ``knowledge/builtin/profiles/kubernetes_reasons.yaml``. The table has no times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from engine.facts.model import Observation, Reading, Scalar, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.documents import at, mappings
from facts_adapters.job._kubernetes import condition_rules, documents, stamp
from facts_adapters.quoting import quote

_OBJECT = re.compile(r"\"?kind\"?: ?\"?Node(?:List)?\"?\s*[,\n}]")
_HEADER = re.compile(r"^NAME\s+STATUS\s+ROLES\s+AGE\s+VERSION")
_ROW = re.compile(
    r"^(?P<name>[a-z0-9][\w.-]*)\s+(?P<status>(?:Not)?Ready[A-Za-z,]*|Unknown[A-Za-z,]*)\s+\S+\s+\S+\s+v\d"
)
_CONDITIONS = re.compile(r"^\s+Type\s+Status\s+LastHeartbeatTime\s+LastTransitionTime\s+Reason\s+Message")
_TIME = r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}"
_CONDITION = re.compile(
    rf"^\s+(?P<type>[A-Z]\w+)\s+(?P<status>True|False|Unknown)\s+{_TIME}\s+(?P<since>{_TIME})\s+(?P<reason>\S+)\s+"
    r"(?P<message>\S.*)$"
)
_NAME = re.compile(r"^Name:\s+(?P<name>[a-z0-9][\w.-]*)\s*$")
_CORDONED = re.compile(r"^Unschedulable:\s+true\s*$")
_TEXT_KEPT = 200


def sniff(head: Head) -> Verdict:
    """Nodes with conditions, their table or a description."""
    text = head.text
    if "kind" in text and "nodeInfo" in text and _OBJECT.search(text):
        return Verdict(0.95, "status of nodes")
    if "LastHeartbeatTime" in text and any(_CONDITIONS.match(line) for line in head.lines):
        return Verdict(0.95, "kubectl describe node")
    table = "ROLES" in text and any(_HEADER.match(line) for line in head.lines)
    return Verdict(0.9, "kubectl get nodes") if table else Verdict(0.0, "no nodes")


def read(file: EvidenceFile, context: Context) -> Iterator[Observation]:
    """Lost, full and cordoned nodes."""
    first = next((line.text.lstrip() for line in file.lines() if line.text.strip()), "")
    if first[:1] in ("{", "[") or first.startswith(("apiVersion:", "---", "kind:", "items:")):
        for item, line, name in documents(file, context):
            if item.get("kind") in ("Node", None) and name:
                yield from _object(file, item, line, name, context)
        return
    node = ""
    for text in file.lines():
        row, named = _ROW.match(text.text), _NAME.match(text.text)
        if row:
            yield from _listed(file, text, row["name"], row["status"])
        node = named["name"] if named else node
        condition = _CONDITION.match(text.text) if node else None
        if condition:
            source = quote(file, text)
            when = context.reading(condition["since"])
            values = (condition["type"], condition["status"], condition["reason"], condition["message"])
            yield from _condition(source, node, values, when)
        elif node and _CORDONED.match(text.text):
            yield _cordoned(quote(file, text), node)


def _listed(file: EvidenceFile, line: Line, name: str, status: str) -> Iterator[Observation]:
    source = quote(file, line)
    if status.startswith(("NotReady", "Unknown")):
        fields: dict[str, Scalar] = {"reason": status.partition(",")[0], "reporter": "kubernetes"}
        yield Observation("host.node_lost", source, fields, host=name)
    if "SchedulingDisabled" in status:
        yield _cordoned(source, name)


def _object(
    file: EvidenceFile, item: Mapping[str, Any], line: int, name: str, context: Context
) -> Iterator[Observation]:
    for condition in mappings(at(item, "status", "conditions")):
        keys = ("type", "status", "reason", "message")
        what, state, reason, message = (str(condition.get(key) or "") for key in keys)
        source = Source(file.path, line, f"node {name} {what}={state}: {reason} {message}"[:500])
        when = stamp(condition.get("lastTransitionTime"), context)
        yield from _condition(source, name, (what, state, reason, message), when)
    if at(item, "spec", "unschedulable") is True:
        yield _cordoned(Source(file.path, line, f"node {name} is unschedulable"), name)


def _condition(
    source: Source, name: str, values: tuple[str, str, str, str], when: Reading | None
) -> Iterator[Observation]:
    what, state, reason, message = values
    for rule in condition_rules():
        if rule.type.fullmatch(what) and rule.status.fullmatch(state):
            fields = dict(rule.constants)
            if rule.kind == "host.node_lost":
                fields["reason"] = reason or what
            elif rule.kind != "host.disk_full":
                fields["text"] = (message or reason)[:_TEXT_KEPT]
            yield Observation(rule.kind, source, fields, host=name, when=when)
            return


def _cordoned(source: Source, name: str) -> Observation:
    fields: dict[str, Scalar] = {"reason": "SchedulingDisabled", "text": "the node takes no new pods"}
    return Observation("host.pod_event", source, fields, host=name)


ADAPTER = Adapter(
    name="kubernetes_nodes",
    branch="job",
    emits=(
        *("host.node_lost", "host.disk_error", "host.disk_full", "host.memory_exhausted", "host.process_limit"),
        *("host.no_network", "host.pod_event"),
    ),
    coverage="orchestrator",
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            "NAME    STATUS                        ROLES    AGE   VERSION\n"
            "gpu11   Ready                         <none>   12d   v1.29.3\n"
            "gpu12   NotReady,SchedulingDisabled   <none>   12d   v1.29.3\n",
            (
                ("host.node_lost", {"host": "gpu12", "reason": "NotReady", "reporter": "kubernetes"}),
                ("host.pod_event", {"host": "gpu12", "reason": "SchedulingDisabled"}),
            ),
            path="k8s/nodes.txt",
        ),
        Sample(
            "Name:               gpu12\nRoles:              <none>\nUnschedulable:      false\nConditions:\n"
            "  Type             Status    LastHeartbeatTime                 LastTransitionTime                Reason"
            "              Message\n"
            "  ----             ------    -----------------                 ------------------                ------"
            "              -------\n"
            "  MemoryPressure   False     Sun, 01 Feb 2026 10:00:00 +0000   Sun, 01 Feb 2026 09:00:00 +0000   "
            "KubeletHasSufficientMemory   kubelet has sufficient memory available\n"
            "  Ready            Unknown   Sun, 01 Feb 2026 10:00:00 +0000   Sun, 01 Feb 2026 10:01:00 +0000   "
            "NodeStatusUnknown   Kubelet stopped posting node status.\n",
            (("host.node_lost", {"host": "gpu12", "reason": "NodeStatusUnknown"}),),
            path="k8s/describe-node.txt",
        ),
        Sample(
            '{"kind":"Node","metadata":{"name":"gpu13"},"spec":{"unschedulable":true},"status":{"conditions":[{"type":'
            '"ReadonlyFilesystem","status":"True","reason":"FilesystemIsReadOnly","message":"Remounting filesystem '
            'read-only","lastTransitionTime":"2026-02-01T10:00:00Z"},{"type":"Ready","status":"True"}],"nodeInfo":{}}}\n',
            (
                ("host.disk_error", {"host": "gpu13", "type": "read_only"}),
                ("host.pod_event", {"reason": "SchedulingDisabled", "host": "gpu13"}),
            ),
            path="k8s/node.json",
        ),
        Sample(
            "apiVersion: v1\nkind: Node\nmetadata:\n  name: gpu14\nstatus:\n  conditions:\n  - type: Ready\n"
            '    status: "True"\n    reason: KubeletReady\n  nodeInfo:\n    kubeletVersion: v1.29.3\n',
            path="k8s/node.yaml",
        ),
    ),
)
