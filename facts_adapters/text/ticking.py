"""Lines that repeat as long as all is well: a step, a checkpoint, a progress bar.

Of these the first are read, the last of every writer, and as many in between as show every pause that is long enough
to end an episode. The lines in between say nothing that the fact keeps, and there may be millions.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from engine.facts.episodes import EPISODE_GAP
from facts_adapters.text.chunks import Chunk
from facts_adapters.text.result import Pending
from facts_adapters.text.scan import Hit, Strip

if TYPE_CHECKING:
    from facts_adapters.text.one_text import OneText

FIRST = 32
"""Lines of one signature that are read in order, and four more for each writer."""

LAST = 8
"""Lines that are read from the end at least."""

MOST_LOOKS = 20_000
"""Lines of one signature that are looked at in search of pauses and last lines, and again in telling writers apart."""

MOST_APART = 64
"""Writers of one text whose pauses are told from each other's."""

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
        self.kept: tuple[int, Strip] | None = None
        self.known: dict[int, Sequence[Pending]] = {}
        """What the lines gave that were read, by their places."""
        self.lines: dict[Writer, list[_Place]] = defaultdict(list)
        """The lines of each writer that were read."""
        name = text.reader.name(owner)
        self.note([pending for pending in text.pending if pending.observation.adapter == name])

    def note(self, found: Sequence[Pending]) -> None:
        """Note lines that were read."""
        for pending in found:
            self.lines[pending.writer].append(_Place(pending.place, pending.time))

    def chunk(self, place: int) -> Chunk:
        """One of the owner's chunks."""
        return self.text.scan.chunks[self.state.chunks[place]]

    def strip(self, place: int) -> Strip:
        """The owner's lines in one of its chunks."""
        if self.kept is None or self.kept[0] != place:
            chunk = self.chunk(place)
            data = self.text.text.read(chunk.start, chunk.end)
            self.kept = (place, Strip(chunk, data, self.literals, self.owner))
        return self.kept[1]

    def read(self, hit: Hit) -> Sequence[Pending]:
        """What a line gives; nothing where it was read before."""
        self.left -= 1
        if hit.place <= self.reached.place:
            return ()
        if hit.place not in self.known:
            self.known[hit.place] = self.text.hit(hit, (self.owner,))
            self.note(self.known[hit.place])
        return self.known[hit.place]

    def finish(self) -> None:
        """First the pauses of all writers together, then those that only one of several seems to make."""
        self.together()
        self.apart()

    def together(self) -> None:
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

    def apart(self) -> None:
        """Between two lines of one writer that look like a pause read more, until one of its own shows that it is none.

        Else the lines of the others, which were read there, would make a pause of what was only not read. Where that
        would take too long, the lines are marked: between them nothing is known.
        """
        if len(self.lines) < 2:
            return
        self.left = MOST_LOOKS
        starts = [self.chunk(place).start for place in range(self.last + 1)]
        for writer in list(self.lines) if len(self.lines) <= MOST_APART else ():
            for low, high in pairwise(sorted(self.lines[writer], key=lambda place: place.at)):
                self.alone(writer, low, high, starts)
        if self.left > 0 and len(self.lines) <= MOST_APART:
            return
        name = self.text.reader.name(self.owner)
        for pending in self.text.pending:
            if pending.observation.adapter == name:
                pending.observation.sparse = True

    def alone(self, writer: Writer, low: _Place, high: _Place, starts: Sequence[int]) -> None:
        """Read the line of the writer nearest to the middle between two places of the text, and so on."""
        if not self.pause(low.time, high.time):
            return
        for hit in self.around((low.at + high.at) // 2, low.at, high.at, starts):
            if self.left <= 0:
                return
            mine = [pending.time for pending in self.read(hit) if pending.writer == writer]
            if mine:
                self.alone(writer, low, _Place(hit.place, mine[0]), starts)
                self.alone(writer, _Place(hit.place, mine[-1]), high, starts)
                return

    def around(self, middle: int, low: int, high: int, starts: Sequence[int]) -> Iterator[Hit]:
        """The lines between two places of the text: those behind the middle in order, then those before it."""
        first = max(bisect_right(starts, middle) - 1, 0)
        begin = min(middle - starts[first], self.strip(first).end)
        at = begin
        for place in range(first, len(starts)):
            if starts[place] >= high:
                break
            while line := self.strip(place).after(at):
                if line[2].place >= high:
                    break
                if line[2].place > low:
                    yield line[2]
                at = line[1]
            at = 0
        for place in range(first, -1, -1):
            at = begin if place == first else self.strip(place).end
            while line := self.strip(place).before(at):
                if line[2].place <= low:
                    return
                if line[2].place < high:
                    yield line[2]
                at = line[0]

    def pause(self, early: int | None, late: int | None) -> bool:
        """Whether more than an episode's pause may lie between two times."""
        return early is not None and late is not None and late - early > EPISODE_GAP and self.left > 0
