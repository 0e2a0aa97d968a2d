"""Cable plans: other column names, hostile documents, names with domains."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.facts.model import Observation
from facts_adapters.reader import read_bundle


def attached(tmp_path: Path, name: str, text: str) -> list[tuple[str | None, str | None, object, object]]:
    (tmp_path / name).write_text(text, encoding="utf-8")
    found = [o for o in read_bundle(tmp_path).readings if isinstance(o, Observation) and o.kind == "switch.attached"]
    return [(o.host, o.device, o.fields["switch"], o.fields["switch_port"]) for o in found]


@pytest.mark.parametrize(
    "text",
    [
        "Server;Interface;Leaf Switch;Leaf Port\nn1;eth2;leaf1.dc.example;Ethernet8\n",
        "# cable plan\nswitch_port\tswitch\thostname\tnetdev\nEthernet8\tleaf1\tn1\teth2\n",
    ],
)
def test_other_column_names(tmp_path: Path, text: str) -> None:
    assert attached(tmp_path, "plan.csv", text) == [("n1", "eth2", "leaf1", "Ethernet8")]


def test_document_with_anchors_is_refused(tmp_path: Path) -> None:
    text = "a: &a {nic: mlx5_0, switch: leaf1, port: '1'}\nhosts: {n1: [*a, *a]}\n"
    assert attached(tmp_path, "plan.yaml", text) == []


def test_deep_document_is_survived(tmp_path: Path) -> None:
    text = '{"switch": 1, "port": 2, "nic": ' + "[" * 100_000
    assert attached(tmp_path, "plan.json", text) == []
