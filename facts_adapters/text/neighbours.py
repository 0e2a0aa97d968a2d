"""The stamped lines around an unstamped one, found only where they are asked for."""

from __future__ import annotations

import re

from engine.facts.model import Reading
from facts_adapters.text import stamps
from facts_adapters.text.envelope import Envelope, Profile, open_envelope
from facts_adapters.text.lines import split
from facts_adapters.text.scan import Lines

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


class Neighbours:
    """Nearest stamps before and after a line. Asked with rising line numbers, the file is walked once."""

    def __init__(self, lines: Lines, profile: Profile) -> None:
        self._lines = lines
        self._profile = profile
        self._known: dict[int, tuple[Reading | None, Reading | None]] = {}
        self._before: tuple[int, Reading | None] = (0, None)
        self._after: tuple[int, Reading | None] = (0, None)

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
        reached, reading = self._before
        start = number - 1
        stop = reached if reached < number else 0
        while start > stop:
            found = self.of(start)[1]
            if found:
                self._before = (number - 1, found)
                return found
            start -= 1
        kept = reading if reached < number else None
        self._before = (number - 1, kept)
        return kept

    def after(self, number: int) -> Reading | None:
        """The stamp of the nearest stamped line below."""
        reached, reading = self._after
        if reached > number:
            return reading
        line = number + 1
        while line <= len(self._lines):
            found = self.of(line)[0]
            if found:
                self._after = (line, found)
                return found
            line += 1
        self._after = (len(self._lines) + 1, None)
        return None


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
