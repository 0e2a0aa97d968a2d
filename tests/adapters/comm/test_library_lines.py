"""Lines of communication libraries mean what their status says, in every version, and boilerplate means nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from engine.facts.model import Scalar
from facts_adapters.reader import read_bundle

WC = "NCCL WARN NET/IB : Got completion from peer 10.1.2.13<48712> with "
PREFIX = "gpu012:3141:3987 [3] transport/net_ib.cc:1295 "


def kinds_of(text: str, folder: Path) -> list[tuple[str, dict[str, Scalar]]]:
    (folder / "train.log").write_text(text + "\n", encoding="utf-8")
    found = read_bundle(folder).observations
    return [(o.kind, {**o.fields, "peer": o.peer or "", "rank": -1 if o.rank is None else o.rank}) for o in found]


@pytest.mark.parametrize(
    ("line", "kind", "fields"),
    [
        (PREFIX + WC + "error 12, opcode 0, len 0, vendor err 129", "comm.transport_retry_exceeded", {"status": 12}),
        (
            PREFIX + WC + "status=12 opcode=0 len=0 vendor err 129 (Send)",
            "comm.transport_retry_exceeded",
            {"status": 12},
        ),
        (
            PREFIX + WC + "status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) vendor_err=129  hca mlx5_4",
            "comm.transport_retry_exceeded",
            {"vendor_error": 129, "peer": "10.1.2.13"},
        ),
        (PREFIX + WC + "error 5, opcode 129, len 0, vendor err 249", "comm.transport_flush", {"status": 5}),
        (PREFIX + WC + "error 13, opcode 0, len 0, vendor err 135", "comm.transport_rnr_exceeded", {"status": 13}),
        (PREFIX + WC + "error 10, opcode 0, len 0, vendor err 136", "comm.transport_remote_error", {"status": 10}),
        (PREFIX + WC + "error 11, opcode 0, len 0, vendor err 137", "comm.transport_remote_error", {"status": 11}),
        (PREFIX + WC + "error 4, opcode 0, len 0, vendor err 81", "comm.transport_local_error", {"status": 4}),
    ],
)
def test_each_completion_status_has_its_kind(
    line: str, kind: str, fields: Mapping[str, Scalar], tmp_path: Path
) -> None:
    found = [item for item in kinds_of(line, tmp_path) if item[0].startswith("comm.")]
    assert [name for name, _ in found] == [kind]
    assert {name: found[0][1].get(name) for name in fields} == dict(fields)


@pytest.mark.parametrize(
    "line",
    [
        "This is most likely caused by incorrect usages of collectives, e.g., wrong sizes used across ranks",
        "This typically indicates a NCCL/CUDA API (e.g., CudaEventDestroy) hang blocking the watchdog",
        "This may indicate a possible application crash on rank 0 or a network set up issue.",
        "[Gloo] Rank 0 is connected to 1 peer ranks. Expected number of connected peer ranks is : 1",
        'NCCL WARN Missing "iommu=pt" from kernel command line which can lead to system instablity or hang!',
    ],
)
def test_explanations_are_no_evidence(line: str, tmp_path: Path) -> None:
    names = [name for name, _ in kinds_of(line, tmp_path)]
    assert not [name for name in names if name.startswith(("comm.", "job.")) and name != "job.phase_mark"]


def test_no_room_in_shared_memory_is_no_full_disk(tmp_path: Path) -> None:
    text = (
        "n1:52217:52460 [0] include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device\n"
        "n1:52217:52460 [0] include/shm.h:48 NCCL WARN Error while creating shared memory segment nccl-shm-recv-6-0-1 "
        "(size 5246976)"
    )
    names = {name for name, _ in kinds_of(text, tmp_path)}
    assert "comm.shm_failed" in names
    assert "host.disk_full" not in names


def test_rank_of_a_watchdog_line_is_that_of_its_prefix(tmp_path: Path) -> None:
    work = "WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600029 milliseconds"
    prefix = "[rank7]:[E1206 18:44:12.715298746 ProcessGroupNCCL.cpp:629] [Rank 1] "
    line = f"{prefix}Watchdog caught collective operation timeout: {work} before timing out."
    found = [fields for name, fields in kinds_of(line, tmp_path) if name == "comm.collective_timeout"]
    assert [fields["rank"] for fields in found] == [7]


def test_warning_repeated_by_the_framework_keeps_its_meaning(tmp_path: Path) -> None:
    text = (
        "torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/NCCLUtils.hpp:268, "
        "remote process exited or there was a network error, NCCL version 2.21.5\n"
        "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\n"
        "Last error:\n"
        "socketProgressOpt: Call to recv from 172.20.9.46<42618> failed : Connection reset by peer"
    )
    names = [name for name, _ in kinds_of(text, tmp_path)]
    assert names.count("comm.peer_closed") == 1
    assert {"comm.library_error"} <= set(names)
    assert not [name for name in names if name.startswith(("nic.", "switch.", "host."))]
