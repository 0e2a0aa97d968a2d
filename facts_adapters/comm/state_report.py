"""NCCL's library state report (RAS, ``ncclras``, 2.24 to 2.30) as text: ranks with fewer operations, dead or missing.

The report lists outliers only. A rank is behind where most ranks launched more and none launched less: whoever launched
more than the last one waits for it. One ahead is not named, and without a majority nobody is. Where a file holds the
whole report, its counts go to the comparison of all ranks by a reader of their own (``ncclras_text``). Its JSON form is
another source.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Context, Sample
from facts_adapters.comm._ras_text import COUNTS, DEAD, HEADER, MISSING, Finding, Listed, findings
from facts_adapters.text.blocks import Block, BlockReader

MOST_RANKS = 64


def begins(message: str) -> bool:
    """True for the line that opens one finding of the report, and for the heading of a communicator's."""
    return any(pattern.search(message) for pattern in (COUNTS, DEAD, MISSING)) or HEADER.match(message) is not None


def continues(so_far: Sequence[str], message: str) -> bool:
    """True for the indented lines of the finding; below the heading of a communicator for all its findings."""
    if HEADER.match(so_far[0]):
        return not message.strip() or message[0].isspace()
    return message[:1].isspace() and bool(message.strip()) and not begins(message)


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``comm.rank_behind`` of ranks that launched less or have no data, ``comm.heartbeat_lost`` of dead ones."""
    for finding in findings(block.lines):
        if finding.what == "counts":
            yield from _behind(block, finding)
        elif finding.what == "dead":
            for listed in finding.listed[:MOST_RANKS]:
                fields: dict[str, Scalar] = {"status": "lost", "informer": "ras"}
                yield Observation("comm.heartbeat_lost", block.source(listed.line), fields, peer=listed.node)
        elif finding.what in ("missing", "processes"):
            for listed in finding.listed[:MOST_RANKS]:
                yield _told(block, finding, listed, {"how": "no_report"})


def _told(block: Block, finding: Finding, listed: Listed, fields: dict[str, Scalar]) -> Observation:
    """A rank that is behind. Row 0 of the summary holds the largest communicators; ranks of others are their own."""
    if finding.hash:
        fields["pg"] = finding.hash
    rank = None if finding.group else listed.rank
    return Observation("comm.rank_behind", block.source(listed.line), fields, host=listed.node, rank=rank)


def _behind(block: Block, finding: Finding) -> Iterator[Observation]:
    votes: dict[int, int] = {}
    for item in finding.sets:
        votes[item.at] = votes.get(item.at, 0) + item.count
    usual = next((at for at, count in votes.items() if 2 * count > sum(votes.values())), -1)
    fewest = min(votes, default=0)
    behind = [(item.at, listed) for item in finding.sets if item.at == fewest < usual for listed in item.listed]
    for at, listed in behind[:MOST_RANKS]:
        fields: dict[str, Scalar] = {"how": "fewer_operations", "op": finding.operation, "seq": at + 1}
        fields["members"] = sum(votes.values())
        yield _told(block, finding, listed, fields)


_REPORT = """\
NCCL version 2.24.3 compiled with CUDA 12.6
Errors
======

DEAD
  1 job process is considered dead (unreachable via the RAS network)
  Process 3487984 on node 10.0.0.9 managing GPU 5

#0-0 (cf264af53edbe986) INCOMPLETE
  Missing communicator data from 1 rank
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
    literals=("operation counts", "considered dead", "Missing communicator data from", ") INCOMPLETE", ") MISMATCH"),
    begins=begins,
    continues=continues,
    read=read,
    emits=("comm.rank_behind", "comm.heartbeat_lost"),
    samples=(
        Sample(
            _REPORT,
            (
                ("comm.heartbeat_lost", {"peer": "10.0.0.9", "status": "lost"}),
                ("comm.rank_behind", {"rank": 21, "how": "no_report", "host": "10.0.0.9", "pg": "cf264af53edbe986"}),
                (
                    "comm.rank_behind",
                    {"rank": 7, "how": "fewer_operations", "op": "AllReduce", "seq": 1025, "host": "10.0.0.3"},
                ),
            ),
            path="ras.txt",
        ),
        Sample("0 communicators\n  14 ranks have launched up to operation 1025\n", (), path="ras.txt"),
    ),
)
