"""What may not change a verdict, and what may only weaken it."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest
import yaml

from benchmarks.noise import wrap
from engine.facts.model import CounterSample, Observation
from tests.incidents.investigating import ALL, judge, reading_of, report_of, verdict_of

NETWORK = ("nic", "switch")
each_bundle = pytest.mark.parametrize("bundle", ALL, ids=lambda path: path.name)


def is_network(report: dict[str, object]) -> bool:
    verdict = report["verdict"]
    assert isinstance(verdict, dict)
    return verdict["outcome"] == "cause_found" and str(verdict["cause"]).startswith(NETWORK)


def kind_of(item: Observation | CounterSample) -> str:
    return item.kind if isinstance(item, Observation) else f"counter {item.family}"


@each_bundle
def test_removing_evidence_never_confirms_the_network(bundle: Path) -> None:
    items = list(reading_of(bundle).readings)
    if is_network(judge(bundle, items)):
        pytest.skip("the network is the cause here")
    for kind in sorted({kind_of(item) for item in items}):
        left = judge(bundle, [item for item in items if kind_of(item) != kind])
        assert not is_network(left), f"without {kind}: {left['verdict']}"


@each_bundle
def test_reading_in_another_order_changes_no_byte(bundle: Path) -> None:
    items = list(reading_of(bundle).readings)
    shuffled = list(items)
    random.Random(7).shuffle(shuffled)
    assert json.dumps(judge(bundle, items)) == json.dumps(judge(bundle, shuffled))


@each_bundle
def test_two_runs_give_the_same_bytes(bundle: Path) -> None:
    assert json.dumps(report_of(bundle)) == json.dumps(report_of(bundle))


@each_bundle
def test_labels_change_no_byte_of_the_diagnosis(bundle: Path, tmp_path: Path) -> None:
    copy = tmp_path / bundle.name
    shutil.copytree(bundle, copy)
    before = json.dumps(report_of(copy))
    manifest = copy / "incident.yaml"
    labels = {"causes": ["switch.congestion"], "phase": "data", "outcome": "candidates", "suspects": {"ranks": [1]}}
    document = yaml.safe_load(manifest.read_text(encoding="utf-8"))
    manifest.write_text(yaml.safe_dump({**document, "labels": labels}, sort_keys=False), encoding="utf-8")
    assert json.dumps(report_of(copy)) == before


@each_bundle
def test_hosts_of_other_names_give_the_same_verdict(bundle: Path, tmp_path: Path) -> None:
    hosts = sorted({item.host for item in reading_of(bundle).observations if item.host} | {"leaf7", "train-w-0"})
    names = {host: f"zq{'xwvutsrp'[number % 8]}{number:03d}" for number, host in enumerate(hosts) if host.isascii()}
    copy = tmp_path / bundle.name
    shutil.copytree(bundle, copy)
    for path in sorted(copy.rglob("*"), key=lambda path: len(path.parts), reverse=True):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            for host, name in sorted(names.items(), key=lambda pair: -len(pair[0])):
                text = text.replace(host, name)
            path.write_text(text, encoding="utf-8")
        if path.name in names:
            path.rename(path.with_name(names[path.name]))
    assert verdict_of(report_of(copy)) == verdict_of(report_of(bundle))


@each_bundle
def test_ordinary_noise_around_the_logs_changes_no_verdict(bundle: Path, tmp_path: Path) -> None:
    shutil.copytree(bundle, tmp_path / "plain" / bundle.name)
    wrap(tmp_path / "plain", tmp_path / "noisy")
    noisy, plain = report_of(tmp_path / "noisy" / bundle.name), report_of(bundle)
    assert noisy["verdict"]["cause"] == plain["verdict"]["cause"]
    assert noisy["verdict"]["outcome"] == plain["verdict"]["outcome"]


@each_bundle
def test_an_unrelated_log_changes_no_verdict(bundle: Path, tmp_path: Path) -> None:
    copy = tmp_path / bundle.name
    shutil.copytree(bundle, copy)
    (copy / "other").mkdir()
    (copy / "other" / "nginx.log").write_text(
        '10.0.0.1 - - [20/Jan/2026:11:14:00 +0000] "GET /timeout?error=connection+reset HTTP/1.1" 504 0\n' * 50
    )
    assert verdict_of(report_of(copy))["cause"] == verdict_of(report_of(bundle))["cause"]
