"""Where a statement stands in a file, and what a report quotes of it."""

from __future__ import annotations

from engine.facts.model import Source
from facts_adapters.adapter import EvidenceFile, Line

QUOTED = 500
"""Characters of a line that a report quotes."""


def quote(file: EvidenceFile, line: Line) -> Source:
    """Where a line stands, its text cut to what a report quotes."""
    return Source(file.path, line.number, line.text.strip()[:QUOTED])


def line_at(text: str, place: int) -> int:
    """The 1-based number of the line that holds the character at ``place``; 1 where nothing was found (-1)."""
    return text.count("\n", 0, max(place, 0)) + 1


class LineCounter:
    """Line numbers of places in a text that are asked for from its beginning to its end."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0
        self.line = 1

    def at(self, place: int) -> int:
        """The 1-based number of the line that holds the character at ``place``."""
        if place < self.place:
            return line_at(self.text, place)
        self.line += self.text.count("\n", self.place, place)
        self.place = place
        return self.line


def nested_key(text: str, names: tuple[str, ...]) -> int:
    """Where in a JSON text the last of nested keys stands; the nearest parent that is there, else 0."""
    place = 0
    for name in names:
        found = text.find(f'"{name}"', place)
        place = found if found >= 0 else place
    return place
