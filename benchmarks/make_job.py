"""Make a large incident: HOSTS hosts with eight ranks each, one log a rank, an OOM kill behind the timeouts.

    python -m benchmarks.make_job TARGET HOSTS [BYTES_PER_RANK]

The logs are ordinary training output (progress lines of a few kinds, some warnings); only their ends matter.
"""

from __future__ import annotations

import sys
from datetime import datetime, timedelta, timezone
from functools import cache
from pathlib import Path

START = datetime(2026, 5, 12, 6, 0, 0, tzinfo=timezone.utc)
KILLED = START + timedelta(hours=3)
RANK = "@RANK@"
VICTIM = 5
"""Local rank that is killed, on the host in the middle."""


def step_line(rank: str, step: int, moment: datetime) -> str:
    """One of the ordinary lines of a training log."""
    stamp = moment.strftime("%Y-%m-%d %H:%M:%S")
    if step % 7 == 3:
        return (
            f"{stamp},{step % 1000:03d} INFO trainer: rank {rank} data queue depth {step % 31}, waited 0.0{step % 9} s"
        )
    if step % 11 == 5:
        return f"[rank{rank}]: UserWarning: grad.sizes() = [{step % 512}, 4096], strides() = [4096, 1]; not an error"
    return (
        f"{stamp},{step % 1000:03d} INFO trainer: step {step:8d} | loss {9.0 / (1 + step % 97):.6f}"
        f" | grad norm 0.8{step % 10} | tokens/s {180000 + step % 991} | mem 61.{step % 10} GiB"
    )


@cache
def steps(size: int) -> str:
    """Ordinary lines of about so many bytes, with :data:`RANK` in the place of the rank."""
    lines: list[str] = []
    length = step = 0
    while length < size:
        step += 1
        lines.append(step_line(RANK, step, START + timedelta(seconds=min(step, 10_700))))
        length += len(lines[-1]) + 1
    return "\n".join(lines)


def rank_log(host: str, rank: int, local: int, size: int, victim: bool) -> str:
    """The whole log of one rank."""
    pid = 40_000 + rank
    comm = f"comm 0x55d0c{rank:06x} rank {rank} nranks RANKS cudaDev {local} busId {local + 1}b000 commId 0x8f21c09b"
    lines = [
        f"{host}:{pid}:{pid} [{local}] NCCL INFO Bootstrap: Using eth0:10.20.{rank // 2000}.{rank % 250}<0>",
        f"{host}:{pid}:{pid + 1} [{local}] NCCL INFO ncclCommInitRankConfig {comm} - Init START",
        f"{host}:{pid}:{pid + 1} [{local}] NCCL INFO ncclCommInitRankConfig {comm} - Init COMPLETE",
    ]
    lines.append(steps(size - sum(map(len, lines))).replace(RANK, str(rank)))
    if not victim:
        moment = KILLED + timedelta(seconds=600 + rank % 5)
        prefix = f"[rank{rank}]:[E{moment.month}{moment.day:02d} {moment:%H:%M:%S}.{123456789 + rank}"
        work = "WorkNCCL(SeqNum=80231, OpType=ALLREDUCE, NumelIn=29360128, NumelOut=29360128, Timeout(ms)=600000)"
        timeout = f"Watchdog caught collective operation timeout: {work} ran for {600_010 + rank % 70} milliseconds"
        status = "work sequence id: 80231 PG status: last enqueued work: 80233, last completed work: 80230"
        group = f"[PG ID 0 PG GUID 0(default_pg) Rank {rank}] "
        ending = "To avoid data inconsistency, we are taking the entire process down."
        lines += [
            f"{prefix} ProcessGroupNCCL.cpp:632] [Rank {rank}] {timeout} before timing out.",
            f"{prefix} ProcessGroupNCCL.cpp:2268] {group} failure detected by watchdog at {status}",
            f"{prefix} ProcessGroupNCCL.cpp:684] {group}{ending}",
        ]
    return "\n".join(lines) + "\n"


def kernel_log(host: str, pid: int | None) -> str:
    """A kernel log of the host's day; with ``pid`` the kernel kills that process."""
    stamp = KILLED.strftime("%Y-%m-%dT%H:%M:%S.000000+00:00")
    lines = [f"{START:%Y-%m-%dT%H:%M:%S}.000000+00:00 {host} kernel: docker0: port 2(veth1) entered forwarding state"]
    if pid is not None:
        lines.append(
            f"{stamp} {host} kernel: Memory cgroup out of memory: Killed process {pid} (python) total-vm:301832004kB, "
            "anon-rss:241120388kB, file-rss:50176kB, shmem-rss:9600kB, UID:1204 pgtables:480503kB oom_score_adj:0"
        )
    lines.append(
        f"{KILLED + timedelta(hours=1):%Y-%m-%dT%H:%M:%S}.000000+00:00 {host} kernel: perf: interrupt took too long"
    )
    return "\n".join(lines) + "\n"


def make(target: Path, hosts: int, size: int) -> None:
    """Write the bundle."""
    names = [f"gpu-{number:04d}" for number in range(hosts)]
    for number, host in enumerate(names):
        folder = target / "logs" / host
        folder.mkdir(parents=True, exist_ok=True)
        unlucky = number == hosts // 2
        for local in range(8):
            rank = number * 8 + local
            victim = unlucky and local == VICTIM
            text = rank_log(host, rank, local, size, victim).replace("RANKS", str(hosts * 8))
            (folder / f"rank_{rank:05d}.log").write_text(text, encoding="utf-8")
            if victim:
                (folder / "kernel.log").write_text(kernel_log(host, 40_000 + rank), encoding="utf-8")
                agent = KILLED + timedelta(seconds=2)
                (folder / "torchrun.log").write_text(
                    f"E{agent:%m%d %H:%M:%S}.213000 4102 torch/distributed/elastic/multiprocessing/api.py:874] failed "
                    f"(exitcode: -9) local_rank: {local} (pid: {40_000 + rank}) of binary: /opt/conda/bin/python\n",
                    encoding="utf-8",
                )
        if not unlucky:
            (folder / "kernel.log").write_text(kernel_log(host, None), encoding="utf-8")
    manifest = (
        f"schema: 1\nid: made-{hosts}-hosts\ntitle: {hosts * 8} ranks, an OOM kill behind the timeouts\n"
        f"job: {{framework: pytorch, world_size: {hosts * 8}, gpus_per_node: 8, nodes: [{', '.join(names)}]}}\n"
        "window: {start: 2026-05-12T06:00:00Z, end: 2026-05-12T10:30:00Z}\nclock: {timezone: UTC, year: 2026}\n"
    )
    (target / "incident.yaml").write_text(manifest, encoding="utf-8")


def main(arguments: list[str]) -> int:
    """``TARGET HOSTS [BYTES_PER_RANK]``."""
    if len(arguments) not in (2, 3):
        sys.stderr.write((__doc__ or "") + "\n")
        return 2
    make(Path(arguments[0]), int(arguments[1]), int(arguments[2]) if len(arguments) == 3 else 20_000)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
