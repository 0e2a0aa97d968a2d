"""Well-formed input of the job branch gives no warning."""

from __future__ import annotations

from pathlib import Path

import pytest

from facts_adapters.adapter import Adapter, Sample
from facts_adapters.discovery import registry
from facts_adapters.reader import read_bundle
from facts_adapters.text.blocks import BlockReader

READERS: tuple[Adapter | BlockReader, ...] = (*registry().adapters, *registry().blocks)
CASES = [
    pytest.param(sample, id=f"{reader.name}-{index}")
    for reader in READERS
    if reader.read.__module__.startswith("facts_adapters.job.")
    for index, sample in enumerate(reader.samples)
    if sample.expect
]


def test_the_branch_has_samples() -> None:
    assert len(CASES) > 70


@pytest.mark.parametrize("sample", CASES)
def test_no_warning(sample: Sample, tmp_path: Path) -> None:
    path = tmp_path / sample.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(sample.text, encoding="utf-8")
    assert not read_bundle(tmp_path).warnings
