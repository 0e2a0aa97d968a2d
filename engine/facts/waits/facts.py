"""What the comparison of ranks found, as ordinary facts for the rules.

They bear no time: sequence numbers order what happened, and the clocks of recorders may be anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from engine.facts.collectives import GroupState, spoken
from engine.facts.model import Observation, Scalar, Source
from engine.facts.waits.model import Circle, Front, Mismatch, Suspected, Waits

ADAPTER = "waits"
"""Whom the facts name as their reader."""

MOST_FACTS = 512
"""Facts of one kind that are made; the report's tables hold the rest."""

NOT_TOLD = "?"
"""A call of which only is known that it is another."""

LOST_KIND = "host.nothing_collected"
"""The kind that names a host of which no file and no line is there."""

KINDS = (
    "comm.rank_behind",
    "comm.rank_absent",
    "comm.operation_mismatch",
    "comm.wait_cycle",
    "comm.operation_stalled",
    "comm.dump_missing",
    "comm.collective",
    "comm.nobody_waits",
    LOST_KIND,
)


def observations_of(waits: Waits, states: Sequence[GroupState]) -> list[Observation]:
    """The facts, those about suspects first."""
    found = [_suspect(item) for item in waits.suspects[:MOST_FACTS]]
    found += [_split(item, states) for item in waits.mismatches[:MOST_FACTS] if not item.odd]
    found += [_circle(item) for item in waits.circles[:MOST_FACTS]]
    found += [_stalled(item, states) for item in waits.stalled[:MOST_FACTS]]
    found += list(_at_rest(waits, states))
    found += list(_dumps(waits, states))
    found += list(_lost(waits, states))
    found += list(_fronts(waits, states))
    for item in found:
        item.adapter = ADAPTER
        item.source = _quoted(item.source, item.fields)
    return found


def _fields(name: str, seq: int, call: str) -> dict[str, Scalar]:
    fields: dict[str, Scalar] = {"pg": name}
    if seq >= 0:
        fields["seq"] = seq
    if call:
        fields["op"] = call
    return fields


def _quoted(source: Source, fields: Mapping[str, Scalar]) -> Source:
    """The place with what the states say there; a dump has no lines to quote."""
    text = ", ".join(f"{name} {value}" for name, value in fields.items())
    return Source(source.path, source.line, source.text or text)


def _suspect(item: Suspected) -> Observation:
    if item.how in ("mismatch", "order"):
        fields: dict[str, Scalar] = {
            "aspect": item.aspect,
            "expected": item.call,
            "found": item.found or NOT_TOLD,
            **_fields(item.name, item.seq, ""),
        }
        return Observation("comm.operation_mismatch", item.source, fields, host=item.host, rank=item.rank)
    fields = {**_fields(item.name, item.seq, item.call), "waiting": item.waiting}
    if item.how == "no_report":
        if item.sign:
            fields["sign"] = item.sign
        return Observation("comm.rank_absent", item.source, fields, host=item.host, rank=item.rank)
    fields["how"] = item.how
    if item.doubt:
        fields["doubt"] = item.doubt
    return Observation("comm.rank_behind", item.source, fields, host=item.host, rank=item.rank)


def _source(states: Sequence[GroupState], group: str) -> Source:
    return min((state.source for state in states if state.group == group), key=lambda s: (s.path, s.line))


def _split(item: Mismatch, states: Sequence[GroupState]) -> Observation:
    """Unequal calls without a majority: who is wrong is not told."""
    fields: dict[str, Scalar] = {
        "aspect": item.aspect,
        "expected": item.calls[0] or NOT_TOLD,
        "found": item.calls[-1],
        **_fields(item.name, item.seq, ""),
    }
    return Observation("comm.operation_mismatch", _source(states, item.name), fields)


def _circle(item: Circle) -> Observation:
    fields: dict[str, Scalar] = {
        "ranks": spoken(item.ranks, 12),
        "size": len(item.ranks),
        "operations": "; ".join(item.operations)[:400],
    }
    return Observation("comm.wait_cycle", item.source, fields)


def _stalled(item: Front, states: Sequence[GroupState]) -> Observation:
    call = item.call or (f"#{item.seq}" if item.seq >= 0 else "")
    fields = {**_fields(item.name, item.seq, call), "members": item.size}
    if item.started is not None:
        fields["begun"] = item.started >= item.size
    return Observation("comm.operation_stalled", _source(states, item.name), fields)


def _recorded(waits: Waits, states: Sequence[GroupState]) -> list[GroupState]:
    """The states of dumps that count: of this run, and not left out."""
    own = (state for state in states if state.origin == "recorder" and state.rank is not None and not state.run)
    return [state for state in own if state.rank not in waits.stale]


def _at_rest(waits: Waits, states: Sequence[GroupState]) -> Iterator[Observation]:
    """That nobody waited when the dumps were taken."""
    sources = [state.source for state in _recorded(waits, states)]
    if waits.at_rest and sources:
        first = min(sources, key=lambda source: (source.path, source.line))
        yield Observation("comm.nobody_waits", first, {"ranks": waits.ranks})


def _dumps(waits: Waits, states: Sequence[GroupState]) -> Iterator[Observation]:
    recorded = _recorded(waits, states)
    if not recorded:
        return
    present, expected = waits.dumps, waits.dumps + len(waits.missing)
    first = min((state.source for state in recorded), key=lambda source: (source.path, source.line))
    sources = {state.rank: state.source for state in recorded}
    conditions = [*((rank, "missing") for rank in waits.missing), *waits.broken]
    homes = {rank: item.host for item in waits.lost_hosts for rank in item.ranks}
    for rank, condition in sorted(conditions):
        fields: dict[str, Scalar] = {"present": present, "expected": expected, "condition": condition}
        yield Observation("comm.dump_missing", sources.get(rank, first), fields, host=homes.get(rank), rank=rank)


def _lost(waits: Waits, states: Sequence[GroupState]) -> Iterator[Observation]:
    """Hosts of which nothing is there, one statement for each rank; they stand where the first dump does."""
    if not waits.lost_hosts:
        return
    source = min((s.source for s in _recorded(waits, states)), key=lambda source: (source.path, source.line))
    ends = {*waits.undecided, *(item.rank for item in waits.suspects)}
    for item in waits.lost_hosts[:MOST_FACTS]:
        told = bool(ends) and ends <= set(item.ranks)
        fields: dict[str, Scalar] = {"ranks": spoken(item.ranks), "size": len(item.ranks), "chains_end": told}
        for rank in item.ranks:
            yield Observation(LOST_KIND, source, dict(fields), host=item.host, rank=rank)


def _fronts(waits: Waits, states: Sequence[GroupState]) -> Iterator[Observation]:
    """The operations in which ranks wait, those with most ranks first."""
    recorded = {state.group for state in states if state.origin == "recorder"}
    for item in waits.waits[:16]:
        if item.seq >= 0 and item.name in recorded:
            fields = {**_fields(item.name, item.seq, item.call), "waiting": len(item.waiting)}
            yield Observation("comm.collective", _source(states, item.name), fields)
