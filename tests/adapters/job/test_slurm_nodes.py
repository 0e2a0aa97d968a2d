"""Host lists of Slurm, and records that are damaged or too long."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from engine.facts.model import Observation
from facts_adapters.job.slurm_nodes import hosts
from facts_adapters.reader import read_bundle


def kinds(readings: Iterable[object]) -> list[str]:
    """Kinds of the facts, what was looked at left out."""
    return [item.kind for item in readings if isinstance(item, Observation) and item.kind != "coverage.source"]


def test_host_lists_are_expanded_with_their_zeros() -> None:
    assert hosts("gpu[08-11,20],login1") == ["gpu08", "gpu09", "gpu10", "gpu11", "gpu20", "login1"]
    assert hosts("rack3-n[1-2].ib") == ["rack3-n1.ib", "rack3-n2.ib"]
    assert hosts("gpu12") == ["gpu12"]


def test_a_host_list_without_end_is_cut() -> None:
    assert len(hosts("n[1-999999999]")) == 1_000
    assert hosts("n[a-b],]") == []


def test_a_node_that_works_says_only_when_it_booted(tmp_path: Path) -> None:
    (tmp_path / "nodes.txt").write_text(
        "NodeName=gpu12 Arch=x86_64 CoresPerSocket=32\n   State=ALLOCATED ThreadsPerCore=2\n"
        "   BootTime=2026-02-01T09:00:00 SlurmdStartTime=2026-02-01T09:05:00\n",
        encoding="utf-8",
    )
    result = read_bundle(tmp_path)
    assert kinds(result.readings) == ["host.boot"]
    assert not result.warnings


def test_damaged_json_is_one_warning(tmp_path: Path) -> None:
    (tmp_path / "nodes.json").write_text('{"nodes": [{"name": "gpu1", "slurmd_start_time": ', encoding="utf-8")
    result = read_bundle(tmp_path)
    assert kinds(result.readings) == []
    assert [warning.reason for warning in result.warnings if "no valid JSON" in warning.reason]
