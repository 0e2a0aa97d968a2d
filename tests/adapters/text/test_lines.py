"""Bytes become logical lines whatever they are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from facts_adapters.text.lines import LONGEST_LINE, is_text, logical_lines, split, wide_encoding


def numbered(raw: bytes) -> list[tuple[int, str]]:
    return [(line.number, line.text) for line in logical_lines(iter(raw.splitlines(keepends=True)))]


def test_line_ends() -> None:
    assert numbered(b"a\nb\r\nc") == [(1, "a"), (2, "b"), (3, "c")]


def test_progress_bars_keep_the_number() -> None:
    raw = [b"0%\r50%\r100%\n", b"next\n"]
    assert [(line.number, line.text) for line in logical_lines(iter(raw))] == [
        (1, "0%"),
        (1, "50%"),
        (1, "100%"),
        (2, "next"),
    ]


def test_escapes_and_bad_bytes() -> None:
    assert split(b"\x1b[1;31mERROR\x1b[0m \xff\x00end") == ["ERROR \ufffdend"]
    assert split(b"\x1b]0;title\x07text") == ["text"]


def test_long_lines_are_cut() -> None:
    assert len(split(b"x" * (LONGEST_LINE * 3))[0]) == LONGEST_LINE


def test_text_and_binary() -> None:
    assert is_text(b"plain text\n")
    assert is_text("日本語のログ\n".encode())
    assert is_text(b"line\n" * 50 + b"\x00" * 40 + b"line\n" * 50), "a crash leaves blocks of NUL"
    assert is_text("wide".encode("utf-16"))
    assert not is_text(b"")
    assert not is_text(bytes(range(256)) * 8)
    assert not is_text(b"\x80\x02}q\x00(X\x07\x00\x00\x00entries" * 30)


def test_wide_encodings() -> None:
    assert wide_encoding("a".encode("utf-16")) == "utf-16-le"
    assert wide_encoding(b"\xef\xbb\xbfa") is None


@given(st.binary(max_size=300))
def test_any_bytes(raw: bytes) -> None:
    for line in logical_lines(iter(raw.split(b"\n"))):
        assert "\n" not in line.text
    is_text(raw)
