"""The tables of a report: the front of each group, and who waits for whom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engine.facts.collectives import COMPLETED, SCHEDULED, STARTED
from engine.facts.waits.graph import Graph, Operation
from engine.facts.waits.model import Front, Mismatch, Standing, Wait, Where
from engine.facts.waits.positions import Group, Positions, front_of, progress_at


def fronts_of(positions: Positions, graph: Graph, unequal: Sequence[Mismatch], circles: set[Where]) -> Iterable[Front]:
    """One row a group, in the order of their names."""
    odd = {(item.group, item.seq) for item in unequal}
    earliest: dict[str, Operation] = {}
    for operation in graph.operations.values():
        key = operation.group.key
        if operation.transfer is None and (key not in earliest or operation.seq < earliest[key].seq):
            earliest[key] = operation
    for key in sorted(positions.groups):
        operation_of = earliest.get(key)
        if operation_of is not None:
            yield front_of_operation(operation_of, positions, _standing(operation_of, graph, odd, circles))
        elif positions.groups[key].states:
            yield _resting(positions.groups[key])


def _standing(operation: Operation, graph: Graph, odd: set[Where], circles: set[Where]) -> Standing:
    if operation.where in odd:
        return "mismatch"
    if operation.where in circles:
        return "cycle"
    if operation.late:
        return "waits_elsewhere" if all(rank in graph.waits for rank in operation.late) else "late"
    if operation.unknown:
        return "unknown"
    return "stalled" if operation.group.closed or operation.transfer is not None else "open"


def front_of_operation(operation: Operation, positions: Positions, standing: Standing) -> Front:
    """The row of an operation in which ranks wait."""
    group = operation.group
    if operation.transfer is not None:
        _, sender, receiver, _ = operation.where[0].split(">", 3)
        call, size = f"send {sender} -> {receiver}", 2
        launched, started, finished = size - len(operation.late) - len(operation.unknown), None, 0
        known = size - len(operation.unknown)
    else:
        call, size, known = group.words_at(operation.seq), len(group.members), len(group.states)
        launched, started, finished = _counts(group, operation.seq, positions)
    return Front(
        group.key,
        group.name,
        group.description,
        size,
        known,
        operation.seq,
        call,
        launched,
        started,
        finished,
        tuple(sorted(operation.late)),
        tuple(sorted(operation.unknown)),
        standing,
        closed=group.closed or operation.transfer is not None,
    )


def _counts(group: Group, seq: int, positions: Positions) -> tuple[int, int | None, int]:
    came = [progress_at(state, seq) for state in group.states.values()]
    reached = [progress for progress in came if progress is not None]
    told = any(positions.ranks[rank].tracks_start for rank in group.states)
    return (
        sum(progress >= SCHEDULED for progress in reached),
        sum(progress >= STARTED for progress in reached) if told else None,
        sum(progress == COMPLETED for progress in reached),
    )


def _resting(group: Group) -> Front:
    """The row of a group in which nobody waits: the last number that was launched."""
    last = max((state.last_enqueued for state in group.states.values() if state.last_enqueued is not None), default=-1)
    open_ones = [seq for state in group.states.values() if (seq := front_of(state)) is not None]
    seq = min(open_ones, default=last)
    return Front(
        group.key,
        group.name,
        group.description,
        len(group.members),
        len(group.states),
        seq,
        group.words_at(seq),
        sum(1 for state in group.states.values() if (progress_at(state, seq) or 0) >= SCHEDULED),
        None,
        sum(1 for state in group.states.values() if progress_at(state, seq) == COMPLETED),
        (),
        (),
        "idle",
        closed=group.closed,
    )


def waits_of(positions: Positions, graph: Graph, unequal: Sequence[Mismatch], circles: set[Where]) -> list[Wait]:
    """One row an operation in which somebody waits, those in which most wait first."""
    odd = {(item.group, item.seq) for item in unequal}
    rows = []
    for operation in graph.operations.values():
        front = front_of_operation(operation, positions, _standing(operation, graph, odd, circles))
        rows.append(
            Wait(
                tuple(sorted(operation.waiting)),
                front.late,
                front.unknown,
                front.group,
                front.name,
                front.description,
                front.seq,
                front.call,
                front.standing,
            )
        )
    return sorted(rows, key=lambda row: (-len(row.waiting), row.group, row.seq, row.call))
