"""Flight Recorder dumps: both variants, old versions, broken ones, and files that mean harm."""

from __future__ import annotations

import json
import os
import pickle
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from engine.facts.collectives import COMPLETED, SCHEDULED, STARTED, GroupState
from engine.facts.model import Source
from facts_adapters.comm._recorded import Recorded
from facts_adapters.comm.flight_recorder import states_of
from facts_adapters.reader import read_bundle
from tests.facts.waits.dumps import TorchPickler
from tests.facts.waits.reading import Quiet

SOURCE = Source("dump", 1)


def entry(seq: int, state: str = "started", **more: Any) -> dict[str, Any]:
    return {
        "record_id": seq - 1,
        "pg_id": 0,
        "process_group": ("0", "default_pg"),
        "collective_seq_id": seq,
        "p2p_seq_id": 0,
        "op_id": seq,
        "profiling_name": "nccl:all_reduce",
        "time_created_ns": 1_784_280_863_494_660_096,
        "input_sizes": [[4, 3]],
        "input_dtypes": ["Float"],
        "output_sizes": [[4, 3]],
        "output_dtypes": ["Float"],
        "state": state,
        "time_discovered_started_ns": None,
        "time_discovered_completed_ns": None,
        "retired": False,
        "timeout_ms": 600_000,
        "is_p2p": False,
        **more,
    }


def dump(*entries: dict[str, Any], **status: int) -> dict[str, Any]:
    return {
        "version": "2.9",
        "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}},
        "pg_status": {"0": status} if status else {},
        "entries": list(entries),
    }


def by_torch(value: Any) -> bytes:
    pickler = TorchPickler()
    pickler.write(value)
    return bytes(pickler.out + b".")


def by_python(value: Any) -> bytes:
    return pickle.dumps(value, protocol=2)


def by_new_python(value: Any) -> bytes:
    return pickle.dumps(value, protocol=5)


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


WRITERS = [by_torch, by_python, by_new_python, as_json]


def read(data: bytes) -> list[GroupState]:
    return states_of(data, SOURCE, Quiet())


def one(data: bytes) -> GroupState:
    (state,) = read(data)
    return state


@pytest.mark.parametrize("write", WRITERS)
def test_every_writer_gives_the_same_states(write: Callable[[Any], bytes]) -> None:
    entries = [entry(seq, "completed" if seq < 48 else "scheduled", op_id=seq * 300) for seq in range(5, 60)]
    entries += [entry(seq, input_sizes=[[70_000, 2], []], duration_ms=1.5) for seq in range(60, 80)]
    state = one(write(dump(*entries, last_enqueued_collective=79, last_completed_collective=47)))
    assert (state.group, state.description, state.members) == ("0", "default_pg", "0,1")
    assert list(state.seqs) == list(range(5, 80))
    assert list(state.states) == [COMPLETED] * 43 + [SCHEDULED] * 12 + [STARTED] * 20
    assert list(state.records) == list(range(75))
    words = [state.words[number] for number in state.calls]
    assert words == ["all_reduce 12 Float"] * 55 + ["all_reduce 140000+1 -> 12 Float"] * 20
    assert (state.last_enqueued, state.last_completed, state.overrun) == (79, 47, True)


def test_entries_of_torch_are_read_by_their_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    one_by_one: list[Mapping[str, object]] = []
    original = Recorded.add

    def counted(self: Recorded, item: Mapping[str, object]) -> None:
        one_by_one.append(item)
        original(self, item)

    monkeypatch.setattr(Recorded, "add", counted)
    state = one(by_torch(dump(*[entry(seq) for seq in range(1, 200)])))
    assert len(state.seqs) == 199
    assert len(one_by_one) < 5


def test_dump_of_an_old_release_is_a_bare_list() -> None:
    old = entry(3)
    del old["collective_seq_id"], old["process_group"]
    old["seq_id"] = 3
    for write in WRITERS:
        state = one(write([old]))
        assert (state.group, state.last_enqueued, list(state.seqs)) == ("0", 3, [3])


def test_transfers_are_counted_by_peer_and_a_batch_comes_as_far_as_its_end() -> None:
    def transfer(record: int, name: str, state: str, batch: int) -> dict[str, Any]:
        return entry(1, state, record_id=record, profiling_name=name, is_p2p=True, p2p_seq_id=batch)

    value = dump(
        transfer(0, "nccl:send 0->1", "completed", 1),
        transfer(1, "nccl:send 0->1", "scheduled", 2),
        transfer(2, "nccl:recv 0<-1", "scheduled", 2),
        transfer(3, "nccl:coalesced", "completed", 2),
        transfer(4, "nccl:recv 0<-1", "scheduled", 3),
        transfer(5, "nccl:coalesced", "started", 3),
        transfer(6, "nccl:recv 0<-1", "scheduled", 4),
    )
    value["pg_config"]["0"]["ranks"] = "[6, 9]"
    for write in WRITERS:
        state = one(write(value))
        (open_one,) = state.transfers
        assert (open_one.peer, open_one.sends, open_one.open) == (9, False, 2)
        assert (open_one.record, open_one.state) == (4, STARTED)
        assert not state.seqs


def test_collectives_under_one_number_are_one_call() -> None:
    pair = [entry(4), entry(4, profiling_name="nccl:_all_gather_base", record_id=4)]
    end = entry(4, profiling_name="nccl:coalesced", record_id=5, state="completed", input_sizes=[], output_sizes=[])
    joint, other = one(by_torch(dump(*pair, end))), one(by_torch(dump(*pair[::-1], end)))
    assert list(joint.seqs) == [4]
    assert list(joint.states) == [COMPLETED]
    assert joint.calls[0] != other.calls[0]


def test_sizes_that_may_differ_between_ranks_are_no_part_of_a_call() -> None:
    def call(name: str, size: int) -> int:
        value = dump(entry(1, profiling_name=name, input_sizes=[[size]], output_sizes=[[size]]))
        return one(by_torch(value)).calls[0]

    assert call("nccl:all_to_all", 4) == call("nccl:all_to_all", 5)
    assert call("nccl:all_reduce", 4) != call("nccl:all_reduce", 5)


def test_operations_of_gloo_are_finished_once_they_are_retired() -> None:
    value = dump(*[entry(seq, "scheduled", profiling_name="gloo:all_reduce", retired=seq < 3) for seq in (1, 2, 3)])
    for write in WRITERS:
        assert list(one(write(value)).states) == [COMPLETED, COMPLETED, SCHEDULED]


def test_a_dump_that_ends_early_says_what_stands_in_it() -> None:
    value = dump(*[entry(seq, "completed") for seq in range(1, 90)], last_enqueued_collective=95)
    data = by_torch(value)
    state = one(data[: len(data) // 2])
    assert state.condition == "cut"
    assert 20 < len(state.seqs) < 80
    assert state.last_enqueued == 95
    text = as_json(value)
    state = one(text[: text.index(b'"entries"') + 2_000])
    assert state.condition == "cut"
    assert state.seqs[0] == 1
    assert state.last_enqueued is None


class Harm:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("harm-was-done",)


def nested(depth: int) -> bytes:
    return b"\x80\x02}(X\x01\x00\x00\x00a" + b"](" * depth + b"e" * depth + b"u."


DEEP_KEY = b"\x80\x02}(" + b")" + b"\x85" * 200_000 + b"Nu."
"""A dict whose key is a tuple two hundred thousand deep: hashing it overflows the C stack."""

HARMFUL = [
    pickle.dumps(Harm()),
    pickle.dumps(dump(entry(1, profiling_name=Harm()))),
    b"cos\nsystem\n(S'touch harm-was-done'\ntR.",
    b"\x80\x04\x8c\x02os\x8c\x05mkdir\x93\x8c\rharm-was-done\x85R.",
    b"\x80\x02}(X\x01\x00\x00\x00aPharm-was-done\nu.",
    b"\x80\x02]\x82\x01.",
    b"{" * 100_000,
    b"[" * 100_000,
    b"Pharm-was-done\n.",
    b'"text"',
    DEEP_KEY,
    nested(10_000),
    b"\x80\x02}(K\x01K\x02u.",
    b"\x80\x02}(" + b"".join(b"\x8a\x08" + struct.pack("<q", k * (2**61 - 1)) + b"N" for k in range(4)) + b"u.",
    b"\x80\x02\x8a\xff" + b"\x01" * 255 + b".",
    b"\x80\x02\x8b\xff\xff\xff\x7f.",
    b"\x80\x02X\xff\xff\xff\xff.",
    b"\x80\x02h\x07.",
    b"\x80\x02u.",
    b"\x80\x02}.x"[:3] + b"e.",
    b"\x80\x02" + b"N" * 4_100_000 + b".",
]


@pytest.mark.parametrize("data", HARMFUL, ids=range(len(HARMFUL)))
def test_harmful_dumps_are_refused(data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    context = Quiet()
    (state,) = states_of(data, SOURCE, context)
    assert state.condition == "unreadable"
    assert any("not a readable dump" in warning for warning in context.warnings)
    assert not list(tmp_path.iterdir())


def test_a_bomb_of_references_stays_small() -> None:
    laughs = b"\x80\x02](q\x00" + b"".join(
        b"](" + b"h" + bytes((i,)) * 1 + (b"h" + bytes((i,))) * 9 + b"eq" + bytes((i + 1,)) for i in range(40)
    )
    (state,) = read(laughs + b"e.")
    assert state.condition in ("empty", "unreadable", "cut")


def test_places_of_the_memo_that_are_far_away_cost_nothing() -> None:
    state = one(b"\x80\x02}r\xff\xff\xff\xff(X\x07\x00\x00\x00entries](eu.")
    assert state.condition == "empty"


@pytest.mark.parametrize("data", [b"", b"\0" * 64, b"\n"])
def test_nothing_is_an_empty_dump(data: bytes) -> None:
    assert one(data).condition == "empty"


@pytest.mark.parametrize(
    "value",
    [
        {"entries": {"a": 1}},
        {"entries": [1, "x", None, []]},
        {"entries": [{"collective_seq_id": "9" * 400, "process_group": [], "input_sizes": 7}]},
        {"entries": [{"profiling_name": "x", "process_group": [[]], "input_sizes": [["deep"] * 90] * 90}]},
        {"entries": [{"profiling_name": "nccl:a", "collective_seq_id": 2**80, "input_sizes": [[2**400] * 9]}]},
        {"entries": [entry(2), entry(1), entry(2)], "pg_status": {"0": []}, "pg_config": {"0": {"ranks": 7}}},
        {"entries": [entry(1)], "pg_config": {"0": {"ranks": [True, "x", 10**30, -4]}}},
        {"pg_status": []},
    ],
)
def test_odd_structures_never_raise(value: dict[str, Any]) -> None:
    for state in [*read(as_json(value)), *read(by_python(value))]:
        assert list(state.seqs) == sorted(set(state.seqs))


@pytest.mark.parametrize("write", WRITERS)
def test_damaged_bytes_never_raise(write: Callable[[Any], bytes]) -> None:
    entries = [entry(seq, process_group=(str(seq % 3), "x"), pg_id=seq % 3, op_id=seq * 40) for seq in range(1, 30)]
    whole = write(dump(*entries, last_enqueued_collective=9))
    random = Random(len(whole))
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(random.randint(1, 6)):
            at = random.randrange(len(data))
            data[at : at + random.randint(0, 3)] = random.randbytes(random.randint(0, 3))
        for state in read(bytes(data)):
            assert len(state.seqs) == len(state.calls) == len(state.states) == len(state.records)
            assert list(state.seqs) == sorted(set(state.seqs))


def test_rank_comes_from_the_name_and_broken_files_only_warn(tmp_path: Path) -> None:
    (tmp_path / "nccl_trace_rank_12").write_bytes(by_torch(dump(entry(7))))
    (tmp_path / "fr_job_5").write_text(json.dumps(dump(entry(7))), encoding="utf-8")
    (tmp_path / "nccl_trace_rank_13").write_bytes(by_torch(dump(entry(7)))[:-40])
    (tmp_path / "nccl_trace_rank_14").write_bytes(b"")
    (tmp_path / "nccl_trace_rank_15").write_bytes(b"\x80\x02cos\nsystem\n.")
    result = read_bundle(tmp_path)
    found = {state.rank: state.condition for state in result.states}
    assert found == {12: "whole", 5: "whole", 13: "cut", 14: "empty", 15: "unreadable"}
    assert {warning.path for warning in result.warnings} >= {"nccl_trace_rank_13", "nccl_trace_rank_15"}


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("nccl_trace_rank_7", 7),
        ("nccl_trace_rank_-1", None),
        ("nccl_trace_rank_-1.json", None),
        ("nccl_trace_rank_9999999999999999999", None),
        ("fr_trace_1048575", 1048575),
    ],
)
def test_a_number_that_no_rank_has_is_warned_of(name: str, rank: int | None, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(by_torch(dump(entry(7))))
    result = read_bundle(tmp_path)
    assert {state.rank for state in result.states} == {rank}
    assert any("is no rank" in warning.reason for warning in result.warnings) is (rank is None)
