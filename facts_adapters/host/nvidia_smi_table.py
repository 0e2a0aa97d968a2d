"""``nvidia-smi --query-gpu=... --format=csv``, ``nvidia-smi -L`` and the summary table of ``nvidia-smi``.

Values such as ``[Unknown Error]``, ``ERR!`` or ``[GPU is lost]`` mean that the GPU does not answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from engine.facts.model import Observation, Reading, Scalar
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.host._statement import state

_LISTED = re.compile(r"GPU (?P<index>\d{1,18}): .*\(UUID: (?P<uuid>GPU-[0-9a-f-]+)\)")
_NAME = re.compile(r"[a-z_]+(?:\.[a-z_]+)*(?: \[[\w%./]+\])?")
_OF_LINK = re.compile(r"\s+Link \d+: ")
_ROW = re.compile(r"\|\s+(?P<index>\d{1,18})\s+\S.*(?:On|Off)\s+\|\s+(?P<bdf>[0-9A-F]{8}:[0-9A-F]{2}:[0-9A-F]{2}\.\d)")
_ERRORS = re.compile(r".*(?:On|Off) +\| +(?P<count>[1-9]\d{0,17}) \|\s*$")
_DATE = re.compile(r"[A-Z][a-z]{2} [A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d \d{4}\s*$")
_LOST = ("[unknown error]", "err!", "[gpu is lost]", "unknown error", "[gpu requires reset]")
_TELLING = (
    "pci.bus_id",
    "utilization.",
    "memory.",
    "temperature.",
    "ecc.",
    "clocks",
    "pcie.",
    "power.",
    "remapped_rows.",
)
_HARDWARE_SLOW = 0x8 | 0x40 | 0x80
"""Bits of clocks_event_reasons: hardware slowdown, hardware thermal slowdown, hardware power brake."""


def sniff(head: Head) -> Verdict:
    """A CSV header of query names, or listed GPUs."""
    if any(_columns(line) for line in head.lines[:20]):
        return Verdict(0.95, "nvidia-smi --query-gpu")
    if any(_LISTED.match(line) for line in head.lines):
        return Verdict(0.9, "nvidia-smi -L")
    return Verdict(0.9, "nvidia-smi") if "| NVIDIA-SMI" in head.text else Verdict(0.0, "no table of GPUs")


def read(file: EvidenceFile, context: Context) -> Iterator[Observation]:
    """``host.gpu_health``, ``host.gpu_lost``, ``host.gpu_count`` and the driver as ``host.software``."""
    columns: list[str] = []
    rows: dict[str, set[str]] = {"csv": set(), "list": set(), "table": set()}
    last: Line | None = None
    links = False
    when = context.snapshot_time(file.path)
    for line in file.lines():
        header = _columns(line.text)
        listed, row = _LISTED.match(line.text), _ROW.match(line.text)
        if header:
            columns = header
        elif columns and line.text.count(",") == len(columns) - 1:
            cells = dict(zip(columns, (cell.strip() for cell in line.text.split(",")), strict=True))
            rows["csv"].add(cells.get("index") or cells.get("pci.bus_id") or cells.get("uuid") or str(line.number))
            last = line
            stamp = context.reading(cells.get("timestamp", "")) or when
            for found in _cells(file, line, cells):
                found.when = stamp
                yield found
        elif listed or row:
            rows["list" if listed else "table"].add(str((listed or row)["index"]))  # type: ignore[index]
            last = line
            yield _names(file, line, (listed or row).groupdict())  # type: ignore[union-attr]
            if row:
                yield from _summary(file, line, row["bdf"].lower(), when)
        elif _DATE.match(line.text):
            when = context.reading(line.text.strip()) or when
        elif _OF_LINK.match(line.text):
            links = True  # of one GPU or of all: this is no list of the host's GPUs
    if links:
        rows["list"].clear()
    for gpus in rows.values():
        if gpus and last is not None:
            yield state(file, last, "host.gpu_count", {"count": len(gpus)}, when)


def _summary(file: EvidenceFile, line: Line, gpu: str, when: Reading | None) -> Iterator[Observation]:
    """The row of a GPU in the summary: its last column counts uncorrectable errors since the driver was loaded."""
    errors = _ERRORS.match(line.text)
    if "ERR!" in line.text:
        yield state(file, line, "host.gpu_lost", {"gpu": gpu, "text": "ERR!"}, when)
    elif errors:
        fields: dict[str, Scalar] = {"gpu": gpu, "problem": "uncorrectable_ecc", "value": int(errors["count"])}
        yield state(file, line, "host.gpu_health", {**fields, "text": "Volatile Uncorr. ECC"}, when)


def _columns(text: str) -> list[str]:
    """Names of a header without their units; at least one must be a name that only this tool has."""
    names = [name.strip() for name in text.split(",")]
    telling = any(name.startswith(_TELLING) for name in names)
    fits = len(names) > 1 and telling and all(_NAME.fullmatch(name) for name in names)
    return [name.partition(" [")[0] for name in names] if fits else []


def _cells(file: EvidenceFile, line: Line, cells: dict[str, str]) -> Iterator[Observation]:
    gpu = (cells.get("pci.bus_id") or cells.get("gpu_bus_id") or cells.get("index") or "").lower()
    yield _names(file, line, {**cells, "bdf": cells.get("pci.bus_id") or cells.get("gpu_bus_id")})
    lost = next((value for value in cells.values() if value.lower() in _LOST), None)
    if lost:
        yield state(file, line, "host.gpu_lost", {"gpu": gpu, "text": lost})
    for name, value in cells.items():
        fields = _problem(name, value)
        if fields:
            yield state(file, line, "host.gpu_health", {"gpu": gpu, "text": f"{name} {value}", **fields})
    if cells.get("driver_version", "")[:1].isdigit():
        yield state(file, line, "host.software", {"name": "nvidia-driver", "version": cells["driver_version"]})
    yield from _link(file, line, gpu, cells)


def _names(file: EvidenceFile, line: Line, cells: Mapping[str, str | None]) -> Observation:
    """What the columns call the GPU; a value that is no name of its kind names nothing."""
    index = cells.get("index") or ""
    fields: dict[str, Scalar] = {
        "bdf": cells.get("bdf") or "",
        "uuid": cells.get("uuid") or cells.get("gpu_uuid") or "",
    }
    if index.isdecimal():
        fields["index"] = int(index)
    return state(file, line, "identity.gpu", fields)


def _problem(name: str, value: str) -> dict[str, Scalar]:
    text = value.lower()
    if name.startswith("ecc.errors.uncorrected.volatile") and value.isdigit() and int(value):
        return {"problem": "uncorrectable_ecc", "value": int(value)}
    if name == "remapped_rows.pending" and text in ("yes", "1"):
        return {"problem": "remap_pending"}
    if name == "remapped_rows.failure" and text in ("yes", "1"):
        return {"problem": "remap_failed"}
    if name in ("clocks_throttle_reasons.active", "clocks_event_reasons.active") and text.startswith("0x"):
        try:
            return {"problem": "throttled"} if int(text, 16) & _HARDWARE_SLOW else {}
        except ValueError:
            return {}
    if re.fullmatch(r"clocks_(?:throttle|event)_reasons\.hw_\w+", name) and text == "active":
        return {"problem": "throttled"}
    return {"problem": "recovery_needed"} if name == "gpu_recovery_action" and text not in ("none", "[n/a]") else {}


def _link(file: EvidenceFile, line: Line, gpu: str, cells: dict[str, str]) -> Iterator[Observation]:
    current, most = cells.get("pcie.link.width.current", ""), cells.get("pcie.link.width.max", "")
    if current.isdigit() and most.isdigit() and int(current) < int(most):
        text = f"x{current} of x{most}"
        fields: dict[str, Scalar] = {"bdf": gpu, "what": "gpu", "width": int(current), "text": text}
        yield state(file, line, "host.pcie_degraded", fields)


_CSV = """\
index, pci.bus_id, name, utilization.gpu [%], ecc.errors.uncorrected.volatile.total, clocks_throttle_reasons.active
0, 00000000:16:00.0, NVIDIA L40S, 100 %, 0, 0x0000000000000000
1, 00000000:38:00.0, NVIDIA L40S, 100 %, 4, 0x0000000000000008
2, 00000000:98:00.0, NVIDIA L40S, [Unknown Error], 0, 0x0000000000000000
"""
_LIST = """\
GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-8a5d0000-0000-0000-0000-000000000001)
GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-8a5d0000-0000-0000-0000-000000000002)
"""
_SUMMARY = """\
Thu Jul 16 13:45:40 2026
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.90.07              Driver Version: 550.90.07      CUDA Version: 12.4     |
|=========================================+========================+======================|
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:18:00.0 Off |                    2 |
| N/A   31C    P0             71W /  700W |       1MiB /  81559MiB |      0%      Default |
+-----------------------------------------+------------------------+----------------------+
|   1  NVIDIA H100 80GB HBM3          On  |   00000000:2A:00.0 Off |                 ERR! |
+-----------------------------------------+------------------------+----------------------+
"""

ADAPTER = Adapter(
    name="nvidia_smi_table",
    branch="host",
    emits=("host.gpu_health", "host.gpu_lost", "host.gpu_count", "host.software", "host.pcie_degraded", "identity.gpu"),
    coverage="gpu_state",
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            _CSV,
            (
                ("host.gpu_health", {"gpu": "00000000:38:00.0", "problem": "uncorrectable_ecc", "value": 4}),
                ("host.gpu_health", {"gpu": "00000000:38:00.0", "problem": "throttled"}),
                ("host.gpu_lost", {"gpu": "00000000:98:00.0"}),
                ("host.gpu_count", {"count": 3}),
                ("identity.gpu", {"index": 1, "bdf": "00000000:38:00.0"}),
            ),
            path="nvidia_smi_query.csv",
        ),
        Sample(
            _SUMMARY,
            (
                ("host.gpu_health", {"gpu": "00000000:18:00.0", "problem": "uncorrectable_ecc", "value": 2}),
                ("host.gpu_lost", {"gpu": "00000000:2a:00.0"}),
                ("host.gpu_count", {"count": 2}),
            ),
        ),
        Sample(
            _LIST,
            (
                ("host.gpu_count", {"count": 2}),
                ("identity.gpu", {"index": 1, "uuid": "GPU-8a5d0000-0000-0000-0000-000000000002"}),
            ),
        ),
        Sample("step, loss, name\n1, 2.0, a\n"),
    ),
)
