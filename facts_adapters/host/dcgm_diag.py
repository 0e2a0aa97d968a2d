"""``dcgmi diag -r N -j`` (DCGM 2 .. 4): tests of the GPU tool that failed, with its own words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.host._dcgm import meaning, narrow_link, of_software
from facts_adapters.host._statement import state, whole

_DEEPEST = 40


def sniff(head: Head) -> Verdict:
    """The name that the document's root object has."""
    found = re.search(r'"DCGM (?:GPU |Multi-Node )?Diagnostic"', head.text)
    return Verdict(0.95, "dcgmi diag -j") if found else Verdict(0.0, "no DCGM diagnostic")


def read(file: EvidenceFile, context: Context) -> Iterator[Observation]:
    """``host.gpu_fault`` for every failed result; of the installation ``host.gpu_health``."""
    lines = whole(file, context)
    if not lines:
        return
    text = "\n".join(line.text for line in lines)
    try:
        document = json.loads(text[text.index("{") : text.rindex("}") + 1])
    except (ValueError, RecursionError):
        context.warn(file.path, 1, "this JSON cannot be read")
        return
    for test, result in _results(document, ""):
        if str(result.get("status", "")).lower() == "fail":
            yield _fault(file, lines, test, result)


def _results(node: Any, test: str, depth: int = 0) -> Iterator[tuple[str, dict[str, Any]]]:
    """All results with the name of their test, at whatever depth this version puts them."""
    if depth > _DEEPEST:
        return
    if isinstance(node, dict):
        name = str(node["name"]) if isinstance(node.get("name"), str) else test
        if "status" in node and name:
            yield name, node
        for key, value in node.items():
            if key != "test_summary":
                yield from _results(value, name, depth + 1)
    elif isinstance(node, list):
        for item in node:
            yield from _results(item, test, depth + 1)


def _fault(file: EvidenceFile, lines: list[Line], test: str, result: dict[str, Any]) -> Observation:
    warnings = result.get("warnings") or result.get("warning") or result.get("info") or ""
    words = " ".join(w.get("warning", "") if isinstance(w, dict) else str(w) for w in _listed(warnings))
    line = next((item for item in lines if f'"{test}"' in item.text), lines[0])
    text = f"{test}: {words}"[:300]
    if of_software(test):
        return state(file, line, "host.gpu_health", {"problem": "other", "text": text})
    narrow = narrow_link(words)
    if narrow is not None:
        return state(file, line, "host.pcie_degraded", dict(narrow))
    fields: dict[str, Scalar] = {"class": meaning(test, words), "reporter": "dcgm", "text": text}
    gpu = result.get("entity_id", result.get("gpu_id", result.get("gpu_ids")))
    if gpu is not None:
        fields["gpu"] = str(gpu)
    return state(file, line, "host.gpu_fault", fields)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


_DOCUMENT = """\
{"DCGM Diagnostic": {"test_categories": [{"category": "Hardware", "tests": [
  {"name": "memory", "results": [
    {"entity_group": "GPU", "entity_id": 3, "status": "Fail",
     "warnings": [{"warning": "Detected 2 uncorrectable errors", "error_id": 8}]},
    {"entity_group": "GPU", "entity_id": 4, "status": "Pass"}],
   "test_summary": {"status": "Fail"}},
  {"name": "software", "results": [{"entity_id": 0, "status": "Fail", "warnings": [{"warning": "NVML is missing"}]}]}
 ]}]},
 "metadata": {"version": "4.2.0"}}
"""

_NARROW = """\
{"DCGM Diagnostic": {"test_categories": [{"category": "Integration", "tests": [{"name": "pcie", "results": [
    {"entity_group": "GPU", "entity_id": 3, "status": "Fail", "warnings": [{"error_id": 46, "warning":
    "GPU 3 is running at PCI link width 8X, which is below the minimum allowed link width of 16"}]}]}]}]}}
"""

ADAPTER = Adapter(
    name="dcgm_diag",
    branch="host",
    emits=("host.gpu_fault", "host.gpu_health", "host.pcie_degraded"),
    coverage="gpu_state",
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            _DOCUMENT,
            (
                ("host.gpu_fault", {"class": "memory", "reporter": "dcgm", "gpu": "3"}),
                ("host.gpu_health", {"problem": "other"}),
            ),
            path="diag.json",
        ),
        Sample(_NARROW, (("host.pcie_degraded", {"what": "gpu", "width": 8}),), path="diag.json"),
        Sample('{"DCGM Diagnostic": {"test_categories": []}}\n', path="diag.json"),
    ),
)
