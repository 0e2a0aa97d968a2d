"""PyTorch's Flight Recorder dumps (torch 2.2 to 2.13, NCCL and gloo): what one rank launched in each process group.

A dump is a pickle of plain containers (``DebugInfoWriter``, ``FlightRecorderDetail.hpp``) or JSON
(``dump_nccl_trace_json``). Pickles come from other people's machines and are read by a reader that knows plain data
only; no code of theirs runs. A dump that is empty, cut short or not readable is evidence too: the rank wrote it, or
began to. Ranks are compared with each other later, over the states of all dumps.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from engine.facts.collectives import GroupState
from engine.facts.model import Source
from engine.facts.waits import KINDS
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.comm._entry_shape import MOST_ENTRIES
from facts_adapters.comm._plain_pickle import PlainPickle
from facts_adapters.comm._recorded import Recorded

LARGEST = 64 << 20
"""Bytes of a dump that are read; a longer one is refused."""

MOST_JSON_VALUES = 8_000_000
"""Values of a JSON dump, counted by their separators before it is parsed."""

DIGITS = 7
"""Digits that the rank in a file's name may have; no job is larger."""

_NEGATIVE = re.compile(r"[_.]-\d+(?:\.\w+)*$")
_TRAILING = re.compile(r"(?P<rank>\d+)(?:\.(?:pkl|pickle|json|bin|dump))?(?:\.(?:gz|xz|bz2|zst))?$")
_MARKS = ("record_id", "profiling_name")
_OWN_NAME = re.compile(r"(?:nccl_trace|comm_lib_trace|fr_trace|torchcomm_fr_trace)_(?:rank_)?\d+(?:\.\w+)*$")
"""Names that torch gives its dumps (``TORCH_NCCL_DEBUG_INFO_TEMP_FILE``, ``TORCH_FR_DUMP_TEMP_FILE``)."""

_BETWEEN = re.compile(r"[,\s]*")
_ENTRIES = re.compile(r'"entries"\s*:\s*\[')


def sniff(head: Head) -> Verdict:
    """The names of its fields stand near the beginning; an empty or broken one has torch's own name."""
    if all(mark in head.text for mark in _MARKS):
        return Verdict(0.95, "fields of the Flight Recorder")
    if "pg_config" in head.text and "entries" in head.text:
        return Verdict(0.8, "a Flight Recorder dump whose entries come late or are none")
    if not head.lines and _OWN_NAME.search(head.path):
        return Verdict(0.7, "named as torch names its dumps, without any text")
    return Verdict(0.0, "no Flight Recorder dump")


def read(file: EvidenceFile, context: Context) -> Iterator[GroupState]:
    """The state of the rank in each of its process groups."""
    with file.open() as stream:
        data = stream.read(LARGEST + 1)
    rank = file.rank if file.rank is not None else _rank_in(file.path, context)
    if len(data) > LARGEST:
        context.warn(file.path, 1, f"the dump is longer than {LARGEST >> 20} MB and was left out")
        data = b""
    for state in states_of(data, Source(file.path, 1), context):
        state.rank = rank
        yield state


def _rank_in(path: str, context: Context) -> int | None:
    """The number at the end of the file's name, where a rank can have it."""
    named = _TRAILING.search(path.rsplit("/", 1)[-1])
    if named is None:
        return None
    if len(named["rank"]) > DIGITS or _NEGATIVE.search(path):
        context.warn(path, 1, "the number in the name of the dump is no rank")
        return None
    return int(named["rank"])


def states_of(data: bytes, source: Source, context: Context) -> list[GroupState]:
    """The states in one dump, without the rank, which only the file's name tells."""
    if not data.strip(b"\0 \r\n"):
        return [GroupState(source, condition="empty")]
    recorded = Recorded()
    try:
        header, cut = _load(data, recorded)
    except ValueError as error:
        context.warn(source.path, 1, f"not a readable dump: {error}")
        return [GroupState(source, condition="unreadable")]
    if cut:
        context.warn(source.path, 1, f"the dump ends early; {recorded.count} of its entries are there")
    return recorded.states(header, source, cut)


def _load(data: bytes, recorded: Recorded) -> tuple[Mapping[str, object], bool]:
    """Header and whether the dump is cut short; its entries go to ``recorded``.

    Raises:
        ValueError: it is no dump, or needs more than plain containers.
    """
    if data[:1] in (b"{", b"["):
        return _load_json(data, recorded)
    pickled = PlainPickle(data, recorded)
    pickled.read()
    return pickled.header, pickled.cut


def _load_json(data: bytes, recorded: Recorded) -> tuple[Mapping[str, object], bool]:
    if sum(data.count(mark) for mark in (b",", b"{", b"[")) > MOST_JSON_VALUES:
        raise ValueError("a dump needs fewer values")
    text = data.decode("utf-8", "replace")
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        if _salvage(text, recorded):
            return {}, True
        raise ValueError(f"{type(error).__name__}: {str(error)[:200]}") from error
    if isinstance(value, list):
        value = {"entries": value}
    if not isinstance(value, dict):
        raise ValueError("a dump is a mapping or a list of entries")
    entries = value.pop("entries", ())
    for entry in entries[:MOST_ENTRIES] if isinstance(entries, list) else ():
        if isinstance(entry, dict):
            recorded.add(entry)
    return value, False


def _salvage(text: str, recorded: Recorded) -> bool:
    """The whole entries of a JSON dump that ends early; false where there is none."""
    found = _ENTRIES.search(text[:1_000_000])
    at = found.end() if found else 1
    decoder = json.JSONDecoder()
    while len(text) > at and recorded.count < MOST_ENTRIES:
        try:
            entry, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        if isinstance(entry, dict):
            recorded.add(entry)
        gap = _BETWEEN.match(text, at)
        at = gap.end() if gap else at
    return recorded.count > 0


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
    emits=KINDS,
    coverage="comm_state",
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            _example("[[4, 3]]", "started"),
            (("group_state", {"rank": 3, "group": "0", "last_enqueued": 8, "last_completed": 6, "members": "0,1"}),),
            path="dumps/nccl_trace_rank_3",
        ),
        Sample(
            _example("[[4, 3]]", "started")[:-40] + ", {",
            (("group_state", {"rank": 3, "condition": "unreadable"}),),
            path="dumps/nccl_trace_rank_3",
        ),
        Sample('{"entries": [], "version": 3, "records": 12}', (), path="dumps/other.json"),
    ),
)
