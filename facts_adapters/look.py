"""The first look at the files of a bundle: what they are and who reads them, by their heads alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.facts.manifest import Manifest
from engine.facts.model import Reading
from facts_adapters.archives import Member
from facts_adapters.bundle import Bundle
from facts_adapters.discovery import Choice, Forced, Registry, choose, date_of
from facts_adapters.evidence import HEAD_LINE, decode_head, first_bytes, head_of
from facts_adapters.parts import LONGEST_PASTE, Part, is_pasted, parts
from facts_adapters.result import FileReport
from facts_adapters.streams import DAMAGE
from facts_adapters.text.lines import is_text, wide_encoding

HEAD_BYTES = 64 * 1024

ALIKE = 6
"""Lines of one kind in the head of a long file that adapters see."""

_UNPRINTED = re.compile(rb"[^\x20-\x7e\t]+")
_SHORTEST_WORD = 4


@dataclass(slots=True)
class Look:
    """What a head tells: the beginning of the file's report, the dates that paths state, titles of pasted parts."""

    report: FileReport
    dates: list[tuple[str, Reading]] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Looker:
    """Looks at files; ``forced`` and the manifest may name their adapters.

    ``refusals`` keeps the verdicts of adapters that do not take a file, for people who ask: there are over a hundred of
    each file.
    """

    bundle: Bundle
    manifest: Manifest
    adapters: Registry
    forced: Sequence[Forced]
    refusals: bool = False

    def look(self, member: Member) -> Look:
        """Look at a file; what cannot be read is told in ``failure``."""
        look = Look(FileReport(member.path, member.size))
        report = look.report
        try:
            with self.bundle.open(member, quiet=True) as stream:
                raw = stream.read(HEAD_BYTES)
        except DAMAGE as error:
            look.failure = f"the file cannot be read: {error}"
            report.size = 0
            return look
        report.text = is_text(raw)
        text = decode_head(raw if report.text else printed(raw))
        named = self._named(member.path)
        if report.text:
            _date(look, member.path, text)
        report.pasted = report.text and named is None and is_pasted(member.path, text)
        for part in self.parts(member) if report.pasted else ():
            path = part.path(member.path)
            look.titles.append(path)
            _date(look, path, decode_head(part.inner[:HEAD_BYTES]))
        if report.text and len(raw) == HEAD_BYTES and wide_encoding(raw[:4]) is None:
            text = decode_head(condensed(raw))
        head = head_of(member.path, text, binary=not report.text)
        choices = choose(head, self.adapters.adapters, named)
        report.choices = [choice for choice in choices if choice.taken or self.refusals]
        return look

    def parts(self, member: Member) -> list[Part]:
        """The parts of a pasted file; none where it is too long to be one or cannot be read."""
        try:
            data = first_bytes(self.bundle, member, LONGEST_PASTE)
            return parts(member.path, data) if len(data) <= LONGEST_PASTE else []
        except DAMAGE:
            return []

    def readers(self, path: str, part: Part) -> tuple[list[Choice], bytes]:
        """Who reads a part and what of it: where nobody knows it without its prefixes, who knows it with them."""
        if part.prose:
            return [], part.inner
        for body in (part.inner, part.raw):
            found = choose(head_of(path, decode_head(body[:HEAD_BYTES])), self.adapters.adapters)
            if any(choice.taken for choice in found):
                return found, body
        return found, part.inner

    def _named(self, path: str) -> str | None:
        for forced in self.forced:
            if forced.matches(path):
                return forced.adapter
        return self.manifest.hint(path).adapter


def condensed(raw: bytes) -> bytes:
    """A text in which of lines that differ only in their numbers a few stand for all.

    For the heads of long files: a log says the same again and again, and every adapter looks at every head.
    """
    seen: Counter[bytes] = Counter()
    kept = []
    for line in raw.split(b"\n"):
        shape = line.translate(None, b"0123456789")
        seen[shape] += 1
        if seen[shape] <= ALIKE:
            kept.append(line)
    return b"\n".join(kept)


def printed(raw: bytes) -> bytes:
    """What of a binary file is printed characters, each run of four or more once, with a NUL between them.

    A dump says the same a thousand times, lists ten thousand ranks, and means nothing to most adapters, all of which
    look at it.
    """
    words = _UNPRINTED.split(raw)
    told = (word[:HEAD_LINE] for word in words if len(word) >= _SHORTEST_WORD or not word)
    return b"\0".join(dict.fromkeys(told))


def _date(look: Look, path: str, text: str) -> None:
    date = date_of(path, text)
    if date is not None:
        look.dates.append((path, date))
