"""Reading one text file: lines that hold literals become observations, the rest is only counted."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from engine.facts.model import Observation, Reading
from engine.facts.vocabulary import Vocabulary
from facts_adapters.adapter import Context
from facts_adapters.text.blocks import LONGEST_BLOCK, Block, BlockLine, BlockReader
from facts_adapters.text.envelope import Envelope, Profile, profile
from facts_adapters.text.identity import LITERALS, Identity
from facts_adapters.text.lines import LONGEST_LINE, decode, plain
from facts_adapters.text.match import Probe, matches, segments
from facts_adapters.text.neighbours import Neighbours, around
from facts_adapters.text.patterns import UnfitPattern
from facts_adapters.text.scan import Data, Hit, Lines, Literals, scan
from facts_adapters.text.signatures import Signature

MOST_EQUAL = 1_000
"""Equal observations (signature, host, rank, fields) of one file that are kept, plus the last."""

MOST_OF_SIGNATURE = 20_000
"""Hits of one signature in one file that are read; of what follows the last lines are."""

LAST_LINES = 20

MOST_IDENTITIES = 5_000
"""Lines of one file that only tell ranks and are looked at."""

SAMPLED_LINES = 400
"""Lines at the beginning, in the middle and at the end that tell a file's kind."""


@dataclass(slots=True)
class TextResult:
    """What a text file gave.

    ``writers`` are the hosts that the prefixes of the observations' lines name, ``kinds`` counts envelope kinds of the
    sampled lines, ``folded`` says how many equal observations were only counted, by signature.
    """

    observations: list[Observation] = field(default_factory=list)
    writers: list[str | None] = field(default_factory=list)
    lines: int = 0
    first: Reading | None = None
    last: Reading | None = None
    kinds: Counter[str] = field(default_factory=Counter)
    hits: Counter[str] = field(default_factory=Counter)
    folded: Counter[str] = field(default_factory=Counter)
    identity: Identity = field(default_factory=Identity)


@dataclass(slots=True)
class _Pending:
    """An observation whose rank and host are completed when the whole file is known."""

    observation: Observation
    envelope: Envelope
    pid: int | None


class TextReader:
    """All signatures and block readers, ready to read file after file; ``vocabulary`` is that of their kinds."""

    def __init__(
        self,
        signatures: Sequence[Signature],
        blocks: Sequence[BlockReader] = (),
        vocabulary: Vocabulary | None = None,
    ) -> None:
        self.vocabulary = vocabulary
        self.signatures = tuple(signatures)
        self.blocks = tuple(blocks)
        self._identity_owner = len(self.signatures) + len(self.blocks)
        owned = [(text, i) for i, signature in enumerate(self.signatures) for text in signature.literals]
        owned += [(text, len(self.signatures) + i) for i, block in enumerate(self.blocks) for text in block.literals]
        owned += [(text, self._identity_owner) for text in LITERALS]
        self._literals = Literals(owned, self._rarer)
        self._probes = [Probe.of(signature) for signature in self.signatures]
        self._split: dict[tuple[int, ...], tuple[list[Probe], list[BlockReader], bool]] = {}

    def read(
        self, path: str, data: Data, context: Context, nodes: Collection[str] = (), world: int | None = None
    ) -> TextResult:
        """Read a file's bytes; ``nodes`` are host names known otherwise, ``world`` the size of the job.

        Never raises for what the bytes hold.
        """
        starts, hits = scan(data, self._literals)
        lines = Lines(data, starts)
        sampled = _sample(lines)
        known = profile((plain(decode(lines.raw(n))) for n in sampled), nodes)
        work = _Work(self, path, lines, known, context)
        work.sample(sampled)
        for hit in hits:
            work.hit(hit)
        return work.finish(world)

    def _rarer(self, owner: int) -> Collection[str]:
        """What is sought for an owner whose literals are common."""
        return self.signatures[owner].sought() if owner < len(self.signatures) else ()

    def split_owners(self, owners: tuple[int, ...]) -> tuple[list[Probe], list[BlockReader], bool]:
        """Signatures, block readers and whether the line tells ranks, from the owners of a hit."""
        known = self._split.get(owners)
        if known is None:
            count = len(self.signatures)
            probes = [self._probes[i] for i in owners if i < count]
            blocks = [self.blocks[i - count] for i in owners if count <= i < self._identity_owner]
            known = self._split[owners] = (probes, blocks, self._identity_owner in owners)
        return known


def _sample(lines: Lines) -> list[int]:
    total = len(lines)
    if total <= 3 * SAMPLED_LINES:
        return list(range(1, total + 1))
    middle = total // 2
    return [
        *range(1, SAMPLED_LINES + 1),
        *range(middle, middle + SAMPLED_LINES),
        *range(total - SAMPLED_LINES + 1, total + 1),
    ]


class _Work:
    """The state of reading one file."""

    def __init__(self, reader: TextReader, path: str, lines: Lines, known: Profile, context: Context) -> None:
        self.reader = reader
        self.path = path
        self.lines = lines
        self.known = known
        self.context = context
        self.neighbours = Neighbours(lines, known)
        self.result = TextResult(lines=len(lines))
        self.pending: list[_Pending] = []
        self.equal: dict[tuple[object, ...], int] = {}
        self.last_of: dict[tuple[object, ...], int] = {}
        self.identities = 0
        self.cut = False
        self.frequent: dict[str, deque[Hit]] = {}
        self.unfit: set[str] = set()
        self.blocks_until: dict[tuple[str, tuple[object, ...]], int] = {}

    def sample(self, numbers: Sequence[int]) -> None:
        """Learn the file's kind, hosts and ranks from sample lines."""
        identity = self.result.identity
        for number in numbers:
            for segment in segments(plain(decode(self.lines.raw(number))), self.known):
                for kind in segment.envelope.kinds:
                    self.result.kinds[kind] += 1
                identity.see(segment.envelope)

    def hit(self, hit: Hit, only: str = "") -> None:
        """Read one line that holds literals, for all signatures or for one."""
        raw = self.lines.data[hit.start : min(hit.end, hit.start + LONGEST_LINE)]
        if hit.end - hit.start > LONGEST_LINE and not self.cut:
            self.cut = True
            self.context.warn(self.path, hit.number, f"only the first {LONGEST_LINE} bytes of a line are looked at")
        text = plain(decode(raw.strip(b"\r\n")))
        probes, blocks, tells = self.reader.split_owners(hit.owners)
        signatures = [p.signature for p in probes if self._wanted(p, text, hit, only)]
        blocks = [b for b in blocks if not only and any(literal in text for literal in b.literals)]
        if tells and not signatures and not blocks:
            self.identities += 1
            tells = self.identities <= MOST_IDENTITIES
        if not (signatures or blocks or tells):
            return
        for segment in segments(text, self.known):
            if tells:
                self.result.identity.see(segment.envelope)
            for found in matches(self.path, hit.number, text, segment, signatures):
                observation = found.observation
                when, after, until = around(self.neighbours, hit.number, segment.envelope)
                if found.when is not None:
                    when, after, until = found.when, None, None
                observation.when, observation.after, observation.until = when, after, until
                self._count(found.signature.name)
                self._keep(_Pending(observation, segment.envelope, found.pid), found.signature.name)
            for block in blocks:
                if block.begins(segment.envelope.message):
                    self._block(block, hit.number, segment.envelope)

    def _wanted(self, probe: Probe, text: str, hit: Hit, only: str) -> bool:
        """Whether the signature is looked for in a line; of one that hit very often only the last lines are kept."""
        name = probe.signature.name
        if only:
            return name == only
        if name not in self.frequent:
            try:
                return probe(text)
            except UnfitPattern as error:
                self._unfit(name, error, hit.number)
                return False
        if len(self.frequent[name]) == LAST_LINES:
            self.result.folded[name] += 1
        self.frequent[name].append(hit)
        return False

    def _unfit(self, name: str, error: UnfitPattern, number: int) -> None:
        if name not in self.unfit:
            self.unfit.add(name)
            self.context.warn(self.path, number, f"the signature {name} is left out: its pattern {error}")

    def _count(self, name: str) -> None:
        self.result.hits[name] += 1
        if self.result.hits[name] == MOST_OF_SIGNATURE:
            self.frequent[name] = deque(maxlen=LAST_LINES)

    def _keep(self, pending: _Pending, name: str) -> None:
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
            self.pending[self.last_of[key]] = pending
            return
        self.equal[key] = count + 1
        self.last_of[key] = len(self.pending)
        self.pending.append(pending)

    def _block(self, reader: BlockReader, number: int, envelope: Envelope) -> None:
        key = (reader.name, envelope.writer)
        if self.blocks_until.get(key, 0) >= number:
            return
        lines = list(self._collect(reader, number, envelope))
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
        self._read_block(reader, block, envelope)

    def _read_block(self, reader: BlockReader, block: Block, envelope: Envelope) -> None:
        first = block.lines[0].number
        try:
            observations = list(reader.read(block, self.context))
        except Exception as error:  # one faulty block must not end the file
            reason = f"the block reader {reader.name} failed: {type(error).__name__}: {error}"
            self.context.warn(self.path, first, reason)
            return
        for observation in observations:
            if observation.when is None and observation.after is None and observation.until is None:
                observation.when, observation.after, observation.until = block.when, block.after, block.until
            observation.adapter = observation.adapter or reader.name
            self.result.hits[reader.name] += 1
            self._keep(_Pending(observation, envelope, envelope.pid), reader.name)

    def _collect(self, reader: BlockReader, number: int, envelope: Envelope) -> Iterator[tuple[BlockLine, Envelope]]:
        """The lines of the block that begins at ``number``, of the same writer; others in between are passed over."""
        so_far = [envelope.message]
        yield BlockLine(number, envelope.message), envelope
        foreign = 0
        for following in range(number + 1, len(self.lines) + 1):
            if len(so_far) >= LONGEST_BLOCK or foreign > 200:
                return
            found = segments(plain(decode(self.lines.raw(following))), self.known)[0].envelope
            if found.writer != envelope.writer:
                foreign += 1
                continue
            if not reader.continues(so_far, found.message):
                return
            foreign = 0
            so_far.append(found.message)
            yield BlockLine(following, found.message), found

    def finish(self, world: int | None) -> TextResult:
        """Complete ranks and hosts, find the first and last stamp."""
        result = self.result
        for name, hits in sorted(self.frequent.items()):
            for hit in hits:
                self.hit(hit, only=name)
        result.identity.settle()
        for pending in self.pending:
            observation, envelope = pending.observation, pending.envelope
            if observation.rank is None:
                observation.rank = result.identity.rank_of(envelope, pending.pid, world)
            result.observations.append(observation)
            result.writers.append(result.identity.host_of(envelope, observation.rank))
        total = len(self.lines)
        edges = Neighbours(self.lines, self.known)
        result.first = edges.after(0)
        result.last = next((r for n in range(total, 0, -1) if (r := edges.of(n)[1])), None)
        return result
