"""Whole incidents, from bundle to report. `UPDATE_GOLDEN=1 pytest tests/incidents` rewrites the golden files."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from rich.console import Console

from engine.report.text import print_report
from tests.incidents.investigating import ALL, report_of, verdict_of

GOLDEN = Path(__file__).parent / "golden"

EXPECTED = {
    "bare-watchdog-lines": ("insufficient_evidence", None),
    "exception-before-network-noise": ("cause_found", "job.exception"),
    "finished-with-scary-noise": ("no_fault", None),
    "link-flap-before-retries": ("cause_found", "nic.link-flap"),
    "nfs-stall-in-checkpoint": ("cause_found", "host.storage-stall"),
    "oom-kill-behind-timeouts": ("cause_found", "host.oom-kill"),
    "pause-storm-on-one-port": ("cause_found", "switch.pfc-storm"),
    "silent-rank": ("cause_found", "job.missing-participant"),
    "shm-full-in-pod": ("cause_found", "host.shared-memory"),
    "two-jobs-one-switch-path": ("cause_found", "switch.port-fault"),
    "wrong-interface-name": ("cause_found", "comm.interface-selection"),
}


def text_of(bundle: Path, language: str) -> str:
    console = Console(file=io.StringIO(), width=100)
    report = report_of(bundle, language)
    report["knowledge"]["hash"] = report["engine"]["version"] = "x"
    print_report(report, console)
    assert isinstance(console.file, io.StringIO)
    return "".join(f"{line.rstrip()}\n" for line in console.file.getvalue().splitlines())


@pytest.mark.parametrize("bundle", ALL, ids=lambda path: path.name)
def test_the_verdict(bundle: Path) -> None:
    verdict = verdict_of(report_of(bundle))
    assert (verdict["outcome"], verdict["cause"]) == EXPECTED[bundle.name]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("bundle", ALL, ids=lambda path: path.name)
def test_the_whole_report(bundle: Path, language: str) -> None:
    golden = GOLDEN / f"{bundle.name}.{language}.txt"
    text = text_of(bundle, language)
    if os.environ.get("UPDATE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8"), "UPDATE_GOLDEN=1 rewrites it where the change is wanted"
