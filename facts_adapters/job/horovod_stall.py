"""Horovod's stall report (``stall_inspector.cc``): which ranks have not submitted the tensors that others wait for.

The report lists for each rank the first five names of a sorted set and then ``...``. Where one rank lacks what another
has submitted, and the other way round, each waits for the other: they submit different tensors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Context, Sample
from facts_adapters.text.blocks import Block, BlockLine, BlockReader

MOST_RANKS = 256
"""Ranks of one report that become facts."""

_HEADS = ("Missing ranks:", "Stalled ranks:")
"""Headings of the list: before 0.19 the ranks were called stalled."""

_ROW = re.compile(r"(?P<rank>\d{1,6}): \[(?P<tensor>[^\],]{1,120})(?P<others>[^\]]{0,4000})(?P<end>\])?")

MOST_COMPARED = 16
"""Ranks of one report whose lists are compared with each other."""


@dataclass(frozen=True, slots=True)
class Lacking:
    """The tensors that a rank has not submitted, as far as they are listed."""

    rank: int
    line: int
    tensors: tuple[str, ...]
    complete: bool

    def has_submitted(self, tensor: str) -> bool:
        """Whether the tensor is certainly not among those that the rank lacks; the list is sorted, and may be cut."""
        if tensor in self.tensors:
            return False
        in_order = list(self.tensors) == sorted(self.tensors)
        return self.complete or (in_order and tensor < self.tensors[-1])


def begins(message: str) -> bool:
    """True for the line that heads the list."""
    return message.strip() in _HEADS


def continues(_so_far: Sequence[str], message: str) -> bool:
    """True while each line is one rank with its tensors."""
    return _ROW.match(message.strip()) is not None


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``comm.rank_behind`` of each listed rank, ``comm.wait_cycle`` of the first two that wait for each other."""
    yield from told([found for line in block.lines[1 : MOST_RANKS + 1] if (found := _lacking(line))], block)


def told(lists: Sequence[Lacking], block: Block) -> Iterator[Observation]:
    """The facts of one report."""
    for item in lists:
        fields = {"how": "never_entered", "op": item.tensors[0][:120]}
        yield Observation("comm.rank_behind", block.source(item.line), {**fields}, rank=item.rank)
    pairs = combinations(lists[:MOST_COMPARED], 2)
    circle = next((pair for pair in pairs if _waits_for(*pair) and _waits_for(pair[1], pair[0])), None)
    if circle is not None:
        one, other = circle
        tensors = f"{one.tensors[0][:60]}; {other.tensors[0][:60]}"
        cycle: dict[str, Scalar] = {"ranks": f"{one.rank}, {other.rank}", "size": 2, "operations": tensors}
        yield Observation("comm.wait_cycle", block.source(block.lines[0].number), cycle)


def _lacking(line: BlockLine) -> Lacking | None:
    match = _ROW.match(line.text.strip())
    if match is None:
        return None
    cut = match["end"] is None or match["others"].rstrip().endswith("...")
    names = [name.strip() for name in (match["tensor"] + match["others"]).removesuffix("...").split(",")]
    names[-1] = names[-1].removesuffix("...").strip()
    known = names if match["end"] else names[:-1] or names
    return Lacking(int(match["rank"]), line.number, tuple(known), not cut)


def _waits_for(one: Lacking, other: Lacking) -> bool:
    """Whether ``one`` has certainly submitted a tensor that ``other`` lacks."""
    return any(one.has_submitted(tensor) for tensor in other.tensors)


BLOCK = BlockReader(
    name="horovod_stall",
    literals=_HEADS,
    begins=begins,
    continues=continues,
    read=read,
    emits=("comm.rank_behind", "comm.wait_cycle"),
    samples=(
        Sample(
            "Missing ranks:\n5: [allreduce.grad_conv1, allreduce.grad_bn1 ...]\n11: [allreduce.grad_conv1]\n",
            (
                ("comm.rank_behind", {"rank": 5, "how": "never_entered", "op": "allreduce.grad_conv1"}),
                ("comm.rank_behind", {"rank": 11}),
            ),
        ),
        Sample(
            "Missing ranks:\n0: [grad.conv1_0]\n1: [grad.fpn, grad.head_0, grad.loss_0, grad.neck_0, grad.top ...]\n",
            (
                ("comm.rank_behind", {"rank": 0, "op": "grad.conv1_0"}),
                ("comm.rank_behind", {"rank": 1}),
                ("comm.wait_cycle", {"ranks": "0, 1", "size": 2}),
            ),
        ),
        Sample(
            "Stalled ranks:\n5: [grad.conv1_0, x ...]\n", (("comm.rank_behind", {"rank": 5, "op": "grad.conv1_0"}),)
        ),
        Sample("Missing ranks:\nnone\n"),
    ),
)
