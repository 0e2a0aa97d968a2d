"""``systemctl status`` of the services that a training host needs, also inside other output (systemd 219 .. 256)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Context, Sample
from facts_adapters.text.blocks import Block, BlockReader

_HEAD = re.compile(r"[●○×*x↻] (?P<unit>[\w@.:-]+\.(?:service|mount|socket|slice|scope|target))(?: - .*)?$")
_ACTIVE = re.compile(r"\s+Active: (?P<active>\w+) \((?P<detail>[^)]*)\)")
_LOADED = re.compile(r"\s+Loaded: (?P<loaded>[\w-]+)")
_FABRIC = re.compile(r"nvidia-(?P<service>fabricmanager|imex)")
_INDENTED = re.compile(r"\s+\S|$")


def begins(message: str) -> bool:
    """True for the line with the mark and the unit."""
    return _HEAD.match(message.strip()) is not None


def continues(so_far: Sequence[str], message: str) -> bool:
    """True for the indented properties."""
    return len(so_far) < 60 and not begins(message) and bool(_INDENTED.match(message))


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``host.fabric_manager`` for that service and IMEX, ``host.service_failed`` for others that failed."""
    head = _HEAD.match(block.lines[0].text.strip())
    if head is None:
        return
    unit, active, detail, number = head["unit"], "", "", block.lines[0].number
    loaded = ""
    for line in block.lines[1:]:
        found = _ACTIVE.match(line.text)
        if found and not active:
            active, detail, number = found["active"], found["detail"], line.number
        elif not loaded and _LOADED.match(line.text):
            loaded = str(_LOADED.match(line.text)["loaded"])  # type: ignore[index]
    fabric = _FABRIC.match(unit)
    if fabric:
        status = _state(active, detail, loaded)
        if status:
            fields: dict[str, Scalar] = {"service": fabric["service"], "state": status, "text": f"{active} ({detail})"}
            yield Observation("host.fabric_manager", block.source(number), fields)
    elif active == "failed":
        yield Observation("host.service_failed", block.source(number), {"unit": unit, "result": detail})


def _state(active: str, detail: str, loaded: str) -> str | None:
    if loaded in ("not-found", "masked"):
        return "missing"
    if active == "active":
        return "running" if detail in ("running", "exited") else None
    return {"failed": "failed", "inactive": "stopped", "activating": "error", "deactivating": "stopped"}.get(active)


_DEAD = """\
○ nvidia-fabricmanager.service - NVIDIA fabric manager service
     Loaded: loaded (/lib/systemd/system/nvidia-fabricmanager.service; disabled; vendor preset: enabled)
     Active: inactive (dead)
"""
_RUNS = """\
● nvidia-fabricmanager.service - NVIDIA fabric manager service
     Loaded: loaded (/lib/systemd/system/nvidia-fabricmanager.service; enabled; vendor preset: enabled)
     Active: active (running) since Tue 2026-05-19 09:31:26 +08; 31 days ago
   Main PID: 2011 (nv-fabricmanage)
"""
_IMEX = """\
× nvidia-imex.service - NVIDIA IMEX service
     Loaded: loaded (/lib/systemd/system/nvidia-imex.service; enabled)
     Active: failed (Result: exit-code) since Tue 2026-05-19 09:31:26 UTC; 1min ago
"""
_OTHER = """\
× slurmd.service - Slurm node daemon
     Loaded: loaded (/lib/systemd/system/slurmd.service; enabled)
     Active: failed (Result: signal) since Tue 2026-05-19 09:31:26 UTC; 1min ago
"""

BLOCK = BlockReader(
    name="systemctl_status",
    literals=(".service - ", ".service", ".mount - "),
    begins=begins,
    continues=continues,
    read=read,
    emits=("host.fabric_manager", "host.service_failed"),
    samples=(
        Sample(_DEAD, (("host.fabric_manager", {"service": "fabricmanager", "state": "stopped"}),)),
        Sample(_RUNS, (("host.fabric_manager", {"service": "fabricmanager", "state": "running"}),)),
        Sample(_IMEX, (("host.fabric_manager", {"service": "imex", "state": "failed"}),)),
        Sample(_OTHER, (("host.service_failed", {"unit": "slurmd.service"}),)),
        Sample("nvidia-fabricmanager.service - NVIDIA fabric manager service was looked at\n"),
    ),
)
