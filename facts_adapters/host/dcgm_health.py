"""``dcgmi health -c -j`` (DCGM 2 .. 4): a tree of nodes, each with a ``value`` and ``children`` by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.host._dcgm import meaning
from facts_adapters.host._statement import json_report, state

_TITLE = "Health Monitor Report"
_DEEPEST = 20


def sniff(head: Head) -> Verdict:
    """A JSON document with the title of the report."""
    found = head.text.lstrip().startswith("{") and f'"{_TITLE}"' in head.text and '"body"' in head.text
    return Verdict(0.95, "dcgmi health -j") if found else Verdict(0.0, "no DCGM health report in JSON")


def read(file: EvidenceFile, context: Context) -> Iterator[Observation]:
    """``host.gpu_fault`` for each system that failed, ``host.gpu_health`` without a problem where none did."""
    lines, document = json_report(file, context)
    if not lines:
        return
    body = document.get("body") if isinstance(document, dict) else None
    if not isinstance(body, dict):
        return
    when = context.snapshot_time(file.path)
    found = False
    for gpu, system, words in _failed(body, "", 0):
        found = True
        line = next((item for item in lines if f'"{system}"' in item.text), lines[0])
        fields: dict[str, Scalar] = {
            "class": meaning(system, words),
            "reporter": "dcgm",
            "gpu": gpu,
            "text": f"{system}: {words}"[:300],
        }
        yield state(file, line, "host.gpu_fault", fields, when)
    overall = body.get("Overall Health")
    if not found and isinstance(overall, dict) and overall.get("value") == "Healthy":
        yield state(file, _where(lines), "host.gpu_health", {"problem": "none", "text": "dcgmi health"}, when)


def _where(lines: list[Line]) -> Line:
    return next((line for line in lines if "Overall Health" in line.text), lines[0])


def _failed(nodes: dict[str, Any], gpu: str, depth: int) -> Iterator[tuple[str, str, str]]:
    """The GPU, the system and its words, for every innermost node below a GPU whose value is a failure."""
    for name, node in nodes.items():
        if not isinstance(node, dict) or depth > _DEEPEST:
            continue
        own = name.strip() if name.strip().isdigit() else gpu
        children = node.get("children")
        below = list(_failed(children, own, depth + 1)) if isinstance(children, dict) else []
        yield from below
        if not below and own and own != name.strip() and str(node.get("value", "")).lower() == "failure":
            yield own, name, " ".join(_words(children, 0))


def _words(nodes: Any, depth: int) -> Iterator[str]:
    if isinstance(nodes, dict) and depth < _DEEPEST:
        for name, node in nodes.items():
            value = node.get("value") if isinstance(node, dict) else node
            yield str(value) if value else name
            yield from _words(node.get("children") if isinstance(node, dict) else None, depth + 1)


_REPORT = """\
{"header": ["Health Monitor Report"],
 "body": {
  "Overall Health": {"value": "Failure"},
  "GPU": {"children": {
    "3": {"value": "Failure", "children": {"Errors": {"children": {
      "Memory system": {"value": "Failure", "children": {"Description": {"value": "A DBE has occurred"}}},
      "PCIe system": {"value": "Warning"}}}}}}}}}
"""
_HEALTHY = '{"body": {"Overall Health": {"value": "Healthy"}}, "header": ["Health Monitor Report"]}\n'

ADAPTER = Adapter(
    name="dcgm_health",
    branch="host",
    emits=("host.gpu_fault", "host.gpu_health"),
    coverage="gpu_state",
    sniff=sniff,
    read=read,
    samples=(
        Sample(_REPORT, (("host.gpu_fault", {"class": "memory", "reporter": "dcgm", "gpu": "3"}),), path="health.json"),
        Sample(_HEALTHY, (("host.gpu_health", {"problem": "none"}),), path="health.json"),
        Sample('{"body": {"Overall Health": {"value": "Healthy"}}, "header": ["Other Report"]}\n', path="x.json"),
    ),
)
