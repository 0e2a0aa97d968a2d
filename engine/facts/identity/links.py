"""Stated pairs of names: what leads to exactly one thing is used, what leads to several leads nowhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from typing import Generic, TypeVar

from engine.facts.model import Source

K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Hashable)


class Links(Generic[K, V]):
    """Names of one sort and the names of another sort that lines state for them, with the first line of each pair.

    The answers depend only on what was stated, not on its order.
    """

    def __init__(self) -> None:
        self._of: dict[K, set[V]] = defaultdict(set)
        self._back: dict[V, set[K]] = defaultdict(set)
        self._source: dict[tuple[K, V], Source] = {}

    def add(self, name: K, other: V, source: Source) -> None:
        """Note that a line states both names for one thing."""
        self._of[name].add(other)
        self._back[other].add(name)
        known = self._source.get((name, other))
        if known is None or (source.path, source.line) < (known.path, known.line):
            self._source[name, other] = source

    def __contains__(self, name: K) -> bool:
        """Whether any line states another name for ``name``, contradicted or not."""
        return name in self._of

    def only(self, name: K) -> V | None:
        """The one other name; ``None`` where none or several are stated."""
        found = self._of.get(name, ())
        return next(iter(found)) if len(found) == 1 else None

    def pair(self, name: K) -> V | None:
        """The one other name where it also leads back to this one alone."""
        found = self.only(name)
        return found if found is not None and len(self._back[found]) == 1 else None

    def has(self, name: K, other: V) -> bool:
        """Whether a line states this pair."""
        return other in self._of.get(name, ())

    def back(self, other: V) -> set[K]:
        """All names that ``other`` is stated for."""
        return self._back.get(other, set())

    def source(self, name: K, other: V) -> Source:
        """The first line, by path and number, that states the pair."""
        return self._source[name, other]
