"""One file of a bundle as adapters and the text reader see it."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from facts_adapters.adapter import Head, Line
from facts_adapters.archives import Member
from facts_adapters.bundle import Bundle
from facts_adapters.parts import Part
from facts_adapters.result import FileReport
from facts_adapters.streams import descriptor
from facts_adapters.text.content import PIECE, Text
from facts_adapters.text.lines import bounded_lines, decode, logical_lines, wide_encoding
from facts_adapters.text.scan import holding

HEAD_LINES = 400
HEAD_LINE = 1_000
"""Lines of a head, and characters of one, that adapters see."""


def decode_head(raw: bytes) -> str:
    """The beginning of a file as text."""
    wide = wide_encoding(raw)
    return raw.decode(wide, "replace").lstrip("\ufeff") if wide else decode(raw).lstrip("\ufeff")


def head_of(path: str, text: str, *, binary: bool = False) -> Head:
    """The head that adapters look at: the first lines, cut where they are long, and of a binary file none.

    So a look line by line stays cheap, whatever the bytes are.
    """
    lines = () if binary else text.splitlines()[:HEAD_LINES]
    return Head(path, text, tuple(line[:HEAD_LINE] for line in lines))


LONGEST_WIDE = 256 << 20
"""Bytes of a text in UTF-16 or UTF-32 that are read; such texts are read whole."""


def text_of(bundle: Bundle, member: Member) -> Text:
    """The text of a member; it is in UTF-8, whatever encoding a mark at its beginning announces."""
    stream = bundle.open(member)
    wide = wide_encoding(stream.peek(4)[:4])
    if wide is None:
        return Text(stream, descriptor(stream))
    with stream:
        return Text.of(stream.read(LONGEST_WIDE).decode(wide, "replace").lstrip("\ufeff").encode())


def first_bytes(bundle: Bundle, member: Member, most: int) -> bytes:
    """The text of a member up to ``most`` bytes, in UTF-8 and without a mark; more where there are more."""
    with text_of(bundle, member) as text:
        found = b""
        for piece in text.pieces():
            found += piece
            if len(found) > most:
                break
        return found


@dataclass(frozen=True, slots=True)
class BundleFile:
    """A file given to a whole-file adapter."""

    bundle: Bundle
    member: Member
    report: FileReport

    @property
    def path(self) -> str:
        """Path relative to the bundle."""
        return self.member.path

    @property
    def host(self) -> str | None:
        """Host that manifest, path or lines name."""
        return self.report.host.value if self.report.host else None

    @property
    def rank(self) -> int | None:
        """Rank that manifest, path or lines name."""
        return int(self.report.rank.value) if self.report.rank else None

    @property
    def group(self) -> str:
        """Snapshot label."""
        return self.report.group

    def open(self) -> BinaryIO:
        """The decompressed bytes from the start."""
        return self.bundle.open(self.member)

    def lines(self) -> Iterator[Line]:
        """The logical lines."""
        with self.open() as stream:
            yield from logical_lines(bounded_lines(stream))

    def holding(self, *literals: str) -> Iterator[Line]:
        """The logical lines that hold one of a few texts."""
        with self.open() as stream:
            yield from _holding(stream, literals)


@dataclass(frozen=True, slots=True)
class PartFile:
    """A part of a pasted file given to a whole-file adapter, as if it were a file; its lines are numbered from 1."""

    file: BundleFile
    part: Part

    @property
    def path(self) -> str:
        """Path of the file, or the one that the part is titled with."""
        return self.part.path(self.file.path)

    @property
    def host(self) -> str | None:
        """Host that manifest, path or lines name."""
        return self.file.host

    @property
    def rank(self) -> int | None:
        """Rank that manifest, path or lines name."""
        return self.file.rank

    @property
    def group(self) -> str:
        """Snapshot label."""
        return self.file.group

    def open(self) -> BinaryIO:
        """The part's bytes without what stands before every line."""
        return io.BytesIO(self.part.inner)

    def lines(self) -> Iterator[Line]:
        """The logical lines."""
        with self.open() as stream:
            yield from logical_lines(bounded_lines(stream))

    def holding(self, *literals: str) -> Iterator[Line]:
        """The logical lines that hold one of a few texts."""
        with self.open() as stream:
            yield from _holding(stream, literals)


def _holding(stream: BinaryIO, literals: Sequence[str]) -> Iterator[Line]:
    pieces = iter(lambda: stream.read(PIECE), b"")
    for hit in holding(pieces, [literal.encode() for literal in literals]):
        yield Line(hit.number, decode(hit.raw.strip(b"\r\n")))
