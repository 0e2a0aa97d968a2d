"""States that reports state by lists: a desync report, a monitored barrier, counts of who joined, comparisons of calls.

The lists name ranks that never printed a line. Their numbers are compared with those of no other source: a list counts
operations in its own way, and spells calls in its own words.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from engine.facts.collectives import COMPLETED, SCHEDULED, GroupState, call_number, compact, members_of
from engine.facts.model import Fact
from engine.facts.waits.logs import number_of
from engine.facts.waits.model import ALL_MUST_COME

LISTED, CHECK, JOINED = "comm.ranks_listed", "comm.collective_check", "job.rendezvous_incomplete"
"""Kinds that hold lists and counts."""

DESYNC, BARRIER, CHECKED = "desync report", "monitored barrier", "collective check"
"""Names of the groups that the lists speak of, beside :data:`ALL_MUST_COME` for those who join a job."""

ANOTHER = ""
"""Words of a call of which only is known that it is another."""


def states_told(facts: Iterable[Fact], world: int | None) -> list[GroupState]:
    """The states that lists tell; none where a list contradicts itself or counts other ranks than those of the job.

    ``world`` is the number of ranks of the job. Without it the members of a group are those that a whole list names.
    """
    told = [fact for fact in facts if fact.scope == "incident" and fact.kind in (LISTED, CHECK, JOINED)]
    lists: dict[object, list[Fact]] = defaultdict(list)
    for fact in told:
        if fact.kind == LISTED:
            lists[fact.fields.get("list")].append(fact)
    checks = [fact for fact in told if fact.kind == CHECK and not numbers_of_a_part(fact)]
    checks = [fact for fact in checks if None not in (number_of(fact, "seq"), number_of(fact, "own_rank"))]
    return [
        *_desync(lists["desync_report"], world),
        *_barriers(lists["monitored_barrier"], world),
        *_checks(checks, world),
        *_joining(told, world),
    ]


def _state(fact: Fact, group: str, rank: int, members: str, enqueued: int, completed: int) -> GroupState:
    """A state without host: who writes a list is on another host than whom it names."""
    state = GroupState(fact.source, group, rank=rank, members=members, origin="log", adapter=fact.adapter)
    state.last_enqueued, state.last_completed = enqueued, completed
    return state


def _call(state: GroupState, seq: int, words: str) -> GroupState:
    """The state with the call that it issued as ``seq``."""
    number = call_number(words or f"another of {state.rank}")
    done = state.last_completed is not None and seq <= state.last_completed
    state.seqs, state.calls, state.records = array("q", [seq]), array("Q", [number]), array("q", [-1])
    state.states, state.words = bytearray((COMPLETED if done else SCHEDULED,)), {number: words}
    return state


def numbers_of_a_part(fact: Fact) -> bool:
    """Whether a list counts the ranks of a part of the job: its writer has another rank than it calls itself."""
    if fact.fields.get("part") is True:
        return True
    called = number_of(fact, "own_rank")
    if called is None and fact.fields.get("stage") == "waiting":
        called = next(iter(members_of(str(fact.fields.get("ranks", "")))), None)
    return called is not None and bool(fact.ranks) and called not in fact.ranks


# --- the desync report: every rank of the group, or those that never joined any operation ---


def _desync(facts: Sequence[Fact], world: int | None) -> Iterator[GroupState]:
    furthest: dict[int, tuple[tuple[int, int], Fact]] = {}
    absent: dict[int, Fact] = {}
    for fact in facts:
        seq = number_of(fact, "seq")
        for rank in members_of(str(fact.fields.get("ranks", ""))):
            if fact.fields.get("stage") == "absent":
                absent.setdefault(rank, fact)
            elif seq is not None:
                came = (seq, seq if fact.fields.get("stage") == "finished" else seq - 1)
                if rank not in furthest or came > furthest[rank][0]:
                    furthest[rank] = came, fact
    named = {*furthest, *absent}
    whole = len(furthest) > 1 and not absent and named == set(range(len(named)))
    writers = {rank for fact in facts for rank in fact.ranks}
    of_others = any(map(numbers_of_a_part, facts)) or (whole and not named >= writers)
    if world is not None:
        of_others |= max(named, default=0) >= world or (whole and len(named) != world)
    if absent.keys() & furthest.keys() or of_others:
        return
    members = compact(named) if whole else ""
    for rank, ((begun, done), fact) in sorted(furthest.items()):
        yield _call(_state(fact, DESYNC, rank, members, begun, done), begun, str(fact.fields.get("op", "")))
    for rank, fact in sorted(absent.items()):
        yield _state(fact, DESYNC, rank, members, -1, -1)


# --- a monitored barrier: rank 0 waits for the others in their order ---


def _barriers(facts: Sequence[Fact], world: int | None) -> Iterator[GroupState]:
    """The barrier of the job, and those of groups whose members are told."""
    groups: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        groups[str(fact.fields.get("members", ""))].append(fact)
    for members, own in groups.items():
        yield from _barrier(own, members_of(members) or range(world or 0))


def _barrier(facts: Sequence[Fact], everybody: Sequence[int]) -> Iterator[GroupState]:
    absent: dict[int, Fact] = {}
    waiting: dict[int, Fact] = {}
    whole = False
    for fact in facts:
        gone = fact.fields.get("stage") == "absent"
        whole |= gone and fact.fields.get("whole") is True
        for rank in members_of(str(fact.fields.get("ranks", ""))):
            (absent if gone else waiting).setdefault(rank, fact)
    named = {*absent, *waiting}
    if not absent or not waiting or absent.keys() & waiting.keys() or any(map(numbers_of_a_part, facts)):
        return
    if everybody and not named.issubset(everybody):
        return
    first = waiting[min(waiting)]
    answered = (rank for rank in everybody if whole or rank < max(absent))
    waiting.update({rank: first for rank in answered if rank not in named})
    members = compact(everybody)
    for rank, fact in sorted(waiting.items()):
        yield _call(_state(fact, BARRIER, rank, members, 0, -1), 0, "BARRIER")
    for rank, fact in sorted(absent.items()):
        yield _state(fact, BARRIER, rank, members, -1, -1)


# --- counts of who joined: they name nobody, but who prints one is in it ---


def _joining(facts: Iterable[Fact], world: int | None) -> Iterator[GroupState]:
    """Who is missing, where as many ranks are known to have joined as did."""
    joined = -1
    inside: dict[int, Fact] = {}
    for fact in facts:
        count = number_of(fact, "joined")
        if fact.kind == JOINED and count is not None and world and number_of(fact, "expected") == world:
            joined = max(joined, count)
            for rank in fact.ranks if not fact.fields.get("missing") else ():
                inside.setdefault(rank, fact)
    if world is None or not 0 < joined == len(inside) < world or max(inside) >= world:
        return
    members = compact(range(world))
    for rank in range(world):
        fact = inside.get(rank, inside[min(inside)])
        state = _state(fact, ALL_MUST_COME, rank, members, 0 if rank in inside else -1, -1)
        yield _call(state, 0, "JOIN") if rank in inside else state


# --- the comparison of calls before a collective: each rank against the first whose call is another ---


@dataclass(slots=True, eq=False)
class _Check:
    """The lines of one comparison: the numbers that they state, and the calls of the ranks with where that stands."""

    seqs: set[int]
    facts: list[Fact] = field(default_factory=list)


def _checks(facts: Sequence[Fact], world: int | None) -> Iterator[GroupState]:
    checks = _comparisons(facts)
    for check in checks:
        first = min(check.seqs)
        calls = _calls(check, world)
        if world is not None and max(calls) >= world:
            continue
        group = CHECKED if check is checks[0] else f"{CHECKED} {first}"
        members = compact(calls) if world == len(calls) else ""
        for rank, (words, fact) in sorted(calls.items()):
            yield _call(_state(fact, group, rank, members, first, first - 1), first, words)


def _comparisons(facts: Iterable[Fact]) -> list[_Check]:
    """Lines that share a number are of one comparison."""
    found: list[_Check] = []
    for fact in sorted(facts, key=lambda fact: (fact.source.path, fact.source.line)):
        seqs = {seq for seq in (number_of(fact, "seq"), number_of(fact, "other_seq")) if seq is not None}
        first, *more = [check for check in found if check.seqs & seqs] or [_Check(set())]
        if first not in found:
            found.append(first)
        first.seqs |= seqs
        first.facts.append(fact)
        for check in more:
            found.remove(check)
            first.seqs |= check.seqs
            first.facts += check.facts
    return sorted(found, key=lambda check: min(check.seqs))


def _calls(check: _Check, world: int | None) -> dict[int, tuple[str, Fact]]:
    """The call of each rank: as it says itself, else as another says, else as it follows from the order of ranks."""

    def words(fact: Fact, whose: str) -> str:
        number = f" #{fact.fields.get(f'{whose}seq')}" if len(check.seqs) > 1 else ""
        return f"{fact.fields.get(f'{whose}op', '')}{number}"

    own: dict[int, tuple[str, Fact]] = {}
    others: dict[int, tuple[str, Fact]] = {}
    before: dict[str, tuple[int, Fact]] = {}
    for fact in check.facts:
        other, known = number_of(fact, "other_rank"), "other_op" in fact.fields
        called = number_of(fact, "own_rank")
        if called is not None:
            own.setdefault(called, (words(fact, ""), fact))
        if other is not None:
            told = (words(fact, "other_"), fact) if known else (ANOTHER, fact)
            if other not in others or (known and others[other][0] == ANOTHER):
                others[other] = told
            if known and other > before.get(words(fact, ""), (0, fact))[0]:
                before[words(fact, "")] = other, fact
    said = {**others, **own}
    call, (other, fact) = max(before.items(), key=lambda item: item[1][0], default=("", (0, check.facts[0])))
    every = {**dict.fromkeys(range(other if other < (world or 0) else 0), (call, fact)), **said}
    _, most = Counter(call for call, _ in every.values()).most_common(1)[0]
    return every if world and 2 * most > world else said
