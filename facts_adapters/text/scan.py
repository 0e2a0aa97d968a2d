"""Finding the few lines of a text that can matter.

First the whole text passes by once, and only which literals stand in which chunk is noted. Then the lines are sought
in those chunks, and only for the literals that are still of interest there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from facts_adapters.text.chunks import Chunk, Cutter
from facts_adapters.text.content import Text
from facts_adapters.text.lines import LONGEST_LINE
from facts_adapters.text.matchers import Hyperscan, Matcher, Plain, searchable, spellings


@dataclass(frozen=True, slots=True)
class Hit:
    """A logical line that holds literals: its number, its bytes and the owners of the literals, ascending.

    ``place`` is where it begins in the text, ``cut`` marks a line that is longer than what is looked at.
    """

    number: int
    raw: bytes
    owners: tuple[int, ...]
    place: int = 0
    cut: bool = False


@dataclass(slots=True)
class Scan:
    """The chunks of a text, the literals (by index) that stand in each, and the number of lines."""

    chunks: list[Chunk] = field(default_factory=list)
    present: list[tuple[int, ...]] = field(default_factory=list)
    lines: int = 0


class Literals:
    """Literals with their owners (indices of the caller's), and the matchers that seek them."""

    def __init__(self, literals: Iterable[tuple[str, int]]) -> None:
        owned: dict[bytes, list[int]] = {}
        for text, owner in literals:
            for spelling in spellings(text):
                owned.setdefault(spelling, []).append(owner)
        self.texts: tuple[bytes, ...] = tuple(owned)
        self.owners: tuple[tuple[int, ...], ...] = tuple(tuple(sorted(set(found))) for found in owned.values())
        self._of_owner: dict[int, list[int]] = {}
        for index, owners in enumerate(self.owners):
            for owner in owners:
                self._of_owner.setdefault(owner, []).append(index)
        self._plain: Plain | None = None
        self._hyperscan: Hyperscan | None = None

    def of(self, owner: int) -> list[int]:
        """Indices of the literals of an owner."""
        return self._of_owner.get(owner, [])

    def matcher(self, fast: bool) -> Matcher:
        """The matcher: ``fast`` takes 60 ms to make and needs Hyperscan."""
        if fast:
            self._hyperscan = self._hyperscan or Hyperscan(self.texts)
            return self._hyperscan
        self._plain = self._plain or Plain(self.texts)
        return self._plain

    def hits(self, chunk: Chunk, data: bytes, wanted: Collection[int]) -> Iterator[Hit]:
        """The logical lines of a chunk (whose bytes are ``data``) that hold one of the wanted literals, in order."""
        found: dict[int, set[int]] = {}
        text = searchable(data)
        for index in wanted:
            literal = self.texts[index]
            place = text.find(literal)
            while place >= 0:
                found.setdefault(text.rfind(b"\n", 0, place) + 1, set()).add(index)
                end = text.find(b"\n", place)
                place = text.find(literal, end) if end >= 0 else -1
        lines = data.split(b"\n") if found and text != data else None
        number = before = passed = written = 0
        for start in sorted(found):
            number += text.count(b"\n", before, start)
            before = start
            if lines is None:
                end = text.find(b"\n", start)
                place, raw = start, text[start : end if end >= 0 else len(text)]
            else:
                written += sum(len(line) + 1 for line in lines[passed:number])
                passed, place, raw = number, written, lines[number]
            yield from self._logical(chunk.number + number, chunk.start + place, raw, sorted(found[start]))

    def _logical(self, number: int, place: int, raw: bytes, indices: Sequence[int]) -> Iterator[Hit]:
        parts = raw.split(b"\r") if 0 <= raw.find(b"\r") < len(raw) - 1 else [raw]
        for part in parts:
            text = searchable(part) if len(parts) > 1 else b""
            held = indices if len(parts) == 1 else [i for i in indices if self.texts[i] in text]
            owners = tuple(sorted({owner for index in held for owner in self.owners[index]}))
            if owners:
                yield Hit(number, part[:LONGEST_LINE], owners, place, len(part) > LONGEST_LINE)
            place += len(part) + 1


class Strip:
    """The logical lines of a chunk that hold one of a few literals, found from any place without listing them all.

    Places are offsets in the searchable bytes of the chunk.
    """

    def __init__(self, chunk: Chunk, data: bytes, literals: Sequence[bytes], owner: int) -> None:
        self._chunk = chunk
        self._data = data
        self._text = searchable(data)
        self._literals = literals
        self._owner = owner
        self.end = len(self._text)

    def after(self, place: int) -> tuple[int, int, Hit] | None:
        """The line of the first literal that begins at or after a place: where it begins, where it ends, the hit."""
        found = [at for literal in self._literals if (at := self._text.find(literal, place)) >= 0]
        return self._line(min(found)) if found else None

    def before(self, place: int) -> tuple[int, int, Hit] | None:
        """The line of the last literal that ends at or before a place."""
        found = [at for literal in self._literals if (at := self._text.rfind(literal, 0, max(place, 0))) >= 0]
        return self._line(max(found)) if found else None

    def _line(self, at: int) -> tuple[int, int, Hit]:
        text = self._text
        start = max(text.rfind(b"\n", 0, at), text.rfind(b"\r", 0, at)) + 1
        ends = [end for end in (text.find(b"\n", at), text.find(b"\r", at)) if end >= 0]
        end = min(ends, default=len(text))
        number = text.count(b"\n", 0, start)
        begin, raw = start, text[start:end]
        if len(text) != len(self._data) or text != self._data:
            begin, raw = self._written(number, text.count(b"\r", text.rfind(b"\n", 0, start) + 1, start))
        cut = len(raw) > LONGEST_LINE
        hit = Hit(self._chunk.number + number, raw[:LONGEST_LINE], (self._owner,), self._chunk.start + begin, cut)
        return start, end, hit

    def _written(self, line: int, part: int) -> tuple[int, bytes]:
        """Where a logical line begins in the chunk as it is written, and its bytes."""
        lines = self._data.split(b"\n")
        begin = sum(len(before) + 1 for before in lines[:line])
        parts = lines[line].split(b"\r")
        return begin + sum(len(before) + 1 for before in parts[:part]), parts[part]


def holding(pieces: Iterable[bytes], literals: Sequence[bytes]) -> Iterator[Hit]:
    """The logical lines of a text that hold one of a few literals, without looking at the others."""
    sought = Literals((literal.decode(), 0) for literal in literals)
    for chunk, data in Cutter().chunks(pieces):
        text = searchable(data)
        wanted = [index for index, literal in enumerate(sought.texts) if literal in text]
        if wanted:
            yield from sought.hits(chunk, data, wanted)


def scan(text: Text, matcher: Matcher) -> Scan:
    """Pass over a text once."""
    found = Scan()
    cutter = Cutter()
    known: dict[tuple[int, ...], tuple[int, ...]] = {}
    for chunk, data in cutter.chunks(text.pieces()):
        present = matcher.present(searchable(data))
        found.chunks.append(chunk)
        found.present.append(known.setdefault(present, present))
    found.lines = cutter.lines
    return found
