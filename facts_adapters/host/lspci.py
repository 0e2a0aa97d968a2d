"""``lspci -vvv``: links that trained below their capability and bridges whose access control redirects traffic.

Without root rights lspci prints no ``ACSCtl``, so its absence says nothing. A device that does not answer reads as
ones: ``(rev ff)`` and an unknown header type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.host._statement import state

_DEVICE = re.compile(r"(?P<bdf>(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) (?P<name>[^:]+): (?P<rest>.*)")
_CAPABLE = re.compile(r"\s+LnkCap:.*Speed (?P<speed>[\d.]+)GT/s.*Width x(?P<width>\d{1,18})")
_STATUS = re.compile(r"\s+LnkSta:\s*Speed (?P<speed>[\d.]+)GT/s[^,]*, Width x(?P<width>\d{1,18})")
_REDIRECTS = re.compile(r"\s+ACSCtl:.*(?:ReqRedir\+|CmpltRedir\+|UpstreamFwd\+)")
_GPU = re.compile(r"3D controller|VGA.*NVIDIA|Processing accelerators|Display controller: Advanced Micro")
_NIC = re.compile(r"Ethernet controller|Infiniband controller|Network controller")
_SILENT = re.compile(r"\(rev ff\)")
_NOT_USED = re.compile(r"System peripheral|Non-Volatile|SATA|USB|Audio|Serial")


def sniff(head: Head) -> Verdict:
    """Devices with link capability and status."""
    found = "LnkCap:" in head.text and any(_DEVICE.match(line) for line in head.lines)
    acs = "ACSCtl:" in head.text and any(_DEVICE.match(line) for line in head.lines)
    silent = "(rev ff)" in head.text and any(_DEVICE.match(line) for line in head.lines)
    return Verdict(0.9, "lspci -vvv") if found or acs or silent else Verdict(0.0, "no PCI devices with links")


def read(file: EvidenceFile, _context: Context) -> Iterator[Observation]:
    """``host.pcie_degraded`` for narrow or slow links, ``host.acs_enabled`` for bridges that redirect.

    A GPU that does not answer is ``host.gpu_lost``, another card ``host.pcie_link_down``.
    """
    bdf, what, skipped = "", "other", False
    capable: re.Match[str] | None = None
    for line in file.lines():
        device = _DEVICE.match(line.text)
        if device:
            title = f"{device['name']}: {device['rest']}"
            bdf, what, capable = device["bdf"], _what(title), None
            skipped = bool(_NOT_USED.search(device["name"]))
            if _SILENT.search(device["rest"]) and what in ("gpu", "nic"):
                yield _unanswered(file, line, bdf, what)
            continue
        capable = _CAPABLE.match(line.text) or capable
        status = _STATUS.match(line.text)
        if status and capable and not skipped:
            yield from _degraded(file, line, bdf, what, capable, status)
            capable = None
        elif _REDIRECTS.match(line.text) and bdf:
            yield state(file, line, "host.acs_enabled", {"bdf": bdf, "text": line.text.strip()})


def _unanswered(file: EvidenceFile, line: Line, bdf: str, what: str) -> Observation:
    text = "configuration space reads as ones"
    if what == "gpu":
        return state(file, line, "host.gpu_lost", {"gpu": bdf, "text": text})
    return state(file, line, "host.pcie_link_down", {"bdf": bdf, "text": text})


def _what(title: str) -> str:
    if _GPU.search(title):
        return "gpu"
    if _NIC.search(title):
        return "nic"
    return "bridge" if "bridge" in title else "other"


def _degraded(
    file: EvidenceFile, line: Line, bdf: str, what: str, capable: re.Match[str], status: re.Match[str]
) -> Iterator[Observation]:
    """A GPU lowers its speed when idle, so only its width counts; an unused port has width 0."""
    width, speed = int(status["width"]), float(status["speed"])
    narrow = 0 < width < int(capable["width"])
    slow = what == "nic" and width > 0 and speed < float(capable["speed"])
    if what in ("gpu", "nic") and (narrow or slow):
        text = f"{status['speed']} GT/s x{width} of {capable['speed']} GT/s x{capable['width']}"
        fields: dict[str, Scalar] = {"bdf": bdf, "what": what, "width": width, "speed_gts": speed, "text": text}
        yield state(file, line, "host.pcie_degraded", fields)


_REPORT = """\
40:01.0 PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch (rev b0)
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 32GT/s, Width x16
\t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans+
\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-
4f:00.0 Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 16GT/s (downgraded), Width x8 (downgraded)
18:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x16
"""

ADAPTER = Adapter(
    name="lspci",
    branch="host",
    emits=("host.pcie_degraded", "host.acs_enabled", "host.gpu_lost", "host.pcie_link_down"),
    coverage=None,
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            _REPORT,
            (
                ("host.acs_enabled", {"bdf": "40:01.0"}),
                ("host.pcie_degraded", {"bdf": "4f:00.0", "what": "nic", "width": 8, "speed_gts": 16.0}),
            ),
        ),
        Sample(
            "18:00.0 3D controller: NVIDIA Corporation GH100 (rev ff) (prog-if ff)\n\t!!! Unknown header type 7f\n"
            "4f:00.0 Infiniband controller: Mellanox Technologies MT2910 (rev ff) (prog-if ff)\n",
            (("host.gpu_lost", {"gpu": "18:00.0"}), ("host.pcie_link_down", {"bdf": "4f:00.0"})),
        ),
        Sample("18:00.0 3D controller: NVIDIA Corporation GH100\n\t\tLnkCap:\tSpeed 32GT/s, Width x16\n"),
    ),
)
