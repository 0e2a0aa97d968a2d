"""Who wrote a line, learnt from other lines of the file: rank of a process or local rank, host of a rank."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from engine.facts.model import Observation
from facts_adapters.text.envelope import Envelope

LITERALS = ("nranks", "nRanks", "GLOBAL_RANK", "local_rank", "rank ", "global_ranks")
"""Texts of which one stands in a line that tells ranks."""

_COMM = re.compile(r"\brank (?P<rank>\d+) n[rR]anks (?P<world>\d+)\b")
_LIGHTNING = re.compile(r"GLOBAL_RANK: (?P<rank>\d+), MEMBER: \d+/(?P<world>\d+)")
_STATED = re.compile(
    r"\brank[ =:]+(?P<rank>\d+)(?:/(?P<world>\d+))?\b.{0,40}?\blocal[_ ]rank[ =:]+(?P<local>\d+)"
    r"(?:.{0,40}?\bhost[ =:]+(?P<host>[\w.-]+))?(?:.{0,40}?\bpid[ =:]+(?P<pid>\d+))?"
)
_FAILED = re.compile(r"local_rank: (?P<local>\d+) \(pid: (?P<pid>\d+)\)")
_GLOBALS = re.compile(r"global_ranks=\[(?P<ranks>[\d, ]+)\]")


@dataclass(slots=True)
class Identity:
    """What the lines of one file tell about ranks; contradictions make a key useless."""

    world: int | None = None
    rank_of_pid: dict[tuple[str | None, int], int | None] = field(default_factory=dict)
    host_of_rank: dict[int, str | None] = field(default_factory=dict)
    local_of_pid: dict[int, int | None] = field(default_factory=dict)
    bases: Counter[int] = field(default_factory=Counter)
    ranks: set[int] = field(default_factory=set)
    hosts: Counter[str] = field(default_factory=Counter)
    _comms: dict[tuple[str | None, int], tuple[int, int]] = field(default_factory=dict)

    def see(self, envelope: Envelope) -> None:
        """Learn from a line's prefixes and message."""
        if envelope.host:
            self.hosts[envelope.host] += 1
        self._prefix(envelope)
        message = envelope.message
        if "ank" not in message:
            return
        comm = _COMM.search(message)
        if comm and envelope.pid is not None:
            self._comm((envelope.host, envelope.pid), int(comm["rank"]), int(comm["world"]))
        stated = _STATED.search(message)
        if stated:
            self._statement(stated, envelope)
        lightning = _LIGHTNING.search(message)
        if lightning:
            self.world = int(lightning["world"])
            self._rank(int(lightning["rank"]), envelope)
        failed = _FAILED.search(message)
        if failed:
            _agree(self.local_of_pid, int(failed["pid"]), int(failed["local"]))
        listed = _GLOBALS.search(message)
        if listed:
            self.bases[min(int(r) for r in listed["ranks"].replace(" ", "").split(",") if r)] += 1

    def _prefix(self, envelope: Envelope) -> None:
        if envelope.rank is None:
            return
        self.ranks.add(envelope.rank)
        self._rank(envelope.rank, envelope)

    def _rank(self, rank: int, envelope: Envelope) -> None:
        if envelope.local_rank is not None and rank >= envelope.local_rank:
            self.bases[rank - envelope.local_rank] += 1
        if envelope.host:
            _agree(self.host_of_rank, rank, envelope.host)
        if envelope.pid is not None and "nccl" in envelope.kinds:
            _agree(self.rank_of_pid, (envelope.host, envelope.pid), rank)

    def _statement(self, match: re.Match[str], envelope: Envelope) -> None:
        rank, local = int(match["rank"]), int(match["local"])
        if match["world"]:
            self.world = int(match["world"])
        if rank >= local:
            self.bases[rank - local] += 1
        host = match["host"] or envelope.host
        if host:
            _agree(self.host_of_rank, rank, host)
        if match["pid"]:
            _agree(self.rank_of_pid, (host, int(match["pid"])), rank)

    def _comm(self, process: tuple[str | None, int], rank: int, world: int) -> None:
        """The rank in the largest communicator of a process is its global rank; smaller ones are groups of the job."""
        known = self._comms.get(process)
        if known is None or world > known[1]:
            self._comms[process] = (rank, world)
        elif world == known[1] and rank != known[0]:
            self._comms[process] = (-1, world)

    @property
    def largest(self) -> int | None:
        """Size of the job as far as the lines tell: stated, else the largest communicator."""
        sizes = [world for _, world in self._comms.values()]
        return self.world or (max(sizes) if sizes else None)

    @property
    def base(self) -> int | None:
        """Rank of local rank 0 where all lines agree."""
        return next(iter(self.bases)) if len(self.bases) == 1 else None

    def rank(self, host: str | None, pid: int | None) -> int | None:
        """Rank of a process."""
        if pid is None:
            return None
        stated = self.rank_of_pid.get((host, pid), self.rank_of_pid.get((None, pid)))
        if stated is not None:
            return stated
        comm = self._comms.get((host, pid))
        if comm and comm[0] >= 0 and comm[1] == self.largest:
            return comm[0]
        local = self.local_of_pid.get(pid)
        return local + self.base if local is not None and self.base is not None else None

    def complete(self, observation: Observation, envelope: Envelope, pid: int | None) -> None:
        """Fill rank and host that the line itself does not state."""
        if observation.rank is None:
            observation.rank = envelope.rank
        if observation.rank is None and envelope.local_rank is not None and self.base is not None:
            observation.rank = self.base + envelope.local_rank
        if observation.rank is None:
            observation.rank = self.rank(envelope.host, pid)
        if observation.host is None:
            observation.host = envelope.host
        if observation.host is None and observation.rank is not None:
            observation.host = self.host_of_rank.get(observation.rank)


def _agree(table: dict[object, object] | dict, key: object, value: object) -> None:  # type: ignore[type-arg]
    """Store a value; two different ones for one key cancel each other for good."""
    if key in table and table[key] != value:
        table[key] = None
    else:
        table[key] = value


def unanimous(counts: Iterable[tuple[str, int]]) -> str | None:
    """The only name that was counted, ``None`` where there are none or several."""
    names = {name for name, _ in counts}
    return next(iter(names)) if len(names) == 1 else None
