from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import pytest

from engine.archive.batch import run_batch
from engine.archive.incidents import find_incidents
from engine.archive.package import cited_paths, write_package
from tests.report.reports import killed


def work(incident: Path) -> str:
    if incident.name == "raises":
        raise ValueError("torn")
    if incident.name == "dies":
        os._exit(9)
    return f"done {incident.name}"


def failed(incident: Path, why: str) -> str:
    return f"failed {incident.name}: {why}"


@pytest.mark.parametrize("processes", [1, 2])
def test_a_broken_incident_never_stops_the_rest(processes: int) -> None:
    incidents = [Path(name) for name in ("a", "raises", "b", "c")]
    assert sorted(run_batch(incidents, work, failed, processes)) == [
        "done a",
        "done b",
        "done c",
        "failed raises: ValueError: torn",
    ]


def test_a_process_that_dies_costs_only_its_incident() -> None:
    incidents = [Path(name) for name in ("a", "dies", "b", "c", "d", "e")]
    results = sorted(run_batch(incidents, work, failed, 2))
    assert results == [
        "done a",
        "done b",
        "done c",
        "done d",
        "done e",
        "failed dies: the process that read this incident died",
    ]


def test_incidents_are_folders_with_a_manifest_and_archives(tmp_path: Path) -> None:
    for name in ("2026/one", "2026/two/deep", "zzz"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "2026/one/incident.yaml").write_text("id: one\n")
    (tmp_path / "2026/one/logs").mkdir()
    (tmp_path / "2026/two/deep/incident.yaml").write_text("id: deep\n")
    (tmp_path / "zzz/three.tar.gz").write_bytes(b"")
    found = [path.relative_to(tmp_path).as_posix() for path in find_incidents(tmp_path)]
    assert found == ["2026/one", "2026/two/deep", "zzz/three.tar.gz"]


def test_without_manifests_every_folder_is_an_incident(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "a").mkdir()
    assert [path.name for path in find_incidents(tmp_path)] == ["a", "b"]


def test_a_package_holds_report_evidence_and_hashes_and_is_reproducible(tmp_path: Path) -> None:
    made = killed()
    files = {"dmesg": b"kernel says\n", "log": b"torchrun says\n"}
    paths = cited_paths(made)
    assert paths == ["dmesg", "log"]
    for name in ("one.zip", "two.zip"):
        assert write_package(made, {"report.md": "# x\n"}, files.get, tmp_path / name) == []
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        manifest = json.loads(archive.read("package.json"))
        assert archive.read("evidence/dmesg") == b"kernel says\n"
    assert manifest["files"]["evidence/dmesg"]["bytes"] == 12
    assert len(manifest["files"]["report.md"]["sha256"]) == 64


def test_evidence_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    assert write_package(killed(), {}, lambda _path: None, tmp_path / "x.zip") == ["dmesg", "log"]


def test_a_package_is_never_overwritten_silently(tmp_path: Path) -> None:
    (tmp_path / "x.zip").write_bytes(b"mine")
    with pytest.raises(FileExistsError):
        write_package(killed(), {}, lambda _path: b"", tmp_path / "x.zip")
