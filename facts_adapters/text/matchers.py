"""Which literals stand in a chunk: by Hyperscan where it is installed, else in plain Python with the same answer."""

from __future__ import annotations

import importlib.util
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Protocol

_RUN = 4
_LEAST = 2 * _RUN - 1
_SHORT = 3
_ENOUGH = 28
"""Bytes of a literal among which the runs are chosen by which it is found."""

_DIGITS = b"0123456789"

MOST_KINDS_OF_LINE = 200_000
"""Lines without digits that are remembered before the memory of them is emptied."""

_LONGEST_REMEMBERED = 4_096


class Matcher(Protocol):
    """Finds which of its literals, given in order, stand in a text."""

    def present(self, text: bytes) -> tuple[int, ...]:
        """Indices of the literals that stand in the text, in ascending order."""


@cache
def hyperscan_version() -> str | None:
    """Version of the Hyperscan binding, ``None`` where it is not installed."""
    if importlib.util.find_spec("hyperscan") is None:
        return None
    from importlib.metadata import version

    return version("hyperscan")


class Hyperscan:
    """All expressions in one pass over the bytes, each reported once: about 1 GB/s on one core for 2,000 literals."""

    def __init__(self, expressions: Sequence[bytes], *, literal: bool = True) -> None:
        """Compile; raises ``hyperscan.error`` for an expression that Hyperscan does not know (no literal is one)."""
        import hyperscan

        self._database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        self._found: list[int] = []
        if expressions:
            self._database.compile(
                expressions=list(expressions),
                ids=list(range(len(expressions))),
                elements=len(expressions),
                flags=[hyperscan.HS_FLAG_SINGLEMATCH] * len(expressions),
                literal=literal,
            )
        self._empty = not expressions

    def _report(self, number: int, _start: int, _end: int, _flags: int, _context: object) -> None:
        self._found.append(number)

    def present(self, text: bytes) -> tuple[int, ...]:
        """Indices of the expressions that are found in the text, in ascending order."""
        if self._empty:
            return ()
        self._found = []
        self._database.scan(text, match_event_handler=self._report)
        return tuple(sorted(set(self._found)))


def accepts(expression: bytes) -> bool:
    """Whether Hyperscan knows how to look for the expression."""
    import hyperscan

    try:
        Hyperscan([expression], literal=False)
    except hyperscan.error:
        return False
    return True


_Entry = tuple[bytes, int]


class Plain:
    """The same by looking up each line without its digits: most lines of a log have been seen before.

    Only a line of a new kind is searched, for the literals without their digits (what stands in a text still stands in
    it when the same characters are taken out of both). The search looks at every fourth run of four bytes of the line:
    a literal of seven bytes or more cannot stand in a line without showing one of four runs that follow each other in
    it.
    """

    def __init__(self, literals: Sequence[bytes]) -> None:
        self._literals = literals
        self._always: list[int] = []
        self._tiny: list[_Entry] = []
        self._short: dict[bytes, list[_Entry]] = {}
        self._index: dict[bytes, list[_Entry]] = {}
        bare = [literal.translate(None, _DIGITS) for literal in literals]
        long = (text[:_ENOUGH] for text in bare if len(text) >= _LEAST)
        self._common = Counter(text[i : i + _RUN] for text in long for i in range(len(text) - _RUN + 1))
        for number, text in enumerate(bare):
            self._place(text, number)
        self._seen: dict[bytes, tuple[int, ...]] = {}

    def _place(self, text: bytes, number: int) -> None:
        entry = (text, number)
        if not text:
            self._always.append(number)
        elif len(text) < _SHORT:
            self._tiny.append(entry)
        elif len(text) < _LEAST:
            self._short.setdefault(text[:_SHORT], []).append(entry)
        else:
            start = _rarest(text[:_ENOUGH], self._common)
            for i in range(start, start + _RUN):
                self._index.setdefault(text[i : i + _RUN], []).append(entry)

    def present(self, text: bytes) -> tuple[int, ...]:
        """Indices of the literals that stand in the text, in ascending order."""
        found: set[int] = set()
        seen = self._seen
        for line in text.replace(b"\r", b"\n").split(b"\n"):
            key = line.translate(None, _DIGITS)
            known = seen.get(key)
            if known is None:
                known = self._search(key)
                if len(seen) >= MOST_KINDS_OF_LINE:
                    seen.clear()
                if len(key) <= _LONGEST_REMEMBERED:
                    seen[key] = known
            found.update(known)
        return tuple(number for number in sorted(found) if self._literals[number] in text)

    def _search(self, key: bytes) -> tuple[int, ...]:
        found = set(self._always)
        sparse = {key[i : i + _RUN] for i in range(0, len(key) - _RUN + 1, _RUN)}
        dense = {key[i : i + _SHORT] for i in range(len(key) - _SHORT + 1)}
        candidates = [entry for run in sparse & self._index.keys() for entry in self._index[run]]
        candidates += [entry for run in dense & self._short.keys() for entry in self._short[run]]
        found.update(number for text, number in (*candidates, *self._tiny) if text in key)
        return tuple(found)


def _rarest(literal: bytes, common: Counter[bytes]) -> int:
    """Where the four runs begin that are rarest together: one of them lies on a multiple of four in every line."""
    counts = [common[literal[i : i + _RUN]] for i in range(len(literal) - _RUN + 1)]
    sums = [sum(counts[i : i + _RUN]) for i in range(len(counts) - _RUN + 1)]
    return sums.index(min(sums))


_ESCAPES = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]")


def spellings(literal: str) -> tuple[bytes, ...]:
    """How a literal may stand in a line: as it is, and as JSON writes it (Go's encoder escapes three more)."""
    quoted = literal.replace('"', '\\"')
    marked = quoted.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")
    return tuple(dict.fromkeys(text.encode() for text in (literal, quoted, marked)))


def searchable(data: bytes) -> bytes:
    """The bytes in which literals are sought: without colours."""
    return _ESCAPES.sub(b"", data) if b"\x1b" in data else data
