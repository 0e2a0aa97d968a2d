"""Dumps together with other evidence: one story, or nobody named."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

from tests.facts.waits.dumps import Recorder
from tests.facts.waits.job import Topology
from tests.facts.waits.scenarios import Case, run_of, take_dumps
from tests.incidents.investigating import report_of

OOM = (
    "May 12 11:23:0{second} {host} kernel: Memory cgroup out of memory: Killed process 412{second} (python) "
    "total-vm:301832004kB, anon-rss:241120388kB, file-rss:50176kB, shmem-rss:9600kB, UID:1204 pgtables:480503kB "
    "oom_score_adj:0\n"
)
PER_HOST = 4


def bundle(folder: Path, case: Case) -> Path:
    """Dumps below the host of their rank, and a log of every rank."""
    for rank in range(case.run.topology.world):
        place = folder / "logs" / f"node{rank // PER_HOST:02d}"
        place.mkdir(parents=True, exist_ok=True)
        if rank in case.dumps:
            (place / f"nccl_trace_rank_{rank}").write_bytes(case.dumps[rank])
    nodes = ", ".join(f"node{number:02d}" for number in range(case.run.topology.world // PER_HOST))
    (folder / "incident.yaml").write_text(
        f"schema: 1\nid: story\n"
        f"job: {{world_size: {case.run.topology.world}, nodes: [{nodes}], gpus_per_node: {PER_HOST}}}\n",
        encoding="utf-8",
    )
    return folder


def hanging(scenario: str, seed: int = 1) -> Case:
    random = Random(f"{scenario} {seed}")
    return take_dumps(run_of(scenario, Topology(tensor=4, data=4, pipeline=1), random), Recorder(), random)


def consequences(report: dict[str, Any]) -> set[tuple[str, str]]:
    kinds = {fact["id"]: fact["kind"] for fact in report["facts"]}
    return {(kinds[item["cause"]], kinds[item["fact"]]) for item in report["consequences"]}


def test_a_rank_that_is_behind_and_memory_that_ran_out_on_its_host_are_one_story(tmp_path: Path) -> None:
    case = hanging("rank blocked in user code")
    (guilty,) = case.guilty
    host = f"node{guilty // PER_HOST:02d}"
    place = bundle(tmp_path, case) / "logs" / host
    (place / "kernel.log").write_text("".join(OOM.format(host=host, second=n) for n in (7, 9)), encoding="utf-8")
    report = report_of(tmp_path)
    assert ("host.oom_kill", "comm.rank_behind") in consequences(report)
    assert report["hypotheses"][0]["id"] == "host.oom-kill"
    assert report["waits"]["suspects"][0]["host"] == host
    elsewhere = tmp_path / "logs" / f"node{(guilty // PER_HOST + 1) % 4:02d}" / "kernel.log"
    elsewhere.write_text((place / "kernel.log").read_text().replace(host, elsewhere.parent.name), encoding="utf-8")
    (place / "kernel.log").unlink()
    assert ("host.oom_kill", "comm.rank_behind") not in consequences(report_of(tmp_path))


def test_a_blocked_rank_is_the_answer_where_nothing_else_is_known(tmp_path: Path) -> None:
    case = hanging("rank blocked in user code", 2)
    report = report_of(bundle(tmp_path, case))
    assert report["verdict"]["cause"] == "job.missing-participant"
    assert {item["rank"] for item in report["suspects"]} == case.guilty
    assert report["verdict"]["phase"] != "startup"


def test_an_operation_that_all_are_in_names_no_cause_and_nobody(tmp_path: Path) -> None:
    report = report_of(bundle(tmp_path, hanging("stall of one operation")))
    assert report["verdict"]["outcome"] == "insufficient_evidence"
    assert report["suspects"] == []
    assert "nobody is missing" in report["waits"]["conclusion"]
    assert report["waits"]["separating"]


def test_lost_dumps_alone_name_no_rank(tmp_path: Path) -> None:
    case = hanging("rank killed")
    lost = sorted(set(case.dumps))[:2]
    case.dumps = {rank: data for rank, data in case.dumps.items() if rank not in lost}
    report = report_of(bundle(tmp_path, case))
    assert report["suspects"] == []
    assert report["verdict"]["outcome"] in ("insufficient_evidence", "candidates")
    missing = [fact for fact in report["facts"] if fact["kind"] == "comm.dump_missing"]
    assert {rank for fact in missing for rank in fact["ranks"]} == case.guilty | set(lost)


def test_the_lost_dump_of_a_stalled_operation_accuses_nobody(tmp_path: Path) -> None:
    case = hanging("stall of one operation", 2)
    lost = max(case.dumps)
    del case.dumps[lost]
    report = report_of(bundle(tmp_path, case))
    assert report["suspects"] == []
    assert report["waits"]["suspects"] == []
    assert report["verdict"]["outcome"] in ("insufficient_evidence", "candidates")
    assert not [fact for fact in report["facts"] if fact["kind"] == "comm.rank_absent"]


FAILED = """\
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
  <NO_OTHER_FAILURES>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-05-12_11:34:00
  host      : {host}
  rank      : {rank} (local_rank: {local})
  exitcode  : -9 (pid: 4130)
  error_file: <N/A>
  traceback : Signal 9 (SIGKILL) received by PID 4130
============================================================
"""


def test_a_killed_rank_is_named_where_its_end_is_told(tmp_path: Path) -> None:
    case = hanging("rank killed", 2)
    (guilty,) = case.guilty
    place = bundle(tmp_path, case)
    assert report_of(place)["waits"]["undecided"] == str(guilty)
    log = place / "logs" / f"node{guilty // PER_HOST:02d}" / "launcher.log"
    log.write_text(FAILED.format(host=log.parent.name, rank=guilty, local=guilty % PER_HOST), encoding="utf-8")
    report = report_of(place)
    (suspect,) = report["waits"]["suspects"]
    assert (suspect["rank"], suspect["how"], report["waits"]["undecided"]) == (guilty, "no_report", "")
    assert "ended for a reason of its own" in suspect["why"]


STEP = "2026-05-12 11:{minute:02d}:{second:02d},118 INFO [rank{rank}] iteration {step}/5000 | loss 2.31\n"


def test_a_killed_rank_is_named_where_its_log_stops(tmp_path: Path) -> None:
    case = hanging("rank killed", 4)
    (guilty,) = case.guilty
    lost = next(rank for rank in sorted(case.dumps) if rank // PER_HOST != guilty // PER_HOST)
    del case.dumps[lost]
    bundle(tmp_path, case)
    for rank in range(16):
        log = tmp_path / "logs" / f"node{rank // PER_HOST:02d}" / f"rank_{rank}.log"
        text = "".join(STEP.format(minute=20, second=step, rank=rank, step=step) for step in range(10, 40))
        log.write_text(text + ("" if rank == guilty else WATCHDOG.format(rank=rank, seq=9, numel=8)), encoding="utf-8")
    report = report_of(tmp_path)
    (suspect,) = report["waits"]["suspects"]
    assert (suspect["rank"], suspect["how"], report["waits"]["undecided"]) == (guilty, "no_report", "")
    assert "its log stops" in suspect["why"]
    assert {item["rank"] for item in report["suspects"]} == {guilty}
    own = tmp_path / "logs" / f"node{guilty // PER_HOST:02d}" / f"rank_{guilty}.log"
    own.write_text(own.read_text() + "saving the optimizer state\n", encoding="utf-8")
    report = report_of(tmp_path)
    assert (report["waits"]["suspects"], report["waits"]["undecided"]) == ([], str(guilty))


def test_a_host_from_which_nothing_came_is_told_as_one(tmp_path: Path) -> None:
    case = hanging("rank killed", 3)
    node = next(iter(case.guilty)) // PER_HOST
    case.dumps = {rank: data for rank, data in case.dumps.items() if rank // PER_HOST != node}
    report = report_of(bundle(tmp_path, case))
    ranks = f"{node * PER_HOST}-{node * PER_HOST + PER_HOST - 1}"
    assert report["waits"]["lost_hosts"] == [{"host": f"node{node:02d}", "ranks": ranks}]
    assert f"host node{node:02d}: its ranks {ranks}" in report["waits"]["conclusion"]
    assert report["suspects"] == []
    (lost,) = (fact for fact in report["facts"] if fact["kind"] == "host.nothing_collected")
    assert (lost["host"], len(lost["ranks"]), lost["fields"]["chains_end"]) == (f"node{node:02d}", PER_HOST, True)
    assert report["verdict"]["outcome"] in ("insufficient_evidence", "candidates")
    (asked,) = (item for item in report["missing_evidence"] if item["fact"] == "host.nothing_collected")
    assert f"BMC_OF_node{node:02d}" in asked["command"]


CONTROLLER = (
    "[2026-05-12T11:24:{second:02d}.118] error: Nodes {host} not responding\n"
    "[2026-05-12T11:29:{second:02d}.118] error: Nodes {host} not responding, setting DOWN\n"
)


def test_a_host_from_which_nothing_came_and_that_its_manager_lost_is_down(tmp_path: Path) -> None:
    case = hanging("rank killed", 3)
    node = next(iter(case.guilty)) // PER_HOST
    case.dumps = {rank: data for rank, data in case.dumps.items() if rank // PER_HOST != node}
    bundle(tmp_path, case)
    (tmp_path / "slurmctld.log").write_text(CONTROLLER.format(second=7, host=f"node{node:02d}"), encoding="utf-8")
    report = report_of(tmp_path)
    assert report["verdict"]["cause"] == "host.node-down"
    assert [item["host"] for item in report["suspects"]] == [f"node{node:02d}"]
    reasons = " ".join(item["reason"] for item in report["hypotheses"][0]["for"])
    assert "nothing of the host was collected" in reasons
    (tmp_path / "slurmctld.log").write_text(CONTROLLER.format(second=7, host="node77"), encoding="utf-8")
    other = report_of(tmp_path)
    assert not any("nothing of the host was" in item["reason"] for h in other["hypotheses"] for item in h["for"])


WATCHDOG = (
    "[rank{rank}]:[E512 11:33:07.000000001 ProcessGroupNCCL.cpp:629] [Rank {rank}] Watchdog caught collective "
    "operation timeout: WorkNCCL(SeqNum={seq}, OpType=ALLREDUCE, NumelIn={numel}, NumelOut={numel}, "
    "Timeout(ms)=600000) ran for 600029 milliseconds before timing out.\n"
)


def test_ranks_that_only_report_their_wait_are_no_suspects(tmp_path: Path) -> None:
    case = hanging("wrong shape", 3)
    (guilty,) = case.guilty
    bundle(tmp_path, case)
    for rank in range(16):
        log = tmp_path / "logs" / f"node{rank // PER_HOST:02d}" / f"rank_{rank}.log"
        log.write_text(WATCHDOG.format(rank=rank, seq=9, numel=7 if rank == guilty else 8), encoding="utf-8")
    report = report_of(tmp_path)
    assert report["verdict"]["cause"] == "job.collective-mismatch"
    assert {item["rank"] for item in report["suspects"] if item["rank"] is not None} == {guilty}
