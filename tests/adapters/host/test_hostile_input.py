"""What other people's machines may send to the readers of this branch: torn, endless and misleading input."""

from __future__ import annotations

from pathlib import Path

import pytest

from facts_adapters.adapter import Adapter
from facts_adapters.discovery import registry
from facts_adapters.host import _statement
from facts_adapters.reader import read_bundle

HOST = [adapter for adapter in registry().adapters if adapter.branch == "host"]
SAMPLES = [
    pytest.param(sample.text, sample.path, id=f"{adapter.name}-{index}")
    for adapter in HOST
    for index, sample in enumerate(adapter.samples)
    if sample.expect
]


@pytest.mark.parametrize(("text", "name"), SAMPLES)
def test_no_reader_fails_on_torn_input(text: str, name: str, tmp_path: Path) -> None:
    data = text.encode()
    for number in range(1, 8):
        path = tmp_path / str(number) / name
        path.parent.mkdir(parents=True)
        cut = len(data) * number // 8
        path.write_bytes(data[:cut] + b"\xff\x00\x1b[31m}\n9999999999999999999999999999\n" + data[cut // 2 :])
    assert not [warning for warning in read_bundle(tmp_path).warnings if "failed" in warning.reason]


@pytest.mark.parametrize("adapter", HOST, ids=lambda adapter: adapter.name)
def test_numbers_without_end_are_no_numbers(adapter: Adapter, tmp_path: Path) -> None:
    for index, sample in enumerate(adapter.samples):
        path = tmp_path / str(index) / sample.path
        path.parent.mkdir(parents=True)
        path.write_text("".join(c * 40 if c.isdigit() else c for c in sample.text))
    assert not [warning for warning in read_bundle(tmp_path).warnings if "failed" in warning.reason]


DEEP = "[" * 50_000


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '{"header": ["Health Monitor Report"], "body": ' + DEEP),
        ("b.json", '[{"gpu": 0, "ecc": ' + DEEP),
        ("c.json", '{"card0": {"GPU use (%)": ' + DEEP),
        ("d.json", '{"DCGM Diagnostic": ' + DEEP + "}"),
        ("e.xml", "<nvidia_smi_log>" + "<a>" * 20_000),
        ("f.xml", "<nvidia_smi_log><gpu id='1'>" + "<a>" * 900 + "x" + "</a>" * 900 + "</gpu></nvidia_smi_log>"),
    ],
)
def test_depth_is_bounded(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text + "\n")
    assert not [warning for warning in read_bundle(tmp_path).warnings if "failed" in warning.reason]


def test_entities_are_refused(tmp_path: Path) -> None:
    text = (
        '<?xml version="1.0"?>\n<!DOCTYPE nvidia_smi_log [\n<!ENTITY a "aaaaaaaaaa">\n<!ENTITY b "&a;&a;&a;&a;">\n]>\n'
        "<nvidia_smi_log>\n<driver_version>&b;</driver_version>\n</nvidia_smi_log>\n"
    )
    (tmp_path / "smi.xml").write_text(text)
    result = read_bundle(tmp_path)
    assert not [record for record in result.observations if record.kind.startswith("host.")]
    assert [warning.reason for warning in result.warnings] == ["XML with entities of its own is not read"]


def test_a_document_of_a_whole_cluster_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_statement, "LONGEST_DOCUMENT", 100)
    (tmp_path / "amd.json").write_text('[{"gpu": 0, "ecc": {}},\n' + '{"gpu": 1, "ecc": {}},\n' * 50 + "]\n")
    (warning,) = read_bundle(tmp_path).warnings
    assert "too long" in warning.reason
