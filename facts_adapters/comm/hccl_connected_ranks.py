"""HCCL's list of ranks that reached the root while a communicator was created (CANN 7 to 8.5, plog, EI0015).

After ``topo exchange server get socket timeout`` the root prints how many ranks it has, since 8.5 how many it needs,
and the numbers of those that came. Who is not in the list did not come; without the number that is needed only the gaps
below the highest rank are certain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Context, Sample
from facts_adapters.text.blocks import Block, BlockReader

MOST_RANKS = 200_000
_TOTAL = re.compile(r"\[DisplayConnect(?:ed|ioned)Rank\]total connected num is \[(?P<joined>\d{1,9})\]")
_NEED = re.compile(r"\[DisplayConnect(?:ed|ioned)Rank\]need connect rankNum is \[(?P<expected>\d{1,9})\]")
_LINE = re.compile(r"\[DisplayConnect(?:ed|ioned)Rank\]connected rankinfo\[LINE \d+\]: (?P<ranks>.*)")
_RANK = re.compile(r"\[(\d{1,20})\]")


def begins(message: str) -> bool:
    """True for the line with the number of connected ranks."""
    return bool(_TOTAL.search(message))


def continues(_so_far: Sequence[str], message: str) -> bool:
    """True for the number that is needed and for the lists."""
    return bool(_NEED.search(message) or _LINE.search(message))


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``job.rendezvous_incomplete`` with the ranks that are not in the lists."""
    total = _TOTAL.search(block.lines[0].text)
    joined = int(total["joined"]) if total else 0
    expected, ranks = 0, set[int]()
    for line in block.lines[1:]:
        need, listed = _NEED.search(line.text), _LINE.search(line.text)
        if need:
            expected = int(need["expected"])
        elif listed:
            ranks |= {int(rank) for rank in _RANK.findall(listed["ranks"])}
    end = expected or max(ranks, default=-1) + 1
    if not ranks or end > MOST_RANKS or len(ranks) != joined:
        return
    missing = sorted(set(range(end)) - ranks)
    if missing:
        fields: dict[str, Scalar] = {"joined": joined, "missing": ",".join(map(str, missing))[:500]}
        if expected:
            fields["expected"] = expected
        rank = missing[0] if len(missing) == 1 else None
        yield Observation("job.rendezvous_incomplete", block.source(block.lines[0].number), fields, rank=rank)


_PLOG = "[ERROR] HCCL(7081,python):2025-11-21-01:20:01.62{0}.103 [topoinfo_exchange_server.cc:{0}] [7362]"
_LISTED = "[0000000000000000],[0000000000000001],[0000000000000003];\n"

BLOCK = BlockReader(
    name="hccl_connected_ranks",
    literals=("total connected num is [",),
    begins=begins,
    continues=continues,
    read=read,
    emits=("job.rendezvous_incomplete",),
    samples=(
        Sample(
            _PLOG.format(5)
            + "[InitGroupStage][DisplayConnectionedRank]total connected num is [3],line num is [1]\n"
            + _PLOG.format(6)
            + "[InitGroupStage][DisplayConnectionedRank]need connect rankNum is [6]\n"
            + _PLOG.format(7)
            + "[InitGroupStage][DisplayConnectionedRank]connected rankinfo[LINE 0]: "
            + _LISTED,
            (("job.rendezvous_incomplete", {"joined": 3, "expected": 6, "missing": "2,4,5"}),),
            path="plog-7081_20251121011801.log",
        ),
        Sample(
            _PLOG.format(5)
            + "[TopoInfoExchangeServer][DisplayConnectedRank]total connected num is [3],line num is [1]\n"
            + _PLOG.format(7)
            + "[TopoInfoExchangeServer][DisplayConnectedRank]connected rankinfo[LINE 0]: "
            + _LISTED,
            (("job.rendezvous_incomplete", {"joined": 3, "missing": "2", "rank": 2}),),
            path="plog-7081_20251121011801.log",
        ),
        Sample(
            _PLOG.format(5) + "[InitGroupStage][DisplayConnectionedRank]total connected num is [3],line num is [1]\n",
            (),
            path="plog-7081_20251121011801.log",
        ),
    ),
)
