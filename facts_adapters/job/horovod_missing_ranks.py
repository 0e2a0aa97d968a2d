"""Horovod's older stall report (0.14 to 0.17, ``operations.cc``): one line a tensor, with all ranks that lack it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from engine.facts.model import Observation
from facts_adapters.adapter import Context, Sample
from facts_adapters.job.horovod_stall import MOST_RANKS, Lacking, told
from facts_adapters.text.blocks import Block, BlockReader

MOST_TENSORS = 1_000

_LITERAL = "[missing ranks: "
_ROW = re.compile(r"(?P<tensor>\S{1,200}) \[missing ranks: (?P<ranks>\d{1,6}(?:, \d{1,6}){0,255})\]\s*$")


def begins(message: str) -> bool:
    """True for a tensor with the ranks that lack it."""
    return _ROW.search(message) is not None


def continues(so_far: Sequence[str], message: str) -> bool:
    """True for further tensors of the report."""
    return len(so_far) < MOST_TENSORS and begins(message)


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``comm.rank_behind`` of each rank that lacks a tensor, ``comm.wait_cycle`` of two that wait for each other."""
    lines: dict[int, int] = {}
    tensors: dict[int, list[str]] = defaultdict(list)
    for line in block.lines:
        match = _ROW.search(line.text)
        for rank in map(int, match["ranks"].split(", ")) if match else ():
            lines.setdefault(rank, line.number)
            tensors[rank].append(match["tensor"] if match else "")
    lists = [Lacking(rank, lines[rank], tuple(tensors[rank]), True) for rank in sorted(lines)[:MOST_RANKS]]
    yield from told(lists, block)


BLOCK = BlockReader(
    name="horovod_missing_ranks",
    literals=(_LITERAL,),
    begins=begins,
    continues=continues,
    read=read,
    emits=("comm.rank_behind", "comm.wait_cycle"),
    samples=(
        Sample(
            "HorovodAllreduce_grads_5_0 [missing ranks: 1, 3]\nHorovodBroadcast_step_0 [missing ranks: 3]\n",
            (
                ("comm.rank_behind", {"rank": 1, "how": "never_entered", "op": "HorovodAllreduce_grads_5_0"}),
                ("comm.rank_behind", {"rank": 3}),
            ),
        ),
        Sample(
            "HorovodAllreduce_a_0 [missing ranks: 0]\nHorovodAllreduce_b_0 [missing ranks: 1]\n",
            (
                ("comm.rank_behind", {"rank": 0}),
                ("comm.rank_behind", {"rank": 1}),
                ("comm.wait_cycle", {"ranks": "0, 1", "size": 2}),
            ),
        ),
        Sample("HorovodAllreduce_a_0 [ready ranks: 0, 2]\n"),
    ),
)
