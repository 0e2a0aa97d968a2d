"""The scanner never misses a literal, whatever stands around it, and both matchers say the same."""

from __future__ import annotations

import io
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts_adapters.text import chunks as chunks_module
from facts_adapters.text import content as content_module
from facts_adapters.text.chunks import Chunk, Cutter, Lines
from facts_adapters.text.content import Text
from facts_adapters.text.matchers import Hyperscan, Plain, hyperscan_version, searchable, spellings
from facts_adapters.text.scan import Literals, Strip, holding, scan

texts = st.text(alphabet="abcXY 12:/[]é", min_size=1, max_size=14)
whole = st.text(alphabet='ab12 \r\n\x1b[m{"\\', max_size=200).map(str.encode)

needs_hyperscan = pytest.mark.skipif(hyperscan_version() is None, reason="hyperscan is not installed")


def in_chunks(data: bytes, piece: int) -> list[tuple[Chunk, bytes]]:
    return list(Cutter().chunks(data[i : i + piece] for i in range(0, len(data), piece)))


@given(st.lists(texts, min_size=1, max_size=12, unique=True), st.lists(st.tuples(texts, st.integers(0, 11), texts)))
def test_every_literal_is_found_and_no_other(literals: list[str], lines: list[tuple[str, int, str]]) -> None:
    encoded = [literal.encode() for literal in literals]
    plain = Plain(encoded)
    fast = Hyperscan(encoded) if hyperscan_version() else None
    for before, index, after in lines:
        line = (before + literals[index % len(literals)] + after).encode()
        expected = tuple(i for i, literal in enumerate(encoded) if literal in line)
        assert plain.present(line) == expected
        assert plain.present(line) == expected, "also from memory"
        assert fast is None or fast.present(line) == expected


@needs_hyperscan
@given(st.lists(texts, min_size=1, max_size=6, unique=True), st.binary(max_size=400))
def test_any_bytes(literals: list[str], data: bytes) -> None:
    encoded = [literal.encode() for literal in literals]
    assert Hyperscan(encoded).present(data) == Plain(encoded).present(data)


def test_escapes_and_the_quotes_of_json_do_not_hide_a_literal() -> None:
    literals = Literals([("No space left", 0), ('name "x"', 1), ("eth0<0>", 2)])
    lines = [
        b"No \x1b[31mspace\x1b[0m left",
        b'{"MESSAGE":"name \\"x\\""}',
        b'name "x"',
        b'{"log":"eth0\\u003c0\\u003e"}',
        b"eth0<0>",
    ]
    assert [(number, owners) for number, _, owners, _ in hits_of(b"\n".join(lines), literals)] == [
        (1, (0,)),
        (2, (1,)),
        (3, (1,)),
        (4, (2,)),
        (5, (2,)),
    ]


def hits_of(data: bytes, literals: Literals, piece: int = 1000) -> list[tuple[int, bytes, tuple[int, ...], int]]:
    return [
        (hit.number, hit.raw.strip(b"\r\n"), hit.owners, hit.place)
        for chunk, part in in_chunks(data, piece)
        for hit in literals.hits(chunk, part, range(len(literals.texts)))
    ]


@pytest.mark.parametrize("piece", [1, 3, 1000])
def test_numbers_and_places(piece: int) -> None:
    data = b"aa\nneedle1\r\nbar 1%\rneedle2\rbar 3%\n\nneedle3"
    assert hits_of(data, Literals([("needle", 7)]), piece) == [
        (2, b"needle1", (7,), 3),
        (3, b"needle2", (7,), 19),
        (5, b"needle3", (7,), 35),
    ]


@given(whole, st.integers(1, 40))
def test_chunks_are_the_text(data: bytes, piece: int) -> None:
    cut = in_chunks(data, piece)
    assert b"".join(part for _, part in cut) == data
    assert [data[chunk.start : chunk.end] for chunk, _ in cut] == [part for _, part in cut]
    number = 1
    for chunk, part in cut:
        assert chunk.number == number
        number += part.count(b"\n")


@given(whole)
def test_lines_are_those_of_the_text(data: bytes) -> None:
    expected = data.split(b"\n")
    if not expected[-1]:
        expected.pop()
    with Text.of(data) as text:
        found = scan(text, Plain([b"a"]))
        lines = Lines(text, found.chunks, found.lines)
        assert len(lines) == len(expected)
        assert [lines.raw(n) for n in range(1, len(lines) + 1)] == [line.rstrip(b"\r") for line in expected]


@given(whole, st.integers(1, 40), st.lists(st.sampled_from(["a", "b1", '"', "ab", "2 "]), min_size=1, unique=True))
def test_the_same_lines_however_the_text_is_cut(data: bytes, piece: int, wanted: list[str]) -> None:
    literals = Literals((text, index) for index, text in enumerate(wanted))
    found = hits_of(data, literals, piece)
    assert found == hits_of(data, literals)
    expected = [
        line
        for line in re.split(rb"[\r\n]", data)
        if any(spelt in searchable(line) for text in wanted for spelt in spellings(text))
    ]
    assert [raw for _, raw, _, _ in found] == expected
    pieces = (data[i : i + piece] for i in range(0, len(data), piece))
    assert [hit.number for hit in holding(pieces, [t.encode() for t in wanted])] == [number for number, *_ in found]


@given(whole, st.sampled_from(["a", "b1", '"']))
def test_lines_found_from_any_place(data: bytes, literal: str) -> None:
    literals = Literals([(literal, 0)])
    chunk = Chunk(0, len(data), 1)
    expected = [(hit.number, hit.place, hit.raw.rstrip(b"\r")) for hit in literals.hits(chunk, data, [0])]
    strip = Strip(chunk, data, literals.texts, 0)
    forward, place = [], 0
    while found := strip.after(place):
        forward.append((found[2].number, found[2].place, found[2].raw))
        place = found[1]
    backward, place = [], strip.end
    while found := strip.before(place):
        backward.append((found[2].number, found[2].place, found[2].raw))
        place = found[0]
    assert forward == expected
    assert backward[::-1] == expected


def test_one_endless_line_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks_module, "LONGEST_CHUNK", 300)
    monkeypatch.setattr(chunks_module, "LONGEST_LINE", 50)
    data = b"first\n" + b"x" * 1000 + b"needle\r99 needle\nneedle\n" + b"y" * 2000
    literals = Literals([("needle", 0)])
    assert [(number, raw) for number, raw, _, _ in hits_of(data, literals, 40)] == [(2, b"99 needle"), (3, b"needle")]
    cut = in_chunks(data, 40)
    assert [chunk.number for chunk, _ in cut if chunk.cut] == [2, 4]
    assert max(len(part) for _, part in cut) <= 340


def test_what_does_not_fit_into_memory_is_kept_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content_module, "IN_MEMORY", 1000)
    monkeypatch.setattr(content_module, "PIECE", 300)
    data = b"\xef\xbb\xbf" + bytes(range(256)) * 20
    with Text(io.BytesIO(data)) as text:
        assert b"".join(text.pieces()) == data[3:]
        assert text.size == len(data) - 3
        for start, end in ((0, 10), (990, 1010), (5000, 5117), (5110, 6000)):
            assert text.read(start, end) == data[3:][start:end]


def test_lines_with_colours_keep_their_numbers_and_places() -> None:
    lines = [b"\x1b[3%dm%s\x1b[0m" % (i % 8, b"key" if i % 3 else b"no") + b"." * (i % 5) for i in range(300)]
    data = b"\n".join(lines)
    starts = [sum(len(line) + 1 for line in lines[:i]) for i in range(300)]
    expected = [(i + 1, lines[i], starts[i]) for i in range(300) if i % 3]
    hits = Literals([("key", 0)]).hits(Chunk(0, len(data), 1), data, [0])
    assert [(hit.number, hit.raw, hit.place) for hit in hits] == expected


def test_a_chunk_full_of_coloured_lines_costs_what_its_length_costs() -> None:
    def seconds(count: int) -> float:
        data = b"\x1b[1mkey\x1b[0m\n" * count
        start = time.process_time()
        assert sum(1 for _ in Literals([("key", 0)]).hits(Chunk(0, len(data), 1), data, [0])) == count
        return time.process_time() - start

    seconds(100)
    assert seconds(20_000) < 12 * max(seconds(4_000), 0.005)
