"""What nccl-tests says: how fast, whether a size fell behind a smaller one, and wrong values."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.facts.model import Observation
from facts_adapters.reader import read_bundle

TOP = (
    "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 268435456 step: 4(factor) warmup iters: 5 iters: 20 agg iters: 1 "
    "validation: 1 graph: 0\n#\n# Using devices\n"
    "#  Rank  0 Group  0 Pid  31001 on    rack1-a device  0 [0000:19:00] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid  32001 on    rack1-b device  0 [0000:19:00] NVIDIA H100 80GB HBM3\n#\n"
    "#                                                              out-of-place                       in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw {0}     time   algbw   busbw {0}\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
)


def row(size: int, busbw: float, last: str = "0", second: float | None = None) -> str:
    half = f"  {size / busbw / 1e3:.1f}   {busbw:.2f}  {busbw:.2f}    {last}"
    other = f"  100.0   {second or busbw:.2f}  {second or busbw:.2f}    {last}"
    return f"  {size}  {size // 4}     float     sum      -1{half}{other}\n"


def facts(folder: Path, text: str) -> tuple[list[Observation], int]:
    (folder / "all_reduce_perf.out").write_text(text, encoding="utf-8")
    result = read_bundle(folder)
    return [o for o in result.observations if o.kind != "coverage.source"], len(result.warnings)


@pytest.mark.parametrize("column", ["#wrong", " error"])
def test_a_healthy_run_says_how_fast_it_was(column: str, tmp_path: Path) -> None:
    last = "0" if column == "#wrong" else "2e-06"
    body = "".join(row(size, speed, last) for size, speed in ((1 << 20, 9.1), (1 << 24, 31.0), (1 << 28, 44.5)))
    tail = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 28.2\n#\n# Collective test concluded: all_reduce\n"
    found, warnings = facts(tmp_path, TOP.format(column) + body + tail)
    assert [(o.kind, o.fields) for o in found] == [
        ("comm.bus_bandwidth", {"gbytes_per_s": 44.5, "size": 1 << 28, "correct": True}),
    ]
    assert warnings == 0


def test_one_direction_that_stalls_at_one_size_is_slow(tmp_path: Path) -> None:
    body = row(1 << 22, 30.0) + row(1 << 24, 40.0, second=9.0) + row(1 << 26, 44.0)
    found, _ = facts(tmp_path, TOP.format("#wrong") + body)
    slow = [o for o in found if o.kind == "comm.slow_transport"]
    assert [o.fields["measured"] for o in slow] == ["9 GB/s at 16777216 bytes"]


def test_small_sizes_and_small_dips_are_no_trouble(tmp_path: Path) -> None:
    body = row(1 << 16, 90.0) + row(1 << 20, 2.0) + row(1 << 22, 30.0) + row(1 << 24, 21.0) + row(1 << 26, 44.0)
    found, _ = facts(tmp_path, TOP.format("#wrong") + body)
    assert [o.kind for o in found] == ["comm.bus_bandwidth"]


def test_wrong_values_are_told_with_their_size_and_once(tmp_path: Path) -> None:
    body = row(1 << 22, 30.0) + row(1 << 24, 40.0, last="3") + "# Out of bounds values : 6 FAILED\n"
    found, _ = facts(tmp_path, TOP.format("#wrong") + body)
    assert [(o.fields["count"], o.fields["size"]) for o in found if o.kind == "comm.wrong_result"] == [(6, 1 << 24)]


def test_values_that_nobody_checked_are_not_wrong(tmp_path: Path) -> None:
    found, _ = facts(tmp_path, TOP.format("#wrong") + row(1 << 24, 40.0, last="N/A"))
    assert [o.kind for o in found] == ["comm.bus_bandwidth"]


@pytest.mark.parametrize(
    "text",
    [
        TOP.format("#wrong") + "  99999999999999999999  1  float sum -1 1 2 3 0\n" + "  5  1  float  nan\n",
        TOP.format("#wrong") + row(1 << 24, 40.0).replace("40.00", "1e309"),
        "#  size count type redop root time algbw busbw #wrong\n" * 50,
        TOP.format("#wrong") + "# Avg bus bandwidth    : 1.2.3 FAILED\n",
    ],
)
def test_broken_tables_raise_nothing(text: str, tmp_path: Path) -> None:
    found, _ = facts(tmp_path, text)
    assert not [o for o in found if o.kind in ("comm.slow_transport", "comm.wrong_result")]
