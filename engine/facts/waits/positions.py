"""How far each rank came in each group: the states of all sources put side by side."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from engine.facts.collectives import COMPLETED, MOST_MEMBERS, SCHEDULED, STARTED, GroupState, Transfer, members_of
from engine.facts.model import Source
from engine.facts.waits.dumps import counting

NOTHING_OPEN = 1 << 62

GAPS = 64
"""Ranks for each dump that are believed where neither the manifest nor a group tells how many there are."""

ORIGINS = ("recorder", "library", "log")
"""Better sources first."""


@dataclass(slots=True)
class Group:
    """One process group: its members as far as known, and the state of each rank in it."""

    key: str
    name: str
    description: str
    members: tuple[int, ...]
    states: dict[int, GroupState] = field(default_factory=dict)
    closed: bool = True
    """Whether the members are known; else they are those that said something."""
    maybe: tuple[int, ...] = ()
    """Ranks without a dump that may be members, where the members are not known."""
    outside: tuple[int, ...] = ()
    """Those of them that are not among ``members``."""

    @property
    def coarse(self) -> bool:
        """Whether recorders tell neither its transfers nor whether an operation that ended had failed."""
        return any(state.coarse for state in self.states.values())

    def call_at(self, rank: int, seq: int) -> int | None:
        """The number of the call that the rank launched under ``seq``, where its recorder still holds it."""
        at = index_of(self.states[rank], seq)
        return None if at is None else self.states[rank].calls[at]

    def words_at(self, seq: int) -> str:
        """What was launched under ``seq``, as the first rank that knows says."""
        for rank in sorted(self.states):
            number = self.call_at(rank, seq)
            if number is not None:
                return self.states[rank].words.get(number, "")
        return ""


@dataclass(slots=True)
class Rank:
    """One rank: its groups, whether its recorder tells when the device began an operation, and its first open one."""

    number: int
    groups: list[Group] = field(default_factory=list)
    tracks_start: bool = False
    partial: bool = False
    """Whether its dump is cut short, so that it may wait in a group of which nothing is left."""
    first_open: int = NOTHING_OPEN
    """Place among the rank's operations of the earliest unfinished one."""
    coarse: bool = False
    """Whether its recorder tells neither transfers nor whether an operation that ended had failed."""


@dataclass(slots=True)
class Positions:
    """All groups by key and all ranks by number; ``conditions`` are those of ranks that gave no usable state."""

    groups: dict[str, Group] = field(default_factory=dict)
    ranks: dict[int, Rank] = field(default_factory=dict)
    conditions: dict[int, str] = field(default_factory=dict)
    hosts: dict[int, str] = field(default_factory=dict)
    sources: dict[int, Source] = field(default_factory=dict)
    recorders: set[int] = field(default_factory=set)
    """Ranks that left a dump, whatever is in it."""
    absent: tuple[int, ...] = ()
    """Ranks below the last known one that left no dump, where others have one."""
    stale: tuple[int, ...] = ()
    """Ranks whose only dump is of minutes before or after those of most ranks; it counts as none."""
    overrun: bool = False


def index_of(state: GroupState, seq: int) -> int | None:
    """Where a sequence number lies in the arrays of a state."""
    at = bisect_left(state.seqs, seq)
    return at if at < len(state.seqs) and state.seqs[at] == seq else None


def front_of(state: GroupState) -> int | None:
    """The first collective that the rank has launched and not finished, ``None`` where there is none."""
    finished = len(state.states) - len(state.states.lstrip(bytes((COMPLETED,))))
    if finished < len(state.states):
        return state.seqs[finished]
    enqueued, completed = state.last_enqueued, state.last_completed
    if state.seqs and (enqueued is None or enqueued <= state.seqs[-1]):
        return None
    if enqueued is None or completed is None or enqueued <= completed:
        return None
    return max(completed + 1, state.seqs[-1] + 1 if state.seqs else 0)


def progress_at(state: GroupState, seq: int) -> int | None:
    """How far the rank came with ``seq``: -1 not launched, else one of the states; ``None`` where nobody says."""
    at = index_of(state, seq)
    if at is not None:
        return state.states[at]
    if state.last_completed is not None and seq <= state.last_completed:
        return COMPLETED
    if state.last_enqueued is None:
        return None
    if seq > state.last_enqueued:
        return -1
    if state.last_started is not None and seq <= state.last_started:
        return STARTED
    return SCHEDULED if not state.seqs or seq > state.seqs[-1] else COMPLETED


def record_at(state: GroupState, seq: int) -> int:
    """The place of ``seq`` among all operations of the rank, -1 where unknown."""
    at = index_of(state, seq)
    return -1 if at is None else state.records[at]


def assemble(states: Iterable[GroupState], world: int | None = None) -> Positions:
    """Put states side by side; of several of one rank in one group the best source and the furthest state counts.

    ``world`` is the number of ranks of the job, and so the size of a default group that names no members.
    """
    found = Positions()
    chosen: dict[tuple[str, int], GroupState] = {}
    counted, stale = counting(states)
    found.stale = stale
    for state in sorted(counted, key=lambda item: (item.source.path, item.source.line, item.group)):
        rank = state.rank
        if rank is None or state.run:
            continue
        if state.origin == "recorder":
            found.recorders.add(rank)
            found.sources.setdefault(rank, state.source)
        if state.host:
            found.hosts.setdefault(rank, state.host)
        if not state.usable:
            found.conditions.setdefault(rank, state.condition)
            continue
        key = (state.group, rank)
        if key not in chosen or _better(state, chosen[key]):
            chosen[key] = state
    for (_, rank), state in chosen.items():
        found.overrun |= state.overrun
        group = _group(found.groups, state)
        group.states[rank] = state
        found.ranks.setdefault(rank, Rank(rank)).groups.append(group)
        found.sources.setdefault(rank, state.source)
    found.absent = _absent(found, world)
    for group in found.groups.values():
        _close(group, found, world)
        _settle_counts(group)
    for rank_of in found.ranks.values():
        _order(rank_of)
        found.conditions.pop(rank_of.number, None)
    return found


def _absent(found: Positions, world: int | None) -> tuple[int, ...]:
    """Ranks without a dump: ranks are numbered from 0 without a gap.

    A number far above that of most dumps is none of a rank, but of something else in a file's name.
    """
    if not found.recorders:
        return ()
    members = (group.members[-1] for group in found.groups.values() if group.members)
    most = world or max(GAPS * len(found.recorders), *(member + 1 for member in members), 0)
    ranks = [rank for rank in (*found.recorders, *found.ranks) if rank < most]
    last = max([*ranks, (world or 0) - 1])
    return tuple(rank for rank in range(min(last + 1, MOST_MEMBERS)) if rank not in found.recorders)


def _close(group: Group, found: Positions, world: int | None) -> None:
    """The members of a group that names none: all ranks of the default group, else those that said something."""
    if group.members:
        return
    default = group.description == "default_pg"
    recorded = any(state.origin == "recorder" for state in group.states.values())
    if default and world:
        group.members = tuple(range(world))
        return
    group.closed = False
    group.maybe = found.absent if recorded else ()
    group.members = tuple(sorted({*group.states, *found.absent} if default and recorded else group.states))
    inside = set(group.members)
    group.outside = tuple(rank for rank in group.maybe if rank not in inside)


def _settle_counts(group: Group) -> None:
    """Where a library counts launches only: all wait in the first operation that somebody has not launched.

    Nobody finishes what one has not launched, so that only those who launched least hold the others up. Ranks launch
    ahead by different amounts, so that nobody is behind unless more than half of the ranks are equally far ahead.
    """
    counted = [s for s in group.states.values() if s.origin == "library" and s.last_completed is None]
    counts = Counter(state.last_enqueued for state in counted if state.last_enqueued is not None)
    if not counts:
        return
    most, ranks = max(counts.items(), key=lambda item: (item[1], item[0]))
    fewest = min(counts)
    behind = 2 * ranks > len(counted) and fewest < most
    for state in counted:
        if state.last_enqueued is not None:
            done = fewest if behind else state.last_enqueued
            group.states[state.rank or 0] = replace(state, last_completed=done)


def _better(state: GroupState, than: GroupState) -> bool:
    return _worth(state) > _worth(than)


def _worth(state: GroupState) -> tuple[int, bool, int, int, int]:
    return (
        -ORIGINS.index(state.origin),
        state.condition == "whole",
        state.last_enqueued if state.last_enqueued is not None else -1,
        state.last_completed if state.last_completed is not None else -1,
        len(state.seqs),
    )


def _group(groups: dict[str, Group], state: GroupState) -> Group:
    """The group of a state: one name may stand for several groups, told apart by their members."""
    members = members_of(state.members)
    known = groups.get(state.group)
    if known is None:
        known = groups[state.group] = Group(state.group, state.group, state.description, members)
    elif members and known.members and members != known.members:
        key = f"{state.group} {state.members[:120]}"
        known = groups.setdefault(key, Group(key, state.group, state.description, members))
    if not known.members:
        known.members = members
    known.description = known.description or state.description
    return known


def _order(rank: Rank) -> None:
    rank.groups.sort(key=lambda group: group.key)
    for group in rank.groups:
        state = group.states[rank.number]
        began = state.last_started is not None or any(item.state == STARTED for item in state.transfers)
        rank.partial |= state.origin == "recorder" and state.condition != "whole"
        rank.tracks_start |= began or STARTED in state.states
        rank.coarse |= state.coarse
        front = front_of(state)
        if front is not None and (record := record_at(state, front)) >= 0:
            rank.first_open = min(rank.first_open, record)
        for transfer in state.transfers:
            rank.first_open = min(rank.first_open, transfer.record)


def open_transfer(state: GroupState | None, peer: int, sends: bool) -> Transfer | None:
    """The open sends to, or receives from, a peer."""
    for transfer in state.transfers if state is not None else ():
        if transfer.peer == peer and transfer.sends == sends:
            return transfer
    return None
