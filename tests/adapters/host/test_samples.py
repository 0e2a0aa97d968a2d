"""Every reader of the host branch does on its samples what it says."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import facts_adapters.host
from engine.facts.model import SUBJECT_FIELDS, CounterSample, Observation, Scalar
from facts_adapters.adapter import Adapter, Sample
from facts_adapters.reader import read_bundle
from facts_adapters.text.blocks import BlockReader


def readers() -> Iterator[Adapter | BlockReader]:
    for module in pkgutil.iter_modules(facts_adapters.host.__path__):
        if module.name.startswith("_"):
            continue
        found = importlib.import_module(f"facts_adapters.host.{module.name}")
        yield from (value for name, value in sorted(vars(found).items()) if name in ("ADAPTER", "BLOCK"))
        for name in ("ADAPTERS", "BLOCKS"):
            yield from getattr(found, name, ())


def value_of(observation: Observation, name: str) -> Scalar | None:
    if name in SUBJECT_FIELDS:
        value: Scalar | None = getattr(observation, name)
        return value
    return observation.fields.get(name)


def fits(observation: Observation, kind: str, fields: Mapping[str, Scalar]) -> bool:
    return observation.kind == kind and all(value_of(observation, name) == value for name, value in fields.items())


CASES = [
    pytest.param(reader, sample, id=f"{reader.name}-{index}")
    for reader in readers()
    for index, sample in enumerate(reader.samples)
]


@pytest.mark.parametrize(("reader", "sample"), CASES)
def test_sample(reader: Adapter | BlockReader, sample: Sample, tmp_path: Path) -> None:
    path = tmp_path / sample.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(sample.text, encoding="utf-8")
    found = [o for o in read_bundle(tmp_path).readings if o.adapter == reader.name]
    assert not any(isinstance(record, CounterSample) for record in found)
    observations = [o for o in found if isinstance(o, Observation)]
    shown = [(o.kind, o.fields, o.host, o.rank) for o in observations]
    if not sample.expect:
        assert not observations, shown
    for kind, fields in sample.expect:
        assert any(fits(o, kind, fields) for o in observations), (kind, dict(fields), shown)
    assert {o.kind for o in observations} <= set(reader.emits), shown


def test_every_reader_has_a_near_miss() -> None:
    lacking = [reader.name for reader in readers() if all(sample.expect for sample in reader.samples)]
    assert not lacking
