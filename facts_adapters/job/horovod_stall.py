"""Horovod's stall report (``stall_inspector.cc``): which ranks have not submitted the tensors that others wait for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engine.facts.model import Observation
from facts_adapters.adapter import Context, Sample
from facts_adapters.text.blocks import Block, BlockReader

MOST_RANKS = 256
"""Ranks of one report that become facts."""

_HEAD = "Missing ranks:"
_ROW = re.compile(r"(?P<rank>\d{1,6}): \[(?P<tensor>[^\],]{1,120})")


def begins(message: str) -> bool:
    """True for the line that heads the list."""
    return message.strip() == _HEAD


def continues(_so_far: Sequence[str], message: str) -> bool:
    """True while each line is one rank with its tensors."""
    return _ROW.match(message.strip()) is not None


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``comm.rank_behind`` of each listed rank."""
    for line in block.lines[1 : MOST_RANKS + 1]:
        match = _ROW.match(line.text.strip())
        if match:
            fields = {"how": "never_entered", "op": match["tensor"]}
            yield Observation("comm.rank_behind", block.source(line.number), {**fields}, rank=int(match["rank"]))


BLOCK = BlockReader(
    name="horovod_stall",
    literals=(_HEAD,),
    begins=begins,
    continues=continues,
    read=read,
    emits=("comm.rank_behind",),
    samples=(
        Sample(
            "Missing ranks:\n5: [allreduce.grad_conv1, allreduce.grad_bn1 ...]\n11: [allreduce.grad_conv1]\n",
            (
                ("comm.rank_behind", {"rank": 5, "how": "never_entered", "op": "allreduce.grad_conv1"}),
                ("comm.rank_behind", {"rank": 11}),
            ),
        ),
        Sample("Missing ranks:\nnone\n"),
    ),
)
