"""Of lines that repeat as long as all is well only a few are read, and those tell all."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from itertools import pairwise

import pytest

from engine.facts.episodes import EPISODE_GAP
from engine.facts.model import Observation
from engine.facts.vocabulary import FieldSpec, KindSpec, Vocabulary
from facts_adapters.text import content, ticking
from facts_adapters.text.blocks import Block, BlockReader
from facts_adapters.text.matchers import hyperscan_version
from facts_adapters.text.reader import TextReader
from facts_adapters.text.result import TextResult
from facts_adapters.text.signatures import SignatureSet, load_signatures
from tests.adapters.text.conftest import Notes

START = datetime(2026, 5, 1, tzinfo=timezone.utc)
VOCABULARY = Vocabulary(
    {
        "job.step": KindSpec("job.step", "job", "activity", "x", "x", {"step": FieldSpec("int")}, ticks=True),
        "job.lost": KindSpec("job.lost", "job", "fault", "x", "x", {"step": FieldSpec("int")}),
    }
)
SIGNATURES = """\
schema: 1
kind: signatures
source: toy
signatures:
  - id: step
    emits: job.step
    literals: ["done step "]
    pattern: 'done step (?P<step>\\d+)'
    samples: [{line: done step 3}]
    near_misses: ['done with step 3']
  - id: lost
    emits: job.lost
    literals: ["step"]
    pattern: 'lost at step (?P<step>\\d+)'
    samples: [{line: lost at step 3}]
    near_misses: ['found at step 3']
"""
Read = Callable[..., TextResult]


@pytest.fixture
def toy(load: Callable[[str], SignatureSet], tmp_path_factory: pytest.TempPathFactory) -> tuple[object, ...]:
    path = tmp_path_factory.mktemp("toy") / "toy.yaml"
    path.write_text(SIGNATURES, encoding="utf-8")
    return load_signatures([path], VOCABULARY).signatures


@pytest.fixture(params=["plain", "fast"])
def read(request: pytest.FixtureRequest, toy: tuple[object, ...], monkeypatch: pytest.MonkeyPatch) -> Read:
    fast = request.param == "fast"
    if fast and hyperscan_version() is None:
        pytest.skip("hyperscan is not installed")
    monkeypatch.setattr(content, "FIRST_PIECE", 1000)
    monkeypatch.setattr(content, "PIECE", 4000)

    def reader(text: str, *blocks: BlockReader) -> TextResult:
        made = TextReader(toy, blocks, VOCABULARY)  # type: ignore[arg-type]
        return made.read("f.log", text.encode(), Notes(), fast=fast)

    return reader


def stamp(seconds: float) -> str:
    return (START + timedelta(seconds=seconds)).strftime("%Y-%m-%d %H:%M:%S")


def steps(result: TextResult) -> list[Observation]:
    return [o for o in result.observations if o.kind == "job.step"]


def test_first_and_last_lines_of_many(read: Read) -> None:
    found = steps(read("".join(f"{stamp(i / 10)} done step {i}\n" for i in range(5000))))
    numbers = [o.fields["step"] for o in found]
    assert numbers == sorted(set(numbers), key=int)
    assert (numbers[0], numbers[-1]) == (0, 4999)
    assert len(numbers) < 100
    assert [o.source.line for o in found] == [int(n) + 1 for n in numbers]


def test_all_lines_of_few(read: Read) -> None:
    assert [o.fields["step"] for o in steps(read("".join(f"done step {i}\n" for i in range(20))))] == list(range(20))


@pytest.mark.parametrize("every", [1, 40])
def test_a_pause_is_found(read: Read, every: int) -> None:
    pause = 3 * EPISODE_GAP // 1_000_000
    times = [i * every + (pause if i >= 1234 else 0) for i in range(4000)]
    found = steps(read("".join(f"{stamp(at)} done step {i}\n" for i, at in enumerate(times))))
    numbers = [int(o.fields["step"]) for o in found]
    assert {1233, 1234} <= set(numbers)
    assert len(numbers) < 1000
    gaps = [b - a for a, b in pairwise(numbers)]
    assert max(gaps) * every <= EPISODE_GAP // 1_000_000, "nothing between two lines looks like a pause that is none"


@pytest.mark.parametrize("colour", ["", "\x1b[32m"])
def test_a_pause_of_one_of_several_writers_is_a_pause_and_no_other_is(read: Read, colour: str) -> None:
    lines = [
        f"[rank{rank}]: {colour}{stamp(60 * i + rank)} done step {i}\n"
        for i in range(400)
        for rank in range(6)
        if rank != 4 or not 150 <= i < 220
    ]
    result = read("".join(lines))
    gap = EPISODE_GAP // 60_000_000
    for rank in range(6):
        numbers = sorted(int(o.fields["step"]) for o in steps(result) if o.rank == rank)
        pauses = [(a, b) for a, b in pairwise(numbers) if b - a > gap]
        assert pauses == ([(149, 220)] if rank == 4 else [])
        assert (numbers[0], numbers[-1]) == (0, 399)
    assert len(steps(result)) < len(lines) // 2


@pytest.mark.parametrize("quiet_from", [100, 700, 1500, 1999])
def test_the_last_line_of_a_rank_that_fell_silent(read: Read, quiet_from: int) -> None:
    lines = [
        f"[rank{rank}]: {stamp(i)} done step {i}\n"
        for i in range(2000)
        for rank in range(8)
        if rank != 5 or i < quiet_from
    ]
    found = steps(read("".join(lines)))
    last = {rank: max(int(o.fields["step"]) for o in found if o.rank == rank) for rank in range(8)}
    assert last == {rank: 1999 if rank != 5 else quiet_from - 1 for rank in range(8)}


def test_lines_between_that_matter_are_read(read: Read) -> None:
    lines = [f"{stamp(i)} done step {i}\n" for i in range(3000)]
    lines[1700:1700] = ["lost at step 1700\n", "found at step 3\n"]
    result = read("".join(lines))
    (lost,) = (o for o in result.observations if o.kind == "job.lost")
    assert (lost.source.line, lost.fields["step"]) == (1701, 1700)
    assert lost.after is not None
    assert lost.until is not None
    assert lost.until.latest - lost.after.earliest <= 2_000_000


def test_a_progress_bar_on_one_endless_line(read: Read) -> None:
    found = steps(read("start\n" + "".join(f"done step {i}\r" for i in range(5000)) + "\nend\n"))
    numbers = [o.fields["step"] for o in found]
    assert (numbers[0], numbers[-1], numbers) == (0, 4999, sorted(numbers, key=int))
    assert {o.source.line for o in found} == {2}
    assert len(numbers) < 100


def bars(block: Block, _context: object) -> list[Observation]:
    ends = [block.lines[0], block.lines[-1]]
    return [Observation("job.step", block.source(line.number), {"step": int(line.text[1:])}) for line in ends]


BARS = BlockReader(
    "bars", ("#",), lambda m: m.startswith("#"), lambda _s, m: m.startswith("#"), bars, emits=("job.step",)
)


def test_blocks_that_tick(read: Read) -> None:
    found = steps(read("".join(f"#{i}\n" + "other\n" * (i % 7 == 0) for i in range(5000)), BARS))
    numbers = [int(o.fields["step"]) for o in found]
    assert (numbers[0], numbers[-1]) == (0, 4999)
    assert len(numbers) < 200


def test_the_search_has_an_end(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ticking, "MOST_LOOKS", 50)
    lines = [f"[rank{i % 60}]: {stamp(i * 4000)} done step {i}\n" for i in range(3000)]
    found = steps(read("".join(lines)))
    assert 0 < len(found) < 500
    assert all(o.sparse for o in found), "what was not read for want of time is no pause"
