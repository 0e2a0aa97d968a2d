"""The entries of one Flight Recorder dump, collected by process group into :class:`GroupState`.

Entries stand in the order in which they were launched; ``records`` are their places in the dump.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from engine.facts.collectives import (
    COMPLETED,
    SCHEDULED,
    STARTED,
    STATES,
    GroupState,
    Transfer,
    compact,
    joined,
    members_of,
)
from engine.facts.model import Source
from facts_adapters.comm._calls import (
    LONGEST_NAME,
    Call,
    call_of,
    chunk_call,
    integer,
    number,
    numels_of,
    references,
    types_of,
)
from facts_adapters.comm._entry_shape import MOST_ENTRIES, Shapes

MOST_GROUPS = 4_096
MOST_PEERS = 4_096

Memo = Callable[[bytes], object]
"""Gives the value that a reference in a pickle means."""


@dataclass(slots=True)
class _Group:
    """What is collected of one process group."""

    name: str
    description: str
    pg_id: str
    seqs: array[int] = field(default_factory=lambda: array("q"))
    calls: array[int] = field(default_factory=lambda: array("Q"))
    states: bytearray = field(default_factory=bytearray)
    records: array[int] = field(default_factory=lambda: array("q"))
    words: dict[int, str] = field(default_factory=dict)
    peers: dict[tuple[int, bool], list[int]] = field(default_factory=dict)
    """Open transfers by (rank in the group, sends): count, first record, its state, its call."""
    batch: list[tuple[int, Call, int]] = field(default_factory=list)
    """Transfers (record, call, state) whose batch may still end."""
    batch_key: tuple[int, int] = (0, 0)
    transfers: int = 0
    coarse: bool = False
    last: int = -1
    """The largest number so far."""


@dataclass(frozen=True, slots=True)
class _Ready:
    """What entries that are written alike have in common; ``plain`` ones are collectives of their own."""

    group: _Group
    call: Call
    state: int
    plain: bool


class Recorded:
    """Takes entries, as plain data or as chunks of a pickle, and gives the states of the rank's groups."""

    def __init__(self) -> None:
        self.first_record = -1
        self.count = 0
        self.first_ns: int | None = None
        self.last_ns: int | None = None
        self._groups: dict[tuple[str, str], _Group] = {}
        self._calls: dict[bytes, Call] = {}
        self._prepared: dict[tuple[bytes, ...], _Ready] = {}

    # --- one entry ---

    def add(self, entry: Mapping[str, object]) -> None:
        """An entry as plain data; one without a name or number is left out."""
        group = self._group_of(entry.get("process_group"), entry.get("pg_id"))
        name = entry.get("profiling_name")
        if not isinstance(name, str):
            return
        sizes = [entry.get(key) for key in ("input_sizes", "output_sizes")]
        types = [entry.get(key) for key in ("input_dtypes", "output_dtypes")]
        call = call_of(name[:LONGEST_NAME], tuple(map(numels_of, sizes)), tuple(map(types_of, types)))
        state = STATES.get(str(entry.get("state"))[:16], SCHEDULED)
        if call.retires and entry.get("retired") is True:
            state = COMPLETED
        seq = number(entry.get("collective_seq_id"))
        seq = seq if seq is not None else number(entry.get("seq_id")) or 0
        if self.first_record < 0:
            self.first_record = number(entry.get("record_id")) or 0
        self._created(number(entry.get("time_created_ns")))
        group.coarse |= call.retires
        self._take(group, self.count, seq, number(entry.get("p2p_seq_id")) or 0, call, state)
        self.count += 1

    def rows(self, data: bytes, at: int, shapes: Shapes, memo: Memo) -> int:
        """Take the entries from ``at`` on, as far as each has a known shape; returns where they end.

        The parts of an entry that repeat (group, call, state) are read once for each way in which they are written.
        """
        prepared, count = self._prepared, self.count
        while shapes.fits(data, at) and count <= MOST_ENTRIES:
            shape = shapes.known[0]
            match, order = shape.pattern.match, shape.order
            found = match(data, at)
            if found is not None and self.first_record < 0:
                self.first_record = integer(found[shape.record]) if found[shape.record] else 0
            last = found
            if found is not None:
                self._created(_integer_in(found[shape.created]))
            while found is not None:
                last = found
                at = found.end()
                row = found.group(*order)
                key = row[2:]
                ready = prepared.get(key)
                if ready is None:
                    ready = prepared[key] = self._prepare(key, memo)
                seq = row[0]
                number_of = seq[1] | seq[2] << 8 if len(seq) == 3 else integer(seq)
                group = ready.group
                if ready.plain and number_of > group.last and not group.batch:
                    group.last = number_of
                    group.seqs.append(number_of)
                    group.calls.append(ready.call.number)
                    group.states.append(ready.state)
                    group.records.append(count)
                else:
                    self._take(group, count, number_of, integer(row[1]), ready.call, ready.state)
                count += 1
                found = match(data, at)
            if last is not None:
                self._created(_integer_in(last[shape.created]))
        self.count = count
        return at

    def _created(self, moment: int | None) -> None:
        """Note when an entry was made; entries stand in the order of their launch."""
        if moment is not None and moment > 0:
            self.first_ns = moment if self.first_ns is None else self.first_ns
            self.last_ns = moment

    def _prepare(self, key: tuple[bytes, ...], memo: Memo) -> _Ready:
        process_group, pg_id, name, state, retired, sizes = key
        names = tuple(memo(part) for part in references(process_group))
        group = self._group_of(names, integer(pg_id) if pg_id else None)
        call = self._calls.get(name + sizes)
        if call is None:
            call = self._calls[name + sizes] = chunk_call(name, sizes, memo)
        came = STATES.get(str(memo(state))[:16], SCHEDULED) if state else SCHEDULED
        if call.retires and retired == b"\x88":
            came = COMPLETED
        group.words[call.number] = call.words
        group.coarse |= call.retires
        return _Ready(group, call, came, call.peer < 0 and not call.ends_batch)

    def _group_of(self, process_group: object, pg_id: object) -> _Group:
        own = str(pg_id)[:32] if isinstance(pg_id, (int, str)) else ""
        name, description = own or "0", ""
        if isinstance(process_group, (list, tuple)) and process_group:
            texts = [part[:LONGEST_NAME] if isinstance(part, str) else "" for part in process_group[:2]]
            name, description = texts[0], texts[1] if len(texts) > 1 else ""
        group = self._groups.get((name, own))
        if group is None:
            group = _Group(name, description, own)
            if len(self._groups) < MOST_GROUPS:  # one more belongs to nobody
                self._groups[name, own] = group
        return group

    def _take(self, group: _Group, record: int, seq: int, p2p_seq: int, call: Call, state: int) -> None:
        if call.peer >= 0:
            if group.batch and group.batch_key != (seq, p2p_seq):
                _close_batch(group, SCHEDULED)
            group.batch_key = (seq, p2p_seq)
            group.batch.append((record, call, state))
            return
        if group.batch:
            ends = call.ends_batch and group.batch_key == (seq, p2p_seq)
            _close_batch(group, state if ends else SCHEDULED)
            if ends:
                return
        if not -1 < seq < 1 << 62:
            return
        seqs = group.seqs
        if seqs and seqs[-1] == seq:
            if not call.ends_batch:
                group.calls[-1] = number_of = joined(group.calls[-1], call.number)
                group.words.setdefault(number_of, call.words)
            group.states[-1] = state
            return
        group.last = max(group.last, seq)
        seqs.append(seq)
        group.calls.append(call.number)
        group.states.append(state)
        group.records.append(record)
        group.words[call.number] = call.words

    # --- the whole dump ---

    def states(self, header: Mapping[str, object], source: Source, cut: bool) -> list[GroupState]:
        """The states of the groups, in the order of their names; one without a group where there is none."""
        found = [self._state(group, header, source, cut) for _, group in sorted(self._groups.items())]
        if not found:
            nothing = GroupState(source, condition="cut" if cut else "empty")
            found = [*_of_status(header, source), nothing][:1]
        return found

    def _state(self, group: _Group, header: Mapping[str, object], source: Source, cut: bool) -> GroupState:
        _close_batch(group, SCHEDULED)
        _sort(group)
        members = _members(header.get("pg_config"), group.name)
        transfers = _transfers(group, members)
        status = _status(header.get("pg_status"), group.pg_id)
        overrun = self.first_record > 0
        before = group.seqs[0] - 1 if group.seqs and (overrun or group.seqs[0] > 1) else -1
        began = max((seq for seq, came in zip(group.seqs, group.states, strict=True) if came == STARTED), default=None)
        reached = [_last(group, SCHEDULED), began, _last(group, COMPLETED)]
        if not group.transfers and (status[0] is not None) and (cut or status[0] >= (reached[0] or 0)):
            # With transfers in the group the status may count those instead.
            reached = [_most(own, told) for own, told in zip(reached, status, strict=True)]
        elif cut:
            reached = [None, None, None]
        enqueued, started, completed = reached
        return GroupState(
            source,
            group.name,
            description=group.description,
            members=members,
            condition="cut" if cut else "whole",
            last_enqueued=enqueued,
            last_started=started,
            last_completed=before if completed == -1 and enqueued is not None else completed,
            seqs=group.seqs,
            calls=group.calls,
            states=group.states,
            records=group.records,
            transfers=transfers,
            words=group.words,
            overrun=overrun,
            coarse=group.coarse,
            first_ns=self.first_ns,
            last_ns=self.last_ns,
        )


def _integer_in(chunk: bytes) -> int | None:
    return integer(chunk) if chunk and chunk != b"N" else None


def _most(own: int | None, told: int | None) -> int | None:
    known = [value for value in (own, told) if value is not None]
    return max(known) if known else None


def _last(group: _Group, least: int) -> int:
    """The last sequence number that came at least that far; -1 for none."""
    states = group.states
    for at in range(len(states) - 1, -1, -1):
        if states[at] >= least:
            return group.seqs[at]
    return -1


def _sort(group: _Group) -> None:
    """Ascending numbers, of equal ones the last; recorders write them so, others may not."""
    seqs = group.seqs
    if all(map(int.__lt__, seqs, seqs[1:])):
        return
    last = {seq: at for at, seq in enumerate(seqs)}
    order = [last[seq] for seq in sorted(last)]
    group.seqs = array("q", [seqs[at] for at in order])
    group.calls = array("Q", [group.calls[at] for at in order])
    group.records = array("q", [group.records[at] for at in order])
    group.states = bytearray(group.states[at] for at in order)


def _close_batch(group: _Group, least: int) -> None:
    """Count the transfers of a batch; they came as far as the entry that ended it."""
    for record, call, state in group.batch:
        group.transfers += 1
        if max(state, least) == COMPLETED:
            continue
        key = (call.peer, call.sends)
        known = group.peers.get(key)
        if known is not None:
            known[0] += 1
        elif len(group.peers) < MOST_PEERS:
            group.peers[key] = [1, record, max(state, least), call.number]
            group.words[call.number] = call.words
    group.batch = []


def _transfers(group: _Group, members: str) -> tuple[Transfer, ...]:
    """Open transfers with the peers' ranks in the job; without the members those of a world-wide group are known."""
    ranks = members_of(members)
    found = []
    for (peer, sends), (count, record, state, call) in sorted(group.peers.items()):
        rank = ranks[peer] if peer < len(ranks) else peer if not ranks and group.description == "default_pg" else -1
        if rank >= 0:
            found.append(Transfer(rank, sends, count, record, state, call))
    return tuple(found)


def _of_status(header: Mapping[str, object], source: Source) -> list[GroupState]:
    """Without any entry the status of the first group still belongs to the default group."""
    enqueued, started, completed = _status(header.get("pg_status"), "0")
    if enqueued is None:
        return []
    name = next((str(key)[:LONGEST_NAME] for key, about in _pairs(header.get("pg_config")) if _default(about)), "0")
    return [
        GroupState(
            source,
            name,
            description="default_pg",
            members=_members(header.get("pg_config"), name),
            condition="cut",
            last_enqueued=enqueued,
            last_started=started,
            last_completed=completed,
        )
    ]


def _default(about: object) -> bool:
    return isinstance(about, dict) and about.get("desc") == "default_pg"


def _pairs(value: object) -> list[tuple[object, object]]:
    return list(value.items())[:MOST_GROUPS] if isinstance(value, dict) else []


def _status(status: object, pg_id: str) -> tuple[int | None, int | None, int | None]:
    own = status.get(pg_id) if isinstance(status, dict) else None
    given = own if isinstance(own, dict) else {}
    enqueued, started, completed = (
        number(given.get(f"last_{word}_collective")) for word in ("enqueued", "started", "completed")
    )
    return enqueued, started if started is not None and started > 0 else None, completed


def _members(config: object, name: str) -> str:
    own = config.get(name) if isinstance(config, dict) else None
    ranks = own.get("ranks") if isinstance(own, dict) else None
    if isinstance(ranks, str):
        return _listed(ranks)
    if isinstance(ranks, (list, tuple)):
        return compact({rank for rank in ranks if isinstance(rank, int) and 0 <= rank < 1 << 24})
    return ""


@lru_cache(maxsize=4_096)
def _listed(text: str) -> str:
    """``[0, 1]`` as torch prints a list of ranks."""
    if len(text) > 1 << 20:
        return ""
    return compact({int(digits) for digits in re.findall(r"\d{1,8}", text)})
