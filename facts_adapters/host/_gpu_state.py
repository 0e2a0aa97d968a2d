"""What the properties of one GPU say about its health, whatever format they were printed in."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.facts.model import Observation, Scalar, Source

Property = tuple[int, tuple[str, ...], str]
"""Line, path of headings in lower case without punctuation, value."""

_SLOW = ("hw slowdown", "hw thermal slowdown", "hw power brake slowdown", "sw thermal slowdown")
_WORKS = ("none", "n/a", "not active", "", "unknown error", "requested functionality has been deprecated")
_WIDTH = re.compile(r"(?P<width>\d{1,18})x?$")


def key(text: str) -> str:
    """A heading as it is compared: ``Remapping Failure Occurred`` and ``remapped_row_failure`` become plain words."""
    return re.sub(r"[^a-z0-9]+", " ", text.lower()).strip()


def health(path: str, gpu: str, properties: list[Property]) -> Iterator[Observation]:
    """Observations about one GPU; nothing where all is well."""
    for number, way, value in properties:
        found = _problem(way, value)
        if found:
            problem, count = found
            fields: dict[str, Scalar] = {"gpu": gpu, "problem": problem, "text": f"{' / '.join(way)}: {value}"}
            if count is not None:
                fields["value"] = count
            yield Observation("host.gpu_health", Source(path, number, f"{way[-1]}: {value}"), fields)
    yield from _link(path, gpu, properties)


def counters(properties: list[Property]) -> dict[str, tuple[int, int]]:
    """Counters since the driver was loaded, by name: where the first of them stands, and their sum."""
    found: dict[str, tuple[int, int]] = {}
    for number, way, value in properties:
        text, above, name = value.strip(), " ".join(way[:-1]), way[-1]
        if not text.isdigit() or len(text) > 18:
            continue
        if name in ("replays since reset", "replay counter"):
            found["pcie_replay"] = (number, int(text))
        elif "volatile" in above and name.startswith(("sram uncorrectable", "dram uncorrectable")):
            first, total = found.get("ecc_uncorrectable", (number, 0))
            found["ecc_uncorrectable"] = (first, total + int(text))
    return found


def _problem(way: tuple[str, ...], value: str) -> tuple[str, int | None] | None:
    name, text = way[-1], value.strip().lower()
    above = " ".join(way[:-1])
    remapped = "remap" in above or "remap" in name
    if remapped and "pending" in name and text == "yes":
        return "remap_pending", None
    if remapped and "failure" in name and text == "yes":
        return "remap_failed", None
    if "ecc" in above and "volatile" in above and "uncorrectable" in " ".join(way):
        count = int(text) if text.isdigit() else 0
        return ("uncorrectable_ecc", count) if count and not above.endswith("parity") else None
    if name in _SLOW and text == "active" and "counter" not in above:
        return "throttled", None
    if "recovery action" in name and text not in _WORKS:
        return "recovery_needed", None
    if name == "state" and "fabric" in above and text in ("in progress", "not started"):
        return "fabric_not_ready", None
    return None


def _link(path: str, gpu: str, properties: list[Property]) -> Iterator[Observation]:
    """A PCIe link narrower than the device can; the generation falls when idle and is no fault."""
    widths: dict[str, tuple[int, int]] = {}
    for number, way, value in properties:
        match = _WIDTH.match(value.strip())
        if match and "link width" in " ".join(way):
            side = "max" if "max" in way[-1] else "current" if "current" in way[-1] else ""
            widths.setdefault(side, (int(match["width"]), number))
    if "max" in widths and "current" in widths and widths["current"][0] < widths["max"][0]:
        width, number = widths["current"]
        text = f"x{width} of x{widths['max'][0]}"
        fields: dict[str, Scalar] = {"bdf": gpu, "what": "gpu", "width": width, "text": text}
        yield Observation("host.pcie_degraded", Source(path, number, text), fields)
