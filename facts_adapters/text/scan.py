"""Finding the few lines of a file that can matter.

Logs repeat themselves: with the digits taken out, most lines have been seen before. So each line is looked up by its
text without digits, and only a line of a new kind is searched for the literals (also without their digits; what
stands in a text still stands in it when the same characters are taken out of both). An installed multi-pattern
scanner can replace :class:`Literals` alone.
"""

from __future__ import annotations

import io
import mmap
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

Data = bytes | mmap.mmap

_DIGITS = b"0123456789"
_ESCAPES = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]")

MOST_KINDS_OF_LINE = 200_000
"""Lines without digits that are remembered before the memory of them is emptied."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A logical line that holds literals: its line number, where its bytes stand, and the owners of the literals."""

    number: int
    start: int
    end: int
    owners: tuple[int, ...]


class Literals:
    """A set of literals, each with an owner (an index of the caller's)."""

    def __init__(self, literals: Iterable[tuple[str, int]]) -> None:
        owners: dict[bytes, list[int]] = {}
        for text, owner in literals:
            owners.setdefault(text.encode().translate(None, _DIGITS), []).append(owner)
        self._always = tuple(owners.pop(b"", ()))
        self._owners = [(literal, tuple(found)) for literal, found in owners.items()]
        self._seen: dict[bytes, tuple[int, ...]] = {}

    def owners(self, line: bytes) -> tuple[int, ...]:
        """Owners of the literals that may stand in the line, in ascending order (never too few)."""
        if 27 in line:
            line = _ESCAPES.sub(b"", line)
        key = line.translate(None, _DIGITS)
        known = self._seen.get(key)
        if known is None:
            known = self._search(key)
            if len(self._seen) >= MOST_KINDS_OF_LINE:
                self._seen.clear()
            if len(key) <= 4096:
                self._seen[key] = known
        return known

    def _search(self, key: bytes) -> tuple[int, ...]:
        found = {owner for literal, owners in self._owners if literal in key for owner in owners}
        found.update(self._always)
        return tuple(sorted(found))


def raw_lines(data: Data) -> Iterator[bytes]:
    """The lines of a buffer with their ends."""
    if isinstance(data, bytes):
        return iter(io.BytesIO(data))
    data.seek(0)
    return iter(data.readline, b"")


def scan(data: Data, literals: Literals) -> tuple[array[int], list[Hit]]:
    """Where each line begins (one more entry for the end), and the lines that hold literals, in order."""
    starts = array("Q")
    hits: list[Hit] = []
    position, owners_of = 0, literals.owners
    for number, raw in enumerate(raw_lines(data), start=1):
        starts.append(position)
        length = len(raw)
        carriage = raw.find(b"\r")
        if 0 <= carriage < length - 2:
            hits.extend(_parts(number, position, raw, literals))
        else:
            owners = owners_of(raw)
            if owners:
                hits.append(Hit(number, position, position + length, owners))
        position += length
    starts.append(position)
    return starts, hits


def _parts(number: int, position: int, raw: bytes, literals: Literals) -> Iterator[Hit]:
    for part in raw.split(b"\r"):
        owners = literals.owners(part) if part else ()
        if owners:
            yield Hit(number, position, position + len(part), owners)
        position += len(part) + 1


class Lines:
    """Random access to the lines of a buffer by number."""

    def __init__(self, data: Data, starts: Sequence[int]) -> None:
        self.data = data
        self.starts = starts

    def __len__(self) -> int:
        return len(self.starts) - 1

    def raw(self, number: int, most: int = 64 * 1024) -> bytes:
        """The bytes of a line without its end, cut to ``most``."""
        start, end = self.starts[number - 1], self.starts[number]
        return self.data[start : min(end, start + most)].rstrip(b"\r\n")
