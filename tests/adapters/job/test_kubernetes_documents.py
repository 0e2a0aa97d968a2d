"""Documents and descriptions of Kubernetes: many in one file, damaged, hostile, described instead of dumped."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.facts.model import Observation
from facts_adapters.adapter import Line
from facts_adapters.job import _kubernetes
from facts_adapters.job._describe import described
from facts_adapters.reader import read_bundle

POD = """apiVersion: v1
kind: Pod
metadata:
  name: {name}
spec:
  nodeName: gpu1
status:
  phase: Failed
  reason: Evicted
"""


def facts(folder: Path, name: str, text: str) -> tuple[list[Observation], list[str]]:
    """Observations and warnings of a bundle of one file."""
    (folder / name).write_text(text, encoding="utf-8")
    result = read_bundle(folder)
    found = [item for item in result.readings if isinstance(item, Observation) and item.kind != "coverage.source"]
    return found, [warning.reason for warning in result.warnings]


def evicted(found: list[Observation]) -> list[object]:
    return [item.fields["pod"] for item in found if item.kind == "host.pod_evicted"]


def test_every_document_of_a_stream_is_read_and_keeps_its_line(tmp_path: Path) -> None:
    found, warnings = facts(tmp_path, "pods.yaml", POD.format(name="a-0") + "---\n" + POD.format(name="b-0"))
    assert evicted(found) == ["a-0", "b-0"]
    assert [item.source.line for item in found if item.kind == "host.pod_evicted"] == [4, 14]
    assert not warnings


def test_a_damaged_document_is_warned_of_and_the_next_one_is_read(tmp_path: Path) -> None:
    text = POD.format(name="a-0") + "---\nkind: Pod\nmetadata: [\n---\n" + POD.format(name="b-0")
    found, warnings = facts(tmp_path, "pods.yaml", text)
    assert evicted(found) == ["a-0", "b-0"]
    assert [warning for warning in warnings if "no YAML that can be read" in warning]


def test_aliases_are_refused_and_do_not_multiply(tmp_path: Path) -> None:
    levels = "".join(f"  l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 12))
    bomb = "apiVersion: v1\nkind: Pod\nmetadata:\n  l0: &l0 lol\n" + levels + "  name: *l11\nstatus:\n  phase: Failed\n"
    found, warnings = facts(tmp_path, "bomb.yaml", bomb)
    assert not found
    assert [warning for warning in warnings if "anchors and aliases" in warning]


def test_deep_nesting_ends_in_a_warning(tmp_path: Path) -> None:
    deep = '{"kind": "Pod", "status": {"phase": "Failed", "conditions": ' + "[" * 200_000 + "]" * 200_000 + "}}"
    found, warnings = facts(tmp_path, "deep.json", deep)
    assert not [item for item in found if item.kind.startswith("job.")]
    assert [warning for warning in warnings if "neither JSON nor YAML" in warning]


def test_long_yaml_is_cut_behind_a_whole_item(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items = "".join(
        f"- kind: Pod\n  metadata: {{name: w-{n}}}\n  spec: {{nodeName: gpu1}}\n"
        "  status: {phase: Failed, reason: Evicted}\n"
        for n in range(100)
    )
    monkeypatch.setattr(_kubernetes, "MOST_YAML", 2_000)
    found, warnings = facts(tmp_path, "pods.yaml", "apiVersion: v1\nkind: List\nitems:\n" + items)
    names = evicted(found)
    assert 0 < len(names) < 100
    assert names == [f"w-{n}" for n in range(len(names))]
    assert [warning for warning in warnings if "only the first 2000 characters" in warning]


def test_a_description_becomes_the_object() -> None:
    text = (
        "Name:         llm\nKind:         MPIJob\nStatus:\n  Conditions:\n    Reason:  A\n    Type:    Created\n"
        "    Reason:  B\n    Type:    Failed\n  Replica Statuses:\n    Worker:\n      Active:  3\nEvents:  <none>\n"
        "\nName:         other\nKind:         MPIJob\n"
    )
    first, second = described(Line(number, line) for number, line in enumerate(text.split("\n"), 1))
    assert first.value["status"]["conditions"] == [
        {"reason": "A", "type": "Created"},
        {"reason": "B", "type": "Failed"},
    ]
    assert first.value["status"]["replicaStatuses"] == {"worker": {"active": 3}}
    assert (second.line.number, second.value["name"]) == (14, "other")


def test_a_description_of_endless_depth_is_bounded() -> None:
    lines = ["Name: x"] + [" " * (2 * depth) + "Key:" for depth in range(5_000)]
    (found,) = described(Line(number, line) for number, line in enumerate(lines, 1))
    depth, value = 0, found.value.get("key")
    while isinstance(value, dict) and depth < 100:
        depth, value = depth + 1, value.get("key")
    assert depth < 50
