"""Diagnosing bundles in tests, with knowledge loaded once."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from cli import Investigation
from engine.diagnosis.diagnose import diagnose
from engine.facts.collectives import GroupState
from engine.facts.manifest import Manifest
from engine.facts.model import CounterSample, Observation
from engine.facts.timeline import build_timeline
from facts_adapters.reader import read_bundle

BUNDLES = Path(__file__).parent / "bundles"
EXAMPLES = Path(__file__).parents[2] / "examples"
Reading = Observation | CounterSample | GroupState
ALL = sorted([*BUNDLES.iterdir(), *EXAMPLES.iterdir()], key=lambda path: path.name)


@functools.lru_cache(maxsize=1)
def investigation() -> Investigation:
    return Investigation((), "reference")


def report_of(bundle: Path, language: str = "en") -> dict[str, Any]:
    return investigation().report(investigation().diagnose(bundle), language)


@functools.lru_cache(maxsize=64)
def reading_of(bundle: Path) -> Any:
    """What was read of a bundle, once for all tests."""
    return read_bundle(bundle, reader=investigation().reader)


def judge(bundle: Path, items: list[Reading], frame: Manifest | None = None) -> dict[str, Any]:
    """The report for a bundle of which only ``items`` were read, in another frame where one is given."""
    work, manifest = investigation(), frame or reading_of(bundle).manifest
    timeline = build_timeline(items, work.pack.vocabulary, manifest, work.counters, work.pack.profiles)
    return work.report(diagnose(timeline, manifest, work.pack, work.engine), "en")


def verdict_of(report: dict[str, Any]) -> dict[str, Any]:
    """What must not change where only names, clocks or order do."""
    fault = report["first_fault"]
    return {
        "outcome": report["verdict"]["outcome"],
        "cause": report["verdict"]["cause"],
        "owner": report["verdict"]["owner"],
        "phase": report["verdict"]["phase"],
        "statuses": [(item["id"], item["status"], item["score"]) for item in report["hypotheses"]],
        "first_fault": (fault["kind"], fault["source"]["line"]) if fault else None,
    }
