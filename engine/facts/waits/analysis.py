"""From the states of all ranks to the ends of the chains, and to what each end means.

A chain ends in a rank that is in no operation itself (it held the others up), in a rank of which nothing is known,
in an operation that all members are in with unequal calls or with equal ones, or in a circle. A rank is named only
where the states determine it. One without a dump may be gone, or wait like the others in an operation that does not
end: it is named only where something else speaks against it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engine.facts.collectives import COMPLETED, GroupState
from engine.facts.model import Fact, Source
from engine.facts.waits.graph import WITH_ROOT, Graph, Node, Operation, build, ends, shortest_circle, waiting_for
from engine.facts.waits.hints import HARD, Hints, hints_of
from engine.facts.waits.homes import homes_of, lost_hosts
from engine.facts.waits.mismatch import mismatches, odd_order
from engine.facts.waits.model import ALL_MUST_COME, Circle, Doubt, Front, How, Mismatch, Suspected, Waits
from engine.facts.waits.positions import Group, Positions, assemble, progress_at
from engine.facts.waits.tables import front_of_operation, fronts_of, waits_of

MOMENTARY = ("never_entered", "not_started", "stuck_inside")
"""What a dump that was taken a moment earlier than the others shows just as well."""

NOWHERE = Source("", 0)


def analyse(
    states: Iterable[GroupState],
    world: int | None = None,
    hints: Sequence[Fact] = (),
    nodes: Sequence[str] = (),
    per_node: int | None = None,
    hangs: bool = True,
) -> Waits:
    """Compare the ranks.

    The result does not depend on the order of the states, on clocks or on host names.

    Args:
        states: what each rank did in each group.
        world: number of ranks of the job.
        hints: facts that tell hosts, stacks and steps of ranks, who asked for dumps, and what speaks against a rank.
        nodes: hosts of the job in their order.
        per_node: ranks of one host.
        hangs: whether anything but the states says that the job stands still.
    """
    positions = assemble(states, world)
    known = hints_of(hints, positions.conditions)
    for rank, host in known.hosts.items():
        positions.hosts.setdefault(rank, host)
    members = {rank for group in positions.groups.values() for rank in group.members}
    recorded = positions.recorders
    missing = tuple(sorted({*members, *positions.absent} - recorded)) if recorded else ()
    positions.hosts = homes_of(positions.hosts, members, nodes, per_node)
    graph = build(positions)
    unequal = mismatches(positions)
    analysis = _Analysis(positions, graph, unequal, known, hangs)
    analysis.judge()
    suspects = [known.told(item) for item in analysis.suspects]
    return Waits(
        ranks=len(positions.ranks),
        dumps=len(recorded),
        missing=missing,
        broken=tuple(sorted((rank, how) for rank, how in positions.conditions.items() if rank in recorded)),
        stale=positions.stale,
        coarse=any(rank.coarse for rank in positions.ranks.values()),
        fronts=tuple(fronts_of(positions, graph, unequal, analysis.circle_wheres)),
        waits=tuple(waits_of(positions, graph, unequal, analysis.circle_wheres)),
        suspects=tuple(sorted(suspects, key=lambda item: (-item.waiting, item.rank, item.how))),
        mismatches=tuple(unequal),
        circles=tuple(analysis.circles),
        stalled=tuple(analysis.stalled),
        undecided=tuple(sorted(analysis.undecided)),
        lost_hosts=lost_hosts(positions.hosts, missing, hints),
        overrun=positions.overrun,
        asked_first=known.asked_first,
    )


class _Analysis:
    """The ends of the chains of one incident, sorted by what they mean."""

    def __init__(self, positions: Positions, graph: Graph, unequal: list[Mismatch], known: Hints, hangs: bool) -> None:
        self.positions = positions
        self.hangs = hangs
        self.graph = graph
        self.known = known
        self.unequal = {(item.group, item.seq): item for item in unequal}
        self.suspects: list[Suspected] = []
        self.circles: list[Circle] = []
        self.circle_wheres: set[tuple[str, int]] = set()
        self.stalled: list[Front] = []
        self.undecided: set[int] = set()

    def judge(self) -> None:
        """Sort the ends."""
        for item in self.unequal.values():
            self._odd_ones(item)
        complete: list[Operation] = []
        closed, circles = ends(self.graph, self.positions)
        for part in closed:
            self._end(part, complete)
        if not self.suspects and not self.circles and not self.unequal:
            for part in circles:
                self._circle(sorted(node for node in part if isinstance(node, int)))
        if not self.suspects and not self.circles and not self.unequal:
            self._unknown(blameless=bool(complete))
            if not self.suspects and not self.undecided:
                known = [item for item in complete if item.group.closed or item.transfer is not None]
                self.stalled = [front_of_operation(item, self.positions, "stalled") for item in known]

    def _odd_ones(self, item: Mismatch) -> None:
        group = self.positions.groups[item.group]
        for rank in item.odd:
            number = group.call_at(rank, item.seq)
            found = group.states[rank].words.get(number, "") if number is not None else ""
            waiting = sum(1 for other in group.states if other != rank)
            self._suspect(rank, "mismatch", group.key, item.seq, item.expected, found, item.aspect, waiting)

    def _end(self, part: list[Node], complete: list[Operation]) -> None:
        ranks = sorted(node for node in part if isinstance(node, int))
        if len(part) == 1 and ranks:
            if self._is_late(ranks[0]):
                self._idle(ranks[0])
        elif len(part) == 1:
            operation = self.graph.operations[part[0]]  # type: ignore[index]
            if operation.where not in self.unequal and not self._stuck_inside(operation):
                complete.append(operation)
        elif not any(where in self.unequal for where in part if isinstance(where, tuple)):
            self._circle(ranks)

    def _stuck_inside(self, operation: Operation) -> bool:
        """Whether most members have finished the operation: the ones that have not hold the next one up.

        A root may finish a broadcast long before the others, so that operations with a root say nothing; nor do those
        of a recorder that calls a failed operation finished.
        """
        group, seq = operation.group, operation.seq
        if operation.transfer is not None or group.coarse or group.words_at(seq).startswith(WITH_ROOT):
            return False
        finished = sum(1 for state in group.states.values() if progress_at(state, seq) == COMPLETED)
        if 2 * len(operation.waiting) > finished:
            return False
        for rank in operation.waiting:
            self._suspect(rank, "stuck_inside", group.key, seq, group.words_at(seq))
        return True

    def _is_late(self, rank: int) -> bool:
        """Whether it is known that others wait for the rank."""
        return any(rank in self.graph.operations[where].late for where in self.graph.awaited.get(rank, ()))

    def _idle(self, rank: int) -> None:
        """A rank that waits for nobody and that others wait for."""
        late_in = [item for where in self.graph.awaited[rank] if rank in (item := self.graph.operations[where]).late]
        operation = min(late_in, key=_directly)
        idle = sum(1 for member in operation.late if member not in self.graph.waits)
        alone = 2 * idle > len(operation.group.states) and operation.group.name != ALL_MUST_COME
        if operation.transfer is None and alone:
            return  # most are not in it: the few that wait may have launched what nobody else should
        how: How = "not_started" if operation.late[rank] == "not_started" else "never_entered"
        if operation.group.states and _of_library(operation):
            how = "fewer_operations"
        if any(item.rank == rank for item in self.suspects):
            return
        call = operation.group.words_at(operation.seq) if operation.seq >= 0 else _transfer_words(operation)
        self._suspect(rank, how, operation.group.key, operation.seq, call)

    def _circle(self, ranks: list[int]) -> None:
        """The shortest circle of a part in which all wait for each other: its ranks hold up the others."""
        nodes = shortest_circle(self.graph, ranks)
        inside = sorted(node for node in nodes if isinstance(node, int))
        wheres = sorted(node for node in nodes if isinstance(node, tuple))
        operations = tuple(sorted(_operation_words(self.graph.operations[where]) for where in wheres))[:8]
        source = self.positions.sources.get(inside[0], NOWHERE)
        self.circles.append(Circle(tuple(inside), operations, source))
        self.circle_wheres.update(wheres)
        odd, expected, found = odd_order(inside, self.graph, self.positions)
        for rank in odd:
            where = min(self.graph.waits.get(rank, wheres))
            self._suspect(rank, "order", self.graph.operations[where].group.key, where[1], expected, found, "order")

    def _unknown(self, blameless: bool) -> None:
        """Ranks of which nothing is known, where nothing known explains the wait."""
        demands = [
            frozenset(operation.unknown)
            for operation in self.graph.operations.values()
            if operation.unknown and not operation.late
        ]
        if not demands:
            return
        silent = frozenset.union(*demands)
        lacking = silent if blameless else silent | self._without_dump()
        gone = [] if blameless else [rank for rank in sorted(silent) if self._is_gone(rank, lacking)]
        for rank in gone:
            first = min((self.graph.operations[where] for where in self.graph.awaited[rank]), key=_directly)
            call = first.group.words_at(first.seq) if first.seq >= 0 else _transfer_words(first)
            self._suspect(rank, "no_report", first.group.key, first.seq, call)
        if not gone and len(silent) <= len(self.positions.ranks):
            self.undecided.update(silent)

    def _is_gone(self, rank: int, lacking: frozenset[int]) -> bool:
        """Whether something speaks against a rank that left nothing: anything at all where all others left all.

        ``lacking`` are the ranks that left nothing, or no whole dump.

        Beside a log that stops, others may have left no dump as well, if they report that they waited.
        """
        sign = self.known.signs.get(rank)
        if rank in self.positions.recorders or sign is None:
            return False
        waited = self.known.waited if sign == "stopped" else frozenset()
        return sign in HARD or lacking - waited == {rank}

    def _without_dump(self) -> set[int]:
        """Members that left no whole dump; one whose dump is cut short lived to write it, and may wait like others."""
        whole = {number for number, item in self.positions.ranks.items() if not item.partial}
        return {number for group in self.positions.groups.values() for number in group.members} - whole

    def _suspect(
        self,
        rank: int,
        how: How,
        key: str,
        seq: int,
        call: str,
        found: str = "",
        aspect: str = "",
        waiting: int | None = None,
    ) -> None:
        group = self.positions.groups[key]
        others = (group.states[other] for other in sorted(group.states))
        source = self.positions.sources.get(rank) or next((item.source for item in others), NOWHERE)
        self.suspects.append(
            Suspected(
                rank,
                self.positions.hosts.get(rank),
                how,
                source,
                group.key,
                group.name,
                group.description,
                seq,
                call,
                found,
                aspect,
                waiting_for(self.graph, rank) if waiting is None else waiting,
                sign=self.known.signs.get(rank) if how == "no_report" else None,
                doubt=self._doubt(rank, how, group),
            )
        )

    def _doubt(self, rank: int, how: How, group: Group) -> Doubt | None:
        """Why a rank that is late by its recorder alone may not be; unequal calls are unequal at any moment."""
        state = group.states.get(rank)
        if how not in MOMENTARY or (state is not None and state.origin != "recorder"):
            return None
        if group.coarse:
            return "recorder"
        return None if self.hangs else "moment"


def _directly(operation: Operation) -> tuple[int, int, tuple[str, int]]:
    """Operations that few ranks keep from ending come first: there the wait for a rank is plainest."""
    return len(operation.late) + len(operation.unknown), -len(operation.waiting), operation.where


def _of_library(operation: Operation) -> bool:
    return all(state.origin == "library" for state in operation.group.states.values())


def _operation_words(operation: Operation) -> str:
    group = operation.group
    name = f"{group.description} {group.name}" if group.description not in ("", "undefined") else group.name
    if operation.transfer is not None:
        return f"{name} {_transfer_words(operation)}"
    return f"{name} #{operation.seq}"


def _transfer_words(operation: Operation) -> str:
    _, sender, receiver, _ = operation.where[0].split(">", 3)
    return f"send {sender} -> {receiver}"
