"""Work spread over several processes gives what one process gives, also when one of them is killed."""

from __future__ import annotations

import gzip
import os
import pickle
import select
import signal
import time
import zipfile
from pathlib import Path

import pytest

from facts_adapters import cores, reader
from facts_adapters.cores import in_order
from facts_adapters.reader import read_bundle
from facts_adapters.result import BundleReading

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")


def test_the_results_are_in_order() -> None:
    assert list(in_order(lambda n: n * n, range(50), 3)) == [n * n for n in range(50)]
    assert list(in_order(lambda n: n * n, [7, 3], 8)) == [49, 9]
    assert list(in_order(lambda n: n * n, [], 8)) == []


def test_other_processes_do_it() -> None:
    assert os.getpid() not in set(in_order(lambda _: os.getpid(), range(6), 2))


def test_what_a_killed_worker_left_is_done_here() -> None:
    parent = os.getpid()

    def work(number: int) -> int:
        if number == 4 and os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    assert list(in_order(work, range(9), 2)) == list(range(9))


def test_no_worker_outlives_a_killed_parent() -> None:
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:

        def work(_: int) -> int:
            os.write(theirs, b"%d " % os.getpid())
            time.sleep(60)
            return 0

        list(in_order(work, range(2), 2))
        os._exit(0)
    os.close(theirs)
    started = b""
    while started.count(b" ") < 2:
        started += os.read(ours, 100)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert select.select([ours], [], [], 30)[0], f"{started!r} are still there"
    assert os.read(ours, 1) == b"", "the end, because nobody holds the other side any more"
    os.close(ours)


def test_nobody_waits_for_results_that_nobody_fetches() -> None:
    found = in_order(lambda n: "x" * 1_000_000 + str(n), range(100), 2)
    assert next(found).endswith("0")
    found.close()


def content(result: BundleReading) -> tuple[object, ...]:
    return result.observations, result.warnings, result.files, result.samples, result.states


def test_a_bundle_reads_the_same_on_several_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for rank in range(7):
        lines = f"[rank{rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n" * (rank + 1)
        (tmp_path / f"rank_{rank}.log").write_text(lines + "x" * 100_000 + "\n", encoding="utf-8")
    (tmp_path / "cut.log.gz").write_bytes(gzip.compress(b"[rank9]: NCCL WARN y\n" * 9999)[:-60])
    (tmp_path / "notes.txt").write_text("```\n[rank9]: NCCL WARN x\n```\nprose\n```\nlog\n```\n", encoding="utf-8")
    for rank in range(3):
        entry = {
            "process_group": ("0", "default_pg"),
            "collective_seq_id": 4 + rank,
            "profiling_name": "nccl:all_reduce",
        }
        entry |= {
            "collective_seq_id": 4 + rank,
            "input_sizes": ((2,),),
            "output_sizes": ((2,),),
            "state": "scheduled",
            "frames": [],
        }
        dump = pickle.dumps({"version": "2.4", "pg_config": {}, "entries": [entry]})
        (tmp_path / f"nccl_trace_rank_{rank}").write_bytes(dump[: len(dump) - (rank == 2)])
    (tmp_path / "date.txt").write_text("2026-01-01 10:00:00\n", encoding="utf-8")
    alone = content(read_bundle(tmp_path))
    used: list[int] = []

    def three() -> int:
        used.append(3)
        return 3

    monkeypatch.setattr(reader, "SPREAD_FROM", 0)
    monkeypatch.setattr(reader, "MANY_FILES", 0)
    monkeypatch.setattr(reader, "cores", three)
    assert content(read_bundle(tmp_path)) == alone
    assert len(used) == 2
    assert len(read_bundle(tmp_path).states) >= 2
    assert {warning.path for warning in read_bundle(tmp_path).warnings} == {
        "cut.log.gz",
        "nccl_trace_rank_2",
        "notes.txt",
    }


def test_processes_do_not_move_the_place_of_an_archive_for_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "inner.zip"
    with zipfile.ZipFile(inner, "w") as archive:
        for rank in range(4):
            archive.writestr(f"rank_{rank}.log", f"[rank{rank}]: NCCL WARN a line of its own {rank}\n" * 6_000)
    bundle = tmp_path / "bundle.zip"
    with zipfile.ZipFile(bundle, "w") as archive:
        archive.write(inner, "nested.zip")
        for rank in range(4, 10):
            archive.writestr(f"rank_{rank}.log", f"[rank{rank}]: NCCL WARN a line of its own {rank}\n" * 6_000)
    alone = read_bundle(bundle)
    monkeypatch.setattr(reader, "SPREAD_FROM", 0)
    monkeypatch.setattr(reader, "MANY_FILES", 0)
    monkeypatch.setattr(reader, "cores", lambda: 4)
    spread = read_bundle(bundle)
    assert content(spread) == content(alone)
    assert not [warning for warning in spread.warnings if "damaged" in warning.reason]


def test_the_files_of_one_zip_archive_are_read_by_several_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for rank in range(60):
            line = f"[rank{rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {rank + 1}.00 GiB.\n"
            archive.writestr(f"rank_{rank}.log", line + os.urandom(9_000).hex())
    alone = content(read_bundle(tmp_path / "all.zip"))
    monkeypatch.setattr(reader, "SPREAD_FROM", 0)
    monkeypatch.setattr(reader, "MANY_FILES", 0)
    monkeypatch.setattr(reader, "cores", lambda: 4)
    for _ in range(3):
        assert content(read_bundle(tmp_path / "all.zip")) == alone


def test_no_fork_while_threads_run() -> None:
    import threading

    wait = threading.Event()
    thread = threading.Thread(target=wait.wait)
    thread.start()
    try:
        assert cores.cores() == 1
    finally:
        wait.set()
        thread.join()
