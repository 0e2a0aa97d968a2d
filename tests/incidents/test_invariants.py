"""What may not change a verdict, and what may only weaken it.

The bundles are those of this repository and, where the variable ``FIRSTFAULT_INCIDENTS`` names a folder, all bundles
in it.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path

import pytest
import yaml

from benchmarks.noise import wrap
from engine.archive.incidents import find_incidents
from engine.facts.collectives import GroupState
from engine.facts.model import SECOND, Observation
from tests.incidents.disguising import other_names, renamed_copy, shifted, shifted_frame, with_unrelated_logs
from tests.incidents.investigating import ALL, Reading, judge, reading_of, report_of, verdict_of

FOLDER = os.environ.get("FIRSTFAULT_INCIDENTS")
"""A folder of more bundles, for those who have an archive."""

MORE = [path for path in find_incidents(Path(FOLDER)) if path.is_dir()] if FOLDER else []
NETWORK = ("nic", "switch")
DAY = 86_400 * SECOND
each_bundle = pytest.mark.parametrize("bundle", [*ALL, *MORE], ids=lambda path: path.name)


def named_network(report: dict[str, object]) -> str | None:
    """The cause that the report names alone where it lies in the network."""
    verdict = report["verdict"]
    assert isinstance(verdict, dict)
    found = verdict["outcome"] == "cause_found" and str(verdict["cause"]).startswith(NETWORK)
    return str(verdict["cause"]) if found else None


def follows(named: str, before: str) -> bool:
    """Whether less evidence may turn the network cause ``before`` into ``named``.

    A port of which the return was taken away stayed down for all that its log says; and a damage of the path that
    nobody counted is a path on which retries run out.
    """
    return named == "nic.transport-retry" or named.partition(".")[0] == before.partition(".")[0]


def kind_of(item: Reading) -> str:
    if isinstance(item, GroupState):
        return f"state by {item.origin}"
    return item.kind if isinstance(item, Observation) else f"counter {item.family}"


@each_bundle
def test_removing_evidence_never_confirms_the_network(bundle: Path) -> None:
    items = list(reading_of(bundle).readings)
    before = named_network(judge(bundle, items))
    for kind in sorted({kind_of(item) for item in items}):
        left = judge(bundle, [item for item in items if kind_of(item) != kind])
        named = named_network(left)
        assert named is None or (before and follows(named, before)), f"without {kind}: {left['verdict']}"


@each_bundle
def test_reading_in_another_order_changes_no_byte(bundle: Path) -> None:
    items = list(reading_of(bundle).readings)
    shuffled = list(items)
    random.Random(7).shuffle(shuffled)
    assert json.dumps(judge(bundle, items)) == json.dumps(judge(bundle, shuffled))


@each_bundle
def test_another_day_gives_the_same_verdict(bundle: Path) -> None:
    items = list(reading_of(bundle).readings)
    for days in (-3, 11):
        moved = [shifted(item, days * DAY) for item in items]
        later = judge(bundle, moved, shifted_frame(reading_of(bundle).manifest, days * DAY))
        assert verdict_of(later) == verdict_of(judge(bundle, items)), days


@each_bundle
def test_two_runs_give_the_same_bytes(bundle: Path) -> None:
    assert json.dumps(report_of(bundle)) == json.dumps(report_of(bundle))


@each_bundle
def test_labels_change_no_byte_of_the_diagnosis(bundle: Path, tmp_path: Path) -> None:
    copy = tmp_path / bundle.name
    shutil.copytree(bundle, copy)
    before = json.dumps(report_of(copy))
    manifest = copy / "incident.yaml"
    manifest.chmod(0o644)
    labels = {"causes": ["switch.congestion"], "phase": "data", "outcome": "candidates", "suspects": {"ranks": [1]}}
    document = yaml.safe_load(manifest.read_text(encoding="utf-8"))
    manifest.write_text(yaml.safe_dump({**document, "labels": labels}, sort_keys=False), encoding="utf-8")
    assert json.dumps(report_of(copy)) == before


@each_bundle
def test_hosts_of_other_names_give_the_same_verdict(bundle: Path, tmp_path: Path) -> None:
    hosts = {item.host for item in reading_of(bundle).observations if item.host} | {"leaf7", "train-w-0"}
    renamed_copy(bundle, tmp_path / bundle.name, other_names(hosts))
    assert verdict_of(report_of(tmp_path / bundle.name)) == verdict_of(report_of(bundle))


@each_bundle
def test_ordinary_noise_around_the_logs_changes_no_verdict(bundle: Path, tmp_path: Path) -> None:
    shutil.copytree(bundle, tmp_path / "plain" / bundle.name)
    wrap(tmp_path / "plain", tmp_path / "noisy")
    noisy, plain = report_of(tmp_path / "noisy" / bundle.name), report_of(bundle)
    assert noisy["verdict"]["cause"] == plain["verdict"]["cause"]
    assert noisy["verdict"]["outcome"] == plain["verdict"]["outcome"]


@each_bundle
def test_unrelated_logs_change_no_verdict(bundle: Path, tmp_path: Path) -> None:
    with_unrelated_logs(bundle, tmp_path / bundle.name)
    assert verdict_of(report_of(tmp_path / bundle.name)) == verdict_of(report_of(bundle))
