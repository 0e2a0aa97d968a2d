"""PyTorch's desync report (``TORCH_NCCL_DESYNC_DEBUG``, 1.13 to 2.9) and the rank lists of a monitored barrier.

The report names the ranks that lag, and in a snapshot of all ranks of its group what each began last; ranks that began
another operation under the same number issued another collective. Where a rank has begun nothing at all, only such
ranks are listed. Every rank that timed out prints the report. Source: ``torch/csrc/distributed/c10d/TraceUtils.h`` and
``ProcessGroupGloo.cpp``; both count the ranks of their process group.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.facts.collectives import compact
from engine.facts.model import Observation, Scalar, Source
from facts_adapters.adapter import Context, Sample
from facts_adapters.text.blocks import Block, BlockLine, BlockReader

MOST_RANKS = 64
"""Ranks of one list that are named; in longer lists the majority is at fault, not each of them."""

_TIMEOUT = re.compile(r"- \[(?P<rank>\d+)\] Timeout at collective: (?P<op>\w+), #(?P<seq>\d+)")
_NEVER = re.compile(r"ranks? \[(?P<ranks>[\d, ]+)\] are the lagging ranks")
_INSIDE = re.compile(r"\[(?P<ranks>[\d, ]+)\] joined but didn't finish collective #(?P<seq>\d+)")
_BEFORE = re.compile(
    r"\[(?P<ranks>[\d, ]+)\] finished collective #(?P<done>\d+), but didn't join collective #(?P<seq>\d+)"
)
_HEADING = re.compile(r"#(?P<seq>\d+) (?:started|finished) ranks:")
_STARTED = re.compile(r"\[(?P<ranks>[\d, ]+)\] started (?P<op>\w+)")
_FINISHED = re.compile(r"\[(?P<ranks>[\d, ]+)\] finished (?P<op>[A-Z_]\w*)")
_BARRIER = re.compile(
    r"\[Rank 0\]: Rank(?P<all>s)? (?P<ranks>\d+(?:, \d+)*) failed to pass monitoredBarrier in (?P<ms>\d+) ms"
)
_REACHED = re.compile(r"Rank (?P<rank>\d{1,9}) successfully reached monitoredBarrier, but received errors")
_NOBODY = re.compile(r"No ranks successfully processed in monitoredBarrier")
_PARTS = ("- ", "#", "[")


def every_rank(text: str) -> list[int]:
    """The ranks of a list such as ``5, 6``."""
    return [int(part[:9]) for part in text.replace(" ", "").split(",") if part]


def ranks_of(text: str) -> list[int]:
    """The ranks of a list such as ``5, 6``; empty where it is longer than :data:`MOST_RANKS`."""
    ranks = every_rank(text)
    return ranks if len(ranks) <= MOST_RANKS else []


def begins(message: str) -> bool:
    """True for the first line of a report."""
    return _TIMEOUT.search(message) is not None or _NEVER.search(message) is not None


def continues(_so_far: Sequence[str], message: str) -> bool:
    """True for the bullets, numbers and rank lists of a report."""
    text = message.strip()
    return not text or (message[:1] in (" ", "\t") and text.startswith(_PARTS))


@dataclass(frozen=True, slots=True)
class _Entry:
    """A line of the snapshot: ranks that began or finished an operation last."""

    seq: int
    op: str
    ranks: list[int]
    line: int
    began: bool


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``comm.ranks_listed`` of every list, ``comm.rank_behind`` of the ranks that lag, ``comm.operation_mismatch``.

    Of a whole snapshot most ranks never lag: then the others are ahead, or wait in something of their own.
    """
    waiting = _TIMEOUT.search(block.text)
    called = int(waiting["rank"][:9]) if waiting else None
    for observation in _statements(block, waiting):
        observation.called = called
        yield observation


def _statements(block: Block, waiting: re.Match[str] | None) -> Iterator[Observation]:
    seq = int(waiting["seq"]) if waiting else None
    entries = list(_snapshot(block))
    listed = {rank for entry in entries for rank in entry.ranks}
    lagging = [item for line in block.lines for item in _lagging(line, seq)]
    whole = listed == set(range(len(listed))) and listed >= {rank for ranks, _, _ in lagging for rank in ranks}
    few = not (listed and whole) or 2 * sum(len(ranks) for ranks, _, _ in lagging) <= len(listed)
    for ranks, fields, number in lagging:
        for rank in ranks if few and len(ranks) <= MOST_RANKS else ():
            yield Observation("comm.rank_behind", block.source(number), dict(fields), rank=rank, of_another=True)
    for number in sorted({entry.seq for entry in entries}):
        yield from _mismatches(block, number, [entry for entry in entries if entry.began and entry.seq == number])
    yield from _listed(block, entries, waiting)


def _snapshot(block: Block) -> Iterator[_Entry]:
    heading: int | None = None
    for line in block.lines:
        title = _HEADING.search(line.text)
        heading = int(title["seq"]) if title else heading
        began = _STARTED.search(line.text)
        entry = began or _FINISHED.search(line.text)
        if entry and heading is not None:
            yield _Entry(heading, entry["op"], every_rank(entry["ranks"]), line.number, began is not None)


def _lagging(line: BlockLine, seq: int | None) -> Iterator[tuple[list[int], dict[str, Scalar], int]]:
    for pattern, how in ((_NEVER, "never_entered"), (_INSIDE, "stuck_inside"), (_BEFORE, "never_entered")):
        match = pattern.search(line.text)
        if match is None:
            continue
        at = int(match["seq"]) if "seq" in match.groupdict() else seq
        yield every_rank(match["ranks"]), {"how": how, **({"seq": at} if at is not None else {})}, line.number


def _listed(block: Block, entries: Sequence[_Entry], waiting: re.Match[str] | None) -> Iterator[Observation]:
    """What the lists say, for the comparison of all ranks."""
    own: dict[str, Scalar] = {"list": "desync_report"}
    for entry in entries:
        stage = "started" if entry.began else "finished"
        fields = {**own, "ranks": compact(entry.ranks), "stage": stage, "seq": entry.seq, "op": entry.op}
        yield Observation("comm.ranks_listed", block.source(entry.line), fields)
    first = block.lines[0].number
    if waiting and not entries:
        fields = {**own, "ranks": str(int(waiting["rank"])), "stage": "waiting"}
        fields |= {"seq": int(waiting["seq"]), "op": waiting["op"]}
        yield Observation("comm.ranks_listed", block.source(first), fields)
    for line in block.lines:
        match = _NEVER.search(line.text)
        if match:
            fields = {**own, "ranks": compact(every_rank(match["ranks"])), "stage": "absent"}
            yield Observation("comm.ranks_listed", block.source(line.number), fields)


def _mismatches(block: Block, seq: int, entries: Sequence[_Entry]) -> Iterator[Observation]:
    votes = Counter({entry.op: 0 for entry in entries})
    for entry in entries:
        votes[entry.op] += len(entry.ranks)
    if len(votes) < 2:
        return
    expected, most = votes.most_common(1)[0]
    for entry in entries:
        known = 2 * most > votes.total() and len(entry.ranks) <= MOST_RANKS
        for rank in entry.ranks if entry.op != expected and known else ():
            fields: dict[str, Scalar] = {"aspect": "operation", "expected": expected, "found": entry.op, "seq": seq}
            yield Observation("comm.operation_mismatch", block.source(entry.line), fields, rank=rank, of_another=True)


def barrier_begins(message: str) -> bool:
    """True for a line that names one rank, for the one that lists all, and for that of a rank that came."""
    return any(pattern.search(message) is not None for pattern in (_BARRIER, _REACHED, _NOBODY))


def one_line(_so_far: Sequence[str], _message: str) -> bool:
    """The list stands on one line."""
    return False


def read_barrier(block: Block, _context: Context) -> Iterator[Observation]:
    """``comm.barrier_missing`` of each listed rank, which lagged for the whole time of the barrier; the list itself.

    Rank 0 asks the others in their order: those before a rank that it names have answered. A list is whole. Who came
    and got no answer says so, and that somebody is missing.
    """
    text, source = block.lines[0].text, block.source(block.lines[0].number)
    came, match = _REACHED.search(text), _BARRIER.search(text)
    if came is not None:
        fields: dict[str, Scalar] = {"list": "monitored_barrier", "ranks": str(int(came["rank"])), "stage": "waiting"}
        yield Observation("comm.ranks_listed", source, fields, called=int(came["rank"]))
    if match is None:
        yield Observation("comm.barrier_missing", source, {}, of_another=True)
        return
    for observation in _missing(match, source):
        observation.called = 0
        yield observation


def _missing(match: re.Match[str], source: Source) -> Iterator[Observation]:
    waited = int(match["ms"])
    fields: dict[str, Scalar] = {"timeout_ms": waited}
    if match["all"]:
        fields["missing"] = match["ranks"]
    for rank in ranks_of(match["ranks"]):
        lag = (waited * 1000, waited * 1000)
        yield Observation("comm.barrier_missing", source, dict(fields), rank=rank, lag=lag, of_another=True)
    own: dict[str, Scalar] = {"list": "monitored_barrier"}
    absent = {**own, "ranks": compact(every_rank(match["ranks"])), "stage": "absent", "whole": bool(match["all"])}
    yield Observation("comm.ranks_listed", source, absent)
    yield Observation("comm.ranks_listed", source, {**own, "ranks": "0", "stage": "waiting"})


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
        emits=("comm.rank_behind", "comm.operation_mismatch", "comm.ranks_listed"),
        samples=(
            Sample(
                _REPORT,
                (
                    ("comm.rank_behind", {"rank": 5, "seq": 1023, "how": "stuck_inside"}),
                    ("comm.rank_behind", {"rank": 6, "seq": 1024, "how": "never_entered"}),
                    ("comm.operation_mismatch", {"rank": 4, "expected": "ALLREDUCE", "found": "BROADCAST"}),
                    ("comm.ranks_listed", {"ranks": "0-3", "stage": "started", "seq": 1024, "op": "ALLREDUCE"}),
                    ("comm.ranks_listed", {"ranks": "6", "stage": "finished", "seq": 1023}),
                ),
            ),
            Sample(
                "\t - To our best knowledge, ranks [5, 6] are the lagging ranks that caused this timeout. "
                "They never joined any collectives\n",
                (
                    ("comm.rank_behind", {"rank": 6, "how": "never_entered"}),
                    ("comm.ranks_listed", {"ranks": "5,6", "stage": "absent"}),
                ),
            ),
            Sample("iteration 12: no timeout at collective ALLREDUCE, #12\n", ()),
        ),
    ),
    BlockReader(
        name="monitored_barrier",
        literals=(
            "failed to pass monitoredBarrier",
            "successfully reached monitoredBarrier",
            "No ranks successfully processed",
        ),
        begins=barrier_begins,
        continues=one_line,
        read=read_barrier,
        emits=("comm.barrier_missing", "comm.ranks_listed"),
        samples=(
            Sample(
                "[rank0]:[E1130 13:33:40.229310029 ProcessGroupGloo.cpp:71] [Rank 0]: Ranks 1, 5 failed to pass "
                "monitoredBarrier in 3000 ms\n",
                (
                    ("comm.barrier_missing", {"rank": 1, "timeout_ms": 3000}),
                    ("comm.barrier_missing", {"rank": 5, "timeout_ms": 3000}),
                    ("comm.ranks_listed", {"ranks": "1,5", "stage": "absent", "whole": True}),
                ),
            ),
            Sample(
                "[rank0]:[E1130 13:33:40.229271962 ProcessGroupGloo.cpp:2664] [Rank 0]: Rank 1 failed to pass "
                "monitoredBarrier in 3000 ms\n",
                (
                    ("comm.barrier_missing", {"rank": 1, "timeout_ms": 3000}),
                    ("comm.ranks_listed", {"ranks": "1", "stage": "absent", "whole": False}),
                ),
            ),
            Sample(
                "[rank3]:[E1201 05:18:19.047959989 ProcessGroupGloo.cpp:67] Rank 3 successfully reached "
                "monitoredBarrier, but received errors while waiting for send/recv from rank 0. Please check rank 0 "
                "logs for faulty rank.\n",
                (
                    ("comm.ranks_listed", {"rank": 3, "ranks": "3", "stage": "waiting"}),
                    ("comm.barrier_missing", {}),
                ),
            ),
            Sample(
                "RuntimeError: No ranks successfully processed in monitoredBarrier.\n",
                (("comm.barrier_missing", {}),),
            ),
            Sample("Rank 3 successfully reached monitoredBarrier in 12 ms\n", ()),
            Sample("all ranks 0 to 7 passed monitoredBarrier in 3000 ms, none failed to pass monitoredBarrier\n", ()),
        ),
    ),
)
