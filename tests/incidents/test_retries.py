"""Retries that ran out and defects of libraries, from the files to the diagnosis."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.incidents.investigating import report_of

MANIFEST = (
    "schema: 1\nid: retries\njob: {nodes: [gpu41, gpu42], world_size: 16, gpus_per_node: 8}\n"
    "clock:\n  timezone: UTC\n  year: 2026\n"
    "  hosts: {gpu41: {offset_s: 0, uncertainty_s: 0.01}, gpu42: {offset_s: 0, uncertainty_s: 0.01}}\n"
)
VERSION = "gpu41:4021:4021 [3] NCCL INFO NCCL version 2.21.5+cuda12.4\n"
RETRY = (
    "[2026-03-03 10:11:20] gpu41:4021:4188 [3] transport/net_ib.cc:1909 NCCL WARN NET/IB : Got completion from peer "
    "gpu42<48712> with status=12 opcode=0 len=0 vendor err 129 (Send) localGid ::ffff:10.3.1.41 remoteGids"
    "::ffff:10.3.1.42 hca mlx5_3\n"
)


def ended(second: int) -> str:
    return (
        f"E0303 10:11:{second:02}.000000 911 torch/distributed/elastic/multiprocessing/api.py:882] failed "
        "(exitcode: -9) local_rank: 1 (pid: 4711) of binary: /usr/bin/python3\n"
    )


def diagnosis(folder: Path, files: dict[str, str]) -> dict[str, Any]:
    for name, text in {"incident.yaml": MANIFEST, **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return report_of(folder)


def score(report: dict[str, Any], cause: str) -> float | None:
    return next((item["score"] for item in report["hypotheses"] if item["id"] == cause), None)


def retry_of(report: dict[str, Any]) -> dict[str, Any]:
    (fact,) = [fact for fact in report["facts"] if fact["kind"] == "comm.transport_retry_exceeded"]
    return dict(fact["fields"])


def test_a_rank_that_died_one_window_before_takes_the_blame_from_the_network(tmp_path: Path) -> None:
    job = {"logs/gpu41/rank3.log": VERSION + RETRY}
    alone = diagnosis(tmp_path / "alone", job)
    died = diagnosis(tmp_path / "died", {**job, "logs/gpu42/agent.log": ended(11)})
    assert retry_of(alone)["window_s"] == 10
    assert not {"ended_rank", "ended_host"} & retry_of(alone).keys()
    assert {"ended_rank", "ended_host"} & retry_of(died).keys()
    blamed, cleared = score(alone, "nic.transport-retry"), score(died, "nic.transport-retry")
    assert blamed is not None
    assert cleared is None or cleared < blamed - 3
    assert died["verdict"]["branch"] != "nic"


def test_a_rank_that_died_after_the_report_does_not(tmp_path: Path) -> None:
    report = diagnosis(tmp_path, {"logs/gpu41/rank3.log": VERSION + RETRY, "logs/gpu42/agent.log": ended(25)})
    assert not {"ended_rank", "ended_host"} & retry_of(report).keys()


FRAMES = (
    "Thread 41 (Thread 0x7f41c2ffd700 (LWP 4188)):\n"
    "#0  0x00007f41c8a0d2c6 in ncclLocalOpAppend (comm=0x55d1c0, proxyConn=0x7f41, proxyOp=0x7ffe) at proxy.cc:512\n"
    "#1  0x00007f41c8a0e1f0 in SaveProxy (comm=0x55d1c0) at proxy.cc:640\n"
)


def test_a_known_defect_is_never_confirmed(tmp_path: Path) -> None:
    version = VERSION.replace("2.21.5+cuda12.4", "2.28.9+cuda13.0")
    report = diagnosis(tmp_path, {"logs/gpu41/rank3.log": version, "logs/gpu41/gdb.txt": FRAMES})
    (defect,) = [item for item in report["hypotheses"] if item["id"] == "comm.library-defect"]
    assert defect["status"] in ("possible", "likely")
    assert "nccl-arm-proxy-slots-lost" in defect["for"][0]["reason"]


def test_the_stack_without_the_version_names_no_defect(tmp_path: Path) -> None:
    report = diagnosis(tmp_path, {"logs/gpu41/rank3.log": VERSION, "logs/gpu41/gdb.txt": FRAMES})
    assert score(report, "comm.library-defect") is None
