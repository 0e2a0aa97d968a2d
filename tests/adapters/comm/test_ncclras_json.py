"""The library state report as JSON: who is missing, who is behind, and what a monitor's row of reports adds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from facts_adapters.reader import read_bundle
from facts_adapters.result import BundleReading

Rank = dict[str, object]
Report = dict[str, object]


def rank(number: int, count: int = 7, **status: object) -> Rank:
    state = {"init_state": 0, "async_error": 0, "finalize_called": False, "destroy_flag": False, "abort_flag": False}
    return {
        "rank": number,
        "host": f"10.8.1.{1 + number // 4}",
        "pid": 9000 + number,
        "cuda_dev": number % 4,
        "nvml_dev": number % 4,
        "status": state | status,
        "collective_counts": {"Broadcast": 2, "AllReduce": count},
    }


def gone(number: int, *, dead: bool) -> Rank:
    entry = {key: rank(number)[key] for key in ("rank", "host", "pid", "cuda_dev", "nvml_dev")}
    return entry | {"status": {"unresponsive": not dead, "considered_dead": dead}}


def report(ranks: list[Rank], missing: list[Rank] | None = None, name: str = "0x77aa") -> Report:
    missing = missing or []
    group = {
        "hash": name,
        "secondary_hash": "0x1:0x2",
        "size": len(ranks) + len(missing),
        "ranks_count": len(ranks),
        "missing_ranks_count": len(missing),
        "ranks": ranks,
        "missing_ranks": missing,
    }
    return {
        "nccl_version": "2.28.9",
        "cuda_runtime_version": 13000,
        "cuda_driver_version": 13000,
        "timestamp": "2026-05-06 07:08:09",
        "communicators_count": 1,
        "communicators": [group],
        "ras": {"collection_time_sec": 0.02, "timeouts_count": 0},
    }


def reading(folder: Path, *texts: str) -> BundleReading:
    (folder / "ncclras.json").write_text("".join(texts), encoding="utf-8")
    return read_bundle(folder)


def told(result: BundleReading) -> list[tuple[str, int | None, str | None]]:
    return [(o.kind, o.rank, o.host) for o in result.observations if o.kind not in ("comm.version", "coverage.source")]


def test_a_healthy_report_says_only_the_version(tmp_path: Path) -> None:
    result = reading(tmp_path, json.dumps(report([rank(n) for n in range(8)]), indent=2))
    assert told(result) == []
    assert [o.fields["version"] for o in result.observations if o.kind == "comm.version"] == ["2.28.9"]
    assert not result.warnings


def test_the_comma_that_is_left_out_beside_missing_ranks_is_put_back(tmp_path: Path) -> None:
    whole = json.dumps(report([rank(n) for n in range(6)], [gone(6, dead=False), gone(7, dead=True)]), indent=2)
    broken = whole.replace(
        '"nvml_dev": 2,\n              "status": {\n                "unresp', '"nvml_dev": 2\n "status": {"unresp'
    )
    head, mark, tail = whole.partition('"missing_ranks": [')
    broken = head + mark + tail.replace('"nvml_dev": 2,', '"nvml_dev": 2').replace('"nvml_dev": 3,', '"nvml_dev": 3')
    with pytest.raises(ValueError, match="delimiter"):
        json.loads(broken)
    results = []
    for text in (whole, broken):
        result = reading(tmp_path, text)
        assert not result.warnings
        results.append(told(result))
    assert results[0] == results[1]
    assert ("comm.rank_behind", 6, "10.8.1.2") in results[1]
    assert ("comm.rank_behind", 7, "10.8.1.2") in results[1]
    dead = [o for o in reading(tmp_path, broken).observations if o.kind == "comm.heartbeat_lost"]
    assert [(o.peer, o.fields["status"]) for o in dead] == [("10.8.1.2", "lost")]


def test_a_fact_stands_on_the_line_of_its_rank(tmp_path: Path) -> None:
    text = json.dumps(report([*(rank(n) for n in range(3)), rank(3, count=5)]), indent=1)
    result = reading(tmp_path, text)
    behind = next(o for o in result.observations if o.kind == "comm.rank_behind")
    assert text.splitlines()[behind.source.line - 1].strip() == '"rank": 3,'
    assert (behind.fields["op"], behind.fields["seq"], behind.rank) == ("AllReduce", 6, 3)


def test_counts_without_a_majority_name_nobody(tmp_path: Path) -> None:
    assert told(reading(tmp_path, json.dumps(report([rank(0, 5), rank(1, 6), rank(2, 7), rank(3, 7)])))) == []


def test_a_communicator_that_moves_between_two_reports_is_at_work(tmp_path: Path) -> None:
    first = json.dumps(report([rank(0, 9), rank(1, 9), rank(2, 8)]))
    second = json.dumps(report([rank(0, 12), rank(1, 12), rank(2, 11)]))
    assert told(reading(tmp_path, first, "\n", second)) == []
    assert ("comm.rank_behind", 2, "10.8.1.1") in told(reading(tmp_path, second, "\n", second))


def test_ranks_of_a_part_are_not_taken_for_global_ones(tmp_path: Path) -> None:
    two = report([rank(n) for n in range(4)], name="0x1")
    other = [dict(rank(n + 4), rank=n) for n in range(3)] + [dict(rank(7, count=1), rank=3)]
    communicators = two["communicators"]
    assert isinstance(communicators, list)
    communicators.append(report(other, name="0x2")["communicators"][0])  # type: ignore[index]
    assert told(reading(tmp_path, json.dumps(two))) == [("comm.rank_behind", None, "10.8.1.2")]


def test_errors_and_states_of_ranks(tmp_path: Path) -> None:
    ranks = [rank(0), rank(1, async_error=6), rank(2, init_state=7), rank(3, abort_flag=True), rank(4, async_error=7)]
    result = reading(tmp_path, json.dumps(report(ranks)))
    assert told(result) == [
        ("comm.library_error", 1, "10.8.1.1"),
        ("comm.init_incomplete", 2, "10.8.1.1"),
        ("comm.abort", 3, "10.8.1.1"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(report([rank(0)]))[:-40],
        json.dumps(report([rank(0)])).replace('"communicators": [{', '"communicators": [7, null, {'),
        json.dumps(report([rank(0)])).replace('"rank": 0', '"rank": "x"').replace('"pid": 9000', '"pid": 1e99'),
        '{"nccl_version": 3, "communicators_count": [], "communicators": {"a": ' + "[" * 5000,
        '{"nccl_version": "2.28.7", "communicators_count": 1, "communicators": "none"}',
    ],
)
def test_broken_reports_raise_nothing_and_name_nobody(text: str, tmp_path: Path) -> None:
    assert told(reading(tmp_path, text)) == []
