"""A quick look whether a chunk can hold a match of signatures whose literals stand in many lines."""

from __future__ import annotations

import re
from typing import Protocol

from facts_adapters.text.looser import looser
from facts_adapters.text.matchers import Hyperscan, accepts
from facts_adapters.text.patterns import Expression

_ODD = rb"[\x00\x1b]"
"""Bytes that a line loses before patterns are tried: no look is safe there."""


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

    def add(self, owner: int, pattern: Expression) -> None:
        """Look for an owner too, if its pattern asks for enough and Hyperscan knows how to look for it."""
        if owner in self._expressions or owner in self._refused:
            return
        expression = looser(pattern.text)
        if expression is None or not accepts(expression):
            self._refused.add(owner)
            return
        self._expressions[owner] = expression
        if 2 * (len(self._expressions) - len(self._order)) > len(self._order):  # compiling takes a while
            self._order = tuple(sorted(self._expressions))
            expressions = [_ODD, *(self._expressions[owner] for owner in self._order)]
            self._matcher = Hyperscan(expressions, literal=False)
            self.owners = set(self._order)

    def held(self, text: bytes) -> set[int] | None:
        """Owners that the text may hold a match of; ``None`` where the look is not safe."""
        found = self._matcher.present(text)
        return None if 0 in found else {self._order[index - 1] for index in found}


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
