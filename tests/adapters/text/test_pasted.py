"""What stands before every line of a pasted file is taken off, and nothing else is."""

from __future__ import annotations

import html
from collections.abc import Callable
from pathlib import Path

import pytest

from facts_adapters.reader import read_bundle
from facts_adapters.text.pasted import wrapping

KERNEL = [
    "[Tue Jun 17 10:12:01 2025] mlx5_core 0000:17:00.0 eth2: Link down",
    "[Tue Jun 17 10:12:31 2025] Out of memory: Killed process 4242 (python) total-vm:1kB, anon-rss:1kB, file-rss:0kB",
    "",
    "[Tue Jun 17 10:12:33 2025] mlx5_core 0000:17:00.0 eth2: Link up",
]
WRAPPED: dict[str, Callable[[int, str], str]] = {
    "quote": lambda _, line: f"> {line}".rstrip(),
    "quote twice": lambda _, line: f">> {line}".rstrip(),
    "cat -n": lambda number, line: f"{number:6d}\t{line}",
    "less -N": lambda number, line: f"{number:7d} {line}",
    "grep -nH": lambda number, line: f"logs/kern.log:{number}:{line}",
    "grep -n": lambda number, line: f"{number + 7}:{line}",
    "indent": lambda _, line: f"    {line}",
    "compose": lambda _, line: f"worker-1  | {line}",
    "cri": lambda number, line: f"2025-06-17T10:13:00.{number:09d}Z stderr F {line}",
    "quote of numbers": lambda number, line: f"> {number:6d}\t{line}",
}


@pytest.mark.parametrize("name", sorted(WRAPPED))
def test_every_line_is_as_written(name: str) -> None:
    wrapped = [WRAPPED[name](number, line) for number, line in enumerate(KERNEL, start=1)]
    found = wrapping(wrapped)
    assert [found.strip(line) for line in wrapped] == KERNEL


def test_escaped_html() -> None:
    lines = ['RuntimeError: <Socket> & "x"', "  at <frame>"]
    found = wrapping([html.escape(line) for line in lines])
    assert [found.strip(html.escape(line)) for line in lines] == lines


@pytest.mark.parametrize(
    "lines",
    [
        ["gpu1:100:101 [0] NCCL INFO a", "gpu1:102:103 [1] NCCL INFO b", "gpu1:104:105 [2] NCCL INFO c"],
        ["10:12:01 started", "11:12:01 running", "12:12:01 stopped"],
        ["2025-06-17T10:12:01 a", "2025-06-17T10:13:01 b", "2025-06-17T10:14:01 c"],
        ["0: ready", "1: ready", "2: ready"],
        ["\t - [3] Timeout at collective: ALLREDUCE, #1024", "\t   - [5] joined but didn't finish"],
        ["> python train.py", "Traceback (most recent call last):", "ValueError: x"],
        ["a &lt; b", "x <y> z"],
        ["0\tgpu1\tup", "1\tgpu2\tup", "2\tgpu3\tdown"],
    ],
)
def test_what_belongs_to_the_line_stays(lines: list[str]) -> None:
    assert not wrapping(lines)


@pytest.mark.parametrize("name", ["quote", "cat -n", "grep -nH", "indent", "compose"])
def test_the_stamp_behind_a_prefix_counts(tmp_path: Path, name: str) -> None:
    text = "\n".join(WRAPPED[name](number, line) for number, line in enumerate(KERNEL, start=1))
    (tmp_path / "kern.txt").write_text(text + "\n")
    found = [o for o in read_bundle(tmp_path).observations if o.kind == "host.oom_kill"]
    assert [(o.source.line, o.when is not None) for o in found] == [(2, True)]


@pytest.mark.parametrize("name", ["quote", "cat -n", "grep -nH", "indent", "compose", "cri"])
def test_whole_file_adapters_read_behind_a_prefix(tmp_path: Path, name: str) -> None:
    table = [
        "CA 'mlx5_0'",
        "\tCA type: MT4129",
        "\tNumber of ports: 1",
        "\tFirmware version: 28.39.1002",
        "\tPort 1:",
        "\t\tState: Down",
        "\t\tPhysical state: Disabled",
        "\t\tRate: 10",
        "\t\tLink layer: InfiniBand",
    ]
    wrapped = [WRAPPED[name](number, line) for number, line in enumerate(table, start=1)]
    (tmp_path / "ports.txt").write_text("\n".join(wrapped) + "\n")
    result = read_bundle(tmp_path)
    assert result.files[0].adapters == ["ibstat"]
    assert {o.source.line for o in result.observations if o.kind == "nic.port_state"} <= {5, 6, 7}


def test_a_heading_over_indented_lines_keeps_their_indentation() -> None:
    stack = ['Thread 0x7F00 (idle): "MainThread"', *[f"    frame{i} (file.py:{i})" for i in range(12)]]
    assert wrapping(stack).strip(stack[1]) == stack[1]
