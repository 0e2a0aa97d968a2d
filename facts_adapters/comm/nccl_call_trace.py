"""Calls that NCCL and RCCL print with ``NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=COLL`` (2.8 to 2.30): the last one.

``opCount`` is hexadecimal and counts by communicator; calls of one group share a number. An address of a communicator
means something in its own process only, so the ``commId`` of its ``Init`` line names it (2.18 and newer), else its size
where no other of the process has it. The same line gives the rank; RCCL prints the global rank with the call.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from engine.facts.model import Observation, Scalar, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict

MOST_COMMUNICATORS = 200_000
_CALL = re.compile(
    r"(?:\b(?P<host>[\w-]{1,64}):(?P<pid>\d{1,10}):\d{1,10} \[\d+\] )?NCCL INFO (?P<op>[A-Z]\w{2,30}): "
    r"opCount (?P<count>[0-9a-f]{1,15}) .{0,200}?\bcomm (?P<comm>0x[0-9a-f]{1,16}) \[nranks=(?P<nranks>\d{1,7})\]"
    r"(?:.{0,80}?\bglobalrank (?P<rank>\d{1,7}))?"
)
_MADE = re.compile(
    r"(?:\b(?P<host>[\w-]{1,64}):(?P<pid>\d{1,10}):\d{1,10} \[\d+\] )?NCCL INFO .{0,40}?"
    r"comm (?P<comm>0x[0-9a-f]{1,16}) rank (?P<rank>\d{1,7}) n[rR]anks (?P<nranks>\d{1,7}) .{0,200}?busId \w+"
    r"(?:.{0,80}?commId (?P<id>0x[0-9a-f]{1,16}))?.{0,80}?- ?Init (?:START|COMPLETE)"
)
Key = tuple[str, str, str]
"""Host, process and address of a communicator."""


@dataclass(frozen=True, slots=True)
class _Made:
    """What the line says that a communicator was made by."""

    id: str
    rank: int
    nranks: int


@dataclass(frozen=True, slots=True)
class _Last:
    """The last call on a communicator."""

    source: Source
    count: int
    nranks: int
    rank: int | None
    host: str | None


def sniff(head: Head) -> Verdict:
    """A log with calls in it."""
    if ": opCount " in head.text and "sendbuff 0x" in head.text:
        return Verdict(0.7, "calls of NCCL with their numbers")
    return Verdict(0.0, "no calls of NCCL")


def read(file: EvidenceFile, _context: Context) -> Iterator[Observation]:
    """``comm.work_status`` of each communicator that an ``Init`` line names."""
    made: dict[Key, _Made] = {}
    last: dict[Key, _Last] = {}
    for line in file.holding("Init START", "Init COMPLETE"):
        init = _MADE.search(line.text[:2000])
        if init and len(made) < MOST_COMMUNICATORS:
            made[_key(init)] = _Made(init["id"] or "", int(init["rank"]), int(init["nranks"]))
    named = {comm for _, _, comm in made}
    for line in file.holding(": opCount ") if made else ():
        if line.text.rpartition(" comm ")[2].partition(" ")[0] not in named:
            continue
        call = _CALL.search(line.text[:2000])
        if call and (len(last) < MOST_COMMUNICATORS or _key(call) in last):
            last[_key(call)] = _called(file.path, line.number, call)
    world = max((item.nranks for item in made.values()), default=0)
    alike = Counter((host, pid, item.nranks) for (host, pid, _), item in made.items())
    for key, done in last.items():
        known = made.get(key)
        group = known and (known.id or (f"{known.nranks} ranks" if alike[key[0], key[1], known.nranks] == 1 else ""))
        if known is None or not group:
            continue
        rank = done.rank if done.rank is not None else known.rank if known.nranks == world else None
        fields: dict[str, Scalar] = {"pg": group, "last_enqueued": done.count}
        yield Observation("comm.work_status", done.source, fields, host=done.host, rank=rank)


def _key(match: re.Match[str]) -> Key:
    return (match["host"] or "", match["pid"] or "", match["comm"])


def _called(path: str, number: int, call: re.Match[str]) -> _Last:
    rank = int(call["rank"]) if call["rank"] else None
    source = Source(path, number, call.string.strip()[:500])
    return _Last(source, int(call["count"], 16), int(call["nranks"]), rank, call["host"])


_INIT = (
    "n1:7{0}:9{0} [{0}] NCCL INFO ncclCommInitRank comm 0x5{0} rank {0} nranks 16 cudaDev {0} nvmlDev {0} busId 1000 "
    "commId 0xabc1 - Init COMPLETE\n"
)
_CALLED = (
    "n1:7{0}:9{0} [{0}] NCCL INFO AllReduce: opCount {1} sendbuff 0x7f10 recvbuff 0x7f20 count 1024 datatype 7 op 0 "
    "root 0 comm 0x5{0} [nranks=16] stream 0x9{2}\n"
)

ADAPTER = Adapter(
    name="nccl_call_trace",
    branch="comm",
    emits=("comm.work_status",),
    coverage=None,
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            _INIT.format(3)
            + _INIT.format(4)
            + _CALLED.format(3, "1a", "")
            + _CALLED.format(4, "19", "")
            + _CALLED.format(3, "1b", ""),
            (
                ("comm.work_status", {"rank": 3, "host": "n1", "pg": "0xabc1", "last_enqueued": 27}),
                ("comm.work_status", {"rank": 4, "pg": "0xabc1", "last_enqueued": 25}),
            ),
            path="logs/n1.log",
        ),
        Sample(
            _INIT.format(3) + _CALLED.format(3, "2", " task 0 globalrank 11"),
            (("comm.work_status", {"rank": 11, "last_enqueued": 2}),),
            path="logs/n1.log",
        ),
        Sample(
            _INIT.format(3).replace("commId 0xabc1 ", "") + _CALLED.format(3, "2", ""),
            (("comm.work_status", {"rank": 3, "pg": "16 ranks", "last_enqueued": 2}),),
            path="logs/n1.log",
        ),
        Sample(_CALLED.format(3, "1a", "").replace("[nranks=16]", "nranks 16"), (), path="logs/n1.log"),
    ),
)
