"""``p2pBandwidthLatencyTest`` of the CUDA samples (9 .. 12.8): bandwidth between GPUs without and with peer access.

The test copies through the host first and with peer access then. Peer access that is far slower than the way through
the host is what access control or an IOMMU makes of it; the diagonal is a GPU's own memory and says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Context, Sample
from facts_adapters.text.blocks import Block, BlockReader

LONGEST = 300
LEAST_SHARE = 0.5
"""Peer access is slow where it reaches less than this part of the way through the host."""

_TITLE = re.compile(r"Unidirectional P2P=(?P<state>Disabled|Enabled) Bandwidth")
_HEADING = re.compile(r"\s*D\\D(?:\s+\d{1,3})+\s*$")
_ROW = re.compile(r"\s*(?P<gpu>\d{1,3})(?P<values>(?:\s+\d{1,9}(?:\.\d{1,6})?)+)\s*$")


def begins(message: str) -> bool:
    """True for the title of the first matrix."""
    found = _TITLE.search(message)
    return found is not None and found["state"] == "Disabled"


def continues(so_far: Sequence[str], message: str) -> bool:
    """True for both matrices; another one ends them."""
    if len(so_far) >= LONGEST or begins(message):
        return False
    return bool(_TITLE.search(message) or _HEADING.match(message) or _ROW.match(message))


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``comm.slow_transport`` for the slowest pair, where peer access is far slower than the way through the host."""
    matrices: dict[str, dict[tuple[int, int], tuple[float, int]]] = {"Disabled": {}, "Enabled": {}}
    state = "Disabled"
    for line in block.lines:
        title, row = _TITLE.search(line.text), _ROW.match(line.text)
        if title:
            state = title["state"]
        elif row:
            source = int(row["gpu"])
            for target, value in enumerate(row["values"].split()):
                matrices[state][source, target] = (float(value), line.number)
    slow = [
        (value, number, pair, matrices["Disabled"][pair][0])
        for pair, (value, number) in matrices["Enabled"].items()
        if pair[0] != pair[1] and pair in matrices["Disabled"] and value < LEAST_SHARE * matrices["Disabled"][pair][0]
    ]
    if slow:
        value, number, pair, through_host = min(slow)
        measured = f"{value:g} GB/s with peer access from GPU {pair[0]} to GPU {pair[1]}"
        fields: dict[str, Scalar] = {"measured": measured, "expected": f"{through_host:g} GB/s through the host"}
        yield Observation("comm.slow_transport", block.source(number), fields)


_SLOW = """\
Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\\D     0      1
     0 915.93  20.33
     1  20.53 922.48
Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\\D     0      1
     0 916.04   0.72
     1   0.73 921.93
"""
_GOOD = _SLOW.replace("  0.72", " 52.31").replace("  0.73", " 52.34")

BLOCK = BlockReader(
    name="peer_bandwidth",
    literals=("P2P=Disabled Bandwidth",),
    begins=begins,
    continues=continues,
    read=read,
    emits=("comm.slow_transport",),
    samples=(
        Sample(
            _SLOW,
            (
                (
                    "comm.slow_transport",
                    {
                        "measured": "0.72 GB/s with peer access from GPU 0 to GPU 1",
                        "expected": "20.33 GB/s through the host",
                    },
                ),
            ),
        ),
        Sample(_GOOD),
    ),
)
