"""Lines that repeat as long as all is well: a step, a checkpoint, a progress bar.

Of these the first are read, the last of every writer, and as many in between as show every pause that is long enough
to end an episode. The lines in between say nothing that the fact keeps, and there may be millions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.facts.episodes import EPISODE_GAP
from facts_adapters.text.result import Pending
from facts_adapters.text.scan import Hit, Strip

if TYPE_CHECKING:
    from facts_adapters.text.one_text import OneText

FIRST = 32
"""Lines of one signature that are read in order, and four more for each writer."""

LAST = 8
"""Lines that are read from the end at least."""

MOST_LOOKS = 20_000
"""Lines of one signature that are read in search of pauses and last lines."""

MOST_CHUNKS = 40
"""Chunks that are read in search of the last lines of writers that fell silent."""

Writer = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    """A place in a chunk and the time of the line beside it."""

    at: int
    time: int | None


class Ticking:
    """What is known of one signature or block reader in one text."""

    def __init__(self) -> None:
        self.count = 0
        self.writers: set[Writer] = set()
        self.chunks: list[int] = []
        """Chunks that hold its literals, the one where reading in order ended among them."""
        self.reached: Hit | None = None
        self.time: int | None = None

    def note(self, index: int) -> None:
        """Note a chunk that holds a literal."""
        if not self.chunks or self.chunks[-1] != index:
            self.chunks.append(index)

    def see(self, found: Sequence[Pending], index: int, hit: Hit, lines: int) -> bool:
        """Note what came of one hit and how many lines it took; true where enough lines were read in order."""
        self.count += lines
        self.writers.update(pending.writer for pending in found)
        self.reached, self.time = hit, found[-1].time
        self.chunks = [index]
        return self.count >= FIRST + 4 * len(self.writers)

    def finish(self, text: OneText, owner: int) -> None:
        """Read what the text still tells: the last lines of all writers, and the lines around pauses."""
        if self.reached is None:
            return
        literals = text.reader.literals
        seeker = _Seeker(self, text, owner, [literals.texts[index] for index in literals.of(owner)])
        seeker.finish()


class _Seeker:
    """Reads lines of one owner in a text that was read in order up to a place."""

    def __init__(self, state: Ticking, text: OneText, owner: int, literals: Sequence[bytes]) -> None:
        assert state.reached is not None
        self.state = state
        self.text = text
        self.owner = owner
        self.literals = literals
        self.reached = state.reached
        self.left = MOST_LOOKS
        self.last = len(state.chunks) - 1

    def strip(self, place: int) -> Strip:
        """The owner's lines in one of its chunks."""
        chunk = self.text.scan.chunks[self.state.chunks[place]]
        return Strip(chunk, self.text.text.read(chunk.start, chunk.end), self.literals, self.owner)

    def read(self, hit: Hit) -> Sequence[Pending]:
        """What a line gives; nothing where it was read before."""
        self.left -= 1
        return self.text.hit(hit, (self.owner,)) if hit.place > self.reached.place else ()

    def finish(self) -> None:
        """First the last lines, then those of writers that fell silent, then the pauses."""
        missing = set(self.state.writers)
        tail = self.strip(self.last)
        end = self.last_lines(tail, missing)
        if missing and self.last:
            self.silent(missing)
        head = self.strip(0)
        low = _Place(0, self.state.time)
        if not self.last:
            self.between(tail, low, end)
            return
        ends = self.ends(0, head)
        if ends:
            self.between(head, low, ends[1])
        first = tail.after(0)
        found = self.read(first[2]) if first and first[0] < end.at else ()
        begin = _Place(first[1], found[0].time) if first and found else end
        self.between(tail, begin, end)
        self.across((0, ends[1].time if ends else low.time), (self.last, begin.time))

    def last_lines(self, strip: Strip, missing: set[Writer], seen: set[Writer] | None = None) -> _Place:
        """Read from the end until every missing writer was seen; returns where the first line read begins.

        At least a few lines are read, unless ``seen`` collects whose lines there are.
        """
        place, count = _Place(strip.end, None), 0
        while self.left > 0 and (line := strip.before(place.at)):
            if line[2].place <= self.reached.place:
                break
            found = self.read(line[2])
            place = _Place(line[0], found[0].time if found else place.time)
            count += bool(found)
            writers = {pending.writer for pending in found}
            missing -= writers
            if seen is not None:
                seen |= writers
            if not missing and (count >= LAST or seen is not None):
                break
        return place

    def silent(self, missing: set[Writer]) -> None:
        """Read the last lines of writers of which the last chunk has none: halve the chunks until theirs is found."""
        seen: dict[int, set[Writer]] = {}
        whole: set[int] = set()
        for writer in sorted(missing, key=str):
            low, high = 0, self.last
            while high - low > 1:
                middle = (low + high) // 2
                if writer not in seen.get(middle, ()) and middle not in whole:
                    if len(whole) >= MOST_CHUNKS or self.left <= 0:
                        return
                    left = {writer}
                    self.last_lines(self.strip(middle), left, seen.setdefault(middle, set()))
                    whole |= {middle} if left else set()
                low, high = (middle, high) if writer in seen[middle] else (low, middle)
            if not low:
                self.last_lines(self.strip(0), {writer}, set())

    def ends(self, place: int, strip: Strip) -> tuple[_Place, _Place] | None:
        """Behind the first and before the last line of a chunk that give something, looked for in a few lines."""
        first = last = None
        at = 0
        for _ in range(LAST):
            line = strip.after(at)
            if line is None:
                break
            at = line[1]
            found = self.read(line[2]) if place or line[2].place > self.reached.place else ()
            if found:
                first = _Place(at, found[0].time)
                break
        at = strip.end
        for _ in range(LAST):
            line = strip.before(at)
            if line is None:
                break
            at = line[0]
            found = self.read(line[2])
            if found:
                last = _Place(at, found[-1].time)
                break
        return (first or last, last) if last is not None and (first or last) is not None else None

    def across(self, low: tuple[int, int | None], high: tuple[int, int | None]) -> None:
        """Read lines of the chunks between two until only pauses are longer than a pause."""
        if high[0] - low[0] < 2 or not self.pause(low[1], high[1]):
            return
        middle = (low[0] + high[0]) // 2
        strip = self.strip(middle)
        ends = self.ends(middle, strip)
        if ends is None or ends[0].time is None or ends[1].time is None:
            self.across(low, (middle, high[1]))
            self.across((middle, low[1]), high)
            return
        self.between(strip, *ends)
        self.across(low, (middle, ends[0].time))
        self.across((middle, ends[1].time), high)

    def between(self, strip: Strip, low: _Place, high: _Place) -> None:
        """The same over the lines of a chunk between two places."""
        if high.at <= low.at or not self.pause(low.time, high.time):
            return
        middle = (low.at + high.at) // 2
        line = strip.after(middle)
        if line is None or line[0] >= high.at:
            line = strip.before(middle)
        if line is None or not low.at <= line[0] < high.at:
            return
        found = self.read(line[2])
        early, late = (found[0].time, found[-1].time) if found else (high.time, low.time)
        self.between(strip, low, _Place(line[0], early))
        self.between(strip, _Place(line[1], late), high)

    def pause(self, early: int | None, late: int | None) -> bool:
        """Whether more than an episode's pause may lie between two times."""
        return early is not None and late is not None and late - early > EPISODE_GAP and self.left > 0
