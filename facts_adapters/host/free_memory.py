"""Memory of a host: ``free`` (-k -m -g -h, procps 3-4) and ``/proc/meminfo``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Context, Sample
from facts_adapters.host._statement import size_kb
from facts_adapters.text.blocks import Block, BlockReader

_FREE_HEAD = re.compile(r"\s+total\s+used\s+free\b.*\bavailable")
_FREE_ROW = re.compile(r"Mem: +(?P<total>\S+) +\S+ +\S+ +\S+ +\S+ +(?P<available>\S+)")
_MEMINFO = re.compile(r"Mem(?P<what>Total|Available): +(?P<kb>\d{1,18}) kB")
_MEBI = 1024
_SMALLEST_HOST_KB = 1 << 20
"""A training host has more than 1 GB; a plain number below that in kB was printed by ``free -m`` or ``-g``."""


def begins(message: str) -> bool:
    """True for the header of ``free`` and the first line of meminfo."""
    return bool(_FREE_HEAD.match(message)) or message.startswith("MemTotal:")


def continues(so_far: Sequence[str], message: str) -> bool:
    """True up to the lines that matter."""
    return len(so_far) < 4 and (message.startswith(("Mem", "Swap:")))


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``host.memory_use`` of the host."""
    row = next((match for line in block.lines if (match := _FREE_ROW.match(line.text))), None)
    if row:
        total, available = _size(row["total"]), _size(row["available"])
        if total is not None and available is not None and row["total"].isdigit():
            total, available = _guess(total, available)
    else:
        found = {match["what"]: int(match["kb"]) for line in block.lines if (match := _MEMINFO.match(line.text))}
        total, available = found.get("Total"), found.get("Available")
    if total and available is not None:
        fields: dict[str, Scalar] = {
            "scope": "host",
            "total_kb": total,
            "available_kb": available,
            "used_percent": max(0, min(100, round(100 * (total - available) / total))),
        }
        yield Observation("host.memory_use", block.source(block.lines[0].number), fields)


def _size(text: str) -> int | None:
    return int(text) if text.isdigit() else size_kb(text)


def _guess(total: int, available: int) -> tuple[int, int]:
    while total < _SMALLEST_HOST_KB:
        total, available = total * _MEBI, available * _MEBI
    return total, available


_FREE = """\
               total        used        free      shared  buff/cache   available
Mem:           503Gi       498Gi       1.0Gi       2.1Gi       4.0Gi       2.5Gi
Swap:             0B          0B          0B
"""
_PROC = "MemTotal:       528280977 kB\nMemFree:         8280977 kB\nMemAvailable:   422624781 kB\n"

BLOCK = BlockReader(
    name="free_memory",
    literals=("available", "MemTotal:"),
    begins=begins,
    continues=continues,
    read=read,
    emits=("host.memory_use",),
    samples=(
        Sample(_FREE, (("host.memory_use", {"scope": "host", "used_percent": 100}),)),
        Sample(_PROC, (("host.memory_use", {"total_kb": 528280977, "used_percent": 20}),)),
        Sample("4 GPUs are available\n"),
    ),
)
