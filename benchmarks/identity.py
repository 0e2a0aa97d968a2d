"""What it costs to give everything one name: CPU time of the two joins beside that of the whole timeline.

    python -m benchmarks.identity [READINGS] [RUNS]

A made-up cluster of 128 hosts with 8 ports and 8 GPUs each; nearly every reading is joined with another name, which is
the worst case. Default: 100,000 readings, 3 runs.
"""

from __future__ import annotations

import random
import sys
import time
from dataclasses import replace

from engine.facts.counters import CounterProfile
from engine.facts.identity import join_devices, join_hosts
from engine.facts.manifest import Manifest
from engine.facts.model import CounterSample, Observation, Source
from engine.facts.timeline import build_timeline
from engine.facts.vocabulary import load_vocabulary

HOSTS, PORTS = 128, 8
SAMPLES = 0.4
"""Share of the readings that are samples of counters."""


def cluster(readings: int) -> tuple[list[Observation], list[CounterSample]]:
    """Statements about all names, then faults and samples under names that need them."""
    choose = random.Random(7)  # noqa: S311 - the same cluster each time
    made: list[Observation] = []
    for host in range(HOSTS):
        for port in range(PORTS):
            made += _names(f"n{host}", host * PORTS + port, port)
    while len(made) < readings * (1 - SAMPLES):
        made.append(_fault(f"n{choose.randrange(HOSTS)}", choose.randrange(PORTS), choose.randrange(5), len(made)))
    samples = [
        CounterSample(
            Source("counters", line), "ethtool_mlx5", f"c{line % 50}", line,
            host=f"n{choose.randrange(HOSTS)}", device=f"eth{choose.randrange(PORTS)}",
        )
        for line in range(int(readings * SAMPLES))
    ]  # fmt: skip
    return made, samples


def _names(host: str, rank: int, port: int) -> list[Observation]:
    device, bus = f"mlx5_{port}", f"{port + 16:02x}"
    link = {"netdev": f"eth{port}", "state": "active"}
    gpu = {"bus_id": f"{bus}000", "index": port, "cuda_index": port}
    nic = {"netdev": f"eth{port}", "bdf": f"0000:{port + 64:02x}:00.0"}
    return [
        Observation("nic.port_state", Source("rdma", rank), {**link}, host=host, device=device, port=f"{device}:1"),
        Observation("identity.port", Source("ethtool", rank), {**nic}, host=host),
        Observation("identity.gpu", Source("nccl", rank), {**gpu}, host=host, rank=rank),
    ]


def _fault(host: str, port: int, sort: int, line: int) -> Observation:
    where, device = Source(f"{host}.log", line, "text"), f"mlx5_{port}"
    if sort == 0:
        return Observation("nic.link_down", where, {"netdev": f"eth{port}"}, host=host, device=f"eth{port}")
    if sort == 1:
        return Observation("host.gpu_xid", where, {"gpu": f"PCI:0000:{port + 16:02x}:00", "xid": 79}, host=host)
    if sort == 2:
        return Observation(
            "comm.async_event", where, {"event": "port_error"}, host=host, device=device, port=f"{device}/1"
        )
    if sort == 3:
        return Observation("nic.firmware_fault", where, {"bdf": f"0000:{port + 64:02x}:00.0"}, host=host)
    return Observation("job.work_in_progress", where, {"done": line}, host=host, rank=port)


def main(readings: int = 100_000, runs: int = 3) -> None:
    """Print the CPU seconds of each run."""
    vocabulary, manifest = load_vocabulary(), Manifest("benchmark")
    counters: CounterProfile = {}
    made, samples = cluster(readings)
    for _ in range(runs):
        items = [replace(item) for item in made]
        start = time.process_time()
        renamed, _notes = join_hosts(items, samples, manifest)
        _, _, notes = join_devices(items, renamed)
        joined = time.process_time() - start
        start = time.process_time()
        build_timeline([*made, *samples], vocabulary, manifest, counters)
        whole = time.process_time() - start
        sys.stdout.write(
            f"{readings} readings, {len(notes)} names joined: {joined:.2f} s of {whole:.2f} s for the timeline\n"
        )


if __name__ == "__main__":
    main(*(int(value) for value in sys.argv[1:3]))
