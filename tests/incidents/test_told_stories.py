"""Lists of ranks and what else is in the logs: the report names the rank, with the fronts and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.incidents.investigating import report_of

WORLD = 8
PER_HOST = 4

PRINT = (
    "CollectiveFingerPrint(SequenceNumber={}, OpType={}, TensorShape=[{}], TensorDtypes=Float, TensorDeviceTypes="
    "TensorOptions(dtype=float (default), device=cuda, layout=Strided (default), requires_grad=false (default), "
    "pinned_memory=false (default), memory_format=(nullopt)))"
)
DESYNC = """\
[rank{rank}]:[E1206 18:44:1{rank}.715298746 ProcessGroupNCCL.cpp:1806] [PG 0 Rank {rank}] \

\t - [{rank}] Timeout at collective: ALLREDUCE, #1024
\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:
\t     [{late}] finished collective #1023, but didn't join collective #1024 (count from 1)
\t - Snapshot of ranks' latest states:
\t   #1023 finished ranks:
\t     [{late}] finished ALLREDUCE
\t   #1024 started ranks:
\t     [{others}] started ALLREDUCE
"""
BARRIER = """\
[rank0]:[E1130 13:33:40.229271962 ProcessGroupGloo.cpp:2664] [Rank 0]: Rank 5 failed to pass monitoredBarrier in 3000 ms
[rank0]:[E1130 13:33:40.229310029 ProcessGroupGloo.cpp:71] [Rank 0]: Ranks 5 failed to pass monitoredBarrier in 3000 ms
"""
JOIN = (
    "torch.distributed.DistStoreError: Timed out initializing process group in store based barrier on rank {}, "
    "for key: store_based_barrier_key:1 (world_size=8, num_workers_joined={}, timeout=0:10:00 error=None)\n"
)


def bundle(folder: Path, logs: dict[str, str]) -> Path:
    """Logs by path below ``logs``; the job is two hosts of four ranks."""
    for name, text in logs.items():
        path = folder / "logs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (folder / "incident.yaml").write_text(
        f"schema: 1\nid: story\njob: {{world_size: {WORLD}, nodes: [n0, n1], gpus_per_node: {PER_HOST}}}\n",
        encoding="utf-8",
    )
    return folder


def of_ranks(texts: dict[int, str]) -> dict[str, str]:
    """A file for each rank below its host."""
    return {f"n{rank // PER_HOST}/rank{rank}.log": text for rank, text in texts.items()}


def named(report: dict[str, Any]) -> set[int | None]:
    return {item["rank"] for item in report["suspects"]}


def fronts(report: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(item["names"][0], item["standing"], item["late"]) for item in report["waits"]["fronts"]]


def about(report: dict[str, Any], kind: str) -> list[int | None]:
    return [item["rank"] for item in report["facts"] if item["kind"] == kind]


def unequal(rank: int, odd: int = 5) -> str:
    """What a rank prints: its own call and that of the first rank that has another."""
    calls = [PRINT.format(7, *(("BROADCAST", "8") if other == odd else ("ALLREDUCE", "4"))) for other in range(WORLD)]
    other = next(other for other in range(WORLD) if calls[other] != calls[rank])
    return (
        f"[rank{rank}]: Traceback (most recent call last):\n"
        f'[rank{rank}]:   File "/opt/train.py", line 3, in <module>\n'
        f"[rank{rank}]: RuntimeError: Detected mismatch between collectives on ranks. Rank {rank} is running "
        f"collective: {calls[rank]}, but Rank {other} is running collective: {calls[other]}.Collectives differ in the "
        "following aspects: \t Op type: ALLREDUCEvs BROADCAST  Tensor Tensor shapes: 4vs 8\n"
    )


def test_fingerprints_of_all_ranks_name_the_odd_one(tmp_path: Path) -> None:
    report = report_of(bundle(tmp_path, of_ranks({rank: unequal(rank) for rank in range(WORLD)})))
    assert report["verdict"]["cause"] == "job.collective-mismatch"
    assert named(report) == {5}
    assert about(report, "comm.operation_mismatch") == [5]
    assert report["first_fault"]["source"]["path"] == "logs/n1/rank5.log"
    assert fronts(report) == [("collective check", "mismatch", "")]
    assert "issued BROADCAST 8 Float" in report["waits"]["suspects"][0]["why"]


def test_two_fingerprints_name_nobody(tmp_path: Path) -> None:
    logs = of_ranks({5: unequal(5)})
    report = report_of(bundle(tmp_path, logs))
    assert report["verdict"]["cause"] == "job.collective-mismatch"
    assert named(report) <= {None}
    assert "without a majority nobody is named" in report["waits"]["conclusion"]


def test_reports_of_many_ranks_make_one_fact_of_the_late_one(tmp_path: Path) -> None:
    others = ", ".join(str(rank) for rank in range(WORLD) if rank != 6)
    texts = {rank: DESYNC.format(rank=rank, late=6, others=others) for rank in range(WORLD) if rank != 6}
    report = report_of(bundle(tmp_path, of_ranks(texts)))
    assert report["verdict"]["cause"] == "job.missing-participant"
    assert named(report) == {6}
    (behind,) = [item for item in report["facts"] if item["kind"] == "comm.rank_behind"]
    assert behind["host"] == "n1"
    assert (behind["fields"]["how"], behind["fields"]["seq"], behind["fields"]["waiting"]) == ("never_entered", 1024, 7)
    assert (report["first_fault"]["source"]["path"], report["first_fault"]["source"]["line"]) == (
        "logs/n0/rank0.log",
        4,
    )
    assert fronts(report) == [("desync report", "late", "6")]


def test_who_is_missing_from_a_barrier_stands_in_the_fronts_and_is_one_fact(tmp_path: Path) -> None:
    report = report_of(bundle(tmp_path, {"n0/train.log": BARRIER}))
    assert report["verdict"]["cause"] == "job.missing-participant"
    assert named(report) == {5}
    assert about(report, "comm.barrier_missing") == [5]
    assert about(report, "comm.rank_behind") == []
    assert fronts(report) == [("monitored barrier", "late", "5")]
    assert report["waits"]["suspects"][0]["waiting"] == 7


def test_counts_name_who_did_not_join_where_all_who_did_are_known(tmp_path: Path) -> None:
    texts = {rank: JOIN.format(rank, 7) for rank in range(WORLD) if rank != 5}
    report = report_of(bundle(tmp_path, of_ranks(texts)))
    assert report["verdict"]["cause"] == "job.rendezvous-incomplete"
    assert named(report) == {5}
    assert fronts(report) == [("rendezvous", "late", "5")]
    assert about(report, "comm.rank_behind") == []


def test_counts_of_which_too_few_are_known_name_nobody(tmp_path: Path) -> None:
    texts = {rank: JOIN.format(rank, 7) for rank in range(WORLD) if rank not in (4, 5)}
    report = report_of(bundle(tmp_path, of_ranks(texts)))
    assert report["verdict"]["cause"] == "job.rendezvous-incomplete"
    assert named(report).isdisjoint({4, 5})
    assert report["waits"] is None
