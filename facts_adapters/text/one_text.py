"""The state of reading one text: what its lines gave so far, and which signatures are still looked for."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from facts_adapters.adapter import Context
from facts_adapters.text.blocks import LONGEST_BLOCK, Block, BlockLine, BlockReader
from facts_adapters.text.chunks import Lines
from facts_adapters.text.content import Text
from facts_adapters.text.envelope import Envelope, Profile
from facts_adapters.text.identity import LITERALS
from facts_adapters.text.lines import LONGEST_LINE, decode, plain
from facts_adapters.text.match import Segment, matches, segments
from facts_adapters.text.matchers import searchable
from facts_adapters.text.neighbours import Neighbours, around
from facts_adapters.text.patterns import UnfitPattern
from facts_adapters.text.result import Pending, TextResult
from facts_adapters.text.scan import Hit, Scan
from facts_adapters.text.signatures import Signature
from facts_adapters.text.ticking import Ticking

if TYPE_CHECKING:
    from facts_adapters.text.reader import TextReader

MOST_EQUAL = 1_000
"""Equal observations (signature, host, rank, fields) of one text that are kept, plus the last."""

MOST_OF_SIGNATURE = 20_000
"""Hits of one signature in one text that are read; of what follows the last lines are."""

LAST_LINES = 20

MOST_IDENTITIES = 5_000
"""Lines of one text that only tell ranks and are looked at."""

NO_NEWS = 300
"""Lines that tell ranks without a new one after which no more are looked at."""

LONGEST_TICKS = 20
"""Lines of a block that are read where such blocks are known to fill the text."""

MOST_ENVELOPES = 20_000
"""Lines whose prefixes are remembered while blocks of many writers that stand in each other are collected."""

_OFTEN_TRIED = 100
_SELDOM_FOUND = 8
"""A signature that was tried that often, and found in fewer than one of so many lines, has common literals."""


class OneText:
    """Reads one text for a :class:`facts_adapters.text.reader.TextReader`."""

    def __init__(
        self,
        reader: TextReader,
        path: str,
        text: Text,
        scanned: Scan,
        lines: Lines,
        known: Profile,
        context: Context,
        fast: bool,
    ) -> None:
        self.reader = reader
        self.path = path
        self.text = text
        self.scan = scanned
        self.lines = lines
        self.known = known
        self.context = context
        self.fast = fast
        self.neighbours = Neighbours(lines, known)
        self.result = TextResult(lines=len(lines), size=text.size)
        self.pending: list[Pending] = []
        self.equal: dict[tuple[object, ...], int] = {}
        self.last_of: dict[tuple[object, ...], int] = {}
        self.tried: Counter[int] = Counter()
        self.found: Counter[int] = Counter()
        self.frequent: dict[int, deque[Hit]] = {}
        self.ticking: dict[int, Ticking] = {}
        self.quiet: set[int] = set()
        self.identities = 0
        self.news = (0, 0)
        self.unfit: set[str] = set()
        self.shorter = False
        self.blocks_until: dict[tuple[str, tuple[object, ...]], int] = {}
        self.envelopes: dict[int, Envelope] = {}

    def sample(self, numbers: Sequence[int]) -> None:
        """Learn the text's kind, hosts and ranks from sample lines."""
        identity = self.result.identity
        for number in numbers:
            for segment in segments(plain(decode(self.lines.raw(number))), self.known):
                for kind in segment.envelope.kinds:
                    self.result.kinds[kind] += 1
                identity.see(segment.envelope)

    def read(self) -> None:
        """Read the lines that hold literals, chunk by chunk."""
        for index, present in enumerate(self.scan.present):
            if self.scan.chunks[index].cut:
                self._warn_cut(self.scan.chunks[index].number)
            wanted = self._wanted_in(index, present)
            if wanted:
                self._chunk(index, wanted)

    def _wanted_in(self, index: int, present: Sequence[int]) -> list[int]:
        """The literals of a chunk for which its lines are sought; ticking owners that are quiet only note the chunk."""
        literals = self.reader.literals
        wanted = []
        for literal in present:
            owners = literals.owners[literal]
            for owner in owners:
                if owner in self.ticking:
                    self.ticking[owner].note(index)
            if any(owner not in self.quiet for owner in owners):
                wanted.append(literal)
        return wanted

    def _chunk(self, index: int, wanted: Sequence[int]) -> None:
        chunk = self.scan.chunks[index]
        data = self.text.read(chunk.start, chunk.end)
        if len(data) < chunk.end - chunk.start and not self.shorter:
            self.shorter = True
            self.context.warn(self.path, chunk.number, "the file became shorter while it was read; its end is not used")
        wanted, without = self._filtered(data, wanted)
        for hit in self.reader.literals.hits(chunk, data, wanted):
            owners = [owner for owner in hit.owners if owner not in self.quiet and owner not in without]
            if owners:
                self.hit(hit, owners, index)

    def _filtered(self, data: bytes, wanted: Sequence[int]) -> tuple[Sequence[int], set[int]]:
        """Leave out literals that only signatures without a match in the chunk are interested in; and those owners."""
        if _may_be_cut(data):
            return wanted, set()
        literals = self.reader.literals
        look = self.reader.quick(self.fast)
        here = {owner for literal in wanted for owner in literals.owners[literal]} & look.owners - self.quiet
        held = look.held(searchable(data)) if here else None
        if held is None:
            return wanted, set()
        without = here - held
        deaf = without | self.quiet
        return [i for i in wanted if any(owner not in deaf for owner in literals.owners[i])], without

    def hit(self, hit: Hit, owners: Sequence[int], index: int = -1) -> list[Pending]:
        """Read one line for these owners; ``index`` is its chunk."""
        if hit.cut:
            self._warn_cut(hit.number)
        text = plain(decode(hit.raw.strip(b"\r\n")))
        count = len(self.reader.signatures)
        signatures = [i for i in owners if i < count and self._wanted(i, text, hit)]
        blocks = [i for i in owners if count <= i < self.reader.tells]
        blocks = [i for i in blocks if any(literal in text for literal in self.reader.blocks[i - count].literals)]
        tells = self.reader.tells in owners
        if not (signatures or blocks or tells):
            return []
        tells = tells or any(literal in text for literal in LITERALS)
        kept: list[Pending] = []
        for segment in segments(text, self.known):
            if tells:
                self.result.identity.see(segment.envelope)
            for owner in signatures:
                kept += self._match(hit, text, segment, owner)
            for owner in blocks:
                if self.reader.blocks[owner - count].begins(segment.envelope.message):
                    kept += self._block(owner, hit, segment.envelope)
        if tells and not signatures and not blocks:
            self._told()
        for owner in (*signatures, *blocks):
            self._tick(owner, kept, index, hit)
        return kept

    def _warn_cut(self, number: int) -> None:
        self.result.cut = self.result.cut or number

    def _told(self) -> None:
        """Stop looking at lines that only tell ranks where they tell nothing new."""
        self.identities += 1
        known = self.result.identity.size
        if known != self.news[0]:
            self.news = (known, self.identities)
        if self.identities >= MOST_IDENTITIES or self.identities - self.news[1] >= NO_NEWS:
            self.quiet.add(self.reader.tells)

    def _wanted(self, owner: int, text: str, hit: Hit) -> bool:
        """Whether the signature is looked for in a line; of one that hit very often only the last lines are kept."""
        if owner in self.frequent:
            if len(self.frequent[owner]) == LAST_LINES:
                self.result.folded[self.reader.name(owner)] += 1
            self.frequent[owner].append(hit)
            return False
        try:
            wanted = self.reader.probes[owner](text)
        except UnfitPattern as error:
            self._unfit(self.reader.name(owner), error, hit.number)
            return False
        self.tried[owner] += 1
        often = self.tried[owner] % _OFTEN_TRIED == 0
        if often and self.found[owner] * _SELDOM_FOUND < self.tried[owner]:
            self.reader.is_common(owner, self.fast)
        return wanted

    def _unfit(self, name: str, error: UnfitPattern, number: int) -> None:
        if name not in self.unfit:
            self.unfit.add(name)
            self.context.warn(self.path, number, f"the signature {name} is left out: its pattern {error}")

    def _match(self, hit: Hit, text: str, segment: Segment, owner: int) -> list[Pending]:
        kept = []
        number = hit.number
        signature: Signature = self.reader.signatures[owner]
        for found in matches(self.path, number, text, segment, (signature,)):
            observation = found.observation
            when, after, until = around(self.neighbours, number, segment.envelope)
            if found.when is not None:
                when, after, until = found.when, None, None
            observation.when, observation.after, observation.until = when, after, until
            self.found[owner] += 1
            self._count(owner)
            kept.append(Pending(observation, segment.envelope, found.pid, hit.place))
            self._keep(kept[-1], signature.name)
        return kept

    def _count(self, owner: int) -> None:
        name = self.reader.name(owner)
        self.result.hits[name] += 1
        if self.result.hits[name] == MOST_OF_SIGNATURE and owner not in self.reader.ticking:
            self.frequent[owner] = deque(maxlen=LAST_LINES)

    def _tick(self, owner: int, kept: Sequence[Pending], index: int, hit: Hit) -> None:
        if owner not in self.reader.ticking or index < 0:
            return
        name = self.reader.name(owner)
        mine = [pending for pending in kept if pending.observation.adapter == name]
        if mine:
            until = max((until for (block, _), until in self.blocks_until.items() if block == name), default=0)
            state = self.ticking.setdefault(owner, Ticking())
            if state.see(mine, index, hit, max(until - hit.number + 1, len(mine))):
                self.quiet.add(owner)

    def _keep(self, pending: Pending, name: str) -> None:
        observation = pending.observation
        key = (
            name,
            observation.host or pending.envelope.host,
            pending.envelope.writer if observation.rank is None else observation.rank,
            observation.device,
            observation.port,
            observation.peer,
            tuple(sorted(observation.fields.items(), key=str)),
        )
        count = self.equal.get(key, 0)
        if count > MOST_EQUAL:
            self.result.folded[name] += 1
            if pending.place >= self.pending[self.last_of[key]].place:
                self.pending[self.last_of[key]] = pending
            return
        self.equal[key] = count + 1
        self.last_of[key] = len(self.pending)
        self.pending.append(pending)

    def _block(self, owner: int, hit: Hit, envelope: Envelope) -> list[Pending]:
        number = hit.number
        reader = self.reader.blocks[owner - len(self.reader.signatures)]
        key = (reader.name, envelope.writer)
        if owner not in self.quiet and self.blocks_until.get(key, 0) >= number:
            return []
        most = LONGEST_TICKS if owner in self.quiet else LONGEST_BLOCK
        lines = list(self._collect(reader, number, envelope, most))
        self.blocks_until[key] = lines[-1][0].number
        stamped = [e.when for _, e in lines if e.when]
        after = until = None
        if not stamped:
            after, until = self.neighbours.before(number), self.neighbours.after(lines[-1][0].number)
        identity = self.result.identity
        rank = envelope.rank
        if rank is None and envelope.local_rank is not None and identity.base is not None:
            rank = identity.base + envelope.local_rank
        block = Block(
            path=self.path,
            lines=tuple(line for line, _ in lines),
            host=envelope.host,
            rank=rank,
            local_rank=envelope.local_rank,
            when=stamped[-1] if stamped else None,
            after=after,
            until=until,
        )
        return self._read_block(reader, block, envelope, hit.place)

    def _read_block(self, reader: BlockReader, block: Block, envelope: Envelope, place: int) -> list[Pending]:
        first = block.lines[0].number
        try:
            observations = list(reader.read(block, self.context))
        except Exception as error:  # one faulty block must not end the file
            reason = f"the block reader {reader.name} failed: {type(error).__name__}: {error}"
            self.context.warn(self.path, first, reason)
            return []
        kept = []
        for observation in observations:
            if observation.when is None and observation.after is None and observation.until is None:
                observation.when, observation.after, observation.until = block.when, block.after, block.until
            observation.adapter = observation.adapter or reader.name
            self.result.hits[reader.name] += 1
            kept.append(Pending(observation, envelope, envelope.pid, place))
            self._keep(kept[-1], reader.name)
        return kept

    def _collect(
        self, reader: BlockReader, number: int, envelope: Envelope, most: int
    ) -> Iterator[tuple[BlockLine, Envelope]]:
        """The lines of the block that begins at ``number``, of the same writer; others in between are passed over."""
        so_far = [envelope.message]
        yield BlockLine(number, envelope.message, envelope.when), envelope
        foreign = 0
        for following in range(number + 1, len(self.lines) + 1):
            if len(so_far) >= most or foreign > 200:
                return
            found = self._envelope(following)
            if found.writer != envelope.writer:
                foreign += 1
                continue
            if not reader.continues(so_far, found.message):
                return
            foreign = 0
            so_far.append(found.message)
            yield BlockLine(following, found.message, found.when), found

    def _envelope(self, number: int) -> Envelope:
        """The prefixes of a line, opened once for all blocks around it."""
        known = self.envelopes.get(number)
        if known is None:
            if len(self.envelopes) >= MOST_ENVELOPES:
                self.envelopes.clear()
            known = segments(plain(decode(self.lines.raw(number))), self.known)[0].envelope
            self.envelopes[number] = known
        return known

    def finish(self, world: int | None) -> TextResult:
        """Complete ranks and hosts, find the first and last stamp."""
        result = self.result
        frequent, self.frequent = self.frequent, {}
        for owner, hits in sorted(frequent.items()):
            for hit in hits:
                self.hit(hit, (owner,))
        for owner, state in sorted(self.ticking.items()):
            if owner in self.quiet:
                state.finish(self, owner)
        result.identity.settle()
        for pending in self._in_order():
            observation, envelope = pending.observation, pending.envelope
            if observation.of_another:
                observation.writer = result.identity.rank_of(envelope, pending.pid, world)
            elif observation.rank is None:
                observation.rank = result.identity.rank_of(envelope, pending.pid, world)
            result.observations.append(observation)
            result.writers.append(result.identity.host_of(envelope, observation.rank))
        result.first, result.last = self.neighbours.first, self.neighbours.last
        result.undated = self.neighbours.undated
        return result

    def _in_order(self) -> list[Pending]:
        """What was kept in the order of the lines; a ticking line that was read twice counts once."""
        if not any(owner in self.quiet for owner in self.ticking):
            return self.pending
        names = {self.reader.name(owner) for owner in self.ticking}
        seen: set[tuple[object, ...]] = set()
        kept = []
        for pending in sorted(self.pending, key=lambda pending: pending.place):
            observation = pending.observation
            if observation.adapter in names:
                key = (observation.adapter, observation.source, pending.writer, tuple(observation.fields.items()))
                if key in seen:
                    continue
                seen.add(key)
            kept.append(pending)
        return kept


def _may_be_cut(data: bytes) -> bool:
    """Whether a line may be longer than what is looked at: that is told, so all hits in such a chunk are read."""
    half = LONGEST_LINE // 2
    pieces = (data[i : i + half] for i in range(0, len(data) - half + 1, half))
    return any(b"\n" not in piece and b"\r" not in piece for piece in pieces)
