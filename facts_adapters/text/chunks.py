"""A text cut into chunks of whole lines, and its lines by number without an index of all of them."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from facts_adapters.text.content import Text
from facts_adapters.text.lines import LONGEST_LINE

LONGEST_CHUNK = 1 << 20
"""Bytes without a line end after which a chunk ends anyway."""

_REMEMBERED = 4
"""Chunks whose lines are kept for the next question."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes [start, end) of a text; ``number`` is the 1-based line that they begin in.

    ``inside`` marks a chunk that begins in the middle of a line, behind a carriage return: there a new logical line
    begins. ``cut`` marks one whose only line is so long that its rest was passed over.
    """

    start: int
    end: int
    number: int
    inside: bool = False
    cut: bool = False

    @property
    def first(self) -> int:
        """Number of the first line that begins in the chunk."""
        return self.number + self.inside


class Cutter:
    """Cuts pieces of a text into chunks; ``lines`` counts the lines so far."""

    def __init__(self) -> None:
        self._position = 0
        self._number = 1
        self._inside = False
        self._skipping = False
        self._open = False

    @property
    def lines(self) -> int:
        """Lines so far; one that has not ended counts."""
        return self._number - (not self._open)

    def chunks(self, pieces: Iterable[bytes]) -> Iterator[tuple[Chunk, bytes]]:
        """The chunks with their bytes. Memory is bounded, however long a line is."""
        rest = b""
        for piece in pieces:
            data = self._skip(piece) if self._skipping else rest + piece
            rest = b""
            end = data.rfind(b"\n") + 1
            if not end and len(data) > LONGEST_CHUNK:
                end = data.rfind(b"\r") + 1
                if not end:
                    yield self._chunk(data[: LONGEST_LINE + 1], cut=True)
                    self._position += len(data) - LONGEST_LINE - 1
                    self._skipping = True
                    continue
            if end:
                yield self._chunk(data[:end])
            rest = data[end:]
        if rest:
            yield self._chunk(rest)

    def _chunk(self, data: bytes, cut: bool = False) -> tuple[Chunk, bytes]:
        chunk = Chunk(self._position, self._position + len(data), self._number, self._inside, cut)
        self._position += len(data)
        self._number += data.count(b"\n")
        self._open = self._inside = not data.endswith(b"\n")
        return chunk, data

    def _skip(self, piece: bytes) -> bytes:
        """What comes after the over-long line, or after the next carriage return in it."""
        ends = [end for end in (piece.find(b"\n"), piece.find(b"\r")) if end >= 0]
        if not ends:
            self._position += len(piece)
            return b""
        end = min(ends) + 1
        self._skipping = False
        self._position += end
        if piece[end - 1 : end] == b"\n":
            self._number += 1
            self._open = self._inside = False
        return piece[end:]


class Lines:
    """The lines of a text by number."""

    def __init__(self, text: Text, chunks: Sequence[Chunk], count: int) -> None:
        self._text = text
        self._chunks = chunks
        self._count = count
        self._firsts = [chunk.first for chunk in chunks]
        self._split: OrderedDict[int, list[bytes]] = OrderedDict()

    def __len__(self) -> int:
        return self._count

    def of_chunk(self, index: int) -> list[bytes]:
        """The lines of a chunk without their ends; the first may be the rest of a line."""
        known = self._split.get(index)
        if known is None:
            chunk = self._chunks[index]
            known = self._text.read(chunk.start, chunk.end).split(b"\n")
            self._split[index] = known
            if len(self._split) > _REMEMBERED:
                self._split.popitem(last=False)
        return known

    def raw(self, number: int, most: int = LONGEST_LINE) -> bytes:
        """The bytes of a line without its end, cut to ``most``; of one that spans chunks those of the first."""
        index = bisect_right(self._firsts, number) - 1
        if index < 0:
            return b""
        chunk = self._chunks[index]
        lines = self.of_chunk(index)
        place = number - chunk.number
        return lines[place][:most].rstrip(b"\r") if place < len(lines) else b""
