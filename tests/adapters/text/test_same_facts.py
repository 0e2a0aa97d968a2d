"""With Hyperscan and without it every text of this project gives the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from facts_adapters.discovery import registry
from facts_adapters.reader import builtin_reader
from facts_adapters.text import content, matchers
from facts_adapters.text.result import TextResult
from tests.adapters.text.conftest import Notes

ROOT = Path(__file__).resolve().parents[3]

pytestmark = pytest.mark.skipif(matchers.hyperscan_version() is None, reason="hyperscan is not installed")


def texts() -> Iterator[tuple[str, bytes]]:
    of_readers = [sample for adapter in registry().adapters for sample in adapter.samples]
    for sample in (*of_readers, *(sample for block in registry().blocks for sample in block.samples)):
        yield sample.path, sample.text.encode()
    for signature in builtin_reader().signatures:
        for line in (*(sample.line for sample in signature.samples), *signature.near_misses):
            yield "signature.log", line.encode()
    for folder in ("examples", "tests/incidents/bundles", "benchmarks/ordinary_noise"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file():
                yield str(path), path.read_bytes()


def outcome(path: str, data: bytes, fast: bool) -> tuple[object, ...]:
    notes = Notes()
    result: TextResult = builtin_reader().read(path, data, notes, fast=fast)
    return result, notes.warnings


def test_every_input_of_the_tests() -> None:
    every = list(texts())
    assert len(every) > 1500
    for path, data in every:
        assert outcome(path, data, True) == outcome(path, data, False), path


@pytest.mark.parametrize("piece", [700, 5000])
def test_all_of_them_as_one_long_text(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "FIRST_PIECE", piece)
    monkeypatch.setattr(content, "PIECE", piece)
    data = b"\n".join(data for _, data in texts() if b"\0" not in data and len(data) < 100_000)
    found, plain = outcome("all.log", data * 2, True), outcome("all.log", data * 2, False)
    assert found == plain
    result = found[0]
    assert isinstance(result, TextResult)
    assert len(result.observations) > 1000
