"""Unequal calls: by majority vote for each group and sequence number, and unequal order across groups."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from engine.facts.collectives import COMPLETED, GroupState
from engine.facts.waits.graph import Graph
from engine.facts.waits.model import Mismatch
from engine.facts.waits.positions import Group, Positions, index_of, progress_at, record_at

MOST_LOOKED_AT = 4_096
"""Sequence numbers of one group that are compared, from the first that somebody has not finished."""

MOST_WORDS = 8

MOST_OF_CIRCLE = 12
"""Operations around a circle whose order is compared, those first in which most ranks wait."""


def mismatches(positions: Positions) -> list[Mismatch]:
    """The first unequal call of each group among those that not every known member has finished."""
    first: dict[str, tuple[int, dict[int, int]]] = {}
    for key in sorted(positions.groups):
        group = positions.groups[key]
        if len(group.states) > 1 and (found := _first_unequal(group)):
            first[key] = found
    return [_judged(positions.groups[key], seq, calls, positions) for key, (seq, calls) in first.items()]


def _first_unequal(group: Group) -> tuple[int, dict[int, int]] | None:
    """The number, and the call of each rank that holds it."""
    start = min(_finished(group, rank) for rank in group.states) + 1
    windows = {rank: state for rank, state in group.states.items() if state.seqs and state.seqs[-1] >= start}
    if len(windows) < 2:
        return None
    slices = Counter(
        (state.seqs[at : at + MOST_LOOKED_AT].tobytes(), state.calls[at : at + MOST_LOOKED_AT].tobytes())
        for state in windows.values()
        for at in (_from(state.seqs, start),)
    )
    if len(slices) == 1:
        return None
    seqs = sorted(
        {seq for state in windows.values() for seq in state.seqs[_from(state.seqs, start) :][:MOST_LOOKED_AT]}
    )
    for seq in seqs:
        calls = {rank: state.calls[at] for rank, state in windows.items() if (at := index_of(state, seq)) is not None}
        if len(set(calls.values())) > 1:
            return seq, calls
    return None


def _from(seqs: Sequence[int], start: int) -> int:
    low, high = 0, len(seqs)
    while low < high:
        middle = (low + high) // 2
        if seqs[middle] < start:
            low = middle + 1
        else:
            high = middle
    return low


def _finished(group: Group, rank: int) -> int:
    """The last number up to which the rank has finished everything."""
    state = group.states[rank]
    done = len(state.states) - len(state.states.lstrip(bytes((COMPLETED,))))
    if done < len(state.states):
        return state.seqs[done] - 1
    known = [state.seqs[-1]] if state.seqs else []
    return max([*known, state.last_completed if state.last_completed is not None else -1])


def _judged(group: Group, seq: int, calls: Mapping[int, int], positions: Positions) -> Mismatch:
    words = {number: group.states[rank].words.get(number, "") for rank, number in calls.items()}
    ranking = Counter(calls.values()).most_common()
    clear = len(calls) > 2 and 2 * ranking[0][1] > len(calls)
    expected: int | None = ranking[0][0] if clear else _as_in_other_groups(group, seq, set(words), positions)
    odd = tuple(sorted(rank for rank, number in calls.items() if number != expected)) if expected is not None else ()
    found = tuple(sorted({words[calls[rank]] for rank in odd}))[:MOST_WORDS]
    spoken = tuple(sorted(set(words.values())))[:MOST_WORDS]
    return Mismatch(
        group.key,
        group.name,
        group.description,
        seq,
        words[expected] if expected is not None else "",
        odd,
        found,
        _aspect(spoken),
        spoken,
    )


def _aspect(words: Sequence[str]) -> str:
    """In what calls differ: ``name elements types``, or ``... #number`` where they do not even stand in one place."""
    parts = [word.split(" ") for word in words]
    if not all(words):
        return "unknown"
    if len({part[-1] for part in parts}) > 1 and all(part[-1].startswith("#") for part in parts):
        return "order"
    if len({part[0] for part in parts}) > 1:
        return "operation"
    if len({part[-1] for part in parts}) > 1 and len({tuple(part[:-1]) for part in parts}) == 1:
        return "dtype"
    return "shape"


def _as_in_other_groups(group: Group, seq: int, calls: set[int], positions: Positions) -> int | None:
    """Where a group is split evenly: the one call that groups of the same description and size issued there."""
    seen: set[int] = set()
    for other in positions.groups.values():
        if other is not group and _alike(other, group):
            numbers = {number for rank in other.states if (number := other.call_at(rank, seq)) is not None}
            if len(numbers) > 1:
                return None
            seen |= numbers & calls
    return next(iter(seen)) if len(seen) == 1 else None


def odd_order(circle: Iterable[int], graph: Graph, positions: Positions) -> tuple[tuple[int, ...], str, str]:
    """Ranks that launched two operations around a circle in another order than the other members of both groups.

    Also the two orders, the usual one first; no ranks where no order has a majority.
    """
    touched = {
        where
        for rank in circle
        for where in (*graph.waits.get(rank, ()), *graph.awaited.get(rank, ()))
        if where[1] >= 0
    }
    wheres = sorted(touched, key=lambda where: (-len(graph.operations[where].waiting), where))[:MOST_OF_CIRCLE]
    odd: set[int] = set()
    texts = ("", "")
    for at, one in enumerate(wheres):
        for other in wheres[at + 1 :]:
            first, second = positions.groups[one[0]], positions.groups[other[0]]
            orders = _orders(first, one[1], second, other[1], positions)
            usual = _usual_order(orders)
            if usual is None and len(orders) == 2:
                usual = _usual_elsewhere(first, one[1], second, other[1], positions)
            if usual is not None and len(orders) == 2:
                odd.update(orders[not usual])
                forward = [
                    f"{group.description or group.name} #{seq}" for group, seq in ((first, one[1]), (second, other[1]))
                ]
                words = forward if usual else forward[::-1]
                texts = (", then ".join(words), ", then ".join(words[::-1]))
    return tuple(sorted(odd)), *texts


def _orders(first: Group, one: int, second: Group, other: int, positions: Positions) -> dict[bool, list[int]]:
    """The members of both groups by whether they launched the first operation before the second, as far as known."""
    orders: dict[bool, list[int]] = defaultdict(list)
    for rank in sorted(set(first.members) & set(second.members) & set(positions.ranks)):
        order = _before(first.states.get(rank), one, second.states.get(rank), other)
        if order is not None:
            orders[order].append(rank)
    return orders


def _usual_order(orders: Mapping[bool, Sequence[int]]) -> bool | None:
    """The order of the majority, where there is one of more than two ranks."""
    total = sum(map(len, orders.values()))
    return next((order for order, ranks in orders.items() if total > 2 and 2 * len(ranks) > total), None)


def _usual_elsewhere(first: Group, one: int, second: Group, other: int, positions: Positions) -> bool | None:
    """The one order in which ranks of other groups of the same descriptions and sizes launched the two operations."""
    seen: Counter[bool] = Counter()
    for number, rank in positions.ranks.items():
        for left in rank.groups:
            for right in rank.groups if _alike(left, first) else ():
                if _alike(right, second) and not (left is first and right is second):
                    order = _before(left.states[number], one, right.states[number], other)
                    seen.update(() if order is None else (order,))
    return next(iter(seen)) if len(seen) == 1 and seen.total() > 2 else None


def _alike(group: Group, other: Group) -> bool:
    """Whether groups have the same part in the job: one description and one size."""
    described = group.description not in ("", "undefined")
    return group is other or (
        described and group.description == other.description and len(group.members) == len(other.members)
    )


def _before(first: GroupState | None, one: int, second: GroupState | None, other: int) -> bool | None:
    """Whether a rank launched the first operation before the second; one that it has not launched comes later."""
    places, missing = [], []
    for state, seq in ((first, one), (second, other)):
        places.append(record_at(state, seq) if state is not None else -1)
        missing.append(state is None or progress_at(state, seq) == -1)
    if all(missing) or any(place < 0 and not gone for place, gone in zip(places, missing, strict=True)):
        return None
    return missing[1] or (not missing[0] and places[0] < places[1])
