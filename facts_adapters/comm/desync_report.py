"""PyTorch's desync report (``TORCH_NCCL_DESYNC_DEBUG``, 1.13 to 2.9) and the rank list of a monitored barrier.

The report names the ranks that lag and what each rank started last; ranks that started another operation under the
same number issued another collective.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Context, Sample
from facts_adapters.text.blocks import Block, BlockReader

MOST_RANKS = 64
"""Ranks of one list that are named; in longer lists the majority is at fault, not each of them."""

_TIMEOUT = re.compile(r"- \[(?P<rank>\d+)\] Timeout at collective: (?P<op>\w+), #(?P<seq>\d+)")
_NEVER = re.compile(r"ranks? \[(?P<ranks>[\d, ]+)\] are the lagging ranks")
_INSIDE = re.compile(r"\[(?P<ranks>[\d, ]+)\] joined but didn't finish collective #(?P<seq>\d+)")
_BEFORE = re.compile(
    r"\[(?P<ranks>[\d, ]+)\] finished collective #(?P<done>\d+), but didn't join collective #(?P<seq>\d+)"
)
_HEADING = re.compile(r"#(?P<seq>\d+) started ranks:")
_STARTED = re.compile(r"\[(?P<ranks>[\d, ]+)\] started (?P<op>\w+)")
_BARRIER = re.compile(r"\[Rank 0\]: Ranks (?P<ranks>\d+(?:, \d+)*) failed to pass monitoredBarrier in (?P<ms>\d+) ms")
_PARTS = ("- ", "#", "[")


def ranks_of(text: str) -> list[int]:
    """The ranks of a list such as ``5, 6``; empty where it is longer than :data:`MOST_RANKS`."""
    ranks = [int(part) for part in text.replace(" ", "").split(",") if part]
    return ranks if len(ranks) <= MOST_RANKS else []


def begins(message: str) -> bool:
    """True for the first line of a report."""
    return _TIMEOUT.search(message) is not None or _NEVER.search(message) is not None


def continues(_so_far: Sequence[str], message: str) -> bool:
    """True for the bullets, numbers and rank lists of a report."""
    text = message.strip()
    return not text or (message[:1] in (" ", "\t") and text.startswith(_PARTS))


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``comm.rank_behind`` of lagging ranks, ``comm.operation_mismatch`` of those that started another operation."""
    waiting = _TIMEOUT.search(block.text)
    seq = int(waiting["seq"]) if waiting else None
    heading: int | None = None
    started: dict[int, list[tuple[str, list[int], int]]] = {}
    for line in block.lines:
        yield from _lagging(block, line.number, line.text, seq)
        title = _HEADING.search(line.text)
        heading = int(title["seq"]) if title else (None if "finished ranks" in line.text else heading)
        entry = _STARTED.search(line.text)
        if entry and heading is not None:
            started.setdefault(heading, []).append((entry["op"], ranks_of(entry["ranks"]), line.number))
    for number, entries in started.items():
        yield from _mismatches(block, number, entries)


def _lagging(block: Block, number: int, text: str, seq: int | None) -> Iterator[Observation]:
    for pattern, how in ((_NEVER, "never_entered"), (_INSIDE, "stuck_inside"), (_BEFORE, "never_entered")):
        match = pattern.search(text)
        if match is None:
            continue
        at = int(match["seq"]) if "seq" in match.groupdict() else seq
        for rank in ranks_of(match["ranks"]):
            fields: dict[str, Scalar] = {"how": how}
            if at is not None:
                fields["seq"] = at
            yield Observation("comm.rank_behind", block.source(number), fields, rank=rank)


def _mismatches(block: Block, seq: int, entries: Sequence[tuple[str, list[int], int]]) -> Iterator[Observation]:
    votes = Counter({op: 0 for op, _, _ in entries})
    for op, ranks, _ in entries:
        votes[op] += len(ranks)
    if len(votes) < 2:
        return
    expected = votes.most_common(1)[0][0]
    for op, ranks, number in entries:
        for rank in ranks if op != expected else ():
            fields: dict[str, Scalar] = {"aspect": "operation", "expected": expected, "found": op, "seq": seq}
            yield Observation("comm.operation_mismatch", block.source(number), fields, rank=rank)


def barrier_begins(message: str) -> bool:
    """True for the line that lists several ranks."""
    return _BARRIER.search(message) is not None


def one_line(_so_far: Sequence[str], _message: str) -> bool:
    """The list stands on one line."""
    return False


def read_barrier(block: Block, _context: Context) -> Iterator[Observation]:
    """``comm.barrier_missing`` of each listed rank; it lagged for the whole time of the barrier."""
    match = _BARRIER.search(block.lines[0].text)
    if match is None:
        return
    waited = int(match["ms"])
    for rank in ranks_of(match["ranks"]):
        yield Observation(
            "comm.barrier_missing",
            block.source(block.lines[0].number),
            {"timeout_ms": waited, "missing": match["ranks"]},
            rank=rank,
            lag=(waited * 1000, waited * 1000),
        )


_REPORT = """\
\t - [3] Timeout at collective: ALLREDUCE, #1024
\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:
\t   - [5] joined but didn't finish collective #1023 (count from 1)
\t     [6] finished collective #1023, but didn't join collective #1024 (count from 1)
\t - Snapshot of ranks' latest states:
\t   #1024 started ranks:
\t     [0, 1, 2, 3] started ALLREDUCE
\t     [4] started BROADCAST
\t   #1023 finished ranks:
\t     [6] finished ALLREDUCE
"""

BLOCKS = (
    BlockReader(
        name="desync_report",
        literals=("Timeout at collective:", "are the lagging ranks"),
        begins=begins,
        continues=continues,
        read=read,
        emits=("comm.rank_behind", "comm.operation_mismatch"),
        samples=(
            Sample(
                _REPORT,
                (
                    ("comm.rank_behind", {"rank": 5, "seq": 1023, "how": "stuck_inside"}),
                    ("comm.rank_behind", {"rank": 6, "seq": 1024, "how": "never_entered"}),
                    ("comm.operation_mismatch", {"rank": 4, "expected": "ALLREDUCE", "found": "BROADCAST"}),
                ),
            ),
            Sample(
                "\t - To our best knowledge, ranks [5, 6] are the lagging ranks that caused this timeout. "
                "They never joined any collectives\n",
                (("comm.rank_behind", {"rank": 6, "how": "never_entered"}),),
            ),
            Sample("iteration 12: no timeout at collective ALLREDUCE, #12\n", ()),
        ),
    ),
    BlockReader(
        name="monitored_barrier",
        literals=("failed to pass monitoredBarrier",),
        begins=barrier_begins,
        continues=one_line,
        read=read_barrier,
        emits=("comm.barrier_missing",),
        samples=(
            Sample(
                "[rank0]:[E1130 13:33:40.229310029 ProcessGroupGloo.cpp:71] [Rank 0]: Ranks 1, 5 failed to pass "
                "monitoredBarrier in 3000 ms\n",
                (
                    ("comm.barrier_missing", {"rank": 1, "timeout_ms": 3000}),
                    ("comm.barrier_missing", {"rank": 5, "timeout_ms": 3000}),
                ),
            ),
            Sample("[Rank 0]: Rank 1 failed to pass monitoredBarrier in 3000 ms\n", ()),
        ),
    ),
)
