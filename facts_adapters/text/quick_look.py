"""A quick look whether a chunk can hold a match of signatures whose literals stand in many lines."""

from __future__ import annotations

import re
from typing import Protocol

from facts_adapters.text.looser import looser
from facts_adapters.text.matchers import Hyperscan, accepts
from facts_adapters.text.patterns import Expression

_ODD = rb"[\x00\x1b]"
"""Bytes that a line loses before patterns are tried: no look is safe there."""

_PATIENCE = 4
"""Chunks that owners wait for others, to be compiled together."""


class QuickLook(Protocol):
    """Knows what some owners need; ``owners`` are those that it can look for."""

    owners: set[int]

    def add(self, owner: int, pattern: Expression) -> None:
        """Look for an owner too, if its pattern asks for enough."""

    def held(self, text: bytes) -> set[int] | None:
        """Owners that the text may hold a match of (never too few); ``None`` where the look is not safe."""


class HyperscanLook:
    """Looks for whole patterns, loosened, in one pass."""

    def __init__(self) -> None:
        self.owners: set[int] = set()
        self._expressions: dict[int, bytes] = {}
        self._refused: set[int] = set()
        self._matcher = Hyperscan([_ODD], literal=False)
        self._order: tuple[int, ...] = ()
        self._asked = 0

    def add(self, owner: int, pattern: Expression) -> None:
        """Look for an owner too, if its pattern asks for enough and Hyperscan knows how to look for it."""
        if owner in self._expressions or owner in self._refused:
            return
        expression = looser(pattern.text)
        if expression is None or not accepts(expression):
            self._refused.add(owner)
            return
        self._expressions[owner] = expression
        self.owners.add(owner)
        self._asked = 0

    def held(self, text: bytes) -> set[int] | None:
        """Owners that the text may hold a match of; ``None`` where the look is not safe."""
        waiting = len(self._expressions) - len(self._order)
        if waiting:
            self._asked += 1
            if 2 * waiting > len(self._order) or self._asked > _PATIENCE:
                self._compile()
        found = self._matcher.present(text)
        if 0 in found:
            return None
        return {self._order[index - 1] for index in found} | (self.owners - set(self._order))

    def _compile(self) -> None:
        """Take in those that wait: not each at once, because compiling takes as long as looking at many chunks."""
        self._order = tuple(sorted(self._expressions))
        expressions = [_ODD, *(self._expressions[owner] for owner in self._order)]
        self._matcher = Hyperscan(expressions, literal=False)


class PlainLook:
    """Looks for a text that every match of the pattern holds, one after the other."""

    def __init__(self) -> None:
        self.owners: set[int] = set()
        self._texts: dict[int, list[bytes]] = {}

    def add(self, owner: int, pattern: Expression) -> None:
        """Look for an owner too, if its pattern requires texts that are written alike everywhere."""
        texts = pattern.required
        if texts and all(_SAFE.fullmatch(text) for text in texts):
            self._texts[owner] = [text.encode() for text in texts]
            self.owners.add(owner)

    def held(self, text: bytes) -> set[int] | None:
        """Owners that the text may hold a match of; ``None`` where the look is not safe."""
        if _UNSAFE.search(text):
            return None
        return {owner for owner, texts in self._texts.items() if any(needed in text for needed in texts)}


_SAFE = re.compile(r"[ !#-%'-;=?-\[\]-~]{4,}")
"""Texts that JSON never writes otherwise."""

_UNSAFE = re.compile(_ODD)
