"""Communicators that a process began to create and did not finish: ``Init START`` of NCCL or RCCL without ``COMPLETE``.

Printed with ``NCCL_DEBUG=INFO`` since 2.18; a log that holds no START at all says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from engine.facts.model import Observation, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict

_MARK = re.compile(
    r"(?:\b(?P<host>[\w-]{1,64}):(?P<pid>\d{1,10}):\d{1,10} \[\d+\] )?(?:NCCL INFO )?"
    r"(?:\[Rank \d+\] )?(?:ncclComm\w+ )?"
    r"comm (?P<comm>0x[0-9a-f]+) rank (?P<rank>\d+) n[rR]anks (?P<nranks>\d+) .*?- ?Init (?P<what>START|COMPLETE)"
)


@dataclass(slots=True)
class _Process:
    """What one process printed: lines of the communicators that are still open, by address, and counts."""

    open: dict[str, tuple[int, str, int, int]] = field(default_factory=dict)
    started: int = 0
    completed: int = 0


def sniff(head: Head) -> Verdict:
    """A log in which NCCL prints its communicators."""
    if "Init START" in head.text and "nranks" in head.text:
        return Verdict(0.6, "NCCL creates communicators")
    return Verdict(0.0, "no communicator is created")


def read(file: EvidenceFile, _context: Context) -> Iterator[Observation]:
    """``comm.init_incomplete`` of each process whose last communicators have no end, at the line of the first START."""
    processes: dict[tuple[str, str], _Process] = {}
    for line in file.holding("Init START", "Init COMPLETE"):
        text = line.text[:4096]
        for match in _MARK.finditer(text):
            _note(processes, match, line.number, text)
    for (host, _), process in processes.items():
        if process.open:
            number, text, rank, nranks = min(process.open.values())
            largest = max(item[3] for item in process.open.values())
            yield Observation(
                "comm.init_incomplete",
                Source(file.path, number, text[:2000]),
                {"nranks": nranks, "started": process.started, "completed": process.completed},
                host=host or None,
                rank=rank if nranks == largest and process.completed == 0 else None,
            )


def _note(processes: dict[tuple[str, str], _Process], match: re.Match[str], number: int, text: str) -> None:
    process = processes.setdefault((match["host"] or "", match["pid"] or ""), _Process())
    if match["what"] == "START":
        process.started += 1
        process.open[match["comm"]] = (number, text, int(match["rank"]), int(match["nranks"]))
    else:
        process.completed += 1
        process.open.pop(match["comm"], None)


_START = "n1:70:77 [{0}] NCCL INFO ncclCommInitRank comm 0x5{0} rank {0} nranks 16 cudaDev {0} busId 1000 commId 0xa - "

ADAPTER = Adapter(
    name="nccl_communicators",
    branch="comm",
    emits=("comm.init_incomplete",),
    coverage=None,
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            _START.format(3) + "Init START\nstill waiting\n",
            (("comm.init_incomplete", {"nranks": 16, "started": 1, "completed": 0}),),
            path="logs/train.log",
        ),
        Sample(_START.format(3) + "Init START\n" + _START.format(3) + "Init COMPLETE\n", (), path="logs/train.log"),
    ),
)
