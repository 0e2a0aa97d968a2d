"""Planted culprits, and what happens to the dumps afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from random import Random

from tests.facts.waits.dumps import Recorder, dump_of
from tests.facts.waits.job import Op, Run, Simulation, Topology, Trouble, program

STEPS = 3


@dataclass
class Case:
    """A hanging job with its dumps: who is guilty, and whether the dumps determine it.

    ``outcome`` is what an analysis should say: ``suspects``, ``circle``, ``stalled`` or ``undecided``.
    """

    name: str
    run: Run
    guilty: set[int]
    determined: bool
    outcome: str
    dead: set[int] = field(default_factory=set)
    dumps: dict[int, bytes] = field(default_factory=dict)


@dataclass
class Plan:
    programs: list[list[Op]]
    trouble: Trouble
    guilty: set[int]
    outcome: str = "suspects"
    determined: bool = True
    dead: set[int] = field(default_factory=set)


def place(plan_programs: list[list[Op]], rank: int, random: Random, names: tuple[str, ...], groups: set[int]) -> int:
    """The index of a launch of the rank in the middle of the job."""
    ops = plan_programs[rank]
    third = len(ops) // 3
    fits = [i for i in range(third, 2 * third) if ops[i].name.startswith(names) and ops[i].group in groups]
    return random.choice(fits)


def killed(topology: Topology, programs: list[list[Op]], random: Random) -> Plan:
    """Its dump is missing as one that nobody collected is, so that dumps alone never tell who it was."""
    rank = random.randrange(topology.world)
    stop = place(programs, rank, random, ("",), set(topology.of_rank[rank].values()))
    return Plan(programs, Trouble(stops={rank: stop}), {rank}, outcome="undecided", determined=False, dead={rank})


def blocked(topology: Topology, programs: list[list[Op]], random: Random) -> Plan:
    return replace(killed(topology, programs, random), outcome="suspects", determined=True, dead=set())


def device_stuck(topology: Topology, programs: list[list[Op]], random: Random) -> Plan:
    rank = random.randrange(topology.world)
    own = topology.of_rank[rank]
    at = place(programs, rank, random, ("",), {own["TENSOR"], own["DATA"]})
    return Plan(programs, Trouble(never_begins={rank: at}), {rank})


def _voting(topology: Topology, rank: int) -> set[int]:
    """Groups of the rank in which a majority can be told."""
    return {group for group in topology.of_rank[rank].values() if len(topology.groups[group][1]) > 2}


def skipped(topology: Topology, programs: list[list[Op]], random: Random) -> Plan:
    rank = random.randrange(topology.world)
    at = place(programs, rank, random, ("all_", "_"), {topology.of_rank[rank]["TENSOR"]})
    ops = programs[rank]
    del ops[at]
    return Plan(programs, Trouble(), {rank}, determined=topology.tensor > 2)


def wrong_shape(topology: Topology, programs: list[list[Op]], random: Random) -> Plan:
    rank = random.randrange(topology.world)
    at = place(programs, rank, random, ("all_re", "_"), _voting(topology, rank))
    programs[rank][at] = replace(programs[rank][at], size=programs[rank][at].size + 8)
    return Plan(programs, Trouble(), {rank})


def wrong_order(topology: Topology, programs: list[list[Op]], random: Random) -> Plan:
    """Two neighbouring launches of one group the other way round."""
    rank = random.randrange(topology.world)
    group = topology.of_rank[rank]["TENSOR"]
    ops = programs[rank]
    at = place(programs, rank, random, ("all_", "_"), {group})
    later = next(i for i in range(at + 1, len(ops)) if ops[i].group == group and ops[i].name != ops[at].name)
    ops[at], ops[later] = ops[later], ops[at]
    return Plan(programs, Trouble(), {rank}, determined=topology.tensor > 2)


def cross_deadlock(topology: Topology, programs: list[list[Op]], random: Random) -> Plan:
    """One rank launches the world-wide operation before one of its tensor group; its neighbours do it after."""
    rank = random.randrange(topology.world)
    ops = programs[rank]
    ends = [i for i, op in enumerate(ops) if op.group == 0]
    at = ends[len(ends) // 2]
    earlier = max(i for i in range(at) if ops[i].group == topology.of_rank[rank]["TENSOR"])
    ops.insert(earlier, replace(ops.pop(at), joins=False))
    return Plan(programs, Trouble(), {rank}, outcome="circle", determined=topology.tensor > 2)


def stalled(topology: Topology, programs: list[list[Op]], random: Random) -> Plan:
    """One operation that all its members are in never ends: the network between two of them, or the library."""
    rank = random.randrange(topology.world)
    at = place(programs, rank, random, ("",), set(topology.of_rank[rank].values()))
    key = Simulation._keys(rank, programs[rank])[at]
    return Plan(programs, Trouble(never_ends={key}), set(), outcome="stalled")


SCENARIOS: dict[str, Callable[[Topology, list[list[Op]], Random], Plan]] = {
    "rank killed": killed,
    "rank blocked in user code": blocked,
    "device never begins": device_stuck,
    "one collective skipped": skipped,
    "wrong shape": wrong_shape,
    "wrong order": wrong_order,
    "deadlock across groups": cross_deadlock,
    "stall of one operation": stalled,
}


def run_of(name: str, topology: Topology, random: Random, long: int = 0, ahead: int = 6) -> Case:
    """The hanging job of a scenario, without dumps."""
    programs = [program(topology, rank, STEPS, long=long) for rank in range(topology.world)]
    plan = SCENARIOS[name](topology, programs, random)
    run = Simulation(topology, plan.programs, plan.trouble).run(ahead, random)
    return Case(name, run, plan.guilty, plan.determined, plan.outcome, plan.dead)


def take_dumps(case: Case, recorder: Recorder, random: Random) -> Case:
    """Every rank that lives writes its dump."""
    world = range(case.run.topology.world)
    case.dumps = {rank: dump_of(case.run, rank, recorder, random) for rank in world if rank not in case.dead}
    return case


# --- what happens to dumps ---


def lose(case: Case, count: int, random: Random) -> Case:
    """Dumps of healthy ranks that nobody collected."""
    return _with(case, dict.fromkeys(_healthy(case, count, random)))


def empty(case: Case, count: int, random: Random) -> Case:
    """Dumps of healthy ranks that were begun and not written."""
    return _with(case, dict.fromkeys(_healthy(case, count, random), b""))


def cut(case: Case, count: int, random: Random) -> Case:
    """Dumps of healthy ranks that end early."""
    hit = _healthy(case, count, random)
    return _with(
        case, {rank: case.dumps[rank][: int(len(case.dumps[rank]) * random.uniform(0.2, 0.9))] for rank in hit}
    )


def _healthy(case: Case, count: int, random: Random) -> list[int]:
    return random.sample(sorted(set(case.dumps) - case.guilty), min(count, len(case.dumps) - len(case.guilty) - 1))


def _with(case: Case, changed: dict[int, bytes | None]) -> Case:
    dumps = {rank: changed.get(rank, data) for rank, data in case.dumps.items()}
    return replace(case, dumps={rank: data for rank, data in dumps.items() if data is not None})


DAMAGES: dict[str, Callable[[Case, int, Random], Case]] = {"missing": lose, "empty": empty, "cut": cut}

RECORDERS: dict[str, Recorder] = {
    "plain": Recorder(frames=True),
    "JSON": Recorder(as_json=True),
    "starts not told": Recorder(tracks=False),
    "ring overrun": Recorder(length=25),
    "wild clocks": Recorder(wild_clocks=True),
}

SMALL = (
    Topology(tensor=4, data=4, pipeline=1),
    Topology(tensor=4, data=2, pipeline=2),
    Topology(tensor=4, data=4, pipeline=2, expert=2),
)


def topologies(world: int) -> Iterator[Topology]:
    """Shapes of a job of this size."""
    yield Topology(tensor=4, data=world // 4, pipeline=1)
    if world >= 32:
        yield Topology(tensor=4, data=world // 8, pipeline=2, expert=2)
    if world >= 64:
        yield Topology(tensor=8, data=world // 32, pipeline=4, expert=2)
