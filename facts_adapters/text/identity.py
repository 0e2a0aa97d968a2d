"""Who wrote a line, learnt from other lines of the file: rank of a process or local rank, host of a rank."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Sized
from dataclasses import dataclass, field
from typing import TypeVar

from facts_adapters.text.envelope import Envelope

LITERALS = (
    "nranks",
    "nRanks",
    "GLOBAL_RANK: ",
    "local_rank: ",
    " local_rank ",
    "global_ranks=",
    "ProcessGroupNCCL.cpp",
    "ProcessGroupHCCL.cpp",
    "srun: error: ",
)
"""Texts of which one stands in a line that tells ranks."""

_COMM = re.compile(r"\brank (?P<rank>\d+) n[rR]anks (?P<world>\d+)\b")
_LIGHTNING = re.compile(r"GLOBAL_RANK: (?P<rank>\d+), MEMBER: \d+/(?P<world>\d+)")
_STATED = re.compile(
    r"\brank[ =:]+(?P<rank>\d+)(?:/(?P<world>\d+))?\b[^(]{0,40}?\blocal[_ ]rank[ =:]+(?P<local>\d+)"
    r"(?:.{0,40}?\bhost[ =:]+(?P<host>[\w.-]+))?(?:.{0,40}?\bpid[ =:]+(?P<pid>\d+))?"
)
_FAILED = re.compile(r"local_rank: (?P<local>\d+) \(pid: (?P<pid>\d+)\)")
_OF_GROUP = re.compile(r"(?:^|[\] ])\[Rank (?P<rank>\d{1,6})\]|\(default_pg\) Rank (?P<sure>\d{1,6})\]")
"""A rank inside a process group, most often of all ranks; sure where the group is the default one."""

_TASKS = re.compile(r"(?:srun|slurmstepd): error: (?P<host>[\w.-]+): tasks? (?P<tasks>\d[\d,-]*)\b")
_WORKER_IP = re.compile(r"\bWorker IP address: (?P<ip>[\w.:-]*\w)")
_GLOBALS = re.compile(r"global_ranks=\[(?P<ranks>[\d, ]+)\]")
_LAUNCHER = re.compile(r"torch/distributed/(?:run\.py|launcher/|elastic/(?!multiprocessing/errors))")
_NODELIST = re.compile(r"(?:NODELIST[=:] ?|^Job \d+ on )(?P<nodes>[\w.,\[\]-]+)")
_RANGES = re.compile(r"([^,\[\]]*)(?:\[([\d,-]+)\])?([^,\[\]]*)(?:,|$)")

Process = tuple[str | None, int]
"""Host as the line names it, and process id."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(slots=True)
class Identity:
    """What the lines of one file tell about ranks; contradictions make a key useless (``None``)."""

    world: int | None = None
    hosts: Counter[str] = field(default_factory=Counter)
    ranks: set[int] = field(default_factory=set)
    declared: set[int] = field(default_factory=set)
    """Ranks that a process says of itself."""
    processes: set[Process] = field(default_factory=set)
    bases: Counter[int] = field(default_factory=Counter)
    ranks_of_task: dict[int, set[int]] = field(default_factory=dict)
    node_list: list[str] = field(default_factory=list)
    lines: int = 0
    of_rank: int = 0
    launcher: bool = False
    merged: bool = False
    """Output of a scheduler's job or of Ray's driver, which holds what all its hosts wrote."""
    services: set[str] = field(default_factory=set)
    """Containers that a file shows the output of; one alone may be called the same on every host."""
    claims: dict[int, set[int]] = field(default_factory=dict)
    """Ranks in a process group that the lines of a task of ``srun -l`` name."""
    local_claims: dict[int, set[int]] = field(default_factory=dict)
    """The same by local rank."""
    shared_host: bool = False
    """Slurm names several tasks of one host: they are no launchers, of which a host has one."""
    rank_of_pid: dict[Process, int | None] = field(default_factory=dict)
    host_of_rank: dict[int, str | None] = field(default_factory=dict)
    host_of_task: dict[int, str | None] = field(default_factory=dict)
    local_of_pid: dict[int, int | None] = field(default_factory=dict)
    comms: dict[Process, tuple[int, int]] = field(default_factory=dict)

    def see(self, envelope: Envelope) -> None:
        """Learn from a line's prefixes and message."""
        self._prefixes(envelope)
        message = envelope.message
        self.merged = self.merged or message.startswith(("srun: ", "slurmstepd: "))
        self.merged = self.merged or (envelope.host is not None and "ray" in envelope.kinds)
        if ": error: " in message[:24]:
            tasks = _TASKS.match(message)
            self.shared_host = self.shared_host or bool(tasks and len(hostlist(f"t[{tasks['tasks']}]")) > 1)
        if "NODELIST" in message or message.startswith("Job "):
            nodes = _NODELIST.search(message)
            self.node_list = (hostlist(nodes["nodes"]) if nodes else []) or self.node_list
        if "ank" in message:
            self._message(message, envelope)

    def _prefixes(self, envelope: Envelope) -> None:
        self.lines += bool(envelope.message)
        self.of_rank += envelope.rank is not None
        self.launcher = self.launcher or bool(envelope.unit and _LAUNCHER.match(envelope.unit))
        if envelope.service:
            self.services.add(envelope.service)
        if envelope.host and envelope.host != envelope.service:
            self.hosts[envelope.host] += 1
        if envelope.task is not None:
            self.ranks_of_task.setdefault(envelope.task, set())
            if envelope.host:
                _agree(self.host_of_task, envelope.task, envelope.host)
        if envelope.pid is not None and "nccl" in envelope.kinds:
            self.processes.add((envelope.host, envelope.pid))
        if envelope.rank is not None:
            self._rank(envelope.rank, envelope)

    def _claim(self, message: str, envelope: Envelope) -> None:
        claim = _OF_GROUP.search(message[:400])
        if claim is None:
            return
        rank = int(claim["rank"] or claim["sure"])
        if envelope.task is not None:
            self.claims.setdefault(envelope.task, set()).add(rank)
        if envelope.local_rank is not None and envelope.rank is None:
            self.local_claims.setdefault(envelope.local_rank, set()).add(rank)
            if claim["sure"] and rank >= envelope.local_rank:
                self.bases[rank - envelope.local_rank] += 1

    def _message(self, message: str, envelope: Envelope) -> None:
        if "c10" in envelope.kinds:
            self._claim(message, envelope)
        comm = _COMM.search(message)
        if comm and envelope.pid is not None:
            self._comm((envelope.host, envelope.pid), int(comm["rank"]), int(comm["world"]))
        stated = _STATED.search(message)
        if stated:
            self._statement(stated, envelope)
        lightning = _LIGHTNING.search(message)
        if lightning:
            self.world = int(lightning["world"])
            self.declared.add(int(lightning["rank"]))
            self._rank(int(lightning["rank"]), envelope)
        failed = _FAILED.search(message)
        if failed:
            _agree(self.local_of_pid, int(failed["pid"]), int(failed["local"]))
        listed = _GLOBALS.search(message)
        if listed:
            self.bases[min(int(r) for r in re.findall(r"\d+", listed["ranks"]))] += 1

    def _rank(self, rank: int, envelope: Envelope) -> None:
        self.ranks.add(rank)
        if envelope.task is not None:
            self.ranks_of_task.setdefault(envelope.task, set()).add(rank)
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
        self._rank(rank, envelope)
        self.declared.add(rank)
        host = match["host"] or envelope.host
        if host:
            _agree(self.host_of_rank, rank, host)
        if match["pid"]:
            _agree(self.rank_of_pid, (host, int(match["pid"])), rank)

    def _comm(self, process: Process, rank: int, world: int) -> None:
        """The rank in the largest communicator of a process is its global rank; smaller ones are groups of the job."""
        known = self.comms.get(process)
        if known is None or world > known[1]:
            self.comms[process] = (rank, world)
        elif world == known[1] and rank != known[0]:
            self.comms[process] = (-1, world)

    @property
    def size(self) -> int:
        """How much is known: it grows with every line that tells something new about ranks."""
        tables: list[Sized] = [self.ranks, self.declared, self.processes, self.comms, self.rank_of_pid]
        tables += [self.host_of_rank, self.host_of_task, self.local_of_pid, self.hosts, self.bases, self.node_list]
        for of in (self.ranks_of_task, self.claims, self.local_claims):
            tables += of.values()
        return sum(map(len, tables))

    @property
    def largest(self) -> int | None:
        """Size of the job as far as the lines tell: stated, else the largest communicator."""
        return self.world or max((world for _, world in self.comms.values()), default=None)

    @property
    def base(self) -> int | None:
        """Rank of local rank 0 where all lines agree; else where the ranks in groups of several lie equally far off."""
        if self.bases:
            return next(iter(self.bases)) if len(self.bases) == 1 else None
        apart = {rank - local for local, ranks in self.local_claims.items() for rank in ranks}
        agreed = len(self.local_claims) > 1 and len(apart) == 1 and min(apart) >= 0
        return apart.pop() if agreed else None

    @property
    def only_rank(self) -> int | None:
        """The rank of a file that one process wrote: it says so, or one process or one prefix fills the file."""
        if self.launcher or self.merged or len(self.processes) > 1 or len(self.ranks_of_task) > 1:
            return None
        ranks = set(self.ranks)
        if len(self.processes) == 1:
            found = self.rank(*next(iter(self.processes)))
            ranks |= {found} if found is not None else set()
        alone = self.declared or len(self.processes) == 1 or self.of_rank > 0.8 * self.lines
        return next(iter(ranks)) if alone and len(ranks) == 1 else None

    @property
    def only_host(self) -> str | None:
        """The host that all lines with a host name, where nothing hints at lines of other hosts."""
        if len(self.hosts) != 1 or len(self.ranks_of_task) > 1 or self.merged or len(self.bases) > 1:
            return None
        return next(iter(self.hosts))

    def settle(self) -> None:
        """When the file is read: where Slurm's tasks are as many as its nodes and no ranks, task n is on node n."""
        tasks = sorted(self.ranks_of_task)
        if tasks == list(range(len(self.node_list))) and not self.tasks_are_ranks(None):
            for task, name in zip(tasks, self.node_list, strict=True):
                self.host_of_task.setdefault(task, name)
        for task, ranks in self.ranks_of_task.items():
            host = self.host_of_task.get(task)
            for rank in ranks if host else ():
                self.host_of_rank.setdefault(rank, host)

    def tasks_are_ranks(self, world: int | None) -> bool:
        """Whether the numbers of ``srun -l`` are ranks: no task holds another rank, and they are as many."""
        if any(ranks - {task} for task, ranks in self.ranks_of_task.items()):
            return False
        size = world or self.largest
        named = any(self.ranks_of_task.values()) or self.shared_host
        claimed = {task: ranks for task, ranks in self.claims.items() if task}
        named = named or (bool(claimed) and all(ranks == {task} for task, ranks in claimed.items()))
        return named or (size is not None and max(self.ranks_of_task, default=-1) + 1 == size)

    def rank(self, host: str | None, pid: int | None) -> int | None:
        """Rank of a process."""
        if pid is None:
            return None
        stated = self.rank_of_pid.get((host, pid), self.rank_of_pid.get((None, pid)))
        if stated is not None:
            return stated
        comm = self.comms.get((host, pid))
        if comm and comm[0] >= 0 and comm[1] == self.largest:
            return comm[0]
        local = self.local_of_pid.get(pid)
        return local + self.base if local is not None and self.base is not None else None

    def rank_of(self, envelope: Envelope, pid: int | None, world: int | None) -> int | None:
        """Rank of a line by its prefixes and by what other lines tell about its process."""
        if envelope.rank is not None:
            return envelope.rank
        if envelope.local_rank is not None and self.base is not None:
            return self.base + envelope.local_rank
        found = self.rank(envelope.host, pid)
        if found is None and envelope.task is not None and self.tasks_are_ranks(world):
            return envelope.task
        return found

    def host_of(self, envelope: Envelope, rank: int | None) -> str | None:
        """Host of a line by its prefixes and by what other lines tell about its rank or task."""
        worker = _WORKER_IP.search(envelope.message) if "Worker IP" in envelope.message else None
        if worker:
            return worker["ip"]
        if envelope.host is not None and (envelope.host != envelope.service or len(self.services) > 1):
            return envelope.host
        if envelope.task is not None and self.host_of_task.get(envelope.task):
            return self.host_of_task[envelope.task]
        return self.host_of_rank.get(rank) if rank is not None else None


def hostlist(text: str) -> list[str]:
    """Slurm's ``node[01-03,7],login`` as names in order; empty where it is too long or malformed."""
    names: list[str] = []
    for prefix, ranges, suffix in _RANGES.findall(text):
        if not ranges:
            names += [prefix + suffix] if prefix + suffix else []
            continue
        for part in ranges.split(","):
            first, dash, last = part.partition("-")
            if not first.isdigit() or (dash and not last.isdigit()) or len(names) > 10_000:
                return []
            end = min(int(last or first), int(first) + 10_000)
            names += [f"{prefix}{number:0{len(first)}d}{suffix}" for number in range(int(first), end + 1)]
    return names


def _agree(table: dict[K, V | None], key: K, value: V) -> None:
    """Store a value; two different ones for one key cancel each other for good."""
    table[key] = value if table.get(key, value) == value else None
