"""Limits of a running process, ``/proc/PID/limits`` (fs/proc/base.c), and of its pids cgroup, wherever they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Context, Sample
from facts_adapters.text.blocks import Block, BlockReader

_LIMIT = re.compile(
    r"\s*Max (?P<what>locked memory|open files|processes|stack size) +(?P<soft>\d{1,18}|unlimited) +(?:\d+|unlimited)"
)
_NAMES = {
    "locked memory": ("memlock_kb", 1024),
    "open files": ("nofile", 1),
    "processes": ("nproc", 1),
    "stack size": ("stack_kb", 1024),
}


def begins(message: str) -> bool:
    """True for a line of the table that a job can run into."""
    return _LIMIT.match(message) is not None


def continues(_so_far: Sequence[str], _message: str) -> bool:
    """Every line stands for itself."""
    return False


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``host.limit`` of the soft limit; -1 is unlimited, bytes become kB."""
    line = block.lines[0]
    match = _LIMIT.match(line.text)
    if match is None:
        return
    name, divisor = _NAMES[match["what"]]
    value = -1 if match["soft"] == "unlimited" else int(match["soft"]) // divisor
    fields: dict[str, Scalar] = {"name": name, "value": value}
    yield Observation("host.limit", block.source(line.number), fields)


_TABLE = """\
Limit                     Soft Limit           Hard Limit           Units
Max cpu time              unlimited            unlimited            seconds
Max stack size            8388608              unlimited            bytes
Max processes             4127306              4127306              processes
Max open files            1024                 1048576              files
Max locked memory         65536                65536                bytes
"""

BLOCK = BlockReader(
    name="proc_limits",
    literals=("Max locked memory", "Max open files", "Max processes", "Max stack size"),
    begins=begins,
    continues=continues,
    read=read,
    emits=("host.limit",),
    samples=(
        Sample(
            _TABLE,
            (
                ("host.limit", {"name": "memlock_kb", "value": 64}),
                ("host.limit", {"name": "nofile", "value": 1024}),
                ("host.limit", {"name": "nproc", "value": 4127306}),
            ),
        ),
        Sample(
            "Max locked memory         unlimited            unlimited            bytes\n",
            (("host.limit", {"name": "memlock_kb", "value": -1}),),
        ),
        Sample("Max open files per rank were counted by hand\n"),
    ),
)
