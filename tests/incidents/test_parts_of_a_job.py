"""Logs of a process group that is a part of the job, and of ranks that only tell that they waited."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.incidents.investigating import report_of
from tests.incidents.test_told_stories import about, fronts, named

FAILED = (
    "[rank{0}]:[E1201 09:12:41.774807528 ProcessGroupGloo.cpp:67] [Rank 0]: Rank {1} failed to pass monitoredBarrier "
    "in 3000 ms\n"
    "Traceback (most recent call last):\n"
    '  File "/opt/train.py", line 307, in <module>\n'
    "RuntimeError: [Rank 0]: Rank {1} failed to pass monitoredBarrier in 3000 ms\n"
    " Original exception: \n"
    "[../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 3000ms for recv operation to "
    "complete\n"
)
REACHED = (
    "[rank{0}]:[E1201 09:12:41.774907528 ProcessGroupGloo.cpp:67] Rank {1} successfully reached monitoredBarrier, but "
    "received errors while waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank.\n"
)
TIMED_OUT = (
    "[rank{0}]:[E1206 18:44:12.715298746 ProcessGroupNCCL.cpp:629] [Rank {0}] Watchdog caught collective operation "
    "timeout: WorkNCCL(SeqNum={1}, OpType={2}, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600029 milliseconds "
    "before timing out.\n"
)
STATUS = (
    "[rank{0}]:[E1206 18:44:12.715398746 ProcessGroupNCCL.cpp:2168] [PG ID 5 PG GUID 5(PP) Rank {0}]  failure detected "
    "by watchdog at work sequence id: {1} PG status: last enqueued work: {1}, last completed work: {2}\n"
)
REPORT = """\
\t - [{0}] Timeout at collective: ALLREDUCE, #1024
\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:
\t   - [5] joined but didn't finish collective #1023 (count from 1)
\t     [6] finished collective #1023, but didn't join collective #1024 (count from 1)
\t - Snapshot of ranks' latest states:
\t   #1024 started ranks:
\t     [0, 1, 2, 3, 4, 7] started ALLREDUCE
\t   #1023 started ranks:
\t     [5] started ALLREDUCE
\t   #1023 finished ranks:
\t     [6] finished ALLREDUCE
"""
STEPS = "".join(f"2026-12-01 09:1{minute}:00 iteration {minute} loss 1.0\n" for minute in range(3))
STACK = """\
Process {0}: python train.py
Python v3.11.7 (/usr/bin/python3.11)

Thread {0} (active): "MainThread"
    {1}
    main (train.py:200)
"""


def logs(folder: Path, texts: dict[int, str], world: int) -> dict[str, Any]:
    for rank in range(world):
        if rank in texts:
            (folder / f"rank_{rank}.log").write_text(STEPS + texts[rank], encoding="utf-8")
    return report_of(folder)


def test_a_barrier_of_a_part_without_its_members_names_nobody(tmp_path: Path) -> None:
    report = logs(tmp_path, {0: "", 1: "", 2: FAILED.format(2, 1), 3: ""}, 4)
    assert report["verdict"]["cause"] == "job.missing-participant"
    assert named(report) <= {None}
    assert set(about(report, "comm.barrier_missing")) == {None}
    assert "Member 1 of a process group" in report["verdict"]["summary"]


def test_members_that_came_tell_the_part(tmp_path: Path) -> None:
    texts = dict.fromkeys(range(8), "")
    texts |= {4: FAILED.format(4, 1), 6: REACHED.format(6, 2), 7: REACHED.format(7, 3)}
    report = logs(tmp_path, texts, 8)
    assert named(report) == {5}
    assert about(report, "comm.barrier_missing") == [5]


def test_who_came_to_a_barrier_waits_in_it(tmp_path: Path) -> None:
    report = logs(tmp_path, {0: FAILED.format(0, 2), 1: REACHED.format(1, 1), 2: "", 3: REACHED.format(3, 3)}, 4)
    assert named(report) == {2}
    assert report["waits"]["ranks"] == 4
    assert fronts(report) == [("monitored barrier", "late", "2")]


def test_only_those_who_came_tell_that_somebody_did_not(tmp_path: Path) -> None:
    report = logs(tmp_path, {1: REACHED.format(1, 1), 3: REACHED.format(3, 3)}, 4)
    assert report["verdict"]["cause"] == "job.missing-participant"
    assert named(report) <= {None}


def test_a_desync_report_of_a_part_names_ranks_only_where_its_writers_agree(tmp_path: Path) -> None:
    alone, many = tmp_path / "alone", tmp_path / "many"
    alone.mkdir()
    many.mkdir()
    late = {13: "", 14: ""}
    waits = {rank: TIMED_OUT.format(rank, 1024, "ALLREDUCE") for rank in range(8, 16) if rank not in late}
    report = logs(alone, {**waits, **late, 11: waits[11] + REPORT.format(3)}, 16)
    assert named(report) == {13, 14}
    assert set(about(report, "comm.rank_behind")) == {None}
    report = logs(many, {**{rank: text + REPORT.format(rank - 8) for rank, text in waits.items()}, **late}, 16)
    assert named(report) == {13, 14}
    assert set(about(report, "comm.rank_behind")) == {13, 14}


def test_pipeline_stages_that_wait_for_each_other_name_nobody(tmp_path: Path) -> None:
    places = {0: (210, "RECV"), 1: (208, "RECV"), 2: (205, "RECV"), 3: (103, "SEND")}
    texts = {
        rank: TIMED_OUT.format(rank, seq, op) + STATUS.format(rank, seq, seq - 1) for rank, (seq, op) in places.items()
    }
    report = logs(tmp_path, texts, 4)
    assert named(report) == set()
    assert about(report, "comm.rank_behind") == []


def test_all_in_one_operation_point_to_no_rank_and_no_cause(tmp_path: Path) -> None:
    texts = {rank: TIMED_OUT.format(rank, 1024, "ALLREDUCE") for rank in range(8)}
    everybody = "0, 1, 2, 3, 4, 5, 6, 7"
    texts[3] += (
        "\t - [3] Timeout at collective: ALLREDUCE, #1024\n"
        "\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:\n"
        f"\t   - [{everybody}] joined but didn't finish collective #1024 (count from 1)\n"
        "\t - Snapshot of ranks' latest states:\n"
        f"\t   #1024 started ranks:\n\t     [{everybody}] started ALLREDUCE\n"
    )
    report = logs(tmp_path, texts, 8)
    assert named(report) == set()
    assert report["verdict"]["summary"].startswith("Only symptoms")
    assert "nobody is missing" in report["waits"]["conclusion"]


SAVE = "save (torch/serialization.py:850)"
NEXT = "__next__ (torch/utils/data/dataloader.py:631)"


def stacks(folder: Path, first: str = SAVE) -> dict[str, Any]:
    for rank in range(4):
        frame = "all_reduce (torch/distributed/distributed_c10d.py:2501)" if rank else first
        (folder / f"py-spy.rank{rank}.txt").write_text(STACK.format(1000 + rank, frame), encoding="utf-8")
    return report_of(folder)


def test_one_sample_of_a_checkpoint_is_no_stall_that_is_certain(tmp_path: Path) -> None:
    report = stacks(tmp_path)
    assert report["verdict"]["outcome"] == "candidates"
    assert report["hypotheses"][0]["status"] == "likely"


def test_a_time_out_shows_that_the_checkpoint_lasts(tmp_path: Path) -> None:
    (tmp_path / "rank_1.log").write_text(STEPS + TIMED_OUT.format(1, 12, "ALLREDUCE"), encoding="utf-8")
    report = stacks(tmp_path)
    assert (report["verdict"]["outcome"], report["verdict"]["cause"]) == ("cause_found", "job.checkpoint-stall")


def test_one_sample_of_data_input_is_no_stall_that_is_certain(tmp_path: Path) -> None:
    report = stacks(tmp_path, NEXT)
    assert report["verdict"]["outcome"] == "candidates"
    assert (report["hypotheses"][0]["id"], report["hypotheses"][0]["status"]) == ("job.data-stall", "likely")


def test_a_time_out_shows_that_data_input_lasts(tmp_path: Path) -> None:
    (tmp_path / "rank_1.log").write_text(STEPS + TIMED_OUT.format(1, 12, "ALLREDUCE"), encoding="utf-8")
    report = stacks(tmp_path, NEXT)
    assert (report["verdict"]["outcome"], report["verdict"]["cause"]) == ("cause_found", "job.data-stall")
