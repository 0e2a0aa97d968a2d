"""``rocm-smi`` as text and JSON (ROCm 4 .. 6): GPUs, errors per block (``--showrasinfo``), driver, pending pages."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.facts.model import CounterSample, Observation
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.host._amd import Property, judged
from facts_adapters.host._statement import Counting, json_report, state

_NAME = "rocm_smi"
_TITLE = re.compile(r"=+ ?ROC(?:m|k) (?:System Management Interface|SMI)", re.IGNORECASE)
_OF_GPU = re.compile(r"GPU\[(?P<gpu>\d{1,4})\]\s*: (?P<name>[^:]{1,80}?)\s*:\s*(?P<value>.*)$")
_BLOCK = re.compile(
    r"\s{1,40}(?P<block>[A-Z][A-Z0-9_]{1,20})\s+(?:EN|DIS)ABLED\s+(?P<ce>\d{1,18})\s+(?P<ue>\d{1,18})\s*$"
)
_ROW = re.compile(r"(?P<gpu>\d{1,4})\s.*\s\d{1,3}%\s+\d{1,3}%\s*$")
_DRIVER = re.compile(r"Driver version: (?P<version>[\w.-]+)")
_CARD = re.compile(r"card(?P<gpu>\d{1,4})$")


def sniff(head: Head) -> Verdict:
    """The title of the tool, or cards as JSON."""
    if "ROC" in head.text and any(_TITLE.match(line) for line in head.lines):
        return Verdict(0.95, "rocm-smi")
    text = head.text.lstrip()
    found = text.startswith("{") and re.match(r'\{\s*"(?:card\d+|system)": ?\{', text)
    known = found and any(name in text for name in ("GPU", "VRAM", "Driver version", "Temperature"))
    return Verdict(0.9, "rocm-smi --json") if known else Verdict(0.0, "no output of rocm-smi")


def read(file: EvidenceFile, context: Context) -> Iterator[Observation | CounterSample]:
    """``host.gpu_count``, ``host.gpu_health``, ``host.software`` and counter samples of family ``gpu``."""
    counting = Counting(file, "gpu", _NAME, context.snapshot_time(file.path))
    gpus, rows = dict[str, list[Property]](), dict[str, Line]()
    gpu = ""
    document = next((line.text.lstrip() for line in file.lines() if line.text.strip()), "").startswith("{")
    if document:
        gpus = _document(file, context)
        rows = {name: found[0][0] for name, found in gpus.items() if name and found}
    for line in () if document else file.lines():
        of_gpu, block, row = _OF_GPU.match(line.text), _BLOCK.match(line.text), _ROW.match(line.text)
        driver = _DRIVER.search(line.text)
        if of_gpu:
            gpu = of_gpu["gpu"]
            way = (re.sub(r"\W+", "_", of_gpu["name"].lower()),)
            gpus.setdefault(gpu, []).append((line, way, of_gpu["value"]))
        elif block and gpu:
            error = (block["block"].lower(), "uncorrectable_error")
            gpus.setdefault(gpu, []).append((line, error, block["ue"]))
        elif row:
            rows[row["gpu"]] = line
        elif driver:
            gpus.setdefault("", []).append((line, ("driver_version",), driver["version"]))
    for name, properties in gpus.items():
        yield from judged(counting, name, properties)
    if rows:
        where = list(rows.values())[-1]
        yield state(file, where, "host.gpu_count", {"count": len(rows)}, counting.when)


def _document(file: EvidenceFile, context: Context) -> dict[str, list[Property]]:
    lines, document = json_report(file, context)
    if not lines:
        return {}
    if not isinstance(document, dict):
        context.warn(file.path, 1, "this JSON cannot be read")
        return {}
    found: dict[str, list[Property]] = {}
    for name, body in document.items():
        card = _CARD.match(name)
        line = next((item for item in lines if f'"{name}"' in item.text), lines[0])
        for key, value in body.items() if isinstance(body, dict) else ():
            way = (re.sub(r"\W+", "_", str(key).lower()),)
            found.setdefault(card["gpu"] if card else "", []).append((line, way, str(value)))
    return found


_CONCISE = """\
========================= ROCm System Management Interface =========================
=================================== Concise Info ===================================
Device  Node  IDs              Temp        Power     SCLK    MCLK     Fan  Perf  PwrCap   VRAM%  GPU%
====================================================================================
0       2     0x74a1,   28851  41.0C       140.0W    132Mhz  900Mhz   0%   auto  750.0W   0%     0%
1       3     0x74a1,   51499  37.0C       138.0W    131Mhz  900Mhz   0%   auto  750.0W   0%     0%
====================================================================================
=============================== End of ROCm SMI Log ================================
"""
_RAS = """\
============================ ROCm System Management Interface ============================
======================================== RAS Info ========================================
GPU[0]\t\t: RAS INFO:
         Block     Status  Correctable Error  Uncorrectable Error
           UMC    ENABLED                  0                    2
           GFX    ENABLED                  4                    0
=================================== End of ROCm SMI Log ==================================
"""
_JSON = '{"card0": {"GPU use (%)": "0", "GPU Memory Allocated (VRAM%)": "0"}, "system": {"Driver version": "6.7.0"}}\n'

ADAPTER = Adapter(
    name=_NAME,
    branch="host",
    emits=("host.gpu_count", "host.gpu_health", "host.software", "host.counter_rise"),
    coverage="gpu_state",
    sniff=sniff,
    read=read,
    samples=(
        Sample(_CONCISE, (("host.gpu_count", {"count": 2}),)),
        Sample(
            _RAS,
            (
                ("host.gpu_health", {"gpu": "0", "problem": "uncorrectable_ecc", "value": 2}),
                ("counter", {"family": "gpu", "counter": "ecc_uncorrectable", "value": 2, "port": "umc"}),
            ),
        ),
        Sample(
            _JSON,
            (("host.gpu_count", {"count": 1}), ("host.software", {"name": "amdgpu-driver", "version": "6.7.0"})),
            path="rocm_smi.json",
        ),
        Sample('{"card0": {"suit": "hearts"}}\n', path="cards.json"),
        Sample("rocm-smi was not found\n"),
    ),
)
