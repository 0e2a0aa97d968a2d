r"""Bytes to numbered logical lines.

A line ends at ``\n``; inside it ``\r`` (progress bars) starts another logical line of the same number. Escape
sequences of terminals are removed, undecodable bytes replaced, over-long lines cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from facts_adapters.adapter import Line

LONGEST_LINE = 64 * 1024
"""Bytes of a line that are looked at; the rest is cut."""

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[@-Z\\-_])")


def plain(text: str) -> str:
    """The text without terminal escape sequences and NUL bytes."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    return text.replace("\x00", "") if "\x00" in text else text


def decode(raw: bytes) -> str:
    """One raw line as text: UTF-8 with undecodable bytes replaced, escapes removed."""
    return plain(raw.decode("utf-8", "replace"))


def split(raw: bytes) -> list[str]:
    """The logical lines inside one raw line (without its end), empty ones between carriage returns left out."""
    if len(raw) > LONGEST_LINE:
        raw = raw[:LONGEST_LINE]
    text = decode(raw)
    if "\r" not in text:
        return [text]
    parts = [part for part in text.split("\r") if part]
    return parts or [""]


def bounded_lines(stream: BinaryIO) -> Iterator[bytes]:
    """The raw lines of a stream; of one that is very long the beginning, so that no line fills the memory."""
    while raw := stream.readline(16 * LONGEST_LINE):
        rest = raw
        while not rest.endswith(b"\n"):
            rest = stream.readline(16 * LONGEST_LINE)
            if not rest:
                break
        yield raw


def logical_lines(raw_lines: Iterator[bytes]) -> Iterator[Line]:
    """Number and split raw lines (each with or without its line end)."""
    for number, raw in enumerate(raw_lines, start=1):
        for text in split(raw.rstrip(b"\n")):
            yield Line(number, text)


_BOMS = (
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)


def wide_encoding(head: bytes) -> str | None:
    """The encoding that a byte order mark announces where it is not UTF-8 (logs saved by Windows tools)."""
    return next((name for mark, name in _BOMS if head.startswith(mark)), None)


def is_text(head: bytes) -> bool:
    """Whether a file's first bytes look like text: hardly any control or undecodable bytes.

    A few NUL bytes are allowed: a crashed host leaves blocks of them in its logs.
    """
    if not head:
        return False
    if wide_encoding(head):
        return True
    sample = head[:16_384]
    odd = sum(sample.count(byte) for byte in _CONTROL)
    zeros = sample.count(0)
    if odd > len(sample) // 50 or (zeros and (zeros > len(sample) // 4 or sample.count(b"\n") < 2)):
        return False
    bad = sample[:-4].decode("utf-8", "replace").count("\ufffd")
    return bad <= len(sample) // 5


_CONTROL = tuple(bytes([code]) for code in range(1, 32) if code not in (7, 8, 9, 10, 12, 13, 27))
