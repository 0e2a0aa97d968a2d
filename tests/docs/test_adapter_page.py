"""The adapter that docs/how-to/add-an-adapter.md shows does on its samples what it says."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from engine.facts.vocabulary import load_vocabulary
from facts_adapters.adapter import Adapter, Sample
from facts_adapters.discovery import Registry
from facts_adapters.reader import read_bundle
from tests.docs.pages import ROOT, File, steps

PAGE = ROOT / "docs" / "how-to" / "add-an-adapter.md"


def shown(folder: Path) -> Adapter:
    file = next(step for step in steps(PAGE) if isinstance(step, File) and step.path.endswith(".py"))
    path = folder / Path(file.path).name
    path.write_text(file.text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("shown_adapter", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    adapter = module.ADAPTER
    assert isinstance(adapter, Adapter)
    return adapter


def test_samples(tmp_path_factory: pytest.TempPathFactory) -> None:
    adapter = shown(tmp_path_factory.mktemp("module"))
    for sample in adapter.samples:
        assert found(adapter, sample, tmp_path_factory.mktemp("bundle")) == [
            (kind, dict(fields)) for kind, fields in sample.expect
        ]
    assert any(sample.expect for sample in adapter.samples)
    assert not all(sample.expect for sample in adapter.samples)


def found(adapter: Adapter, sample: Sample, folder: Path) -> list[tuple[str, dict[str, object]]]:
    """What the adapter yields, reduced to the fields that the sample names."""
    (folder / sample.path).write_text(sample.text, encoding="utf-8")
    result = read_bundle(folder, adapters=Registry((adapter,), ()))
    assert [warning for warning in result.warnings if not warning.reason.startswith("not understood")] == []
    named = {name for _, fields in sample.expect for name in fields}
    return [
        (item.kind, {name: value for name, value in item.fields.items() if name in named})
        for item in result.observations
        if item.adapter == adapter.name
    ]


def test_what_it_yields_is_in_the_vocabulary(tmp_path: Path) -> None:
    vocabulary = load_vocabulary()
    for sample in shown(tmp_path).samples:
        for kind, fields in sample.expect:
            assert set(fields) <= set(vocabulary[kind].fields)
