"""The bytes of a text: once from the beginning to the end, then again in the few places that matter."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterator
from typing import BinaryIO

PIECE = 256 * 1024
"""Bytes that are read at a time."""

FIRST_PIECE = 16 * 1024
"""Bytes that are read first: few, because all that repeats is new there."""

IN_MEMORY = 32 << 20
"""Bytes of a text without a file of its own (unpacked ones) that are kept in memory; more go to a temporary file."""

_MARK = b"\xef\xbb\xbf"


class Text:
    """A text that is read once in order by :meth:`pieces` and then again anywhere by :meth:`read`.

    ``descriptor`` is an open file that holds the same bytes as the stream, where there is one: nothing is copied then.
    Offsets count from behind a byte order mark. Use it in a ``with`` statement.
    """

    def __init__(self, stream: BinaryIO, descriptor: int | None = None) -> None:
        self._stream = stream
        self._descriptor = descriptor
        self._kept: BinaryIO = io.BytesIO()
        self._base = 0
        self.size = 0

    @classmethod
    def of(cls, data: bytes) -> Text:
        """A text that is in memory already."""
        return cls(io.BytesIO(data))

    def __enter__(self) -> Text:
        """The text itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close what is open, drop the copy."""
        self._kept.close()
        self._stream.close()

    def pieces(self) -> Iterator[bytes]:
        """The bytes in order; to be asked for once, and to the end."""
        while piece := self._stream.read(PIECE if self.size else FIRST_PIECE):
            if not self.size and piece.startswith(_MARK):
                self._base, piece = len(_MARK), piece[len(_MARK) :]
            if self._descriptor is None:
                self._keep(piece)
            self.size += len(piece)
            yield piece

    def _keep(self, piece: bytes) -> None:
        if self.size <= IN_MEMORY < self.size + len(piece):
            held = self._kept
            self._kept = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the text
            held.seek(0)
            while part := held.read(PIECE):
                self._kept.write(part)
            held.close()
        self._kept.seek(0, io.SEEK_END)
        self._kept.write(piece)

    def read(self, start: int, end: int) -> bytes:
        """Bytes that have passed; fewer where a file became shorter meanwhile. Raises :class:`OSError`."""
        if self._descriptor is not None:
            return os.pread(self._descriptor, end - start, start + self._base)
        self._kept.seek(start)
        return self._kept.read(end - start)
