"""Numbers in a process group made ranks of the job, where that is certain; else nobody is named by them.

Desync reports and monitored barriers count the ranks of their group. Where each writer calls itself by its rank, these
are the ranks of the job.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from engine.facts.collectives import MOST_MEMBERS, GroupState, compact, members_of
from engine.facts.model import Observation

LISTED, MISSED = "comm.ranks_listed", "comm.barrier_missing"

BEHIND = "comm.rank_behind"

FEWEST = 3
"""Writers that must agree where a number does not lie between those of two of them."""


@dataclass(slots=True)
class _Reports:
    """All reports of one kind: by offset what writers call themselves, and the numbers that the reports hold.

    An offset is how far the rank of a writer is from what it calls itself.
    """

    called: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    numbers: set[int] = field(default_factory=set)
    snapshot: set[int] = field(default_factory=set)
    lists: set[tuple[str, bool]] = field(default_factory=set)
    ends: dict[int, tuple[int, int]] = field(default_factory=dict)
    """The least and the largest number of the writers at each offset."""
    of_job: bool = True
    """Whether nothing speaks against the numbers being ranks of the job."""
    same: bool = True
    """Whether the numbers are ranks of the job for writers that call themselves by their rank."""

    def add(self, item: Observation) -> None:
        """Take in one statement."""
        writer = _writer(item)
        if writer is not None and item.called is not None:
            self.called[writer - item.called].add(item.called)
            self.numbers.add(item.called)
        snapshot = item.fields.get("stage") in ("started", "finished")
        listed = (str(item.fields.get("ranks", "")), snapshot)
        if item.kind == LISTED and listed not in self.lists:
            self.lists.add(listed)
            self.numbers.update(members_of(listed[0]))
            self.snapshot.update(members_of(listed[0]) if snapshot else ())
        self.numbers.update({item.rank} - {None} if item.of_another else ())  # type: ignore[arg-type]

    def settle(self, world: int | None) -> None:
        """Look at all that was taken in, once."""
        self.ends = {offset: (min(names), max(names)) for offset, names in self.called.items()}
        self.of_job = self._of_the_job(world)
        self.same = self.of_job or all(self.shifted(number, 0) == number for number in self.numbers)

    def _of_the_job(self, world: int | None) -> bool:
        """Whether all writers call themselves by their ranks, and no whole list is shorter than the job."""
        whole = bool(self.snapshot) and self.snapshot == set(range(len(self.snapshot)))
        return not self.called.keys() - {0} and not (whole and world is not None and len(self.snapshot) < world)

    def shifted(self, number: int, offset: int | None) -> int | None:
        """The rank behind a number in a group of consecutive ranks, where enough members say that it is one."""
        if offset is None and len(self.called) == 1:
            (offset,) = self.called
        names = self.called.get(offset, set()) if offset is not None else set()
        if offset is None or number in names or len(names) < 2 or 2 * len(names) < len(self.numbers):
            return number + offset if offset is not None and number in names else None
        least, largest = self.ends[offset]
        between = least < number < largest
        return number + offset if between or len(names) >= FEWEST else None


def in_ranks_of_job(
    observations: Sequence[Observation], states: Iterable[GroupState], world: int | None
) -> list[Observation]:
    """The observations; what counts in a group is translated, or says so.

    A translation is known from recorders: the writer is, in one group only, the member with the number that it calls
    itself. Or from the writers: half of those that a report names, in a group of consecutive ranks, call themselves
    alike. That somebody is missing from a barrier makes way for who is.
    """
    named = any(item.kind == MISSED and item.rank is not None for item in observations)
    size = world or 1 + max((item.rank for item in observations if item.rank is not None), default=0)
    kept = [_of_part(item, size) for item in observations if not (named and _names_nobody(item))]
    reports: dict[str, _Reports] = defaultdict(_Reports)
    for item in kept:
        if item.called is not None:
            reports[item.adapter].add(item)
    for found in reports.values():
        found.settle(world)
    if all(found.of_job for found in reports.values()):
        return kept
    groups = _groups([state for state in states if state.origin == "recorder" and not state.run], world)
    return [
        item
        if item.called is None or reports[item.adapter].of_job
        else _renumbered(item, reports[item.adapter], groups, world)
        for item in kept
    ]


def _of_part(item: Observation, size: int) -> Observation:
    """A rank of a communicator with fewer members than the job has ranks is a number within it."""
    members = item.fields.get("members")
    if item.kind != BEHIND or item.rank is None or not isinstance(members, int) or members >= size:
        return item
    return replace(item, rank=None, fields={**item.fields, "group_rank": item.rank})


def _groups(states: Sequence[GroupState], world: int | None) -> set[tuple[int, ...]]:
    """Members of the groups: as recorders tell, or all who recorded something in one where every rank has a dump."""
    stated = {members_of(state.members) for state in states if state.members}
    recorded: dict[str, set[int]] = defaultdict(set)
    for state in states:
        if state.rank is not None and state.group and not state.members:
            recorded[state.group].add(state.rank)
    dumped = {state.rank for state in states if state.rank is not None}
    if not dumped or dumped != set(range(world or len(dumped))):
        return stated
    return {*stated, *(tuple(sorted(ranks)) for ranks in recorded.values())}


def _names_nobody(item: Observation) -> bool:
    return item.kind == MISSED and item.of_another and item.rank is None


def _writer(item: Observation) -> int | None:
    return item.writer if item.of_another else item.rank


def _renumbered(
    item: Observation, reports: _Reports, groups: Collection[tuple[int, ...]], world: int | None
) -> Observation:
    """One statement by a writer that may count in a group."""
    writer, called = _writer(item), item.called or 0
    offset = writer - called if writer is not None else None
    if not item.of_another:
        members = _group_of(item, called, writer, groups) if offset != 0 else ()
        if members:
            ranks = compact([members[number] for number in members_of(str(item.fields["ranks"]))])
            return replace(item, fields={**item.fields, "ranks": ranks, "members": compact(members)})
        return item if offset == 0 and reports.same else replace(item, fields={**item.fields, "part": True})
    if item.rank is None:
        return item
    rank = _recorded(item.rank, called, writer, groups) if offset != 0 else None
    rank = reports.shifted(item.rank, offset) if rank is None else rank
    if rank is not None and (world is None or rank < world):
        return replace(item, rank=rank, fields={key: value for key, value in item.fields.items() if key != "missing"})
    return replace(item, rank=None, fields={**item.fields, "group_rank": item.rank})


def _group_of(item: Observation, called: int, writer: int | None, groups: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    """The members of the only group that a list of a barrier may speak of; none where it is not told."""
    most = max(members_of(str(item.fields.get("ranks", ""))), default=MOST_MEMBERS)
    fits = [members for members in groups if len(members) > max(most, called) and members[called] == writer]
    return fits[0] if len(fits) == 1 and item.fields.get("list") == "monitored_barrier" else ()


def _recorded(number: int, called: int, writer: int | None, groups: Iterable[tuple[int, ...]]) -> int | None:
    """The rank with a number in the groups of which the writer is the member that it calls itself."""
    fits = [members for members in groups if len(members) > max(number, called) and members[called] == writer]
    ranks = {members[number] for members in fits}
    return next(iter(ranks)) if len(ranks) == 1 else None
