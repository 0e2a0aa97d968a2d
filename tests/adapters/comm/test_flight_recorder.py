"""Flight Recorder dumps: both variants, old versions, and files that mean harm."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from engine.facts.model import Observation, Source
from facts_adapters.comm.flight_recorder import facts_of, load
from facts_adapters.reader import read_bundle

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
        "frames": [{"name": "all_reduce", "filename": "distributed_c10d.py", "line": 2935}],
        **more,
    }


def dump(*entries: dict[str, Any], **status: int) -> dict[str, Any]:
    return {
        "version": "2.9",
        "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}},
        "pg_status": {"0": status} if status else {},
        "entries": list(entries),
    }


def kinds(found: list[Observation]) -> list[str]:
    return [observation.kind for observation in found]


def test_pickle_and_json_say_the_same() -> None:
    value = dump(entry(6, "completed"), entry(7), last_enqueued_collective=7, last_completed_collective=6)
    from_pickle = list(facts_of(load(pickle.dumps(value, protocol=2)), SOURCE))
    texts = {name: str(number) for name, number in value["pg_status"]["0"].items()}
    from_json = list(facts_of(load(json.dumps({**value, "pg_status": {"0": texts}}).encode()), SOURCE))
    assert [o.fields for o in from_pickle] == [o.fields for o in from_json]
    status, running = from_pickle
    assert status.fields == {"pg": "0", "last_enqueued": 7, "last_completed": 6}
    assert running.fields["call"] == "nccl:all_reduce [[4, 3]] [Float]"
    assert running.when is not None
    assert running.when.basis == "utc"


def test_dump_of_an_old_release_is_a_bare_list() -> None:
    old = entry(3)
    del old["collective_seq_id"], old["process_group"]
    old["seq_id"] = 3
    found = list(facts_of(load(pickle.dumps([old], protocol=2)), SOURCE))
    assert found[0].fields == {"pg": "0", "last_enqueued": 3, "last_completed": -1}


def test_only_the_first_unfinished_collective_is_kept_and_no_point_to_point() -> None:
    entries = [entry(seq) for seq in range(5, 20)] + [entry(30, is_p2p=True)]
    found = list(facts_of(dump(*entries), SOURCE))
    assert [o.fields["seq"] for o in found if o.kind == "comm.collective"] == [5]
    assert found[0].fields["last_enqueued"] == 19


class Harm:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("harm-was-done",)


@pytest.mark.parametrize(
    "data",
    [
        pickle.dumps(Harm()),
        pickle.dumps(dump(entry(1, profiling_name=Harm()))),
        b"cos\nsystem\n(S'touch harm-was-done'\ntR.",
        b"\x80\x02}q\x00(X\x07\x00\x00\x00entries",
        b"{" * 100_000,
        b"[" * 100_000,
        b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f",
        b"Pharm-was-done\n.",
        b"",
        b"\x00" * 64,
        b'"text"',
    ],
)
def test_harmful_or_broken_dumps_are_refused(data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="dump"):
        load(data)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "value",
    [
        {"entries": {"a": 1}},
        {"entries": [1, "x", None, []]},
        {"entries": [{"collective_seq_id": "9" * 400, "process_group": [], "input_sizes": 7}]},
        {"entries": [{"collective_seq_id": True, "input_sizes": [[["deep"] * 90] * 90] * 90, "state": ["x"]}]},
        {"entries": [{"time_created_ns": 10**400, "pg_id": {"a": []}}], "pg_status": {"{'a': []}": 3}},
        {"pg_status": []},
    ],
)
def test_odd_structures_never_raise(value: dict[str, Any]) -> None:
    for observation in facts_of(value, SOURCE):
        assert all(isinstance(field, (str, int)) for field in observation.fields.values())


def test_rank_comes_from_the_name_and_broken_files_only_warn(tmp_path: Path) -> None:
    (tmp_path / "nccl_trace_rank_12").write_bytes(pickle.dumps(dump(entry(7)), protocol=2))
    (tmp_path / "fr_job_5").write_text(json.dumps(dump(entry(7))), encoding="utf-8")
    broken = pickle.dumps(dump(entry(7)), protocol=2)[:-40]
    (tmp_path / "nccl_trace_rank_13").write_bytes(broken)
    result = read_bundle(tmp_path)
    ranks = {o.rank for o in result.observations if o.kind == "comm.work_status"}
    assert ranks == {12, 5}
    assert any(warning.path == "nccl_trace_rank_13" for warning in result.warnings)
