"""NCCL's library state report (RAS, ``ncclras``, 2.24 to 2.30) as text: ranks with fewer operations, dead or missing.

The report lists outliers only. A rank is behind where it launched fewer operations than most ranks; one ahead is
not named. Its JSON form is another source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Context, Sample
from facts_adapters.text.blocks import Block, BlockReader

MOST_RANKS = 64

_COUNTS = re.compile(r"Communicator ranks have different (?P<op>\w+) operation counts")
_MANY = re.compile(
    r"\b(?P<ranks>\d{1,9}) ranks? (?:have|has) (?:launched up to operation (?P<at>\d+)|not launched any)"
)
_ONE = re.compile(r"Rank (?P<rank>\d+) has (?:launched up to operation (?P<at>\d+)|not launched any operations)")
_DEAD = re.compile(r"\b(?P<count>\d{1,9}) job process(?:es|\(es\))? considered dead")
_PROCESS = re.compile(r"[Pp]rocess (?P<pid>\d+) on node (?P<node>[^\s,]+)")
_MISSING = re.compile(r"Missing communicator data from (?P<count>\d+) rank\(s\)")
_RANK = re.compile(r"Rank (?P<rank>\d+) -- ")


def begins(message: str) -> bool:
    """True for the line that opens one finding of the report."""
    return any(pattern.search(message) for pattern in (_COUNTS, _DEAD, _MISSING))


def continues(_so_far: Sequence[str], message: str) -> bool:
    """True for the indented lines of the finding."""
    return message[:1] in (" ", "\t") and bool(message.strip()) and not begins(message)


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``comm.rank_behind`` of ranks that launched less or have no data, ``comm.heartbeat_lost`` of dead ones."""
    first = block.lines[0].text
    counts = _COUNTS.search(first)
    if counts:
        yield from _behind(block, counts["op"])
    elif _DEAD.search(first):
        for line in block.lines[1:]:
            process = _PROCESS.search(line.text)
            if process:
                fields: dict[str, Scalar] = {"status": "lost", "informer": "ras"}
                yield Observation("comm.heartbeat_lost", block.source(line.number), fields, peer=process["node"])
    else:
        for line in block.lines[1 : MOST_RANKS + 1]:
            rank = _RANK.search(line.text)
            if rank:
                yield Observation(
                    "comm.rank_behind", block.source(line.number), {"how": "no_report"}, rank=int(rank["rank"])
                )


def _behind(block: Block, operation: str) -> Iterator[Observation]:
    votes: dict[int, int] = {}
    single: list[tuple[int, int, int]] = []
    for line in block.lines[1:]:
        one, many = _ONE.search(line.text), _MANY.search(line.text)
        if one:
            single.append((line.number, int(one["rank"]), int(one["at"] or -1)))
        elif many:
            votes[int(many["at"] or -1)] = votes.get(int(many["at"] or -1), 0) + int(many["ranks"])
    for _, _, at in single:
        votes[at] = votes.get(at, 0) + 1
    if not votes:
        return
    most = max(votes.values())
    usual = max(at for at, count in votes.items() if count == most)
    for number, rank, at in single[:MOST_RANKS]:
        if at < usual:
            fields: dict[str, Scalar] = {"how": "fewer_operations", "op": operation, "seq": at + 1}
            yield Observation("comm.rank_behind", block.source(number), fields, rank=rank)


_REPORT = """\
NCCL version 2.24.3 compiled with CUDA 12.6
Errors
======

DEAD
  1 job process(es) considered dead (unreachable via the RAS network)
  Process 3487984 on node 10.0.0.9 managing GPU 5

#0-0 (cf264af53edbe986) INCOMPLETE
  Missing communicator data from 1 rank(s)
  Rank 21 -- GPU 5 managed by process 3487984 on node 10.0.0.9

Warnings
========

#0-0 (cf264af53edbe986) MISMATCH
  Communicator ranks have different AllReduce operation counts
  14 ranks have launched up to operation 1025
  Rank 7 has launched up to operation 1024 -- GPU 7 managed by process 4242 on node 10.0.0.3
  Rank 3 has launched up to operation 1026 -- GPU 3 managed by process 4238 on node 10.0.0.3
"""

BLOCK = BlockReader(
    name="library_state_report",
    literals=("operation counts", "considered dead", "Missing communicator data from"),
    begins=begins,
    continues=continues,
    read=read,
    emits=("comm.rank_behind", "comm.heartbeat_lost"),
    samples=(
        Sample(
            _REPORT,
            (
                ("comm.heartbeat_lost", {"peer": "10.0.0.9", "status": "lost"}),
                ("comm.rank_behind", {"rank": 21, "how": "no_report"}),
                ("comm.rank_behind", {"rank": 7, "how": "fewer_operations", "op": "AllReduce", "seq": 1025}),
            ),
            path="ras.txt",
        ),
        Sample("0 communicators\n  14 ranks have launched up to operation 1025\n", (), path="ras.txt"),
    ),
)
