"""One file of a bundle as adapters and the text reader see it."""

from __future__ import annotations

import io
import mmap
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from facts_adapters.adapter import Head, Line
from facts_adapters.archives import Member
from facts_adapters.bundle import Bundle
from facts_adapters.parts import Part
from facts_adapters.result import FileReport
from facts_adapters.text.lines import bounded_lines, decode, logical_lines, wide_encoding
from facts_adapters.text.scan import Data

IN_MEMORY = 256 << 20
"""Bytes of a file that are kept in memory; a longer one is copied to a temporary file and mapped."""


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


class Buffered:
    """A stream as one buffer: in memory, or mapped from a temporary copy where it is long."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._file: BinaryIO | None = None

    def __enter__(self) -> Data:
        """The whole decompressed content."""
        first = self._stream.read(IN_MEMORY + 1)
        wide = wide_encoding(first[:4])
        if wide:
            return first[:IN_MEMORY].decode(wide, "replace").lstrip("\ufeff").encode()
        if first.startswith(b"\xef\xbb\xbf"):
            first = first[3:]
        if len(first) <= IN_MEMORY:
            return first
        target = tempfile.TemporaryFile()
        self._file = target
        target.write(first)
        while chunk := self._stream.read(4 << 20):
            target.write(chunk)
        target.flush()
        return mmap.mmap(target.fileno(), 0, access=mmap.ACCESS_READ)

    def __exit__(self, *_: object) -> None:
        """Drop the temporary copy."""
        if self._file is not None:
            self._file.close()


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
