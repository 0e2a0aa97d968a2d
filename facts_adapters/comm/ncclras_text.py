"""How far each rank came, by NCCL's library state report (RAS) as text: ``ncclras``, NCCL 2.24 to 2.30.

What the single findings say becomes observations elsewhere; here the whole report is put together for the comparison of
all ranks. The report lists outliers (sets of one rank, of up to ten and less than a quarter; with ``-v`` of less than
half) and counts the others. Who is in the set is known of all ranks where a single set is not listed. Where several are
not, their ranks launched at least as much as the least of these sets; that is enough where those who launched least are
listed, and says nothing else. A file may hold a row of reports, as a monitor collects them; the last one counts, and a
communicator whose counts moved between the last two is at work. Source: ``src/ras/client_support.cc``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from engine.facts.collectives import Condition, GroupState, compact
from engine.facts.model import Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.comm._ras_text import Finding, Listed, findings

MOST_LINES = 200_000
"""Lines of one report that are read; a report lists at most ten ranks of a set unless it is asked for all."""

LARGEST = 1 << 17
"""Ranks of a communicator that is believed."""

_SUMMARY = re.compile(r"Job summary\s*$")
_TABLE = re.compile(r"Group +Comms +Nodes +Ranks +Ranks +Ranks +Status +Errors", re.MULTILINE)
_TOTALS = re.compile(r"\(total\)[ ()a-z]*$")
_NUMBERS = re.compile(r"[ \d]{3,120}$")
_ROW = re.compile(r"\s*(?P<group>\d{1,9}) +\d{1,9} +\d{1,9} +\d{1,9}(?:-\d{1,9})? +(?P<size>\d{1,9}) +\d{1,9} +[A-Z]+ ")


@dataclass(slots=True)
class _Report:
    """The lines of one report, the GPUs of the whole job and the sizes of the communicators by row of the summary."""

    lines: list[Line] = field(default_factory=list)
    gpus: int = 0
    sizes: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Communicator:
    """The findings on one communicator."""

    size: int
    counts: list[Finding] = field(default_factory=list)
    missing: dict[int, Listed] = field(default_factory=dict)
    absent: int = 0
    """Ranks without data, listed or not."""


def sniff(head: Head) -> Verdict:
    """The headings of the report."""
    if "Job summary" in head.text and _TABLE.search(head.text):
        return Verdict(0.9, "ncclras as text")
    return Verdict(0.0, "no text of the library state report")


def read(file: EvidenceFile, context: Context) -> Iterator[GroupState]:
    """The states of ranks in communicators of the whole job, of the last report in the file."""
    before, last = _last_two(file, context)
    if last is None or not last.gpus:
        return
    earlier = _communicators(before)[0] if before is not None else {}
    communicators, dead = _communicators(last)
    texts = {line.number: line.text.strip() for line in last.lines}
    told: set[int] = set()
    for name, communicator in communicators.items():
        if not 2 <= communicator.size == last.gpus <= LARGEST:
            continue  # the ranks of a part have numbers of their own
        for rank, listed in communicator.missing.items():
            if rank not in told and rank < communicator.size:
                told.add(rank)
                condition: Condition = "dead" if (listed.node, listed.pid) in dead else "unresponsive"
                source = Source(file.path, listed.line, texts.get(listed.line, "")[:500])
                yield GroupState(source, rank=rank, origin="library", condition=condition, host=listed.node)
        if name not in earlier or _tallies(earlier[name]) == _tallies(communicator):
            yield from _states(file.path, name, communicator, texts)


def _last_two(file: EvidenceFile, context: Context) -> tuple[_Report | None, _Report | None]:
    before: _Report | None = None
    last: _Report | None = None
    totals = table = False
    for line in file.lines():
        if _SUMMARY.match(line.text):
            before, last, totals, table = last, _Report(), False, False
        if last is None:
            continue
        if len(last.lines) >= MOST_LINES:
            context.warn(file.path, line.number, f"a report of more than {MOST_LINES} lines was read in part")
            return before, last
        last.lines.append(line)
        if totals and not last.gpus and _NUMBERS.match(line.text) and line.text.split():
            last.gpus = int(line.text.split()[-1][:9])
        totals = _TOTALS.match(line.text.strip()) is not None
        table = bool(_TABLE.match(line.text)) or (table and not line.text.startswith("Errors"))
        row = _ROW.match(line.text) if table else None
        if row:
            last.sizes[int(row["group"])] = int(row["size"])
    return before, last


def _communicators(report: _Report) -> tuple[dict[str, _Communicator], set[tuple[str | None, int]]]:
    """The communicators with findings by their hash, and the dead processes."""
    found: dict[str, _Communicator] = {}
    dead: set[tuple[str | None, int]] = set()
    for finding in findings(report.lines):
        if finding.what == "dead":
            dead.update((listed.node, listed.pid) for listed in finding.listed)
        elif finding.group in report.sizes:
            own = found.setdefault(finding.hash, _Communicator(report.sizes[finding.group]))
            if finding.what == "counts":
                own.counts.append(finding)
            elif finding.what == "missing":
                own.absent += finding.count
                own.missing.update({listed.rank: listed for listed in finding.listed if listed.rank is not None})
    return found, dead


def _tallies(communicator: _Communicator) -> list[tuple[str, int, int]]:
    return [(item.operation, own.at, own.count) for item in communicator.counts for own in item.sets]


@dataclass(frozen=True, slots=True)
class _Tally:
    """What a rank launched of one kind of operation, and where the report says so; at least so much if not exact."""

    at: int
    line: int
    node: str | None = None
    exact: bool = True


def _states(path: str, name: str, communicator: _Communicator, texts: dict[int, str]) -> Iterator[GroupState]:
    """What every rank launched; operations of which all launched the same are not told, and change no difference."""
    tallies = [_by_rank(finding, communicator) for finding in communicator.counts]
    if not tallies or not all(tallies):
        return
    members = compact(range(communicator.size))
    ranks = [rank for rank in sorted(tallies[0]) if all(rank in tally for tally in tallies)]
    launched = {rank: sum(tally[rank].at for tally in tallies) for rank in ranks}
    bounded = {rank for rank in ranks if not all(tally[rank].exact for tally in tallies)}
    if bounded and not _told_by_bounds(launched, bounded, communicator.counts):
        return
    words = "/".join(sorted({finding.operation for finding in communicator.counts}))
    for rank in ranks:
        own = [tally[rank] for tally in tallies]
        node = next((item.node for item in own if item.node), None)
        line = min((item.line for item in own), key=lambda at: (" ranks " in texts.get(at, ""), at))
        source = Source(path, line, texts.get(line, "")[:500])
        yield GroupState(source, name, rank, words, members, origin="library", last_enqueued=launched[rank], host=node)


def _told_by_bounds(launched: dict[int, int], bounded: set[int], findings: Sequence[Finding]) -> bool:
    """Whether those who launched least are known exactly, and more than half of the ranks launched equally much more.

    Then it does not matter how much the others launched: they wait for these ranks in one operation.
    """
    fewest = min(launched.values())
    if any(launched[rank] == fewest for rank in bounded):
        return False
    return all(2 * max(own.count for own in item.sets) > sum(own.count for own in item.sets) for item in findings)


def _by_rank(finding: Finding, communicator: _Communicator) -> dict[int, _Tally]:
    """What each rank launched; empty where the report does not account for all ranks of the communicator."""
    ranks: dict[int, _Tally] = {}
    unlisted = [own for own in finding.sets if len(own.listed) != own.count]
    for own in finding.sets:
        for listed in own.listed if own not in unlisted else ():
            ranks[int(listed.rank or 0)] = _Tally(own.at, listed.line, listed.node)
    if len(communicator.missing) != communicator.absent:
        return {}
    if unlisted:
        rest = [rank for rank in range(communicator.size) if rank not in ranks and rank not in communicator.missing]
        if len(rest) != sum(own.count for own in unlisted):
            return {}
        least = min(unlisted, key=lambda own: own.at)
        ranks.update(dict.fromkeys(rest, _Tally(least.at, least.line, exact=len(unlisted) == 1)))
    return ranks if all(rank < communicator.size for rank in ranks) else {}


def _sample(sets: Sequence[str], errors: str = "", gpus: int = 16, size: int = 16) -> str:
    """A report as ``ncclras`` lays it out."""
    told = "\n".join(f"  {line}" for line in sets)
    return (
        "NCCL version 2.26.2 compiled with CUDA 12.8\nCUDA runtime version 12080, driver version 12080\n\n"
        "Job summary\n===========\n\n  Nodes  Processes         GPUs  Processes     GPUs\n"
        "(total)   per node  per process    (total)  (total)\n"
        f"      2          8            1         {gpus}       {gpus}\n\n"
        "Communicators... (0.00s)\n=============\n\n"
        "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
        "    #  in group  per comm  per node  per comm  in group\n"
        f"    0         1         2         8        {size}        {size}   RUNNING  MISMATCH\n\n"
        f"Errors\n======\n\n{errors}Warnings\n========\n\n#0-0 (9f3a11c07be2d455) MISMATCH\n"
        f"  Communicator ranks have different AllReduce operation counts\n{told}\n\n"
    )


_ONE_BEHIND = (
    "15 ranks have launched up to operation 310",
    "Rank 5 has launched up to operation 309 -- GPU 5 managed by process 7105 on node 10.3.0.1",
)
_SETS = ("20 ranks have launched up to operation 311", "11 ranks have launched up to operation 310", _ONE_BEHIND[1])
_MISSING = (
    "DEAD\n  1 job process is considered dead (unreachable via the RAS network)\n"
    "  Process 7209 on node 10.3.0.2 managing GPU 1\n\n"
    "#0-0 (9f3a11c07be2d455) INCOMPLETE\n  Missing communicator data from 1 rank\n"
    "  Rank 9 -- GPU 1 managed by process 7209 on node 10.3.0.2\n\n"
)

ADAPTER = Adapter(
    name="ncclras_text",
    branch="comm",
    emits=(),
    coverage="comm_state",
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            _sample(_ONE_BEHIND),
            (
                ("group_state", {"rank": 5, "group": "9f3a11c07be2d455", "last_enqueued": 309, "host": "10.3.0.1"}),
                ("group_state", {"rank": 15, "last_enqueued": 310, "members": "0-15"}),
            ),
            path="ras.txt",
        ),
        Sample(
            _sample(("14 ranks have launched up to operation 310", _ONE_BEHIND[1]), _MISSING),
            (
                ("group_state", {"rank": 9, "condition": "dead", "host": "10.3.0.2"}),
                ("group_state", {"rank": 5, "last_enqueued": 309}),
            ),
            path="ras.txt",
        ),
        Sample(
            _sample(_SETS, gpus=32, size=32),
            (
                ("group_state", {"rank": 5, "last_enqueued": 309}),
                ("group_state", {"rank": 31, "last_enqueued": 310}),
            ),
            path="ras.txt",
        ),
        Sample(_sample(_ONE_BEHIND, gpus=32), (), path="ras.txt"),
    ),
)
