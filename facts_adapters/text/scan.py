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
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

Data = bytes | mmap.mmap

_RUN = 4
_LEAST = 2 * _RUN - 1
_SHORT = 3
_ENOUGH = 28
"""Bytes of a literal among which the runs are chosen by which it is found."""

_DIGITS = b"0123456789"
_ESCAPES = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]")

MOST_KINDS_OF_LINE = 200_000
"""Lines without digits that are remembered before the memory of them is emptied."""

COMMON = 200
"""Lines of one file with an owner's literals beyond which rarer texts are sought for it."""

_FIRST_LOOK = 500
"""Hits after which the number of each owner's hits is looked at for the first time; then each time they doubled."""

_Entry = tuple[bytes, list[int]]


@dataclass(frozen=True, slots=True)
class Hit:
    """A logical line that holds literals: its line number, where its bytes stand, and the owners of the literals."""

    number: int
    start: int
    end: int
    owners: tuple[int, ...]


class Literals:
    """A set of literals, each with an owner (an index of the caller's).

    ``rarer`` names the texts to seek instead for an owner whose literals turn out common, none where there are none;
    it is asked once per owner, and its answer holds for all files after.
    """

    def __init__(
        self, literals: Iterable[tuple[str, int]], rarer: Callable[[int], Collection[str]] = lambda _: ()
    ) -> None:
        self._owners: dict[bytes, list[int]] = {}
        for text, owner in literals:
            self._owners.setdefault(_bare(text), []).append(owner)
        self._rarer = rarer
        self._asked: set[int] = set()
        self._always = self._owners.pop(b"", [])
        self._tiny: list[_Entry] = []
        self._short: dict[bytes, list[_Entry]] = {}
        self._index: dict[bytes, list[_Entry]] = {}
        long = (text[:_ENOUGH] for text in self._owners if len(text) >= _LEAST)
        self._common = Counter(text[i : i + _RUN] for text in long for i in range(len(text) - _RUN + 1))
        for literal, owners in self._owners.items():
            self._place(literal, owners)
        self._seen: dict[bytes, tuple[int, ...]] = {}

    def _place(self, literal: bytes, owners: list[int]) -> None:
        entry = (literal, owners)
        if len(literal) < _SHORT:
            self._tiny.append(entry)
        elif len(literal) < _LEAST:
            self._short.setdefault(literal[:_SHORT], []).append(entry)
        else:
            start = _rarest(literal[:_ENOUGH], self._common)
            for i in range(start, start + _RUN):
                self._index.setdefault(literal[i : i + _RUN], []).append(entry)

    def narrow(self, hits: Iterable[Hit]) -> None:
        """Seek rarer texts for the owners that own many of these hits."""
        counts = Counter(owner for hit in hits for owner in hit.owners)
        for owner in sorted(owner for owner, count in counts.items() if count > COMMON and owner not in self._asked):
            self._asked.add(owner)
            texts = {_bare(text) for text in self._rarer(owner)}
            if not texts or b"" in texts or all(owner in self._owners.get(text, ()) for text in texts):
                continue
            for owners in (self._always, *self._owners.values()):
                while owner in owners:
                    owners.remove(owner)
            for text in sorted(texts):
                if text not in self._owners:
                    self._owners[text] = []
                    self._place(text, self._owners[text])
                self._owners[text].append(owner)
            self._seen.clear()

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


def _bare(text: str) -> bytes:
    return text.encode().translate(None, _DIGITS)


def _rarest(literal: bytes, common: Counter[bytes]) -> int:
    """Where the four runs begin that are rarest together: one of them lies on a multiple of four in every line."""
    counts = [common[literal[i : i + _RUN]] for i in range(len(literal) - _RUN + 1)]
    sums = [sum(counts[i : i + _RUN]) for i in range(len(counts) - _RUN + 1)]
    return sums.index(min(sums))


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
    position, owners_of, look_at = 0, literals.owners, _FIRST_LOOK
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
        if len(hits) >= look_at:
            literals.narrow(hits)
            look_at = 2 * len(hits)
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
