"""A small vocabulary, signatures for it, and a context that keeps warnings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.facts.model import Reading
from engine.facts.vocabulary import FieldSpec, KindSpec, Vocabulary
from facts_adapters.text.blocks import BlockReader
from facts_adapters.text.reader import TextReader
from facts_adapters.text.result import TextResult
from facts_adapters.text.signatures import SignatureSet, load_signatures
from facts_adapters.text.stamps import reading


class Notes:
    """A context that only collects."""

    def __init__(self) -> None:
        self.warnings: list[tuple[str, int, str]] = []

    def warn(self, path: str, line: int, reason: str) -> None:
        self.warnings.append((path, line, reason))

    def reading(self, text: str) -> Reading | None:
        return reading(text)

    def snapshot_time(self, path: str) -> Reading | None:
        return None


def kind(name: str, **fields: FieldSpec) -> KindSpec:
    return KindSpec(name, name.partition(".")[0], "fault", "x", "x", fields)


VOCABULARY = Vocabulary(
    {
        "comm.lost": kind(
            "comm.lost",
            status=FieldSpec("int"),
            share=FieldSpec("float"),
            sure=FieldSpec("bool"),
            way=FieldSpec("str", ("send", "receive", "other")),
            text=FieldSpec("str"),
        ),
        "job.stopped": kind("job.stopped", signal=FieldSpec("int")),
    }
)

SIGNATURES = """\
schema: 1
kind: signatures
source: toy
signatures:
  - id: lost
    emits: comm.lost
    literals: ["lost peer"]
    pattern: 'lost peer (?P<peer>\\S+) status=(?P<status>\\d+)(?: (?P<req>Send|Recv))?(?: after (?P<waited>\\d+) ms)?'
    map: {way: {from: req, values: {Send: send, Recv: receive}, default: other}}
    lag_from: {group: waited, unit: ms}
    samples:
      - line: '[rank1]: lost peer 10.0.0.1 status=12 Recv'
        fields: {status: 12, peer: 10.0.0.1, way: receive, rank: 1}
    near_misses: ['found peer 10.0.0.1 status=12']
  - id: stopped
    emits: job.stopped
    literals: ["process stopped"]
    pattern: '^process stopped(?: at (?P<when>\\S+))?(?: pid (?P<pid>\\d+))?'
    set: {signal: 9}
    lag: {min_s: 0.5, max_s: 2}
    samples: [{line: process stopped, fields: {signal: 9}}]
    near_misses: ['the process stopped']
  - id: kernel-only
    emits: job.stopped
    literals: ["Killed it"]
    pattern: 'Killed it'
    only_in: [kernel]
    samples: [{line: '[12.345678] Killed it'}]
    near_misses: ['Killed it']
"""


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
def load(tmp_path: Path) -> Callable[[str], SignatureSet]:
    def loader(text: str) -> SignatureSet:
        path = tmp_path / "toy.yaml"
        path.write_text(text, encoding="utf-8")
        return load_signatures([path], VOCABULARY)

    return loader


@pytest.fixture
def signatures(load: Callable[[str], SignatureSet]) -> SignatureSet:
    found = load(SIGNATURES)
    assert not found.problems
    return found


@pytest.fixture
def read(signatures: SignatureSet, notes: Notes) -> Callable[..., TextResult]:
    def reader(text: str | bytes, *blocks: BlockReader, world: int | None = None) -> TextResult:
        data = text if isinstance(text, bytes) else text.encode()
        return TextReader(signatures.signatures, blocks).read("f.log", data, notes, world=world)

    return reader
