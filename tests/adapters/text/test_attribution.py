"""Whose line it is: what launchers, Ray, Lightning, Slurm and the journal print before it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.facts.model import Observation
from facts_adapters.reader import read_bundle

ERROR = "RuntimeError: CUDA error: device-side assert triggered"
TIMEOUT = (
    "[E ProcessGroupNCCL.cpp:828] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=48, "
    "OpType=ALLREDUCE, TensorShape=[25], Timeout(ms)=1800000) ran for 1807331 milliseconds before timing out."
)
OOM = "Out of memory: Killed process 4242 (python) total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB"


def _read(folder: Path, files: dict[str, str]) -> list[Observation]:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return [o for o in read_bundle(folder).observations if o.kind != "coverage.source"]


def _ranks(found: list[Observation], line: int) -> set[int | None]:
    return {o.rank for o in found if o.source.line == line}


def test_tasks_of_srun_are_ranks_where_the_watchdog_agrees(tmp_path: Path) -> None:
    text = f"11: {ERROR}\n 3: {TIMEOUT.format(rank=3)}\n 7: {TIMEOUT.format(rank=7)}\n"
    assert _ranks(_read(tmp_path, {"slurm-1.out": text}), 1) == {11}


def test_tasks_of_srun_are_ranks_where_a_host_has_several(tmp_path: Path) -> None:
    text = f"11: {ERROR}\n 3: quiet\nsrun: error: c4-16: tasks 3,7: Aborted (core dumped)\n"
    assert _ranks(_read(tmp_path, {"slurm-1.out": text}), 1) == {11}


def test_tasks_of_srun_are_no_ranks_where_the_watchdog_says_otherwise(tmp_path: Path) -> None:
    text = f"1: {ERROR}\n1: {TIMEOUT.format(rank=9)}\n1: {TIMEOUT.format(rank=10)}\n"
    assert _ranks(_read(tmp_path, {"slurm-1.out": text}), 1) == {None}


def test_ranks_of_local_ranks_lie_equally_far_off(tmp_path: Path) -> None:
    lines = [f"[default{local}]:{TIMEOUT.format(rank=16 + local)}" for local in (2, 5)]
    found = _read(tmp_path, {"node.log": "\n".join([*lines, f"[default3]:{ERROR}"]) + "\n"})
    assert _ranks(found, 3) == {19}


def test_ranks_in_different_groups_tell_no_offset(tmp_path: Path) -> None:
    lines = [f"[default{local}]:{TIMEOUT.format(rank=rank)}" for local, rank in ((2, 18), (5, 3))]
    found = _read(tmp_path, {"node.log": "\n".join([*lines, f"[default3]:{ERROR}"]) + "\n"})
    assert _ranks(found, 3) == {None}


def test_lightning_names_the_rank(tmp_path: Path) -> None:
    assert _ranks(_read(tmp_path, {"a.log": f"quiet\n[rank: 3] {ERROR}\n"}), 2) == {3}


def test_rays_lines_have_their_own_hosts(tmp_path: Path) -> None:
    text = f"(raylet, ip=10.1.0.3) {OOM}\n{ERROR}\n(WorkerDict pid=4001, ip=10.1.0.4) {ERROR}\n"
    found = _read(tmp_path, {"driver.log": text})
    assert {o.host for o in found if o.source.line == 1} == {"10.1.0.3"}
    assert {o.host for o in found if o.source.line == 2} == {None}


def test_a_journal_knows_its_host_better_than_a_folder(tmp_path: Path) -> None:
    record = {
        "_HOSTNAME": "h100-77",
        "_TRANSPORT": "kernel",
        "MESSAGE": OOM,
        "__REALTIME_TIMESTAMP": "1750000000000000",
    }
    files = {"bad-node/journal.json": json.dumps(record) + "\n", "bad-node/rank3.err": f"{ERROR}\n"}
    assert {o.host for o in _read(tmp_path, files)} == {"h100-77"}


@pytest.mark.parametrize("folders", [("gpu-3", "gpu-9"), ("gpu3", "gpu4"), ("v1", "v2"), ("10.3.0.4", "10.3.0.5")])
def test_folders_that_look_alike_are_hosts(tmp_path: Path, folders: tuple[str, str]) -> None:
    files = {f"{folder}/dmesg.txt": f"[   12.345678] {OOM}\n" for folder in folders}
    assert {o.host for o in _read(tmp_path, files)} == set(folders)


def test_folders_counted_from_0_are_the_devices_of_one_host(tmp_path: Path) -> None:
    files = {f"gpu{number}/out.txt": f"{ERROR}\n" for number in range(4)}
    assert {o.host for o in _read(tmp_path, files)} == {None}


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "unknown"])
def test_no_host_is_called_that(tmp_path: Path, name: str) -> None:
    found = _read(tmp_path, {"messages": f"Jun 17 10:12:01 {name} kernel: {OOM}\n"})
    assert found
    assert {o.host for o in found} == {None}


@pytest.mark.parametrize("outer", ["train-1  | ", "2025-06-17T10:13:00.000000001Z stderr F "])
def test_prefixes_of_containers_and_srun_stack(tmp_path: Path, outer: str) -> None:
    text = f"{outer} 3: {TIMEOUT.format(rank=3)}\n{outer}11: {ERROR}\n"
    assert _ranks(_read(tmp_path, {"all.log": text}), 2) == {11}


def test_one_service_is_called_the_same_on_every_host(tmp_path: Path) -> None:
    files = {
        "hosts/n1/a.log": f"worker-0  | {ERROR}\nworker-0  | n1:100:101 [0] NCCL INFO x\nworker-0  | quiet\n",
        "hosts/n2/a.log": f"worker-0  | {ERROR}\nworker-0  | quiet\n",
    }
    assert {(o.source.path, o.host) for o in _read(tmp_path, files)} == {
        ("hosts/n1/a.log", "n1"),
        ("hosts/n2/a.log", "n2"),
    }
