"""Complaints of speed: a job that ended is no proof that it was fast enough."""

from __future__ import annotations

import pytest

from engine.diagnosis.slowness import slowness_is_meant
from engine.facts.model import Fact, Source


def _result(size: int, speed: float) -> Fact:
    return Fact("f1", "comm.bus_bandwidth", {"gbytes_per_s": speed, "size": size}, Source("all_reduce.log", 9, ""))


@pytest.mark.parametrize(
    "title",
    [
        "Training on four nodes is three times slower since Monday",
        "All-reduce reaches half of the expected bandwidth",
        "Lower throughput with two racks",
        "Benchmark throughput dropped after the upgrade",
        "四机训练速度下降",
        "跨机架后带宽只有一半",
    ],
)
def test_title_complains_of_speed(title: str) -> None:
    assert slowness_is_meant(title, [])


@pytest.mark.parametrize(
    "title",
    [
        "",
        "Nightly run needs a look",
        "Bandwidth test passes, please check",
        "GPU alerts after a job",
        "作业结束后出现告警",
    ],
)
def test_title_says_nothing_of_speed(title: str) -> None:
    assert not slowness_is_meant(title, [])


def test_results_of_one_size_that_differ_widely() -> None:
    assert slowness_is_meant("", [_result(1 << 30, 370.0), _result(1 << 30, 110.0)])
    assert not slowness_is_meant("", [_result(1 << 30, 370.0), _result(1 << 30, 341.0)])
    assert not slowness_is_meant("", [_result(1 << 30, 370.0), _result(1 << 20, 12.0)])
