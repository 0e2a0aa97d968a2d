"""The wait-for graph: ranks wait in operations, operations wait for the members that are not in them.

A rank waits in what its device has begun and not finished; where the recorder does not tell what began, in the first
operation that it launched and that is not finished. Operations stand between the ranks, so that ten thousand ranks that
wait for one make ten thousand edges and not a hundred million.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from engine.facts.collectives import COMPLETED, SCHEDULED, STARTED, GroupState, Transfer
from engine.facts.waits.model import Where
from engine.facts.waits.positions import (
    NOTHING_OPEN,
    Group,
    Positions,
    Rank,
    front_of,
    open_transfer,
    progress_at,
    record_at,
)

WITH_ROOT = (
    "broadcast",
    "_broadcast",
    "reduce ",
    "_reduce_oop",
    "gather",
    "scatter",
    "BROADCAST",
    "REDUCE ",
    "SCATTER",
)
"""Operations that a root may finish long before the others."""

MOST_FRONTS = 64
"""Operations of one group that are looked at one by one; who waits in a later one waits for the earliest as well."""

MOST_STARTS = 256
"""Ranks from which a shortest circle is looked for."""

SHORTEST = 4
"""Nodes of a circle of two ranks, each in an operation that waits for the other."""

Node = int | Where
"""A rank, or an operation."""


@dataclass(slots=True)
class Operation:
    """An operation in which ranks wait, and the members that keep it from ending."""

    where: Where
    group: Group
    seq: int
    waiting: list[int] = field(default_factory=list)
    late: dict[int, str] = field(default_factory=dict)
    """Members that are not in it: ``never_entered``, ``not_started``, or ``elsewhere`` (they wait in another one)."""
    unknown: list[int] = field(default_factory=list)
    transfer: Transfer | None = None


@dataclass(slots=True)
class Graph:
    """All operations that somebody waits in, and in which each rank waits."""

    operations: dict[Where, Operation] = field(default_factory=dict)
    waits: dict[int, list[Where]] = field(default_factory=dict)
    awaited: dict[int, list[Where]] = field(default_factory=dict)
    """The operations that each rank keeps from ending."""

    def after(self, node: Node) -> Iterable[Node]:
        """What a node waits for; members of which nothing is known count where no other keeps the operation."""
        if isinstance(node, tuple):
            operation = self.operations[node]
            return operation.late or operation.unknown
        return self.waits.get(node, ())


def build(positions: Positions) -> Graph:
    """The graph of all ranks."""
    graph = Graph()
    unfinished: dict[Where, bool] = {}
    for number in sorted(positions.ranks):
        rank = positions.ranks[number]
        for where, group, seq, transfer in _waits_of(rank, positions, unfinished):
            operation = graph.operations.get(where)
            if operation is None:
                operation = graph.operations[where] = Operation(where, group, seq, transfer=transfer)
            operation.waiting.append(number)
            graph.waits.setdefault(number, []).append(where)
    _join_later_fronts(graph)
    for operation in graph.operations.values():
        if operation.transfer is None:
            _find_late(operation, positions)
        else:
            _find_late_peer(operation, positions)
        for member in [m for m in operation.late if m not in graph.waits and positions.ranks[m].partial]:
            del operation.late[member]
            operation.unknown.append(member)
        for member in (*operation.late, *operation.unknown):
            graph.awaited.setdefault(member, []).append(operation.where)
    return graph


def _waits_of(
    rank: Rank, positions: Positions, unfinished: dict[Where, bool]
) -> Iterable[tuple[Where, Group, int, Transfer | None]]:
    last = _perhaps_failed(rank, positions, unfinished)
    if last is not None:
        yield (last[0].key, last[1]), *last, None
    for group in rank.groups:
        state = group.states[rank.number]
        seq = front_of(state)
        if seq is not None and _waits_in(rank, progress_at(state, seq), record_at(state, seq)):
            yield (group.key, seq), group, seq, None
        for transfer in state.transfers:
            if _waits_in(rank, transfer.state, transfer.record):
                ends = (rank.number, transfer.peer) if transfer.sends else (transfer.peer, rank.number)
                yield (f">{ends[0]}>{ends[1]}>{group.key}", -1), group, -1, transfer


def _perhaps_failed(rank: Rank, positions: Positions, unfinished: dict[Where, bool]) -> tuple[Group, int] | None:
    """The last operation of a rank with nothing open, where its recorder calls failed ones finished.

    It cannot have finished where a member has not launched it; where nothing is known of one, nobody can tell, unless
    a member finished it and went on: then all were in it. ``unfinished`` holds the answer for each operation, which is
    the same for all of its members.
    """
    if not rank.coarse or rank.first_open != NOTHING_OPEN:
        return None
    held = [group for group in rank.groups if group.states[rank.number].records]
    if not held:
        return None
    group = max(held, key=lambda group: group.states[rank.number].records[-1])
    own = group.states[rank.number]
    where = (group.key, own.seqs[-1])
    if not own.coarse:
        return None
    if where not in unfinished:
        unfinished[where] = _is_unfinished(group, where[1], positions)
    return (group, where[1]) if unfinished[where] else None


def _is_unfinished(group: Group, seq: int, positions: Positions) -> bool:
    """Whether an operation that ended for some may have failed: nobody is known to have finished it and gone on."""
    if any(_went_on(positions.ranks[member], group, seq) for member in group.states):
        return False
    if group.closed and group.words_at(seq).startswith(WITH_ROOT):
        return False
    came = (progress_at(group.states[m], seq) if m in group.states else None for m in group.members)
    return bool(group.outside) or any(progress is None or progress < SCHEDULED for progress in came)


def _went_on(rank: Rank, group: Group, seq: int) -> bool:
    """Whether the rank finished an operation and launched another one after it."""
    state = group.states[rank.number]
    record = record_at(state, seq)
    later = any(other.states[rank.number].records[-1:] > array("q", [record]) for other in rank.groups)
    return record >= 0 and progress_at(state, seq) == COMPLETED and later


def _waits_in(rank: Rank, progress: int | None, record: int) -> bool:
    if rank.tracks_start:
        return progress == STARTED
    return record < 0 or record <= rank.first_open


def _join_later_fronts(graph: Graph) -> None:
    """Of a group with very many fronts only the earliest are kept."""
    by_group: dict[str, list[int]] = {}
    for operation in graph.operations.values():
        if operation.transfer is None:
            by_group.setdefault(operation.where[0], []).append(operation.seq)
    for key, seqs in by_group.items():
        if len(seqs) <= MOST_FRONTS:
            continue
        kept = set(sorted(seqs)[:MOST_FRONTS])
        first = graph.operations[key, min(kept)]
        for seq in sorted(set(seqs) - kept):
            gone = graph.operations.pop((key, seq))
            first.waiting.extend(gone.waiting)
            for number in gone.waiting:
                graph.waits[number] = [first.where if where == gone.where else where for where in graph.waits[number]]


def _find_late(operation: Operation, positions: Positions) -> None:
    """Who of the members is not in the operation."""
    inside = set(operation.waiting)
    for member in operation.group.members:
        if member in inside:
            continue
        state = operation.group.states.get(member)
        progress = progress_at(state, operation.seq) if state is not None else None
        if state is None or progress is None:
            if member not in positions.ranks or _says_nothing(member, operation.group, positions):
                operation.unknown.append(member)
            else:
                operation.late[member] = "never_entered"
        elif progress < SCHEDULED:
            operation.late[member] = "never_entered"
        elif progress == SCHEDULED:
            _late_by_order(operation, positions.ranks[member], state)
    operation.unknown.extend(operation.group.outside)


def _says_nothing(member: int, group: Group, positions: Positions) -> bool:
    """A rank with a whole dump that names other groups of its own and not this one never launched anything in it."""
    own = positions.ranks[member].groups
    return not any(
        other.states[member].origin == "recorder" and other.states[member].condition == "whole" for other in own
    ) or all(other is group for other in own)


def _late_by_order(operation: Operation, member: Rank, state: GroupState) -> None:
    if member.tracks_start:
        operation.late[member.number] = "not_started"
        return
    record = record_at(state, operation.seq)
    if 0 <= member.first_open < record:
        operation.late[member.number] = "elsewhere"


def _find_late_peer(operation: Operation, positions: Positions) -> None:
    _, sender, receiver, _ = operation.where[0].split(">", 3)
    for member, peer, sends in ((int(sender), int(receiver), True), (int(receiver), int(sender), False)):
        if member in operation.waiting:
            continue
        rank = positions.ranks.get(member)
        if rank is None:
            operation.unknown.append(member)
            continue
        own = open_transfer(operation.group.states.get(member), peer, sends)
        if own is None:
            operation.late[member] = "never_entered"
        elif rank.tracks_start and own.state == SCHEDULED:
            operation.late[member] = "not_started"
        elif not rank.tracks_start and rank.first_open < own.record:
            operation.late[member] = "elsewhere"


def components(graph: Graph, roots: Sequence[int]) -> list[list[Node]]:
    """Strongly connected parts, each after all that it waits for (Tarjan, without recursion)."""
    index: dict[Node, int] = {}
    low: dict[Node, int] = {}
    open_nodes: list[Node] = []
    is_open: set[Node] = set()
    found: list[list[Node]] = []
    for root in roots:
        if root in index:
            continue
        work: list[tuple[Node, list[Node]]] = [(root, list(graph.after(root)))]
        index[root] = low[root] = len(index)
        open_nodes.append(root)
        is_open.add(root)
        while work:
            node, rest = work[-1]
            if rest:
                ahead = rest.pop()
                if ahead not in index:
                    index[ahead] = low[ahead] = len(index)
                    open_nodes.append(ahead)
                    is_open.add(ahead)
                    work.append((ahead, list(graph.after(ahead))))
                elif ahead in is_open:
                    low[node] = min(low[node], index[ahead])
                continue
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[node])
            if low[node] == index[node]:
                part: list[Node] = []
                while True:
                    member = open_nodes.pop()
                    is_open.discard(member)
                    part.append(member)
                    if member == node:
                        break
                found.append(part)
    return found


def ends(graph: Graph, positions: Positions) -> tuple[list[list[Node]], list[list[Node]]]:
    """The ends of the chains, parts of the graph that wait for nothing outside of themselves; and the other circles.

    Ranks that wait for each other in a circle never go on, whatever else they wait for: an operation needs all members.
    """
    closed: list[list[Node]] = []
    circles: list[list[Node]] = []
    for part in components(graph, sorted(positions.ranks)):
        inside = set(part)
        if all(ahead in inside for node in part for ahead in graph.after(node)):
            closed.append(part)
        elif len(part) > 1:
            circles.append(part)
    return closed, circles


def shortest_circle(graph: Graph, ranks: Sequence[int]) -> list[Node]:
    """The ranks and operations of a circle of least length among ranks that all wait for each other."""
    best: list[Node] = []
    starts = [rank for rank in ranks if graph.awaited.get(rank)][:MOST_STARTS]
    for start in starts:
        found = _circle_from(graph, start, len(best) or len(ranks) * 2 + 1)
        if found and (not best or len(found) < len(best)):
            best = found
        if len(best) == SHORTEST:
            break
    return best or [*ranks, *(where for rank in ranks for where in graph.waits.get(rank, ()))]


def _circle_from(graph: Graph, start: int, most: int) -> list[Node]:
    """The shortest way from a rank back to it, of fewer nodes than ``most``."""
    came_from: dict[Node, Node] = {}
    level: list[Node] = [start]
    length = 1
    while level and length < most:
        following: list[Node] = []
        for node in level:
            for ahead in graph.after(node):
                if ahead == start:
                    way = [node]
                    while way[-1] != start:
                        way.append(came_from[way[-1]])
                    return way
                if ahead not in came_from:
                    came_from[ahead] = node
                    following.append(ahead)
        level, length = following, length + 1
    return []


def waiting_for(graph: Graph, rank: int) -> int:
    """How many ranks wait for this one, directly or along a chain."""
    awaited = graph.awaited
    seen: set[Node] = {rank}
    work: list[int] = [rank]
    count = 0
    while work:
        for where in awaited.get(work.pop(), ()):
            if where not in seen:
                seen.add(where)
                fresh = [number for number in graph.operations[where].waiting if number not in seen]
                seen.update(fresh)
                work.extend(fresh)
                count += len(fresh)
    return count
