"""The entries of a binary journal file, read as its format is documented (systemd.io/JOURNAL_FILE_FORMAT, 187 .. 257).

Only what leads from entry to entry is followed: the chain of entry arrays, the entries and their data objects. Compact
files (252) and data compressed with xz and zstd are read; data compressed with lz4 (230 .. 245) are left out. Nothing
of the file is trusted: offsets must lie in it and rise, and all counts are bounded.
"""

from __future__ import annotations

import lzma
import mmap
import struct
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

import zstandard

Data = bytes | mmap.mmap

MAGIC = b"LPKSHHRH"
MOST_ENTRIES = 4_000_000
MOST_ITEMS = 40_000_000
LONGEST_VALUE = 32 * 1024
"""Bytes of a field that are kept."""

_MOST_FIELDS = 1_024
_MOST_REMEMBERED = 200_000
_DATA, _ENTRY, _ARRAY = 1, 3, 6
_XZ, _LZ4, _ZSTD = 1, 2, 4
_COMPACT = 1 << 4
_HEADER = struct.Struct("<8sII B7x 64x Q")
_ARRAY_AT = 176
_LEAST_HEADER = 208
_OBJECT = struct.Struct("<BB6xQ")
_OF_ENTRY = struct.Struct("<QQQ16s")
_ITEMS_AT, _PAYLOAD_AT, _COMPACT_PAYLOAD_AT = 64, 64, 72


class DamagedJournalError(ValueError):
    """The file breaks the rules of its format; what was read before holds."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: microseconds since the epoch and since boot, the boot, and the wanted fields."""

    realtime: int
    monotonic: int
    boot: str
    fields: Mapping[str, bytes]


@dataclass(slots=True)
class Journal:
    """A journal file as one buffer. ``left_out`` counts values whose compression is not read."""

    data: Data
    wanted: Collection[bytes]
    left_out: int = 0
    _compact: bool = False
    _known: dict[int, tuple[str, bytes] | None] = field(default_factory=dict)

    def entries(self) -> Iterator[Entry]:
        """The entries in the order they were written.

        Raises:
            DamagedJournalError: where the file cannot be followed any further.
        """
        if len(self.data) < _LEAST_HEADER:
            raise DamagedJournalError("the file is shorter than its header")
        magic, _, incompatible, _, header = _HEADER.unpack_from(self.data, 0)
        if magic != MAGIC:
            raise DamagedJournalError("this is no journal")
        self._compact = bool(incompatible & _COMPACT)
        last, items = max(int(header), _LEAST_HEADER) - 1, 0
        for number, offset in enumerate(self._offsets(), start=1):
            if offset <= last:
                raise DamagedJournalError("its entries are out of order")
            last = offset
            entry, count = self._entry(offset)
            items += count
            if number > MOST_ENTRIES or items > MOST_ITEMS:
                raise DamagedJournalError(f"it holds more than the {number - 1} entries that are read")
            yield entry

    def _offsets(self) -> Iterator[int]:
        """Where the entries stand; unused places of an array are zero."""
        (array,) = struct.unpack_from("<Q", self.data, _ARRAY_AT)
        before = 0
        width, code = (4, "<I") if self._compact else (8, "<Q")
        while array:
            if array <= before:
                raise DamagedJournalError("its arrays are out of order")
            before = array
            size = self._object(array, _ARRAY)
            (following,) = struct.unpack_from("<Q", self.data, array + _OBJECT.size)
            for place in range(array + _OBJECT.size + 8, array + size - width + 1, width):
                (offset,) = struct.unpack_from(code, self.data, place)
                if not offset:
                    break
                yield offset
            array = following

    def _object(self, offset: int, expected: int) -> int:
        """The size of the object at ``offset``, which must be of the type and lie in the file."""
        if offset % 8 or offset + _OBJECT.size > len(self.data):
            raise DamagedJournalError("it points outside itself")
        kind, _, size = _OBJECT.unpack_from(self.data, offset)
        if kind != expected or size < _OBJECT.size or offset + size > len(self.data):
            raise DamagedJournalError("it ends within an entry")
        return int(size)

    def _entry(self, offset: int) -> tuple[Entry, int]:
        size = self._object(offset, _ENTRY)
        if size < _ITEMS_AT:
            raise DamagedJournalError("an entry is too short")
        _, realtime, monotonic, boot = _OF_ENTRY.unpack_from(self.data, offset + _OBJECT.size)
        width, code = (4, "<I") if self._compact else (16, "<Q")
        count = min((size - _ITEMS_AT) // width, _MOST_FIELDS)
        found: dict[str, bytes] = {}
        for index in range(count):
            (place,) = struct.unpack_from(code, self.data, offset + _ITEMS_AT + index * width)
            value = self._value(place)
            if value is not None:
                found.setdefault(*value)
        return Entry(realtime, monotonic, boot.hex(), found), count

    def _value(self, offset: int) -> tuple[str, bytes] | None:
        if offset not in self._known:
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            self._known[offset] = self._read(offset)
        return self._known[offset]

    def _read(self, offset: int) -> tuple[str, bytes] | None:
        """Name and value of a data object; ``None`` for a field that is not wanted."""
        size = self._object(offset, _DATA)
        flags = self.data[offset + 1]
        start = offset + (_COMPACT_PAYLOAD_AT if self._compact else _PAYLOAD_AT)
        raw = bytes(self.data[start : min(offset + size, start + LONGEST_VALUE)])
        if flags & (_XZ | _LZ4 | _ZSTD):
            raw = self._decompressed(bytes(self.data[start : offset + size]), flags)
        name, equals, value = raw.partition(b"=")
        if not equals or name not in self.wanted:
            return None
        return name.decode("ascii", "replace"), value

    def _decompressed(self, packed: bytes, flags: int) -> bytes:
        try:
            if flags & _ZSTD:
                reader = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(packed)
                return bytes(reader.read(LONGEST_VALUE))
            if flags & _XZ:
                return lzma.LZMADecompressor(memlimit=64 << 20).decompress(packed, LONGEST_VALUE)
        except (lzma.LZMAError, zstandard.ZstdError, EOFError, ValueError):
            pass
        self.left_out += 1
        return b""
