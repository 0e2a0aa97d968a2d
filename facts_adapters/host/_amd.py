"""What the properties of one AMD GPU say about its health, whatever tool and format they were printed in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engine.facts.model import CounterSample, Observation, Scalar
from facts_adapters.adapter import Line
from facts_adapters.host._statement import Counting, state

Property = tuple[Line, tuple[str, ...], str]
"""Line, path of headings in lower case with underscores, value."""

_UNCORRECTABLE = ("total_uncorrectable_count", "uncorrectable_error")
_REPLAYS = ("pcie_replay_count", "replay_count")
_LINKED = ("read_error_count", "write_error_count", "xgmi_errors")
_LONGEST_NUMBER = 18


def judged(counting: Counting, gpu: str, properties: Iterable[Property]) -> Iterator[Observation | CounterSample]:
    """``host.gpu_health``, ``host.software`` and counter samples of family ``gpu``; nothing where all is well."""
    file, when = counting.file, counting.when
    for line, way, value in properties:
        name, text = way[-1], value.strip()
        count = int(text) if text.isdigit() and len(text) <= _LONGEST_NUMBER else None
        if count is not None and name in _UNCORRECTABLE:
            block = way[-2] if name == "uncorrectable_error" and len(way) > 1 else None
            yield counting.sample(line, "ecc_uncorrectable", count, gpu, block)
            if count:
                fields: dict[str, Scalar] = {"gpu": gpu, "problem": "uncorrectable_ecc", "value": count}
                yield state(file, line, "host.gpu_health", {**fields, "text": f"{' / '.join(way)}: {text}"}, when)
        elif count is not None and name in _REPLAYS:
            yield counting.sample(line, "pcie_replay", count, gpu)
        elif count is not None and name in _LINKED:
            yield counting.sample(line, "link_error", count, gpu, name)
        elif name.endswith("violation_status") and text.lower() == "active" and "thermal" in name:
            yield state(
                file, line, "host.gpu_health", {"gpu": gpu, "problem": "throttled", "text": f"{name}: {text}"}, when
            )
        elif name in ("pending", "pending_retired_pages") and count:
            yield state(file, line, "host.gpu_health", {"gpu": gpu, "problem": "remap_pending", "value": count}, when)
        elif way[-2:] == ("driver", "version") or name in ("driver_version", "driver.version"):
            yield state(file, line, "host.software", {"name": "amdgpu-driver", "version": text[:40]}, when)
