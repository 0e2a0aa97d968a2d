"""The state of one rank in one process group, as a recorder, a library report or a log line gives it.

Adapters yield :class:`GroupState` beside observations and counter samples; :mod:`engine.facts.waits` compares the
states of all ranks. Operations lie in compact arrays, so that thousands of dumps fit into memory, and a call is a
number that depends on nothing but the call: two ranks issued the same one where the numbers are equal.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import Literal

from engine.facts.model import Source

MOST_MEMBERS = 1 << 20
"""Ranks that a group may have at most; a longer list is not believed."""

COMPLETED, STARTED, SCHEDULED = 2, 1, 0
"""How far an operation came on its rank: finished, running on the device, only launched."""

STATES = {"scheduled": SCHEDULED, "started": STARTED, "completed": COMPLETED}

Origin = Literal["recorder", "library", "log"]
"""Who says so: the framework's recorder, the library's own report, a line of a log."""

Condition = Literal["whole", "cut", "empty", "unreadable", "unresponsive", "dead"]
"""Whether the statement is whole. ``unresponsive`` and ``dead`` are what others say of a rank that gave none."""

_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?")


@dataclass(frozen=True, slots=True)
class Transfer:
    """Sends to, or receives from, one peer: how many are launched and not finished, and the first of them.

    ``record`` orders it among all operations of the rank, ``state`` is how far the first open one came.
    """

    peer: int
    sends: bool
    open: int
    record: int = -1
    state: int = SCHEDULED
    call: int = 0


@dataclass(slots=True)
class GroupState:
    """What one rank did in one process group.

    ``rank`` is the rank in the job; ``members`` are the group's ranks in the job as :func:`compact` writes them, empty
    where unknown. ``seqs`` (ascending), ``calls``, ``states`` and ``records`` run in parallel, one entry for each
    collective that the recorder still holds; ``records`` orders them among all operations of the rank. ``last_*`` are
    sequence numbers, -1 for none, ``None`` where nobody says. ``words`` spells out the calls.
    ``coarse`` recorders (gloo's) hold no transfers, and call an operation finished that has failed. ``first_ns`` and
    ``last_ns`` are when the first and last entry of the dump was made, by the rank's own clock.
    A state without a group says only that the rank's dump is there and what is wrong with it.
    """

    source: Source
    group: str = ""
    rank: int | None = None
    description: str = ""
    members: str = ""
    origin: Origin = "recorder"
    condition: Condition = "whole"
    last_enqueued: int | None = None
    last_started: int | None = None
    last_completed: int | None = None
    seqs: array[int] = field(default_factory=lambda: array("q"))
    calls: array[int] = field(default_factory=lambda: array("Q"))
    states: bytearray = field(default_factory=bytearray)
    records: array[int] = field(default_factory=lambda: array("q"))
    transfers: tuple[Transfer, ...] = ()
    words: dict[int, str] = field(default_factory=dict)
    overrun: bool = False
    coarse: bool = False
    first_ns: int | None = None
    last_ns: int | None = None
    host: str | None = None
    adapter: str = ""
    run: str | None = None

    @property
    def usable(self) -> bool:
        """Whether it says how far the rank came in the group."""
        return bool(self.group) and (self.last_enqueued is not None or self.last_completed is not None)


def call_number(words: str) -> int:
    """The number of a call: the same for the same words in every process and on every machine."""
    return int.from_bytes(blake2b(words.encode("utf-8", "replace"), digest_size=8).digest(), "little")


def joined(first: int, second: int) -> int:
    """The number of two calls that went out under one sequence number."""
    return call_number(f"{first:x}+{second:x}")


def compact(ranks: Collection[int]) -> str:
    """Ranks as text: ``0-7``, ``3-27:8`` for steps of 8, parts joined by commas; sorted, each once."""
    ordered = sorted(set(ranks))
    parts: list[str] = []
    at = 0
    while at < len(ordered):
        end, step = _run_of(ordered, at)
        first, last = ordered[at], ordered[end]
        if end == at:
            parts.append(str(first))
        elif step == 1:
            parts.append(f"{first}-{last}" if end > at + 1 else f"{first},{last}")
        else:
            parts.append(f"{first}-{last}:{step}" if end > at + 1 else str(first))
            end = end if end > at + 1 else at
        at = end + 1
    return ",".join(parts)


def _run_of(ordered: Sequence[int], at: int) -> tuple[int, int]:
    """Where the run of equal steps that begins at ``at`` ends, and its step."""
    if at + 1 == len(ordered):
        return at, 1
    step = ordered[at + 1] - ordered[at]
    end = at + 1
    while end + 1 < len(ordered) and ordered[end + 1] - ordered[end] == step:
        end += 1
    return end, step


@lru_cache(maxsize=65_536)
def members_of(text: str) -> tuple[int, ...]:
    """The ranks that :func:`compact` wrote, ascending; empty where the text is something else or names too many."""
    ranks: list[int] = []
    for part in text.split(",") if text else ():
        match = _RANGE.fullmatch(part)
        if match is None:
            return ()
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if step < 1 or last < first or (last - first) // step + len(ranks) >= MOST_MEMBERS:
            return ()
        ranks.extend(range(first, last + 1, step))
    return tuple(ranks)


def spoken(ranks: Iterable[int], most: int = 6) -> str:
    """Ranks for people: the ranges, cut after ``most`` parts with the number of ranks that are left out."""
    every = sorted(set(ranks))
    parts = compact(every).split(",") if every else []
    if len(parts) <= most:
        return ", ".join(parts)
    told = parts[:most]
    left = len(every) - len(members_of(",".join(told)))
    return f"{', '.join(told)} (+{left})"
