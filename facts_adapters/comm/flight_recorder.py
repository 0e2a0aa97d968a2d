"""PyTorch's Flight Recorder dumps (torch 2.2 to 2.9): what one rank launched, and how far it came in each group.

A dump is a pickle of plain containers or JSON. Pickles come from other people's machines: every global is refused, so
nothing of theirs runs. Ranks are compared with each other later, over the facts of all dumps.
"""

from __future__ import annotations

import io
import json
import pickle
import re
from collections.abc import Iterator, Mapping, Sequence

from engine.facts.model import Observation, Reading, Scalar, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict

LARGEST = 64 << 20
"""Bytes of a dump that are read; a longer one is refused."""

MOST_ENTRIES = 200_000
MOST_OPEN = 1
"""Unfinished collectives of one group that are kept: the first of them is the one that hangs."""

_TRAILING = re.compile(r"(?P<rank>\d+)(?:\.(?:pkl|pickle|json|bin|dump))?(?:\.(?:gz|xz|bz2|zst))?$")
_MARKS = ("record_id", "profiling_name")


class _NoGlobals(pickle.Unpickler):
    """Loads plain containers only."""

    def find_class(self, module: str, name: str) -> object:
        raise pickle.UnpicklingError(f"a dump needs no {module}.{name}")

    def persistent_load(self, pid: object) -> object:
        raise pickle.UnpicklingError(f"a dump refers to nothing outside: {str(pid)[:80]}")


def load(data: bytes) -> Mapping[str, object]:
    """The dump as plain data.

    Raises:
        ValueError: it is no dump, or needs more than plain containers.
    """
    try:
        if data[:1] in (b"{", b"["):
            value: object = json.loads(data)
        else:
            value = _NoGlobals(io.BytesIO(data)).load()
    except Exception as error:  # whatever hostile bytes raise
        raise ValueError(f"not a readable dump: {type(error).__name__}: {str(error)[:200]}") from error
    if isinstance(value, list):
        return {"entries": value}
    if not isinstance(value, dict):
        raise ValueError("a dump is a mapping or a list of entries")
    return value


def sniff(head: Head) -> Verdict:
    """The names of its fields stand near the beginning."""
    if all(mark in head.text for mark in _MARKS):
        return Verdict(0.95, "fields of the Flight Recorder")
    if "pg_config" in head.text and "entries" in head.text:
        return Verdict(0.8, "an empty Flight Recorder dump")
    return Verdict(0.0, "no Flight Recorder dump")


def read(file: EvidenceFile, context: Context) -> Iterator[Observation]:
    """``comm.work_status`` of each group and ``comm.collective`` of its first unfinished operation."""
    with file.open() as stream:
        data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        context.warn(file.path, 1, f"the dump is longer than {LARGEST >> 20} MB and was left out")
        return
    try:
        dump = load(data)
    except ValueError as error:
        context.warn(file.path, 1, str(error))
        return
    named = _TRAILING.search(file.path.rsplit("/", 1)[-1])
    rank = file.rank if file.rank is not None else int(named["rank"]) if named else None
    for observation in facts_of(dump, Source(file.path, 1, "Flight Recorder dump")):
        observation.rank = rank
        yield observation


def facts_of(dump: Mapping[str, object], source: Source) -> Iterator[Observation]:
    """The facts of one dump, without the rank, which only the file's name tells."""
    groups: dict[str, list[Mapping[str, object]]] = {}
    entries = dump.get("entries")
    for entry in entries[:MOST_ENTRIES] if isinstance(entries, list) else ():
        if isinstance(entry, dict) and not entry.get("is_p2p"):
            groups.setdefault(_group(entry), []).append(entry)
    status = dump.get("pg_status")
    for group, of_group in sorted(groups.items()):
        found = _status(status, of_group)
        yield Observation("comm.work_status", source, {"pg": group, **found}, when=_moment(of_group[-1:]))
        done = found.get("last_completed", -1)
        unfinished = [entry for entry in of_group if _open(entry, done)]
        for entry in sorted(unfinished, key=_seq)[:MOST_OPEN]:
            yield Observation("comm.collective", source, {"pg": group, **_call(entry)}, when=_moment([entry]))


def _group(entry: Mapping[str, object]) -> str:
    named = entry.get("process_group")
    if isinstance(named, (list, tuple)) and named:
        return str(named[0])[:200]
    return str(entry.get("pg_id", "0"))[:200]


def _number(value: object) -> int | None:
    """An integer, also as text (the JSON variant writes some numbers as strings)."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if abs(value) < 2**63 else None
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,18}", value):
        return int(value)
    return None


def _seq(entry: Mapping[str, object]) -> int:
    found = _number(entry.get("collective_seq_id"))
    return found if found is not None else _number(entry.get("seq_id")) or 0


def _status(status: object, entries: Sequence[Mapping[str, object]]) -> dict[str, Scalar]:
    """Last launched and last finished number: as the group's status says, else from the entries."""
    own = status.get(str(entries[-1].get("pg_id", ""))) if isinstance(status, dict) else None
    given = own if isinstance(own, dict) else {}
    enqueued = _number(given.get("last_enqueued_collective"))
    completed = _number(given.get("last_completed_collective"))
    if enqueued is None:
        enqueued = max(map(_seq, entries))
    if completed is None:
        finished = [_seq(entry) for entry in entries if entry.get("state") == "completed"]
        completed = max(finished, default=-1)
    return {"last_enqueued": enqueued, "last_completed": completed}


def _open(entry: Mapping[str, object], done: Scalar) -> bool:
    return entry.get("state") != "completed" and isinstance(done, int) and _seq(entry) > done


def _call(entry: Mapping[str, object]) -> dict[str, Scalar]:
    operation = str(entry.get("profiling_name", ""))[:200]
    shape = _short(entry.get("input_sizes"))
    dtype = _short(entry.get("input_dtypes"))
    fields: dict[str, Scalar] = {"seq": _seq(entry), "op": operation, "call": f"{operation} {shape} {dtype}".strip()}
    fields.update({name: text for name, text in (("shape", shape), ("dtype", dtype)) if text})
    if entry.get("state") in ("scheduled", "started", "completed"):
        fields["state"] = str(entry["state"])
    return fields


def _short(value: object) -> str:
    """Nested lists of numbers or names as text, cut to a bounded length and depth."""
    if not isinstance(value, (list, tuple)) or len(value) > 64:
        return ""
    parts = [
        f"[{', '.join(str(item)[:24] for item in part[:16])}]" if isinstance(part, (list, tuple)) else str(part)[:24]
        for part in value
    ]
    return f"[{', '.join(parts)}]"[:400]


def _moment(entries: Sequence[Mapping[str, object]]) -> Reading | None:
    """When the last of the entries was launched; the recorder writes UTC nanoseconds."""
    created = _number(entries[-1].get("time_created_ns")) if entries else None
    if created is None or not 10**18 < created < 4 * 10**18:
        return None
    return Reading(created // 1000, created // 1000, basis="utc")


def _example(sizes: str, state: str) -> str:
    return (
        '{"version": "2.9", "pg_status": {"0": {"last_enqueued_collective": "8", "last_completed_collective": "6"}},'
        ' "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}}, "entries": ['
        '{"record_id": 6, "pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": 7, "is_p2p": false,'
        f' "profiling_name": "nccl:all_reduce", "input_sizes": {sizes}, "input_dtypes": ["Float"], "state": "{state}",'
        ' "time_created_ns": 1784411207352918016, "retired": false}]}'
    )


ADAPTER = Adapter(
    name="flight_recorder",
    branch="comm",
    emits=("comm.work_status", "comm.collective"),
    coverage="comm_state",
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            _example("[[4, 3]]", "started"),
            (
                ("comm.work_status", {"rank": 3, "pg": "0", "last_enqueued": 8, "last_completed": 6}),
                ("comm.collective", {"rank": 3, "seq": 7, "op": "nccl:all_reduce", "shape": "[[4, 3]]"}),
            ),
            path="dumps/nccl_trace_rank_3",
        ),
        Sample('{"entries": [], "version": 3, "records": 12}', (), path="dumps/other.json"),
    ),
)
