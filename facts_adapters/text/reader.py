"""Reading one text file: lines that hold literals become observations, the rest is only counted."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from engine.facts.vocabulary import Vocabulary
from facts_adapters.adapter import Context
from facts_adapters.text.blocks import BlockReader
from facts_adapters.text.chunks import Lines
from facts_adapters.text.content import Text
from facts_adapters.text.envelope import profile
from facts_adapters.text.identity import LITERALS
from facts_adapters.text.lines import decode, plain
from facts_adapters.text.match import Probe
from facts_adapters.text.matchers import hyperscan_version
from facts_adapters.text.one_text import OneText
from facts_adapters.text.quick_look import HyperscanLook, PlainLook, QuickLook
from facts_adapters.text.result import TextResult
from facts_adapters.text.scan import Literals, scan
from facts_adapters.text.signatures import Signature

SAMPLED_LINES = 40
"""Lines at the beginning, in the middle and at the end that tell a file's kind."""


class TextReader:
    """All signatures and block readers, ready to read file after file; ``vocabulary`` is that of their kinds.

    Owners of literals are numbered: the signatures, then the block readers, then ``tells``, the owner of the texts that
    tell ranks.
    """

    def __init__(
        self,
        signatures: Sequence[Signature],
        blocks: Sequence[BlockReader] = (),
        vocabulary: Vocabulary | None = None,
    ) -> None:
        self.vocabulary = vocabulary
        self.signatures = tuple(signatures)
        self.blocks = tuple(blocks)
        self.tells = len(self.signatures) + len(self.blocks)
        self.probes = [Probe.of(signature) for signature in self.signatures]
        self.ticking = frozenset(owner for owner in range(self.tells) if self._ticks(owner))
        owned = [(text, i) for i, signature in enumerate(self.signatures) for text in signature.literals]
        owned += [(text, len(self.signatures) + i) for i, block in enumerate(self.blocks) for text in block.literals]
        owned += [(text, self.tells) for text in LITERALS]
        self.literals = Literals(owned)
        self._quick: dict[bool, QuickLook] = {}
        """For signatures whose literals turned out common, a quick look for what else they need."""

    def _ticks(self, owner: int) -> bool:
        """Whether all that the owner says are kinds that repeat as long as all is well."""
        if self.vocabulary is None:
            return False
        count = len(self.signatures)
        kinds = (self.signatures[owner].emits,) if owner < count else self.blocks[owner - count].emits
        return bool(kinds) and all(kind in self.vocabulary and self.vocabulary[kind].ticks for kind in kinds)

    def name(self, owner: int) -> str:
        """Name of a signature or block reader."""
        count = len(self.signatures)
        return self.signatures[owner].name if owner < count else self.blocks[owner - count].name

    def read(
        self,
        path: str,
        data: Text | bytes,
        context: Context,
        nodes: Collection[str] = (),
        world: int | None = None,
        *,
        fast: bool = False,
    ) -> TextResult:
        """Read a text; ``nodes`` are host names known otherwise, ``world`` the size of the job.

        With ``fast`` Hyperscan finds the lines where it is installed; what comes out is the same. Never raises for what
        the bytes hold; raises :class:`OSError` where they cannot be read.
        """
        fast = fast and hyperscan_version() is not None
        with data if isinstance(data, Text) else Text.of(data) as text:
            found = scan(text, self.literals.matcher(fast))
            lines = Lines(text, found.chunks, found.lines)
            sampled = sample(found.lines)
            known = profile((plain(decode(lines.raw(number))) for number in sampled), nodes)
            one = OneText(self, path, text, found, lines, known, context, fast)
            one.sample(sampled)
            one.read()
            return one.finish(world)

    def is_common(self, owner: int, fast: bool) -> None:
        """From now on look at the lines of this signature only where more than its literals can be found."""
        self.quick(fast).add(owner, self.signatures[owner].pattern)

    def quick(self, fast: bool) -> QuickLook:
        """The quick look with Hyperscan or without."""
        if fast not in self._quick:
            self._quick[fast] = HyperscanLook() if fast else PlainLook()
        return self._quick[fast]


def sample(total: int) -> list[int]:
    """Numbers of the lines that tell a text's kind."""
    if total <= 3 * SAMPLED_LINES:
        return list(range(1, total + 1))
    middle = total // 2
    return [
        *range(1, SAMPLED_LINES + 1),
        *range(middle, middle + SAMPLED_LINES),
        *range(total - SAMPLED_LINES + 1, total + 1),
    ]
