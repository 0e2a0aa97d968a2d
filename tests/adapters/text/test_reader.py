"""Lines of a text file become observations with the time, host and rank that can be told."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Context
from facts_adapters.text import one_text
from facts_adapters.text.blocks import Block, BlockReader, exceptions, traceback_begins, traceback_continues
from facts_adapters.text.content import Text
from facts_adapters.text.match import LONGEST_SEARCH, segments
from facts_adapters.text.reader import TextReader
from facts_adapters.text.result import TextResult
from facts_adapters.text.stamps import reading

Read = Callable[..., TextResult]


def facts(result: TextResult) -> list[tuple[Any, ...]]:
    return [(o.kind, o.source.line, o.rank, o.fields.get("status")) for o in result.observations]


def test_fields_and_subject(read: Read) -> None:
    (found,) = read("[rank3]: lost peer 10.0.0.7 status=12 Send after 1500 ms\n").observations
    assert found.kind == "comm.lost"
    assert (found.rank, found.peer, found.lag) == (3, "10.0.0.7", (1_500_000, 1_500_000))
    assert found.fields == {"status": 12, "way": "send"}
    assert found.adapter == "toy/lost"
    assert found.source.text == "[rank3]: lost peer 10.0.0.7 status=12 Send after 1500 ms"


def test_a_fixed_lag_and_an_anchored_pattern(read: Read) -> None:
    (found,) = read("2026-01-01 10:00:00,000 process stopped\nthe process stopped\n").observations
    assert found.lag == (500_000, 2_000_000)
    assert found.source.line == 1


def test_only_in_an_envelope(read: Read) -> None:
    assert [o.source.line for o in read("Killed it\n[12.345678] Killed it\n").observations] == [2]


def test_a_stamp_in_the_message_replaces_the_lines_own(read: Read) -> None:
    (found,) = read("2026-01-01 10:00:00 process stopped at 2026-01-01T09:59:58Z\n").observations
    assert found.when == reading("2026-01-01T09:59:58Z")


def test_neighbours_give_the_time(read: Read) -> None:
    text = (
        "2026-01-01 10:00:00 start\n"
        "noise\n"
        "lost peer a status=1\n"
        "lost peer b status=2\n"
        "2026-01-01 10:00:09 next\n"
        "lost peer c status=3\n"
    )
    first, second, third = read(text).observations
    for found in (first, second):
        assert found.when is None
        assert (found.after, found.until) == (reading("2026-01-01 10:00:00"), reading("2026-01-01 10:00:09"))
    assert (third.after, third.until) == (reading("2026-01-01 10:00:09"), None)


def test_no_stamp_anywhere(read: Read) -> None:
    result = read("a\nlost peer x status=5\nb\n")
    (found,) = result.observations
    assert (found.when, found.after, found.until) == (None, None, None)
    assert (result.first, result.last, result.lines) == (None, None, 3)


def test_first_and_last_stamp(read: Read) -> None:
    result = read("x\n2026-01-01 10:00:00 a\nb\n2026-01-01 11:00:00 c\nd\n")
    assert (result.first, result.last) == (reading("2026-01-01 10:00:00"), reading("2026-01-01 11:00:00"))


def test_several_messages_in_a_line(read: Read) -> None:
    line = (
        "progress 10%|#  | 1/10 [00:01<00:09][rank2]:[E101 10:00:00.123456789 F.cpp:1] lost peer x status=1"
        "[rank3]:[E101 10:00:07.123456789 F.cpp:1] lost peer y status=2\n"
    )
    first, second = read(line).observations
    assert (first.rank, first.peer, second.rank, second.peer) == (2, "x", 3, "y")
    assert first.when is not None
    assert second.when is not None
    assert second.when.earliest - first.when.earliest == 7_000_000


def test_the_same_message_twice_in_a_line_counts_once(read: Read) -> None:
    assert len(read("lost peer x status=1 and lost peer x status=1 and lost peer y status=1").observations) == 2


def test_carriage_returns(read: Read) -> None:
    assert facts(read("a\r 5%\rlost peer x status=1\r 6%\nlost peer y status=2\r\n")) == [
        ("comm.lost", 1, None, 1),
        ("comm.lost", 2, None, 2),
    ]


def test_torn_prefix(read: Read) -> None:
    assert facts(read("nk4]:[E101 10:00:00.1234567 F.cpp:12] lost peer x status=1")) == [("comm.lost", 1, None, 1)]


def test_ranks_of_processes(read: Read) -> None:
    text = (
        "n1:100:200 [0] NCCL INFO comm 0x1 rank 8 nranks 16 cudaDev 0 busId 1 - Init START\n"
        "n1:101:201 [1] NCCL INFO comm 0x2 rank 9 nranks 16 cudaDev 1 busId 2 - Init START\n"
        "n1:101:201 [1] NCCL INFO comm 0x3 rank 0 nranks 2 cudaDev 1 busId 2 - Init START\n"
        "n1:101:209 [1] x.cc:1 NCCL WARN lost peer x status=1\n"
        "n1:555:209 [1] x.cc:1 NCCL WARN lost peer x status=2\n"
    )
    result = read(text)
    assert [o.rank for o in result.observations] == [9, None]
    assert result.writers == ["n1", "n1"]


def test_ranks_of_local_ranks(read: Read) -> None:
    text = "[default0]:rank 8/16 local_rank 0 host n1 pid 77\n[default3]:lost peer x status=1\n"
    (found,) = read(text).observations
    assert found.rank == 11


def test_task_numbers_that_are_ranks_and_that_are_not(read: Read) -> None:
    labelled = "".join(f"{task}: [rank{task}]: hello\n" for task in range(4)) + "2: lost peer x status=1\n"
    assert read(labelled).observations[0].rank == 2
    per_node = (
        "Job 7 on n[01-02] started\n"
        + "".join(f"{rank // 4}: GLOBAL_RANK: {rank}, MEMBER: {rank + 1}/8\n" for rank in range(8))
        + "1: lost peer x status=1\n1: [rank6]: lost peer y status=1\n"
    )
    result = read(per_node)
    assert [o.rank for o in result.observations] == [None, 6]
    assert result.writers == ["n02", "n02"]
    assert read("0: a\n1: lost peer x status=1\n", world=2).observations[0].rank == 1


def test_equal_hits_are_folded(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_text, "MOST_EQUAL", 10)
    result = read("".join(f"{i}\nlost peer x status=1\n" for i in range(100)))
    assert [o.source.line for o in result.observations] == [*range(2, 22, 2), 200]
    assert result.folded["toy/lost"] == 89
    assert len(result.writers) == len(result.observations)


def test_very_frequent_hits_are_not_all_read(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_text, "MOST_OF_SIGNATURE", 10)
    monkeypatch.setattr(one_text, "LAST_LINES", 3)
    result = read("".join(f"lost peer p{i} status=1\n" for i in range(100)))
    assert [o.source.line for o in result.observations] == [*range(1, 11), 98, 99, 100]
    assert result.folded["toy/lost"] == 87


def classify(block: Block, context: Context) -> Iterable[Observation]:
    for error in exceptions(block):
        text = f"{error.name}|{error.message}|{error.chained}"
        fields: dict[str, Scalar] = {"text": text, "status": len(error.frames)}
        yield Observation("comm.lost", block.source(error.line), fields, rank=block.rank)


TRACEBACKS = BlockReader("tb", ("Traceback (most recent call last):",), traceback_begins, traceback_continues, classify)


def test_interleaved_tracebacks(read: Read) -> None:
    text = """\
2026-01-01 10:00:00 INFO start
[rank0]: Traceback (most recent call last):
[rank1]: Traceback (most recent call last):
[rank0]:   File "a.py", line 1, in main
[rank1]:   File "b.py", line 2, in main
[rank0]:     f()
[rank1]:     g()
[rank1]: RuntimeError: boom
[rank0]: torch.OutOfMemoryError: CUDA out of memory.
[rank0]: more of it
2026-01-01 10:00:05 INFO next
"""
    found = read(text, TRACEBACKS).observations
    assert [(o.rank, o.source.line, o.fields["text"], o.fields["status"]) for o in found] == [
        (0, 9, "torch.OutOfMemoryError|CUDA out of memory.|False", 1),
        (1, 8, "RuntimeError|boom|False", 1),
    ]
    assert found[0].after == reading("2026-01-01 10:00:00")
    assert found[0].until == reading("2026-01-01 10:00:05")


def test_prefixes_of_interleaved_blocks_are_opened_once(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def counted(text: str, profile: Any) -> list[Any]:
        opened.append(text)
        return segments(text, profile)

    monkeypatch.setattr(one_text, "segments", counted)
    frames = ["Traceback (most recent call last):", *(f'  File "a.py", line {i}, in f' for i in range(20)), "E: x"]
    text = "\n".join(f"[rank{rank}]: {frame}" for frame in frames for rank in range(50))
    tracebacks = BlockReader("tb", ("Traceback",), traceback_begins, traceback_continues, _last_exception)
    assert len(read(text, tracebacks).observations) == 50
    assert len(opened) < 2 * len(frames) * 50


def _last_exception(block: Block, context: Context) -> Iterable[Observation]:
    yield Observation("comm.lost", block.source(exceptions(block)[-1].line))


def test_chained_exceptions(read: Read) -> None:
    text = """\
Traceback (most recent call last):
  File "a.py", line 1, in read
    x = next(it)
OSError: [Errno 5] Input/output error

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "a.py", line 9, in main
    raise ValueError("bad") from None
ValueError: bad
second line: of the message
done
"""
    found = read(text, TRACEBACKS).observations
    assert [(o.source.line, o.fields["text"]) for o in found] == [
        (4, "OSError|[Errno 5] Input/output error|True"),
        (11, "ValueError|bad|False"),
    ]


def test_a_faulty_block_reader_is_a_warning(read: Read, notes: Any) -> None:
    def fail(block: Block, context: Context) -> Sequence[Observation]:
        raise KeyError("x")

    faulty = BlockReader("faulty", ("Traceback",), traceback_begins, traceback_continues, fail)
    result = read("Traceback (most recent call last):\n  File\nE: x\nlost peer x status=1\n", faulty)
    assert len(result.observations) == 1
    assert "faulty" in notes.warnings[0][2]


def test_json_lines(read: Read) -> None:
    line = '{"__REALTIME_TIMESTAMP":"1718187742000123","_HOSTNAME":"n1","MESSAGE":"lost peer \\"x\\" status=4"}\n'
    result = read(line)
    (found,) = result.observations
    assert found.fields["status"] == 4
    assert found.when is not None
    assert found.when.earliest == 1718187742000123
    assert result.writers == ["n1"]


def test_a_long_line(read: Read) -> None:
    text = "x" * 30_000 + " lost peer y status=3 " + "z" * 20_000 + "\nlost peer z status=4\n"
    assert [status for *_, status in facts(read(text))] == [3, 4]


def test_a_message_beyond_the_first_literal_of_a_long_line(read: Read) -> None:
    filler = "lost peer nobody, " + "x" * (LONGEST_SEARCH - 700) + " "
    (found,) = read(filler + "lost peer 10.0.0.7 status=12 Send\n").observations
    assert found.fields == {"status": 12, "way": "send"}


def test_the_middle_of_a_long_line_is_not_its_beginning(read: Read) -> None:
    assert not read("x" * 30_000 + "process stopped\n").observations
    for before in range(LONGEST_SEARCH - 20, LONGEST_SEARCH + 20):
        assert not read("x" * before + "process stopped" + "x" * 9_000 + "\n").observations
    assert len(read("process stopped " + "x" * 30_000 + "\n").observations) == 1


def test_that_a_line_is_cut_is_told_whatever_was_read_before(
    signatures: Any, notes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(one_text, "_OFTEN_TRIED", 2)
    reader = TextReader(signatures.signatures)
    long = ("a lost peer nobody" + "x" * 70_000 + "\n").encode()
    assert reader.read("a.log", long, notes).cut == 1
    reader.read("b.log", b"lost peer nobody\n" * 10, notes)
    assert reader.quick(False).owners
    assert reader.read("a.log", long, notes).cut == 1


def test_a_file_that_becomes_shorter_is_told(signatures: Any, notes: Any, tmp_path: Path) -> None:
    path = tmp_path / "f.log"
    path.write_bytes(b"lost peer 10.0.0.7 status=12\n" * 100)
    stream = path.open("rb")

    class Cut(Text):
        def pieces(self) -> Iterator[bytes]:
            yield from super().pieces()
            os.truncate(path, 70)

    found = TextReader(signatures.signatures).read("f.log", Cut(stream, stream.fileno()), notes)
    assert len(found.observations) == 2
    assert [(line, reason.partition(";")[0]) for _, line, reason in notes.warnings] == [
        (1, "the file became shorter while it was read")
    ]


def test_growing_cost_is_linear(read: Read) -> None:
    text = "lost peer " * 6_000 + "\n" + "[" * 60_000 + "\n" + "1:" * 30_000 + "\n" + "a.b-" * 15_000 + ": x\n"
    read(text)


PIECES = """\
lost peer |x status=1|[rank1]:|[E101 10:00:00.123456789 F.cpp:1] |process stopped|2026-01-01 10:00:00 |  File \
|Traceback (most recent call last):|n1:1:2 [0] NCCL WARN |é|{|GLOBAL_RANK: 3, MEMBER: 4/8| rank 1 nranks 2|3: \
|global_ranks=[1, ,|NODELIST=n[1-|[default1]:"""
pieces = st.sampled_from([*PIECES.split("|"), "\r", "\n", "\0", "\x1b[31m"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(pieces, max_size=40).map("".join) | st.text(max_size=300))
def test_any_text(read: Read, text: str) -> None:
    result = read(text, TRACEBACKS)
    assert len(result.observations) == len(result.writers)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=500))
def test_any_bytes(read: Read, data: bytes) -> None:
    read(data, TRACEBACKS)
