"""The stamped lines around an unstamped one, found only where they are asked for."""

from __future__ import annotations

import re
from functools import cached_property

from engine.facts.model import Reading
from facts_adapters.text import stamps
from facts_adapters.text.chunks import Lines
from facts_adapters.text.envelope import Envelope, Profile, open_envelope
from facts_adapters.text.lines import split

_MAYBE = re.compile(rb"\d:\d\d|\d\.\d{3}|\d{10}|\d{6}[TZ]|,\d+,\d+,")

_INLINE = re.compile(
    r"(?:CANCELLED AT|TERMINATED ON \S+ AT|\] datetime:|^ *time +:|^ *[A-Za-z]+[ _](?:TIME|time|Time)[:=]|"
    r"\b[Ss]tart(?:ed|ing)?(?: at| on| time)?:?|\b(?:[Ff]inished|[Ee]nded|[Ee]nd)(?: at| on| time)?:?|"
    r"^[Dd]ate:) +(?=\S)"
)


def inline(text: str) -> Reading | None:
    """A stamp inside a message that is the time of the message: Slurm's, Megatron's, the launcher's report."""
    for match in _INLINE.finditer(text):
        found = stamps.parse(text, match.end())
        if found and (text[found[1] : found[1] + 1] in ("", " ", ",", "]", ".")):
            return found[0]
    return None


def line_reading(text: str, profile: Profile) -> Reading | None:
    """The stamp of one logical line: its prefix's, else one inside it."""
    return open_envelope(text, profile).when or inline(text)


FAR = 5_000
"""Lines that are looked at for a stamp; beyond, the first and the last stamp of the text are the bounds."""


class Neighbours:
    """Nearest stamps before and after a line. Asked with rising line numbers, the text is walked once."""

    def __init__(self, lines: Lines, profile: Profile) -> None:
        self._lines = lines
        self._profile = profile
        self._known: dict[int, tuple[Reading | None, Reading | None]] = {}
        self._above: tuple[int, int, Reading | None] = (0, 0, None)
        self._below: tuple[int, int, Reading | None] = (0, 0, None)

    @cached_property
    def first(self) -> Reading | None:
        """The first stamp of the text, where it is among the first lines."""
        most = min(len(self._lines), FAR)
        return next((found for number in range(1, most + 1) if (found := self.of(number)[0])), None)

    @cached_property
    def last(self) -> Reading | None:
        """The last stamp of the text, where it is among the last lines."""
        total = len(self._lines)
        least = max(total - FAR, 0)
        return next((found for number in range(total, least, -1) if (found := self.of(number)[1])), None)

    @property
    def undated(self) -> int | None:
        """Lines that are not blank after the last stamp, ``None`` where there is none among the last lines."""
        count = 0
        for number in range(len(self._lines), max(len(self._lines) - FAR, 0), -1):
            parts = split(self._lines.raw(number))
            if self.of(number)[1]:
                dated = (at for at in range(len(parts), 0, -1) if line_reading(parts[at - 1], self._profile))
                return count + len(parts) - next(dated, len(parts))
            count += sum(1 for part in parts if part.strip())
        return None

    def of(self, number: int) -> tuple[Reading | None, Reading | None]:
        """First and last stamp of the logical lines of a line."""
        known = self._known.get(number)
        if known is None:
            raw = self._lines.raw(number)
            known = (None, None)
            if _MAYBE.search(raw):
                readings = [r for r in (line_reading(t, self._profile) for t in _ends(split(raw))) if r]
                if readings:
                    known = (readings[0], readings[-1])
            if len(self._known) > 100_000:
                self._known.clear()
            self._known[number] = known
        return known

    def before(self, number: int) -> Reading | None:
        """The stamp of the nearest stamped line above."""
        low, high, reading = self._above  # lines low < n <= high have this stamp above them
        if low < number <= high:
            return reading
        known = high < number <= high + FAR
        least = high if known else max(number - FAR, 1)
        for line in range(number - 1, least - 1, -1):
            found = self.of(line)[1]
            if found:
                self._above = (line, number, found)
                return found
        if not known:
            low, reading = least - 1, self.first if least > 1 else None
        self._above = (low, number, reading)
        return reading

    def after(self, number: int) -> Reading | None:
        """The stamp of the nearest stamped line below."""
        low, high, reading = self._below  # lines low <= n < high have this stamp below them
        if low <= number < high:
            return reading
        total = len(self._lines)
        reached = min(number + FAR, total)
        for line in range(number + 1, reached + 1):
            found = self.of(line)[0]
            if found:
                self._below = (number, line, found)
                return found
        reading = self.last if reached < total else None
        self._below = (number, reached + 1, reading)
        return reading


def _ends(parts: list[str]) -> list[str]:
    return parts if len(parts) < 3 else [parts[0], parts[-1]]


def around(lines: Neighbours, number: int, envelope: Envelope) -> tuple[Reading | None, Reading | None, Reading | None]:
    """(when, after, until) of a line: its own stamp alone, or its neighbours'."""
    if envelope.when is not None:
        return envelope.when, None, None
    own = inline(envelope.message)
    if own is not None:
        return own, None, None
    return None, lines.before(number), lines.after(number)
