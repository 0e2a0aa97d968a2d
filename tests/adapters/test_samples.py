"""Every reader of every branch does on its samples what it says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Adapter, Record, Sample
from facts_adapters.discovery import registry
from facts_adapters.reader import read_bundle
from facts_adapters.text.blocks import BlockReader
from facts_adapters.trial import kind_of

READERS: tuple[Adapter | BlockReader, ...] = (*registry().adapters, *registry().blocks)


def value_of(record: Record, name: str) -> Scalar | None:
    value: Scalar | None = getattr(record, name, None)
    if value is None and isinstance(record, Observation):
        return record.fields.get(name)
    return value


def fits(record: Record, kind: str, fields: Mapping[str, Scalar]) -> bool:
    return kind_of(record) == kind and all(value_of(record, name) == value for name, value in fields.items())


CASES = [
    pytest.param(reader, sample, id=f"{reader.name}-{index}")
    for reader in READERS
    for index, sample in enumerate(reader.samples)
]


@pytest.mark.parametrize(("reader", "sample"), CASES)
def test_sample(reader: Adapter | BlockReader, sample: Sample, tmp_path: Path) -> None:
    path = tmp_path / sample.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(sample.text, encoding="utf-8")
    result = read_bundle(tmp_path)
    found = [record for record in result.readings if record.adapter == reader.name]
    if not sample.expect:
        assert not found
    for kind, fields in sample.expect:
        assert any(fits(record, kind, fields) for record in found), (kind, dict(fields), found)
    assert {record.kind for record in found if isinstance(record, Observation)} <= set(reader.emits), found


def test_every_reader_has_a_match_and_a_near_miss() -> None:
    assert not [reader.name for reader in READERS if all(sample.expect for sample in reader.samples)]
    assert not [reader.name for reader in READERS if not any(sample.expect for sample in reader.samples)]


def test_there_are_readers_of_every_branch() -> None:
    assert {reader.branch for reader in READERS if isinstance(reader, Adapter)} == {
        "job",
        "comm",
        "host",
        "nic",
        "switch",
    }
