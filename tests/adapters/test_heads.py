"""What adapters see of a file at first: little enough that no file can make the look slow."""

from __future__ import annotations

import pickle
import random
import time
from pathlib import Path

import pytest

from facts_adapters.adapter import Head
from facts_adapters.discovery import choose, registry
from facts_adapters.evidence import HEAD_LINE, HEAD_LINES, decode_head, head_of
from facts_adapters.look import HEAD_BYTES
from facts_adapters.reader import read_bundle

SLOWEST_S = 0.1
"""CPU seconds that one adapter may take for one look, several times what a slow machine needs for a linear search."""

UNITS = (
    *("a", " ", "\n", "\t", "-", ":", "0", "1 ", "x_1.", "a: ", "[", "{", '"', '"a":', "(", "|", "| ", "= ", "*"),
    *("Ethernet1/1 ", "eth0: <", "mlx5_0", "0x", "ff:", "1.1.1.1/", "port 1 ", "up down ", "2026-01-01 10:00:00 "),
    *("Chain x ", "-A x ", "iptables ", "switch: ", "srun --", "timeout=", "docker ", "queuing ", "PID ", "jobid "),
    *("name\n", "a b\n", "  - a: b\n", "<a>", "{'a': 1}, ", "oom_kill 1 ", "inet ", "LISTEN ", "--rdzv-conf=timeout,"),
)


def test_lines_of_a_head_are_few_and_short() -> None:
    head = head_of("a.txt", "x" * 5000 + "\n" + "y\n" * 3000)
    assert len(head.lines) == HEAD_LINES
    assert head.lines[:2] == ("x" * HEAD_LINE, "y")
    assert len(head.text) == 11001


def test_a_binary_head_has_no_lines() -> None:
    assert head_of("a.bin", "record_id\nprofiling_name\n", binary=True) == Head(
        "a.bin", "record_id\nprofiling_name\n", ()
    )


def test_a_binary_dump_finds_its_adapter(tmp_path: Path) -> None:
    entries = [
        {"record_id": n, "pg_id": 0, "process_group": ("0", "default_pg"), "collective_seq_id": n, "p2p_seq_id": 0,
         "op_id": n, "profiling_name": "nccl:all_reduce", "time_created_ns": 10**18 + n, "state": "scheduled",
         "input_sizes": [[8]], "output_sizes": [[8]], "is_p2p": False, "retired": False, "frames": []}
        for n in range(200)
    ]  # fmt: skip
    (tmp_path / "nccl_trace_rank_3").write_bytes(pickle.dumps({"version": "2.4", "entries": entries, "pg_config": {}}))
    result = read_bundle(tmp_path)
    (file,) = result.files
    assert not file.text
    assert file.adapters == ["flight_recorder"]
    assert [len(state.seqs) for state in result.states] == [200]


@pytest.mark.parametrize("unit", UNITS)
def test_no_head_makes_the_look_slow(unit: str) -> None:
    text = (unit * HEAD_BYTES)[:HEAD_BYTES]
    for path in ("a.log", "switch.yaml"):
        check(head_of(path, text))


def test_no_binary_head_makes_the_look_slow() -> None:
    numbers = random.Random(5)
    raw = pickle.dumps([numbers.randbytes(40) for _ in range(2000)])[:HEAD_BYTES]
    check(head_of("a.pkl", decode_head(raw), binary=True))
    check(head_of("a.pkl", decode_head(raw)))


def check(head: Head) -> None:
    for adapter in registry().adapters:
        started = time.process_time()
        choose(head, (adapter,))
        assert time.process_time() - started < SLOWEST_S, adapter.name
