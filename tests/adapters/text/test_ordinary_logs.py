"""Of ordinary training output hardly a line is read: a signature that looks at every step costs everybody's time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks import mixed_logs
from facts_adapters.reader import builtin_reader
from facts_adapters.text.matchers import hyperscan_version
from facts_adapters.text.one_text import OneText
from facts_adapters.text.result import Pending
from facts_adapters.text.scan import Hit
from tests.adapters.text.conftest import Notes


@pytest.mark.skipif(hyperscan_version() is None, reason="hyperscan is not installed")
def test_few_lines_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = mixed_logs.write(tmp_path / "train.log", 6_000_000)
    read: Counter[str] = Counter()
    hit = OneText.hit

    def counted(self: OneText, found: Hit, owners: Sequence[int], index: int = -1) -> list[Pending]:
        read.update(self.reader.name(owner) for owner in owners if owner < self.reader.tells)
        return hit(self, found, owners, index)

    monkeypatch.setattr(OneText, "hit", counted)
    result = builtin_reader().read("train.log", (tmp_path / "train.log").read_bytes(), Notes(), fast=True)
    assert result.lines == lines
    assert "job.gpu_out_of_memory" in {observation.kind for observation in result.observations}
    assert lines > 50_000
    often = {name: count for name, count in read.items() if count > lines // 25}
    assert not often, "their patterns fit no line of these, and still they are tried on each"
