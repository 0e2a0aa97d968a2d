"""Flight Recorder dumps of a simulated job, as torch writes them: pickled by its C++ pickler, or as JSON."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.facts.waits.job import ABSENT, COMPLETED, STARTED, Op, Run

BEGAN_NS = 1_784_280_863_494_660_096
WORDS = ("scheduled", "started", "completed")
FRAMES = tuple(
    {"name": f"f{number}", "filename": f"/opt/train/part{number % 5}.py", "line": 40 + number} for number in range(12)
)


@dataclass
class Recorder:
    """How dumps are taken: entries kept, whether starts are told, shift of the clock, JSON instead of a pickle."""

    length: int = 2_000
    tracks: bool = True
    wild_clocks: bool = False
    as_json: bool = False
    frames: bool = False
    names: str = "{}"
    """How the number of a group becomes its name."""


class TorchPickler:
    """Writes what ``torch::jit::Pickler`` writes for plain values: strings and shared dicts are remembered."""

    def __init__(self) -> None:
        self.out = bytearray(b"\x80\x02")
        self.texts: dict[str, bytes] = {}
        self.shared: dict[int, bytes] = {}
        self.next = 0

    def put(self) -> bytes:
        index = self.next
        self.next += 1
        self.out += b"q" + bytes((index,)) if index < 256 else b"r" + struct.pack("<I", index)
        return b"h" + bytes((index,)) if index < 256 else b"j" + struct.pack("<I", index)

    def write(self, value: Any) -> None:
        out = self.out
        if isinstance(value, bool):
            out += b"\x88" if value else b"\x89"
        elif isinstance(value, int):
            out += number(value)
        elif isinstance(value, str):
            known = self.texts.get(value)
            if known is not None:
                out += known
                return
            data = value.encode()
            out += b"X" + struct.pack("<I", len(data)) + data
            self.texts[value] = self.put()
        elif value is None:
            out += b"N"
        elif isinstance(value, float):
            out += b"G" + struct.pack(">d", value)
        elif isinstance(value, dict):
            self._dict(value)
        elif isinstance(value, list):
            out += b"]("
            for item in value:
                self.write(item)
            self.out += b"e"
        else:
            for item in value:
                self.write(item)
            self.out += b"\x86"

    def _dict(self, value: dict[str, Any]) -> None:
        known = self.shared.get(id(value))
        if known is not None:
            self.out += known
            return
        self.out += b"}("
        for key, item in value.items():
            self.write(key)
            self.write(item)
        self.out += b"u"
        if any(value is frame for frame in FRAMES):
            self.shared[id(value)] = self.put()


def number(value: int) -> bytes:
    if 0 <= value < 256:
        return b"K" + bytes((value,))
    if 0 <= value < 1 << 16:
        return b"M" + struct.pack("<H", value)
    if -(1 << 31) <= value < 1 << 31:
        return b"J" + struct.pack("<i", value)
    return b"\x8a\x08" + struct.pack("<q", value)


def dump_of(run: Run, rank: int, recorder: Recorder, random: Random) -> bytes:
    value = contents(run, rank, recorder, random)
    if recorder.as_json:
        texts = {key: {name: str(seq) for name, seq in own.items()} for key, own in value["pg_status"].items()}
        return json.dumps({**value, "pg_status": texts}, sort_keys=True).encode()
    pickler = TorchPickler()
    pickler.write(value)
    return bytes(pickler.out + b".")


def contents(run: Run, rank: int, recorder: Recorder, random: Random) -> dict[str, Any]:
    """What the recorder of one rank holds."""
    own = sorted(set(run.topology.of_rank[rank].values()))
    ids = {group: at for at, group in enumerate(own)}
    shift = random.randint(-(10**18) // 4, 10**18 // 4) if recorder.wild_clocks else 0
    config = {}
    for group in own:
        description, ranks = run.topology.groups[group]
        name = recorder.names.format(group)
        config[name] = {"name": name, "desc": description, "ranks": f"[{', '.join(map(str, ranks))}]"}
    status = {str(at): dict.fromkeys(_STATUS, -1) for at in ids.values()}
    counts: dict[int, list[int]] = {group: [0, 0] for group in own}
    entries = []
    for index, op in enumerate(run.programs[rank][: run.launched[rank]]):
        state = run.states[rank][index]
        if state == ABSENT:
            break
        count = counts[op.group]
        count[op.peer >= 0] += 1
        _reach(status[str(ids[op.group])], count[op.peer >= 0], state, recorder.tracks)
        if run.launched[rank] - index <= recorder.length:
            entries.append(_entry(run, rank, index, op, (count[0], count[1]), ids[op.group], state, shift, recorder))
    return {
        "version": "2.10",
        "pg_config": config,
        "comm_lib_version": "2.27.5",
        "pg_status": status,
        "entries": entries,
    }


_STATUS = ("last_enqueued_collective", "last_started_collective", "last_completed_collective")


def _reach(status: dict[str, int], seq: int, state: int, tracks: bool) -> None:
    status[_STATUS[0]] = seq
    if tracks and state >= STARTED:
        status[_STATUS[1]] = seq
    if state == COMPLETED:
        status[_STATUS[2]] = seq


def _entry(
    run: Run,
    rank: int,
    index: int,
    op: Op,
    seqs: tuple[int, int],
    pg_id: int,
    state: int,
    shift: int,
    recorder: Recorder,
) -> dict[str, Any]:
    description, ranks = run.topology.groups[op.group]
    name = f"nccl:{op.name}"
    if op.peer >= 0:
        mine, peer = ranks.index(rank), ranks.index(op.peer)
        name = f"nccl:send {mine}->{peer}" if op.sends else f"nccl:recv {mine}<-{peer}"
    taken, given = (op.size, len(ranks) * op.size)[:: -1 if op.name == "_reduce_scatter_base" else 1]
    given = given if op.name.startswith(("_reduce_scatter", "_all_gather")) else taken
    told = state if recorder.tracks or state == COMPLETED else 0
    created = BEGAN_NS + shift + index * 1_000_000
    entry: dict[str, Any] = {"frames": list(FRAMES)} if recorder.frames else {}
    return entry | {
        "record_id": index,
        "pg_id": pg_id,
        "process_group": (recorder.names.format(op.group), description),
        "thread_name": "python",
        "thread_id": "140454897834880",
        "collective_seq_id": seqs[0],
        "p2p_seq_id": seqs[1],
        "op_id": index + 1,
        "profiling_name": name,
        "time_created_ns": created,
        "input_sizes": [[taken, 8]],
        "input_dtypes": ["BFloat16"],
        "output_sizes": [[given, 8]],
        "output_dtypes": ["BFloat16"],
        "state": WORDS[told],
        "time_discovered_started_ns": created + 1000 if told else None,
        "time_discovered_completed_ns": created + 2000 if told == COMPLETED else None,
        "retired": told == COMPLETED,
        "timeout_ms": 600_000,
        "is_p2p": op.peer >= 0,
    }
