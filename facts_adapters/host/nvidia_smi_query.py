"""``nvidia-smi -q`` as text and as XML (``-x``), driver 450 .. 580.

Volatile ECC counters run since the driver was loaded. Aggregate ones run over the life of the GPU and survive its
repair: they say nothing about now and are not read.
"""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass

from engine.facts.model import CounterSample, Observation, Reading, Scalar, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.host._gpu_state import Property, counters, health, key
from facts_adapters.host._statement import Counting, state

_GPU = re.compile(r"GPU (?P<gpu>[0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s*$")
_ENTRY = re.compile(r"(?P<indent> *)(?P<name>[^:]+?) *: ?(?P<value>.*)$")
_HEADING = re.compile(r"(?P<indent> +)(?P<name>[A-Za-z][\w /()-]*?)\s*$")
_UUID = re.compile(r"\s+GPU UUID +: (?P<uuid>GPU-[0-9a-f-]{8,50})\s*$")
_COUNT = re.compile(r"Attached GPUs +: (?P<count>\d{1,18})")
_TIMESTAMP = re.compile(r"Timestamp +: (?P<when>\w.*)$")
_ELEMENT = re.compile(r"<gpu id=\"(?P<id>[^\"]{1,40})\"")
_LONGEST_DOCUMENT = 32 << 20
_MOST_PROPERTIES = 10_000
_DEEPEST = 30
_DRIVER = re.compile(r"Driver Version +: (?P<version>[\d.]+)")


def sniff(head: Head) -> Verdict:
    """The title of the log, or the root element."""
    if "<nvidia_smi_log>" in head.text or "nvsmi_device" in head.text:
        return Verdict(0.95, "nvidia-smi -q -x")
    found = "NVSMI LOG" in head.text or (any(_GPU.match(line) for line in head.lines) and "Product Name" in head.text)
    return Verdict(0.9, "nvidia-smi -q") if found else Verdict(0.0, "no nvidia-smi log")


def read(file: EvidenceFile, context: Context) -> Iterator[Observation | CounterSample]:
    """``host.gpu_health``, ``host.pcie_degraded``, ``host.gpu_count`` and the driver as ``host.software``.

    Uncorrectable errors since the driver was loaded and PCIe replays also come as counter samples of family ``gpu``.
    """
    head = list(itertools.islice(file.lines(), 50))
    if any("<nvidia_smi_log" in line.text for line in head):
        yield from _documents(file, context)
        return
    report = _Report(file, context.snapshot_time(file.path))
    gpu, properties, headings = "", list[Property](), list[tuple[int, str]]()
    for line in file.lines():
        stamp = _TIMESTAMP.match(line.text)
        if stamp:
            yield from report.gpu(gpu, properties)
            gpu, properties = "", []
            report.when = context.reading(stamp["when"]) or report.when
            continue
        yield from _summary(report, line)
        start = _GPU.match(line.text)
        if start:
            yield from report.gpu(gpu, properties)
            gpu, properties, headings = start["gpu"].lower(), [], []
            continue
        uuid = _UUID.match(line.text)
        if uuid and gpu:
            yield state(file, line, "identity.gpu", {"bdf": gpu, "uuid": uuid["uuid"]})
        entry, heading = _ENTRY.match(line.text), _HEADING.match(line.text)
        indent = len(entry["indent"]) if entry else len(heading["indent"]) if heading else 0
        while headings and headings[-1][0] >= indent:
            headings.pop()
        if entry and gpu and len(properties) < _MOST_PROPERTIES:
            way = (*(name for _, name in headings), key(entry["name"]))
            properties.append((line.number, way, entry["value"]))
        elif heading:
            headings.append((indent, key(heading["name"])))
    yield from report.gpu(gpu, properties)


@dataclass(slots=True)
class _Report:
    """One report of the tool; ``when`` is its own stamp, else the time of the snapshot."""

    file: EvidenceFile
    when: Reading | None

    def gpu(self, gpu: str, properties: list[Property]) -> Iterator[Observation | CounterSample]:
        """What the properties of one GPU tell."""
        for found in health(self.file.path, gpu, properties):
            found.when = self.when
            yield found
        counting = Counting(self.file, "gpu", "nvidia_smi_query", self.when)
        for counter, (number, value) in counters(properties).items():
            yield counting.sample(Line(number, f"{counter}: {value}"), counter, value, gpu)


def _summary(report: _Report, line: Line) -> Iterator[Observation]:
    count, driver = _COUNT.match(line.text), _DRIVER.match(line.text)
    if count:
        yield state(report.file, line, "host.gpu_count", {"count": int(count["count"])}, report.when)
    elif driver:
        fields = {"name": "nvidia-driver", "version": driver["version"]}
        yield state(report.file, line, "host.software", fields, report.when)


def _documents(file: EvidenceFile, context: Context) -> Iterator[Observation | CounterSample]:
    """The XML documents of a file, one after the other; each is read as far as the limits allow."""
    lines: list[Line] = []
    size, started = 0, False
    for line in file.lines():
        if "<!ENTITY" in line.text:
            context.warn(file.path, line.number, "XML with entities of its own is not read")
            return
        started = started or "<nvidia_smi_log" in line.text
        if not started:
            continue
        lines.append(line)
        size += len(line.text)
        if size > _LONGEST_DOCUMENT:
            context.warn(file.path, line.number, "this XML is too long for one host; the rest is not read")
            return
        if "</nvidia_smi_log>" in line.text:
            yield from _xml(file, lines, context)
            lines, size, started = [], 0, False
    if lines:
        yield from _xml(file, lines, context)


def _xml(file: EvidenceFile, lines: list[Line], context: Context) -> Iterator[Observation | CounterSample]:
    text = "\n".join(line.text for line in lines)
    text = text[text.index("<nvidia_smi_log") :]
    end = text.rfind("</nvidia_smi_log>")
    try:
        root = ET.fromstring(text[: end + len("</nvidia_smi_log>")] if end >= 0 else text)  # noqa: S314 - no entities
    except (ET.ParseError, ValueError) as error:
        context.warn(file.path, lines[0].number, f"this XML cannot be read: {error}")
        return
    report = _Report(file, context.reading(root.findtext("timestamp") or "") or context.snapshot_time(file.path))
    yield from _xml_summary(report, lines, root)
    places = {match["id"]: line.number for line in lines if (match := _ELEMENT.search(line.text))}
    for element in root.iter("gpu"):
        name = element.get("id") or ""
        number, uuid = places.get(name, lines[0].number), (element.findtext("uuid") or "").strip()
        if uuid:
            text = f"{name.lower()} {uuid}"
            yield Observation("identity.gpu", Source(file.path, number, text), {"bdf": name.lower(), "uuid": uuid})
        yield from report.gpu(name.lower(), list(_walk(element, (), number)))


def _xml_summary(report: _Report, lines: list[Line], root: ET.Element) -> Iterator[Observation]:
    def found(tag: str) -> tuple[Line, str]:
        line = next((item for item in lines if f"<{tag}>" in item.text), lines[0])
        return line, (root.findtext(tag) or "").strip()

    line, count = found("attached_gpus")
    if count.isdigit() and len(count) < 10:
        yield state(report.file, line, "host.gpu_count", {"count": int(count)}, report.when)
    line, version = found("driver_version")
    if version:
        fields: dict[str, Scalar] = {"name": "nvidia-driver", "version": version[:40]}
        yield state(report.file, line, "host.software", fields, report.when)


def _walk(element: ET.Element, way: tuple[str, ...], number: int) -> Iterator[Property]:
    for child in element:
        path = (*way, key(child.tag))
        if len(child) and len(path) < _DEEPEST:
            yield from _walk(child, path, number)
        elif child.text:
            yield number, path, child.text.strip()


_TEXT = """\
==============NVSMI LOG==============
Timestamp                                 : Mon Nov 30 13:10:55 2026
Driver Version                            : 550.90.07
Attached GPUs                             : 8
GPU 00000000:10:1C.0
    Product Name                          : NVIDIA H100 80GB HBM3
    GPU UUID                              : GPU-8a5d0000-0000-0000-0000-000000000001
    GPU Recovery Action                   : Reset
    PCI
        Replays Since Reset               : 41
        GPU Link Info
            PCIe Generation
                Max                       : 5
                Current                   : 1
            Link Width
                Max                       : 16x
                Current                   : 8x
    Clocks Event Reasons
        HW Slowdown                       : Active
            HW Thermal Slowdown           : Not Active
    ECC Errors
        Volatile
            SRAM Correctable              : 0
            DRAM Uncorrectable            : 2
        Aggregate
            DRAM Uncorrectable            : 7
    Remapped Rows
        Correctable Error                 : 0
        Pending                           : Yes
        Remapping Failure Occurred        : No
GPU 00000000:20:1C.0
    Product Name                          : NVIDIA H100 80GB HBM3
    Remapped Rows
        Pending                           : No
        Remapping Failure Occurred        : No
"""
_DOCUMENT = """\
<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
	<driver_version>550.90.07</driver_version>
	<attached_gpus>7</attached_gpus>
	<gpu id="00000000:10:1C.0">
		<uuid>GPU-8a5d0000-0000-0000-0000-000000000001</uuid>
		<remapped_rows>
			<remapped_row_pending>No</remapped_row_pending>
			<remapped_row_failure>Yes</remapped_row_failure>
		</remapped_rows>
	</gpu>
</nvidia_smi_log>
"""

ADAPTER = Adapter(
    name="nvidia_smi_query",
    branch="host",
    emits=(
        *("host.gpu_health", "host.pcie_degraded", "host.gpu_count", "host.software", "host.counter_rise"),
        "identity.gpu",
    ),
    coverage="gpu_state",
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            _TEXT,
            (
                ("host.gpu_count", {"count": 8}),
                ("host.software", {"name": "nvidia-driver", "version": "550.90.07"}),
                ("host.gpu_health", {"gpu": "00000000:10:1c.0", "problem": "remap_pending"}),
                ("host.gpu_health", {"problem": "uncorrectable_ecc", "value": 2}),
                ("host.gpu_health", {"problem": "throttled"}),
                ("host.gpu_health", {"problem": "recovery_needed"}),
                ("host.pcie_degraded", {"what": "gpu", "width": 8}),
                ("counter", {"family": "gpu", "counter": "pcie_replay", "value": 41, "device": "00000000:10:1c.0"}),
                ("counter", {"counter": "ecc_uncorrectable", "value": 2}),
                (
                    "identity.gpu",
                    {"bdf": "00000000:10:1c.0", "uuid": "GPU-8a5d0000-0000-0000-0000-000000000001"},
                ),
            ),
        ),
        Sample(
            _DOCUMENT,
            (
                ("host.gpu_count", {"count": 7}),
                ("host.gpu_health", {"gpu": "00000000:10:1c.0", "problem": "remap_failed"}),
                ("identity.gpu", {"uuid": "GPU-8a5d0000-0000-0000-0000-000000000001"}),
            ),
            path="nvidia-smi.xml",
        ),
        Sample(
            _DOCUMENT + _DOCUMENT.replace("10:1C.0", "20:1C.0"),
            (("host.gpu_health", {"gpu": "00000000:20:1c.0", "problem": "remap_failed"}),),
            path="twice.xml",
        ),
        Sample(_DOCUMENT.replace("SYSTEM", '[<!ENTITY a "aaaa">] SYSTEM'), path="entities.xml"),
        Sample("GPU 0 is used by rank 0\n"),
    ),
)
