"""A simulated training job: its process groups, the program of each rank, and how far everybody comes.

Data, tensor, pipeline and expert groups as Megatron orders them (tensor ranks next to each other, pipeline stages
furthest apart). Every rank runs its program in order; an operation ends when all its members are in it with the same
call. Gradient buckets run beside the backward pass and are joined at the end of a step, as overlapped ones do.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from random import Random

SCHEDULED, STARTED, COMPLETED, ABSENT = 0, 1, 2, 3


@dataclass(frozen=True)
class Op:
    """One launch: ``peer`` (rank in the job) and ``sends`` for a transfer; ``apart`` runs beside what follows."""

    group: int
    name: str
    size: int
    peer: int = -1
    sends: bool = False
    apart: bool = False
    joins: bool = False


@dataclass
class Topology:
    tensor: int
    data: int
    pipeline: int
    expert: int = 1
    groups: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)
    of_rank: dict[int, dict[str, int]] = field(default_factory=dict)
    """Per rank the number of its group of each description."""

    def __post_init__(self) -> None:
        world = range(self.world)
        self._add("default_pg", tuple(world))
        for first in range(0, self.world, self.tensor):
            self._add("TENSOR", tuple(range(first, first + self.tensor)))
        block = self.tensor * self.data
        for stage in range(self.pipeline):
            for lane in range(self.tensor):
                ranks = tuple(range(stage * block + lane, (stage + 1) * block, self.tensor))
                self._add("DATA", ranks)
                for first in range(0, len(ranks), self.expert) if self.expert > 1 else ():
                    self._add("EXPERT", ranks[first : first + self.expert])
        for first in range(block) if self.pipeline > 1 else ():
            self._add("PIPELINE", tuple(range(first, self.world, block)))

    @property
    def world(self) -> int:
        return self.tensor * self.data * self.pipeline

    def _add(self, description: str, ranks: tuple[int, ...]) -> None:
        number = len(self.groups)
        self.groups.append((description, ranks))
        for rank in ranks:
            self.of_rank.setdefault(rank, {})[description] = number

    def stage(self, rank: int) -> int:
        return rank // (self.tensor * self.data)


def program(topology: Topology, rank: int, steps: int, layers: int = 2, micro: int = 2, long: int = 0) -> list[Op]:
    """What a rank launches; ``long`` adds layers so that a recorder of any length is filled."""
    own, stage, last = topology.of_rank[rank], topology.stage(rank), topology.pipeline - 1
    block = topology.tensor * topology.data
    ops: list[Op] = []

    def inner(backward: bool) -> None:
        for layer in range(layers + long):
            size = 4096 * (layer % 5 + 1)
            ops.append(Op(own["TENSOR"], "_all_gather_base" if layer % 2 == backward else "all_reduce", size))
            if "EXPERT" in own:
                ops.append(Op(own["EXPERT"], "all_to_all", 512 * (layer % 5 + 1)))
            ops.append(Op(own["TENSOR"], "_reduce_scatter_base", 2 * size))

    for _ in range(steps):
        for _ in range(micro):
            if stage > 0:
                ops.append(Op(own["PIPELINE"], "recv", 1024, rank - block))
            inner(backward=False)
            if stage < last:
                ops.append(Op(own["PIPELINE"], "send", 1024, rank + block, sends=True))
                ops.append(Op(own["PIPELINE"], "recv", 2048, rank + block))
            inner(backward=True)
            if stage > 0:
                ops.append(Op(own["PIPELINE"], "send", 2048, rank - block, sends=True))
        for bucket in range(3):
            ops.append(Op(own["DATA"], "_reduce_scatter_base", 1 << (16 + bucket), apart=True))
            ops.append(Op(own["TENSOR"], "all_reduce", 64 + bucket))
        ops.append(Op(own["DATA"], "_all_gather_base", 1 << 15, joins=True))
        ops.append(Op(0, "all_reduce", 1, joins=True))
    return ops


@dataclass
class Run:
    """A job that hangs: how far each rank's operations came, and how many each has launched."""

    topology: Topology
    programs: list[list[Op]]
    states: list[bytearray]
    launched: list[int]


@dataclass
class Trouble:
    """What goes wrong: launches end before an index, an operation never begins on its device, one never ends."""

    stops: dict[int, int] = field(default_factory=dict)
    never_begins: dict[int, int] = field(default_factory=dict)
    never_ends: set[tuple[object, ...]] = field(default_factory=set)


class Simulation:
    def __init__(self, topology: Topology, programs: list[list[Op]], trouble: Trouble) -> None:
        self.topology, self.programs, self.trouble = topology, programs, trouble
        self.keys = [self._keys(rank, ops) for rank, ops in enumerate(programs)]
        self.states = [bytearray([ABSENT]) * len(ops) for ops in programs]
        self.at = [0] * len(programs)
        self.waits_for: list[int] = [-1] * len(programs)
        self.apart = [0] * len(programs)
        self.busy: dict[tuple[int, object], deque[int]] = {}
        self.arrived: dict[tuple[object, ...], list[tuple[int, int]]] = {}
        self.work: deque[int] = deque(range(len(programs)))

    @staticmethod
    def _keys(rank: int, ops: list[Op]) -> list[tuple[object, ...]]:
        counts: dict[object, int] = {}
        keys: list[tuple[object, ...]] = []
        for op in ops:
            lane: tuple[object, ...] = (op.group,)
            if op.peer >= 0:
                lane = (op.group, rank, op.peer) if op.sends else (op.group, op.peer, rank)
            counts[lane] = counts.get(lane, 0) + 1
            keys.append((*lane, counts[lane]))
        return keys

    def run(self, ahead: int, random: Random) -> Run:
        while self.work:
            self._progress(self.work.popleft())
        launched = []
        for rank, ops in enumerate(self.programs):
            end = self.trouble.stops.get(rank, len(ops))
            limit = min(end, self.at[rank] + 1 + random.randint(0, ahead))
            while limit > self.at[rank] + 1 and any(op.joins for op in ops[self.at[rank] : limit - 1]):
                limit -= 1
            limit = max(min(limit, end), min(self.at[rank], end))
            for index in range(limit):
                if self.states[rank][index] == ABSENT:
                    self.states[rank][index] = SCHEDULED
            launched.append(limit)
        return Run(self.topology, self.programs, self.states, launched)

    def _progress(self, rank: int) -> None:
        ops = self.programs[rank]
        while self.waits_for[rank] < 0 and self.at[rank] < self.trouble.stops.get(rank, len(ops)):
            index = self.at[rank]
            op = ops[index]
            if op.joins and self.apart[rank]:
                return
            lane = self.busy.setdefault((rank, self.keys[rank][index][:-1]), deque())
            lane.append(index)
            if op.apart:
                self.apart[rank] += 1
                self.at[rank] += 1
            else:
                self.waits_for[rank] = index
            if len(lane) == 1:
                self._arrive(rank, index)

    def _arrive(self, rank: int, index: int) -> None:
        if self.trouble.never_begins.get(rank) == index:
            self.states[rank][index] = SCHEDULED
            return
        self.states[rank][index] = STARTED
        key, op = self.keys[rank][index], self.programs[rank][index]
        here = self.arrived.setdefault(key, [])
        here.append((rank, index))
        members = 2 if op.peer >= 0 else len(self.topology.groups[op.group][1])
        calls = {(self.programs[r][i].name, self.programs[r][i].size) for r, i in here}
        if len(here) == members and (op.peer >= 0 or len(calls) == 1) and key not in self.trouble.never_ends:
            for other, at in here:
                self._complete(other, at)

    def _complete(self, rank: int, index: int) -> None:
        self.states[rank][index] = COMPLETED
        lane = self.busy[rank, self.keys[rank][index][:-1]]
        lane.popleft()
        if self.programs[rank][index].apart:
            self.apart[rank] -= 1
        if self.waits_for[rank] == index:
            self.waits_for[rank] = -1
            self.at[rank] += 1
        self.work.append(rank)
        if lane:
            self._arrive(rank, lane[0])
