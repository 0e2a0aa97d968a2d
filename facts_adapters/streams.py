"""Decompressing streams that cannot explode: one open file of a bundle, with its limits."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO, cast

import zstandard

MEBI = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """What a bundle may hold before the rest is left out and a warning says so.

    ``file_bytes`` and ``total_bytes`` count decompressed bytes; ``ratio`` is decompressed to compressed and applies
    beyond ``ratio_from`` decompressed bytes; ``depth`` counts archives inside archives.
    """

    files: int = 100_000
    file_bytes: int = 16 * 1024 * MEBI
    total_bytes: int = 64 * 1024 * MEBI
    ratio: int = 1_000
    ratio_from: int = 64 * MEBI
    depth: int = 2


class Budget:
    """Decompressed bytes that archives may still unpack to."""

    def __init__(self, total: int) -> None:
        self.left = total

    def take(self, count: int) -> bool:
        """Use up ``count`` bytes; ``False`` where they are no longer there."""
        self.left -= count
        return self.left >= 0


Warn = Callable[[str], None]

DAMAGE = (
    OSError,
    EOFError,
    ValueError,
    LookupError,
    RuntimeError,
    struct.error,
    zlib.error,
    lzma.LZMAError,
    zstandard.ZstdError,
    zipfile.BadZipFile,
    tarfile.TarError,
)
"""What the decompressors and archive readers raise for damaged input."""

_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
)


def compression(head: bytes) -> str | None:
    """``gzip``, ``bzip2``, ``xz`` or ``zstd`` by a file's first bytes."""
    return next((name for magic, name in _MAGIC if head.startswith(magic)), None)


def _decompressor(stream: BinaryIO, name: str) -> BinaryIO:
    if name == "gzip":
        return cast(BinaryIO, gzip.GzipFile(fileobj=stream, mode="rb"))
    if name == "bzip2":
        return cast(BinaryIO, bz2.BZ2File(stream, "rb"))
    if name == "xz":
        return cast(BinaryIO, lzma.LZMAFile(stream, "rb"))
    reader = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(stream, read_across_frames=True)
    return cast(BinaryIO, reader)


_LONGEST_HEADER = 18
"""Bytes of a file that tell how it is compressed; those of a zstd frame may state its size."""


def _stated_size(head: bytes) -> int:
    """Decompressed bytes that a zstd frame promises; its decoder does not tell when the input ends before."""
    try:
        size = zstandard.get_frame_parameters(head).content_size
    except zstandard.ZstdError:
        return 0
    return 0 if size in (zstandard.CONTENTSIZE_UNKNOWN, zstandard.CONTENTSIZE_ERROR) else size


class LimitedStream(io.RawIOBase):
    """The decompressed bytes of one file up to the limits; damage ends it early. Both are told to ``warn`` once."""

    def __init__(self, stream: BinaryIO, packed: int, limits: Limits, warn: Warn, budget: Budget | None = None) -> None:
        super().__init__()
        self.outer = stream
        self._packed = max(packed, 1)
        self._limits = limits
        self._warn = warn
        self._budget = budget
        self._count = 0
        self._ended = False
        head = self._head()
        name = compression(head)
        self._stated = _stated_size(head) if name == "zstd" else 0
        rest = cast(BinaryIO, _Rejoined(head, stream))
        self._inner = _decompressor(rest, name) if name else rest
        self.compressed = name

    def _head(self) -> bytes:
        try:
            return self.outer.read(_LONGEST_HEADER)
        except DAMAGE as error:
            self._end(f"the file is damaged ({short_reason(error)})")
            return b""

    def readable(self) -> bool:
        """Always true."""
        return True

    def readinto(self, buffer: object) -> int:
        """Fill ``buffer``; 0 at the end, at a limit and at damage."""
        view = memoryview(buffer)  # type: ignore[arg-type]
        if self._ended or view.nbytes == 0:
            return 0
        try:
            data = self._some(min(len(view), MEBI))
        except DAMAGE as error:
            self._end(
                f"the file is damaged after {self._count} bytes ({short_reason(error)}); what comes before is used"
            )
            return 0
        count = len(data)
        if not count:
            self._ended = True
            if self._count < self._stated:
                self._end(f"the file is damaged after {self._count} bytes; what comes before is used")
            return 0
        self._count += count
        over = self._over()
        if over or (self._budget and not self._budget.take(count)):
            self._end(over or "the bundle holds more bytes than are read; the rest of this file is left out")
            return 0
        view[:count] = data
        return count

    def _some(self, most: int) -> bytes:
        """What can be had without waiting for all of it, so that damage costs only what lies behind it."""
        read = getattr(self._inner, "read1", self._inner.read)
        data: bytes = read(most)
        return data

    def _over(self) -> str:
        limits = self._limits
        if self._count > limits.file_bytes:
            return f"the file is longer than {limits.file_bytes} bytes; the rest is left out"
        if self.compressed and self._count > limits.ratio_from and self._count > limits.ratio * self._packed:
            return f"the file unpacks to more than {limits.ratio} times its size; the rest is left out"
        return ""

    def _end(self, reason: str) -> None:
        self._ended = True
        self._warn(reason)

    def close(self) -> None:
        """Close the decompressor and the file below too."""
        if not self.closed:
            self._inner.close()
            self.outer.close()
        super().close()


def descriptor(stream: io.BufferedReader) -> int | None:
    """The open file that holds the very bytes of a member's stream, ``None`` where they are unpacked on the way."""
    raw = stream.raw
    if not isinstance(raw, LimitedStream) or raw.compressed:
        return None
    try:
        return raw.outer.fileno()
    except OSError:
        return None


class _Rejoined(io.RawIOBase):
    """A stream whose first bytes were already read; never more than the decompressor asks for."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        super().__init__()
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        data = self._head[: len(view)] if self._head else self._rest.read(len(view))
        self._head = self._head[len(data) :] if self._head else b""
        view[: len(data)] = data
        return len(data)


def short_reason(error: BaseException) -> str:
    """The first line of what an error says, or its name where it says nothing."""
    return (str(error).splitlines() or [""])[0][:120] or type(error).__name__
