"""``kubectl describe pod`` and the table of ``kubectl get pods``: how containers ended, on which node, and what waits.

The Events part of the description is read by :mod:`facts_adapters.job.kubernetes_events`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.facts.model import Observation, Scalar, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.job._kubernetes import EMITS, Happening, observe
from facts_adapters.job._outcome import outcome

_KEY = re.compile(r"^(?P<indent> *)(?P<key>[A-Z][A-Za-z ]+):(?:\s+(?P<value>\S.*?))?\s*$")
_HEADER = re.compile(r"^(?:NAMESPACE\s+)?NAME\s+READY\s+STATUS\s+RESTARTS")
_ROW = re.compile(
    r"^(?:(?P<namespace>\S+)\s+)??(?P<name>[a-z0-9][a-z0-9.-]*)\s+\d+/\d+\s+"
    r"(?P<status>[A-Z][\w:/]*)\s+(?P<restarts>\d+)(?: \(\S+ ago\))?"
    r"\s+\S+(?:\s+(?P<ip>\d+\.\d+\.\d+\.\d+|<none>)\s+(?P<node>\S+))?"
)


def sniff(head: Head) -> Verdict:
    """Heads of a description, or the header of the pod table."""
    text = head.text
    if (
        "Name:" in text
        and re.search(r"^Name:\s+\S+", text, re.M)
        and re.search(r"^(?:Node|Status|Containers):", text, re.M)
    ):
        pod = re.search(r"^\s+(?:State|Last State|Exit Code):", text, re.M)
        return Verdict(0.9, "kubectl describe pod") if pod else Verdict(0.0, "no container state")
    table = any(_HEADER.match(line) for line in head.lines)
    return Verdict(0.9, "kubectl get pods") if table else Verdict(0.0, "no pod table")


def read(file: EvidenceFile, context: Context) -> Iterator[Observation]:
    """Facts of every pod that is described or listed."""
    lines = list(file.lines())
    if any(_HEADER.match(line.text) for line in lines):
        yield from _table(file, lines)
    else:
        yield from _description(file, lines, context)


def _table(file: EvidenceFile, lines: list[Line]) -> Iterator[Observation]:
    for line in lines:
        row = _ROW.match(line.text)
        if not row:
            continue
        source = Source(file.path, line.number, line.text[:2000])
        node = row["node"] if row["node"] not in (None, "<none>") else None
        status = row["status"]
        if node:
            placed: dict[str, Scalar] = {"name": row["name"]}
            if row["ip"] not in (None, "<none>"):
                placed["address"] = row["ip"]
            yield Observation("job.placement", source, placed, host=node)
        if int(row["restarts"]) > 0:
            yield Observation("job.restart", source, {"attempt": int(row["restarts"]), "what": "container"}, host=node)
        if status == "Pending":
            yield Observation("job.rendezvous_incomplete", source, {"missing": row["name"]})
        elif status in ("Completed", "Succeeded", "Error", "Failed"):
            state = "COMPLETED" if status in ("Completed", "Succeeded") else "FAILED"
            ended: dict[str, Scalar] = {"state": state, "reporter": "kubernetes", "entity": "pod"}
            yield Observation("job.scheduler_end", source, ended, host=node)
        elif status not in ("Running", "ContainerCreating", "Terminating"):
            yield observe(Happening(status, "", source, row["name"], node))


def _description(file: EvidenceFile, lines: list[Line], context: Context) -> Iterator[Observation]:
    pod, node, state = "", None, ""
    ended: dict[str, tuple[Line, str]] = {}
    for line in lines:
        match = _KEY.match(line.text)
        if not match:
            continue
        key, value = match["key"], match["value"] or ""
        if key == "Name" and not match["indent"]:
            pod = value
        elif key == "Node" and not match["indent"]:
            node = value.partition("/")[0] or None
        elif key == "Reason" and not match["indent"] and value:
            yield observe(Happening(value, "", Source(file.path, line.number, line.text), pod, node))
        elif key in ("State", "Last State"):
            yield from _container(file, pod, node, ended, context)
            state, ended = value, {}
        elif state == "Terminated" and key in ("Reason", "Exit Code", "Finished"):
            ended[key] = (line, value)
            if key == "Finished":
                yield from _container(file, pod, node, ended, context)
                state, ended = "", {}
    yield from _container(file, pod, node, ended, context)


def _container(
    file: EvidenceFile, pod: str, node: str | None, ended: dict[str, tuple[Line, str]], context: Context
) -> Iterator[Observation]:
    if "Exit Code" not in ended:
        return
    line, code = ended["Exit Code"]
    when = context.reading(ended["Finished"][1]) if "Finished" in ended else None
    source = Source(file.path, line.number, f"pod {pod}: {line.text.strip()}")
    reason = ended.get("Reason", (line, ""))[1]
    if reason == "OOMKilled":
        yield Observation("host.oom_event", source, {"reporter": "kubernetes"}, host=node, when=when)
    if code.isdigit() and int(code) != 0:
        fields: dict[str, Scalar] = {"reporter": "kubernetes", **outcome(int(code))}
        yield Observation("job.process_exit", source, fields, host=node, when=when)


ADAPTER = Adapter(
    name="kubernetes_describe",
    branch="job",
    emits=EMITS,
    coverage="orchestrator",
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            "Name:         train-worker-0\nNamespace:    ml\nNode:         gpu12/10.0.0.12\nStatus:       "
            "Running\nContainers:\n"
            "  pytorch:\n    State:          Running\n      Started:      Sun, 01 Feb 2026 10:00:00 +0000\n"
            "    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n"
            "      Started:      Sun, 01 Feb 2026 09:00:00 +0000\n      Finished:     Sun, 01 Feb 2026 09:59:00 +0000\n"
            "    Ready:          True\n    Restart Count:  1\n",
            (
                ("host.oom_event", {"host": "gpu12", "reporter": "kubernetes"}),
                ("job.process_exit", {"signal": 9, "exit_code": 137}),
            ),
        ),
        Sample(
            "NAME             READY   STATUS      RESTARTS      AGE   IP          NODE\n"
            "train-master-0   0/1     Completed   0             2h    10.1.2.3    gpu12\n"
            "train-worker-0   0/1     Pending     0             2h    <none>      <none>\n"
            "train-worker-1   0/1     OOMKilled   3 (2m ago)    2h    10.1.2.4    gpu13\n",
            (
                ("job.placement", {"name": "train-master-0", "host": "gpu12"}),
                ("job.scheduler_end", {"state": "COMPLETED"}),
                ("job.rendezvous_incomplete", {"missing": "train-worker-0"}),
                ("host.oom_event", {"host": "gpu13"}),
            ),
        ),
        Sample("Name: eth0\nStatus: up\n"),
    ),
)
