"""Finding the few lines of a file that can matter.

Logs repeat themselves: with the digits taken out, most lines have been seen before. So each line is looked up by its
text without digits, and only a line of a new kind is searched for the literals (also without their digits; what
stands in a text still stands in it when the same characters are taken out of both). The search looks at every fourth
run of four bytes of the line: a literal of seven bytes or more cannot stand in a line without showing one of four
runs that follow each other in it. An installed multi-pattern scanner can replace :class:`Literals` alone.
"""

from __future__ import annotations

import io
import mmap
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

Data = bytes | mmap.mmap

_RUN = 4
_LEAST = 2 * _RUN - 1
_SHORT = 3
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
        self._tiny = [(text, tuple(indices)) for text, indices in owners.items() if len(text) < _SHORT]
        self._short: dict[bytes, list[tuple[bytes, tuple[int, ...]]]] = {}
        for literal, indices in owners.items():
            if _SHORT <= len(literal) < _LEAST:
                self._short.setdefault(literal[:_SHORT], []).append((literal, tuple(indices)))
        self._index: dict[bytes, list[tuple[bytes, tuple[int, ...]]]] = {}
        long = {text: tuple(found) for text, found in owners.items() if len(text) >= _LEAST}
        common = Counter(text[i : i + _RUN] for text in long for i in range(len(text) - _RUN + 1))
        for literal, found in long.items():
            for run in min(map(_runs, _windows(literal)), key=lambda runs: sum(common[run] for run in runs)):
                self._index.setdefault(run, []).append((literal, found))
        self._seen: dict[bytes, tuple[int, ...]] = {}

    def owners(self, line: bytes) -> tuple[int, ...]:
        """Owners of the literals that may stand in the line, in ascending order (never too few)."""
        if 27 in line:
            line = _ESCAPES.sub(b"", line)
        if line[:1] == b"{":
            line = line.replace(b'\\"', b'"')
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
        found = set(self._always)
        sparse = {key[i : i + _RUN] for i in range(0, len(key) - _RUN + 1, _RUN)}
        dense = {key[i : i + _SHORT] for i in range(len(key) - _SHORT + 1)}
        candidates = [entry for run in sparse & self._index.keys() for entry in self._index[run]]
        candidates += [entry for run in dense & self._short.keys() for entry in self._short[run]]
        for literal, owners in (*candidates, *self._tiny):
            if literal in key:
                found.update(owners)
        return tuple(sorted(found))


def _windows(literal: bytes) -> Iterator[bytes]:
    return (literal[i : i + _LEAST] for i in range(len(literal) - _LEAST + 1))


def _runs(window: bytes) -> list[bytes]:
    """Four runs of which one lies on a multiple of four wherever the window stands in a line."""
    return [window[i : i + _RUN] for i in range(_RUN)]


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
