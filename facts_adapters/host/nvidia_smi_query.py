"""``nvidia-smi -q`` as text and as XML (``-x``), driver 450 .. 580.

Volatile ECC counters run since the driver was loaded, aggregate ones over the life of the GPU.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator

from engine.facts.model import Observation, Scalar, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.host._gpu_state import Property, health, key
from facts_adapters.host._statement import state

_GPU = re.compile(r"GPU (?P<gpu>[0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])\s*$")
_ENTRY = re.compile(r"(?P<indent> *)(?P<name>[^:]+?) *: ?(?P<value>.*)$")
_HEADING = re.compile(r"(?P<indent> +)(?P<name>[A-Za-z][\w /()-]*?)\s*$")
_UUID = re.compile(r"\s+GPU UUID +: (?P<uuid>GPU-[0-9a-f-]{8,50})\s*$")
_COUNT = re.compile(r"Attached GPUs +: (?P<count>\d{1,18})")
_DRIVER = re.compile(r"Driver Version +: (?P<version>[\d.]+)")


def sniff(head: Head) -> Verdict:
    """The title of the log, or the root element."""
    if "<nvidia_smi_log>" in head.text or "nvsmi_device" in head.text:
        return Verdict(0.95, "nvidia-smi -q -x")
    found = "NVSMI LOG" in head.text or (any(_GPU.match(line) for line in head.lines) and "Product Name" in head.text)
    return Verdict(0.9, "nvidia-smi -q") if found else Verdict(0.0, "no nvidia-smi log")


def read(file: EvidenceFile, context: Context) -> Iterator[Observation]:
    """``host.gpu_health``, ``host.pcie_degraded``, ``host.gpu_count`` and the driver as ``host.software``."""
    lines = list(file.lines())
    if any("<nvidia_smi_log" in line.text for line in lines[:50]):
        yield from _xml(file, lines, context)
        return
    gpu, properties, headings = "", list[Property](), list[tuple[int, str]]()
    for line in lines:
        yield from _summary(file, line)
        start = _GPU.match(line.text)
        if start:
            yield from health(file.path, gpu, properties)
            gpu, properties, headings = start["gpu"].lower(), [], []
            continue
        uuid = _UUID.match(line.text)
        if uuid and gpu:
            yield state(file, line, "identity.gpu", {"bdf": gpu, "uuid": uuid["uuid"]})
        entry, heading = _ENTRY.match(line.text), _HEADING.match(line.text)
        indent = len(entry["indent"]) if entry else len(heading["indent"]) if heading else 0
        while headings and headings[-1][0] >= indent:
            headings.pop()
        if entry and gpu:
            way = (*(name for _, name in headings), key(entry["name"]))
            properties.append((line.number, way, entry["value"]))
        elif heading:
            headings.append((indent, key(heading["name"])))
    yield from health(file.path, gpu, properties)


def _summary(file: EvidenceFile, line: Line) -> Iterator[Observation]:
    count, driver = _COUNT.match(line.text), _DRIVER.match(line.text)
    if count:
        yield state(file, line, "host.gpu_count", {"count": int(count["count"])})
    elif driver:
        yield state(file, line, "host.software", {"name": "nvidia-driver", "version": driver["version"]})


def _xml(file: EvidenceFile, lines: list[Line], context: Context) -> Iterator[Observation]:
    text = "\n".join(line.text for line in lines)
    if "<!ENTITY" in text:
        context.warn(file.path, 1, "XML with entities of its own is not read")
        return
    try:
        root = ET.fromstring(text[text.index("<nvidia_smi_log") :])  # noqa: S314 - entities were refused
    except (ET.ParseError, ValueError) as error:
        context.warn(file.path, 1, f"this XML cannot be read: {error}")
        return
    yield from _xml_summary(file, lines, root)
    for element in root.iter("gpu"):
        gpu = (element.get("id") or "").lower()
        start = next((line.number for line in lines if f'id="{element.get("id")}"' in line.text), 1)
        uuid = (element.findtext("uuid") or "").strip()
        if uuid:
            text = f"{gpu} {uuid}"
            yield Observation("identity.gpu", Source(file.path, start, text), {"bdf": gpu, "uuid": uuid})
        yield from health(file.path, gpu, list(_walk(element, (), start)))


def _xml_summary(file: EvidenceFile, lines: list[Line], root: ET.Element) -> Iterator[Observation]:
    def found(tag: str) -> tuple[Line, str]:
        line = next((item for item in lines if f"<{tag}>" in item.text), lines[0])
        return line, (root.findtext(tag) or "").strip()

    line, count = found("attached_gpus")
    if count.isdigit():
        yield state(file, line, "host.gpu_count", {"count": int(count)})
    line, version = found("driver_version")
    if version:
        fields: dict[str, Scalar] = {"name": "nvidia-driver", "version": version}
        yield state(file, line, "host.software", fields)


def _walk(element: ET.Element, way: tuple[str, ...], number: int) -> Iterator[Property]:
    for child in element:
        path = (*way, key(child.tag))
        if len(child):
            yield from _walk(child, path, number)
        elif child.text:
            yield number, path, child.text.strip()


_TEXT = """\
==============NVSMI LOG==============
Driver Version                            : 550.90.07
Attached GPUs                             : 8
GPU 00000000:10:1C.0
    Product Name                          : NVIDIA H100 80GB HBM3
    GPU UUID                              : GPU-8a5d0000-0000-0000-0000-000000000001
    GPU Recovery Action                   : Reset
    PCI
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
    emits=("host.gpu_health", "host.pcie_degraded", "host.gpu_count", "host.software", "identity.gpu"),
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
        Sample("GPU 0 is used by rank 0\n"),
    ),
)
