"""The entries of one Flight Recorder dump, collected by process group into :class:`GroupState`."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod

from engine.facts.collectives import (
    COMPLETED,
    SCHEDULED,
    STARTED,
    STATES,
    GroupState,
    Transfer,
    call_number,
    compact,
    joined,
    members_of,
)
from engine.facts.model import Source

UNEVEN = ("all_to_all", "alltoall", "gather", "scatter", "all_gather_v", "reduce_scatter_v", "split")
"""Operations of which ranks may rightly give different sizes; only the name and type are compared."""

MOST_GROUPS = 4_096
MOST_PEERS = 4_096
LONGEST_NAME = 200

_TRANSFER = re.compile(r"(?:\w+:)?(?:(?P<send>send) (\d+)->(?P<to>\d+)|recv (\d+)<-(?P<of>\d+))$")


@dataclass(frozen=True, slots=True)
class Call:
    """What an entry launched: a number for comparison, and for a transfer the peer's rank in the group."""

    number: int
    words: str
    peer: int = -1
    sends: bool = False
    ends_batch: bool = False
    retires: bool = False
    """Of a backend whose entries get no events: such an operation is finished once it is retired."""


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
    """Open transfers by (rank in the group, sends): count, first record, its state, its call, its time."""
    batch: list[tuple[int, Call, int, int]] = field(default_factory=list)
    """Transfers (record, call, state, time) whose batch may still end."""
    batch_key: tuple[int, int] = (0, 0)
    transfers: int = 0
    created: int = 0
    opened: int = 0


class Recorded:
    """Takes entries, as plain data or as chunks of a pickle, and gives the states of the rank's groups."""

    def __init__(self) -> None:
        self.first_record = -1
        self.count = 0
        self._groups: dict[tuple[str, str], _Group] = {}
        self._by_chunk: dict[bytes, _Group | None] = {}
        self._calls: dict[bytes, Call] = {}
        self._states: dict[bytes, int] = {}

    # --- one entry ---

    def add(self, entry: Mapping[str, object]) -> None:
        """An entry as plain data; one without a name or number is left out."""
        group = self._group_of(entry.get("process_group"), entry.get("pg_id"))
        name = entry.get("profiling_name")
        if group is None or not isinstance(name, str):
            return
        sizes = [entry.get(key) for key in ("input_sizes", "output_sizes")]
        types = [entry.get(key) for key in ("input_dtypes", "output_dtypes")]
        call = _call(name[:LONGEST_NAME], tuple(map(_numels, sizes)), tuple(map(_types, types)))
        state = STATES.get(str(entry.get("state"))[:16], SCHEDULED)
        if call.retires and entry.get("retired") is True:
            state = COMPLETED
        seq = number(entry.get("collective_seq_id"))
        seq = seq if seq is not None else number(entry.get("seq_id")) or 0
        self._take(
            group,
            number(entry.get("record_id")),
            seq,
            number(entry.get("p2p_seq_id")) or 0,
            call,
            state,
            number(entry.get("time_created_ns")) or 0,
        )

    def row(self, shape_row: tuple[bytes, ...], memo: Callable[[bytes], object]) -> None:
        """An entry as the chunks of a pickle; equal chunks are read once."""
        record, pg_id, process_group, seq, p2p_seq, name, created, state, retired, _, sizes = shape_row
        place = process_group + pg_id
        group = self._by_chunk.get(place)
        if group is None:
            if place in self._by_chunk:
                return
            names = tuple(memo(part) for part in _references(process_group))
            group = self._by_chunk[place] = self._group_of(names, _int(pg_id) if pg_id else None)
            if group is None:
                return
        call = self._calls.get(name + sizes)
        if call is None:
            call = self._calls[name + sizes] = _chunk_call(name, sizes, memo)
        came = self._states.get(state)
        if came is None:
            came = self._states[state] = STATES.get(str(memo(state))[:16], SCHEDULED) if state else SCHEDULED
        if call.retires and retired == b"\x88":
            came = COMPLETED
        self._take(
            group,
            _int(record) if record else None,
            _int(seq) if seq else 0,
            _int(p2p_seq) if p2p_seq else 0,
            call,
            came,
            _int(created) if created and created != b"N" else 0,
        )

    def _group_of(self, process_group: object, pg_id: object) -> _Group | None:
        own = str(pg_id)[:32] if isinstance(pg_id, (int, str)) else ""
        name, description = own or "0", ""
        if isinstance(process_group, (list, tuple)) and process_group:
            texts = [part[:LONGEST_NAME] if isinstance(part, str) else "" for part in process_group[:2]]
            name, description = texts[0], texts[1] if len(texts) > 1 else ""
        group = self._groups.get((name, own))
        if group is None and len(self._groups) < MOST_GROUPS:
            group = self._groups[name, own] = _Group(name, description, own)
        return group

    def _take(
        self, group: _Group, record: int | None, seq: int, p2p_seq: int, call: Call, state: int, created: int
    ) -> None:
        if record is None or not -1 < record < 1 << 62:
            record = self.count
        if self.first_record < 0:
            self.first_record = record
        self.count += 1
        group.created = created
        if call.peer >= 0:
            if group.batch and group.batch_key != (seq, p2p_seq):
                _close_batch(group, SCHEDULED)
            group.batch_key = (seq, p2p_seq)
            group.batch.append((record, call, state, created))
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
        seqs.append(seq)
        group.calls.append(call.number)
        group.states.append(state)
        group.records.append(record)
        group.words[call.number] = call.words
        if state != COMPLETED and not group.opened:
            group.opened = created

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
        moment = group.opened or group.created
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
            created_ns=moment if 10**18 < moment < 4 * 10**18 else 0,
        )


def number(value: object) -> int | None:
    """An integer, also as text (the JSON variant writes some numbers as strings)."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if abs(value) < 2**63 else None
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,18}", value):
        return int(value)
    return None


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
    for record, call, state, created in group.batch:
        group.transfers += 1
        if max(state, least) == COMPLETED:
            continue
        if not group.opened:
            group.opened = created
        key = (call.peer, call.sends)
        known = group.peers.get(key)
        if known is not None:
            known[0] += 1
        elif len(group.peers) < MOST_PEERS:
            group.peers[key] = [1, record, max(state, least), call.number, created]
            group.words[call.number] = call.words
    group.batch = []


def _transfers(group: _Group, members: str) -> tuple[Transfer, ...]:
    """Open transfers with the peers' ranks in the job; without the members those of a world-wide group are known."""
    ranks = members_of(members)
    found = []
    for (peer, sends), (count, record, state, call, created) in sorted(group.peers.items()):
        rank = ranks[peer] if peer < len(ranks) else peer if not ranks and group.description == "default_pg" else -1
        if rank >= 0:
            found.append(Transfer(rank, sends, count, record, state, call, created))
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


# --- calls ---


@lru_cache(maxsize=65_536)
def _call(name: str, numels: tuple[str, ...], types: tuple[str, ...]) -> Call:
    """The call of a name and its sizes; sizes count as numbers of elements, which is what must agree."""
    backend, colon, operation = name.partition(":")
    operation = operation if colon else name
    match, retires = _TRANSFER.match(name), backend == "gloo"
    words = operation
    if match or not operation.startswith(UNEVEN):
        words = f"{operation} {' -> '.join(dict.fromkeys(numels))}".strip()
    words = f"{words} {' '.join(dict.fromkeys(types))}".strip()
    if match:
        sends = match["send"] is not None
        peer = int(match["to"] if sends else match["of"])
        return Call(call_number(words), words, peer, sends, retires=retires)
    return Call(call_number(words), words, ends_batch=operation == "coalesced", retires=retires)


def _numels(sizes: object) -> str:
    """Numbers of elements of the tensors: ``[4, 3]`` is 12."""
    if not isinstance(sizes, (list, tuple)):
        return ""
    counts = [
        str(prod(part)) if all(isinstance(size, int) and abs(size) < 1 << 40 for size in part) else "?"
        for part in sizes[:256]
        if isinstance(part, (list, tuple)) and len(part) <= 16
    ]
    return "+".join(counts)[:400]


def _types(types: object) -> str:
    if not isinstance(types, (list, tuple)):
        return ""
    return "+".join(dict.fromkeys(part[:24] for part in types[:256] if isinstance(part, str)))[:200]


def _chunk_call(name: bytes, sizes: bytes, memo: Callable[[bytes], object]) -> Call:
    words = memo(name) if name else ""
    values = _chunk_values(sizes, memo)
    numels = tuple(_numels(values.get(key)) for key in ("input_sizes", "output_sizes"))
    types = tuple(_types(values.get(key)) for key in ("input_dtypes", "output_dtypes"))
    return _call(words[:LONGEST_NAME] if isinstance(words, str) else "", numels, types)


def _chunk_values(chunk: bytes, memo: Callable[[bytes], object]) -> dict[str, object]:
    """The keys and lists of a chunk that an expression has matched."""
    stack: list[list[object]] = [[]]
    at = 0
    while at < len(chunk):
        code = chunk[at : at + 1]
        size = _WIDTHS.get(code, 0)
        if code == b"]":
            stack[-1].append([])
            if chunk[at + 1 : at + 2] == b"(":
                stack.append([])
                size = 1
        elif code == b"e":
            items = stack.pop()
            held = stack[-1][-1]
            if isinstance(held, list):
                held.extend(items)
        elif code in b"hj":
            stack[-1].append(memo(chunk[at : at + 1 + size]))
        else:
            stack[-1].append(_int(chunk[at : at + 1 + size]))
        at += 1 + size
    flat = stack[0]
    return {key: value for key, value in zip(flat[::2], flat[1::2], strict=False) if isinstance(key, str)}


_WIDTHS = {b"h": 1, b"j": 4, b"K": 1, b"M": 2, b"J": 4, b"\x8a": 9}


def _references(chunk: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(chunk) and chunk[at : at + 1] in (b"h", b"j"):
        end = at + (2 if chunk[at : at + 1] == b"h" else 5)
        found.append(chunk[at:end])
        at = end
    return found


def _int(chunk: bytes) -> int:
    """The number of one opcode with its bytes."""
    if len(chunk) == 2:
        return chunk[1]
    if len(chunk) == 3:
        return chunk[1] | chunk[2] << 8
    if len(chunk) == 5:
        return int.from_bytes(chunk[1:], "little", signed=True)
    return int.from_bytes(chunk[2:], "little", signed=True)
