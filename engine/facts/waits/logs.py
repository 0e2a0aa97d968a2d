"""States that stand in log lines: watchdogs, the creation of communicators, and connections that were waited for."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from engine.facts.collectives import SCHEDULED, GroupState, Transfer, call_number, compact
from engine.facts.model import Fact

UNNAMED = "?"
"""The group of lines that name none."""

LINKS = "links"
"""The group that connections are waited for in."""

TRANSFERS = ("SEND", "RECV", "RECVANYSOURCE", "COALESCED")
"""Operations between two ranks: each rank counts its own, so that their numbers are those of no other rank."""

LARGEST = 1 << 62
"""A number from which on no sequence number is believed."""

SPEAKS_OF_LIBRARY = ("comm.init_started", "comm.init_completed", "comm.interface_used", "comm.network_used")
"""Kinds that show that the library's own lines of a rank are in its log."""


def states_in_logs(facts: Sequence[Fact], covered: Collection[int], world: int | None) -> list[GroupState]:
    """The states that facts tell. ``covered`` are the ranks whose output is in the bundle, ``world`` all ranks."""
    own = [fact for fact in facts if fact.scope == "incident"]
    return [*_watchdogs(own, world), *_communicators(own, covered, world), *_links(own, covered)]


def _watchdogs(facts: Sequence[Fact], world: int | None) -> Iterator[GroupState]:
    """How far ranks came in collectives; where a rank waits in a transfer, its numbers count for nobody else."""
    transfers = _transfers(facts)
    everybody = compact(range(world)) if world else ""
    for fact in facts:
        seq = number_of(fact, "seq")
        if fact.kind == "comm.work_status":
            enqueued, completed = number_of(fact, "last_enqueued"), number_of(fact, "last_completed")
            if seq is not None and completed is not None:
                completed = min(completed, seq - 1)
        elif fact.kind == "comm.collective_timeout" and seq is not None and fact.fields.get("pg"):
            enqueued, completed = seq, seq - 1
        else:
            continue
        group = str(fact.fields.get("pg") or UNNAMED)
        for rank in (rank for rank in fact.ranks if (rank, seq) not in transfers):
            state = _state(fact, group, rank)
            state.members = everybody if group == "0" else ""
            state.last_enqueued, state.last_completed = enqueued, completed
            if fact.kind == "comm.collective_timeout" and seq is not None:
                words = f"{fact.fields.get('op', '')} {fact.fields.get('numel', '')}".strip()
                number = call_number(words)
                state.seqs, state.calls, state.records = array("q", [seq]), array("Q", [number]), array("q", [-1])
                state.states, state.words = bytearray((SCHEDULED,)), {number: words}
            yield state


def _transfers(facts: Iterable[Fact]) -> set[tuple[int, int | None]]:
    """Ranks and the numbers under which they wait in a transfer, and in no collective."""
    waits: dict[bool, set[tuple[int, int | None]]] = {True: set(), False: set()}
    for fact in facts:
        if fact.kind == "comm.collective_timeout":
            transfer = str(fact.fields.get("op", "")).upper() in TRANSFERS
            waits[transfer].update((rank, number_of(fact, "seq")) for rank in fact.ranks)
    return waits[True] - waits[False]


def number_of(fact: Fact, name: str) -> int | None:
    """A whole number that a fact holds; lines may hold any, and no count is larger than :data:`LARGEST`."""
    value = fact.fields.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < LARGEST else None


def _state(fact: Fact, group: str, rank: int) -> GroupState:
    return GroupState(fact.source, group, rank=rank, origin="log", host=fact.host, adapter=fact.adapter)


def _communicators(facts: Sequence[Fact], covered: Collection[int], world: int | None) -> Iterator[GroupState]:
    """Communicators of all ranks: who began to create one and did not finish, and who never began.

    A rank without a line counts as one that never began only where the library's lines are in its log.
    """
    started: dict[str, dict[int, Fact]] = defaultdict(dict)
    completed: dict[str, set[int]] = defaultdict(set)
    for fact in facts:
        if fact.kind == "comm.init_started" and world and number_of(fact, "nranks") == world:
            for rank in fact.ranks:
                started[str(fact.fields.get("comm", ""))].setdefault(rank, fact)
        elif fact.kind == "comm.init_completed":
            completed[str(fact.fields.get("comm", ""))].update(fact.ranks)
    speaking = {rank for fact in facts if fact.kind in SPEAKS_OF_LIBRARY for rank in fact.ranks} & set(covered)
    for comm, ranks in sorted(started.items()):
        if world and set(ranks) - completed[comm]:
            yield from _creation(f"communicator {comm}".strip(), ranks, completed[comm], speaking, world)


def _creation(
    name: str, ranks: Mapping[int, Fact], done: Collection[int], speaking: Collection[int], world: int
) -> Iterator[GroupState]:
    first, everyone = ranks[min(ranks)], compact(range(world))
    for rank in sorted({*ranks, *(rank for rank in speaking if rank < world)}):
        state = _state(ranks.get(rank, first), name, rank)
        state.host = ranks[rank].host if rank in ranks else None
        state.members = everyone
        state.last_enqueued = 0 if rank in ranks else -1
        state.last_completed = 0 if rank in done else -1
        yield state


def _links(facts: Sequence[Fact], covered: Collection[int]) -> Iterator[GroupState]:
    """Ranks that waited in vain for a peer's connection (HCCL's LINK_ERROR_INFO); the end of the chain is the cause."""
    waits: dict[int, dict[int, Fact]] = defaultdict(dict)
    for fact in facts:
        peer = number_of(fact, "peer_rank")
        if fact.kind == "comm.link_wait_timeout" and peer is not None:
            for rank in fact.ranks:
                if rank != peer:
                    waits[rank].setdefault(peer, fact)
    everybody = {*waits, *(peer for peers in waits.values() for peer in peers)}
    members = compact(everybody)
    for rank in sorted(everybody):
        peers = waits.get(rank, {})
        if not peers and rank not in covered:
            continue
        fact = (
            next(iter(peers.values()))
            if peers
            else next(f for own in waits.values() if rank in own for f in [own[rank]])
        )
        state = _state(fact, LINKS, rank)
        state.host = fact.host if peers else None
        state.members = members
        state.last_enqueued = state.last_completed = 0
        state.transfers = tuple(Transfer(peer, False, 1) for peer in sorted(peers))
        yield state
