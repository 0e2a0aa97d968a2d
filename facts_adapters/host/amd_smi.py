"""``amd-smi list|static|metric`` as text, JSON and CSV (ROCm 5.7 .. 7.0).

JSON is a list of GPUs, from ROCm 6.4 on below ``gpu_data``; numbers may be objects with ``value`` and ``unit``.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import Any

from engine.facts.model import CounterSample, Observation
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.host._amd import Property, judged
from facts_adapters.host._statement import Counting, json_report, state

_NAME = "amd_smi"
_GPU = re.compile(r"GPU: (?P<gpu>\d{1,4})\s*$")
_ENTRY = re.compile(r"(?P<indent> {4,80})(?P<name>[A-Z][A-Z0-9_.]*):(?: (?P<value>.*))?$")
_TELLING = ("BDF:", "ECC:", "ASIC:", "PCIE:", "USAGE:", "XGMI_ERR", "BUS:", "DRIVER:", "THROTTLE", "RETIRED:")
_HEADER = re.compile(
    r"(?:timestamp,)?gpu,(?:[\w.]+,)*(?:gpu_bdf|total_uncorrectable_count|pcie_replay_count|gfx_activity)\b"
)
_JSON = re.compile(r'"gpu": ?\d{1,4}\b')
_JSON_TELLING = ('"ecc"', '"pcie"', '"bdf"', '"asic"', '"usage"', '"xgmi_err"')
_DEEPEST = 12


def sniff(head: Head) -> Verdict:
    """GPUs with the entries that only this tool has, in one of three forms."""
    text = head.text
    told = "GPU: " in text and any(f"    {name}" in text for name in _TELLING)
    if told and any(_GPU.match(line) for line in head.lines):
        return Verdict(0.9, "amd-smi")
    if text.lstrip()[:1] in ("[", "{") and _JSON.search(text) and any(name in text for name in _JSON_TELLING):
        return Verdict(0.9, "amd-smi --json")
    found = any(_HEADER.match(line) for line in head.lines[:20])
    return Verdict(0.9, "amd-smi --csv") if found else Verdict(0.0, "no output of amd-smi")


def read(file: EvidenceFile, context: Context) -> Iterator[Observation | CounterSample]:
    """``host.gpu_count``, ``host.gpu_health``, ``host.software`` and counter samples of family ``gpu``."""
    counting = Counting(file, "gpu", _NAME, context.snapshot_time(file.path))
    gpus: dict[str, list[Property]] = {}
    for gpu, found in _records(file, context):
        gpus.setdefault(gpu, []).append(found)
    where: Line | None = None
    for gpu, properties in gpus.items():
        where = properties[-1][0]
        address = next((value for _, way, value in properties if way[-1] in ("bdf", "gpu_bdf")), gpu)
        yield from judged(counting, address.lower(), properties)
    if where is not None and any(way[-1] in ("bdf", "gpu_bdf") for p in gpus.values() for _, way, _ in p):
        yield state(file, where, "host.gpu_count", {"count": len(gpus)}, counting.when)


def _records(file: EvidenceFile, context: Context) -> Iterator[tuple[str, Property]]:
    first = next((line.text.lstrip() for line in file.lines() if line.text.strip()), "")
    if first[:1] in ("[", "{"):
        yield from _json(file, context)
        return
    gpu, headings = "", list[tuple[int, str]]()
    header: list[str] = []
    for line in file.lines():
        start, entry = _GPU.match(line.text), _ENTRY.match(line.text)
        if _HEADER.match(line.text):
            header = line.text.strip().split(",")
        elif header and line.text.count(",") >= len(header) - 1:
            row = dict(zip(header, next(csv.reader([line.text]), []), strict=False))
            for name, value in row.items():
                yield row.get("gpu", ""), (line, (name.lower(),), value)
        elif start:
            gpu, headings = start["gpu"], []
        elif entry and gpu:
            indent = len(entry["indent"])
            while headings and headings[-1][0] >= indent:
                headings.pop()
            name = entry["name"].lower()
            if entry["value"]:
                yield gpu, (line, (*(heading for _, heading in headings), name), entry["value"])
            else:
                headings.append((indent, name))


def _json(file: EvidenceFile, context: Context) -> Iterator[tuple[str, Property]]:
    lines, document = json_report(file, context)
    if not lines:
        return
    listed = document.get("gpu_data") if isinstance(document, dict) else document
    starts = [line for line in lines for _ in _JSON.findall(line.text)]
    for index, record in enumerate(listed if isinstance(listed, list) else [document]):
        if isinstance(record, dict) and isinstance(record.get("gpu"), int):
            line = starts[index] if index < len(starts) else lines[0]
            for way, value in _walk(record, ()):
                yield str(record["gpu"]), (line, way, value)


def _walk(node: dict[str, Any], way: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    for name, value in node.items():
        path = (*way, str(name).lower())
        plain = value.get("value") if isinstance(value, dict) and "unit" in value else value
        if isinstance(plain, dict):
            if len(path) < _DEEPEST:
                yield from _walk(plain, path)
        elif isinstance(plain, str | int | float):
            yield path, str(plain)


_TEXT = """\
GPU: 0
    BUS:
        BDF: 0000:0c:00.0
    DRIVER:
        NAME: amdgpu
        VERSION: 6.8.5
    ECC:
        TOTAL_CORRECTABLE_COUNT: 4
        TOTAL_UNCORRECTABLE_COUNT: 2
    PCIE:
        WIDTH: 16
        REPLAY_COUNT: 12

GPU: 1
    BUS:
        BDF: 0000:22:00.0
    ECC:
        TOTAL_UNCORRECTABLE_COUNT: 0
"""
_DOCUMENT = """\
{"gpu_data": [
 {"gpu": 0, "ecc": {"total_correctable_count": 4, "total_uncorrectable_count": 0},
  "pcie": {"width": 16, "speed": {"value": 32, "unit": "GT/s"}, "replay_count": 0}},
 {"gpu": 1, "ecc": {"total_uncorrectable_count": 3}, "throttle": {"hbm_thermal_violation_status": "ACTIVE"}}
]}
"""

ADAPTER = Adapter(
    name=_NAME,
    branch="host",
    emits=("host.gpu_count", "host.gpu_health", "host.software", "host.counter_rise"),
    coverage="gpu_state",
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            _TEXT,
            (
                ("host.gpu_count", {"count": 2}),
                ("host.software", {"name": "amdgpu-driver", "version": "6.8.5"}),
                ("host.gpu_health", {"gpu": "0000:0c:00.0", "problem": "uncorrectable_ecc", "value": 2}),
                ("counter", {"family": "gpu", "counter": "pcie_replay", "value": 12, "device": "0000:0c:00.0"}),
            ),
        ),
        Sample(
            _DOCUMENT,
            (
                ("host.gpu_health", {"gpu": "1", "problem": "uncorrectable_ecc", "value": 3}),
                ("host.gpu_health", {"gpu": "1", "problem": "throttled"}),
            ),
            path="amd_smi_metric.json",
        ),
        Sample(
            "gpu,gfx_activity,total_correctable_count,total_uncorrectable_count\n0,99,0,0\n1,0,1,5\n",
            (("host.gpu_health", {"gpu": "1", "problem": "uncorrectable_ecc", "value": 5}),),
            path="amd_smi.csv",
        ),
        Sample('[{"gpu": 0, "loss": 1.2}]\n', path="steps.json"),
        Sample("GPU: 0\nstep 12\n"),
    ),
)
