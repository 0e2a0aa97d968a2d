"""From a line that holds literals to observations: split glued messages, open envelopes, run the patterns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from engine.facts.model import SUBJECT_FIELDS, Observation, Reading, Scalar, Source
from facts_adapters.text import stamps
from facts_adapters.text.envelope import Envelope, Profile, open_envelope
from facts_adapters.text.signatures import Signature

LONGEST_TEXT = 2_000
"""Characters of a line that are kept as the text of a source."""

LONGEST_SEARCH = 2_048
"""Characters in which a pattern is searched; in longer messages windows around the literals are.

Patterns take a time that grows with the square of the length on lines that repeat what they begin with.
"""

MOST_WINDOWS = 4
"""Windows of one message that are searched for one signature."""

LONGEST_HEAD = 16_384
"""Characters of a message in which prefixes are looked for."""

MOST_SEGMENTS = 50
"""Messages that one line is split into."""

_EMBEDDED = re.compile(
    r"\[rank\d+\]:|\[default\d+\]:|\[[FEWI](?:\d{3,4} \d\d:\d\d:\d\d\.\d+)? ?[\w.]+\.(?:cpp|hpp|h|ts|cu):\d+\]"
    r"|[VIWEC]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ \S+:\d+\]"
    r"|\b[A-Za-z][\w.-]{0,80}:\d+:\d+ \[\d+\] (?=\S+ )|(?:slurmstepd|srun): (?:error|fatal): "
    r"|\[\d+,\d+\]<std(?:out|err)>:"
)


@dataclass(frozen=True, slots=True)
class Segment:
    """One of the messages that stand in a logical line."""

    text: str
    envelope: Envelope


def segments(text: str, profile: Profile) -> list[Segment]:
    """The messages of a line, each with its own prefixes; a later one inherits host and time that it does not state."""
    found: list[Segment] = []
    start = 0
    marks = [match.start() for match in _EMBEDDED.finditer(text)]
    while True:
        envelope = open_envelope(text[start : start + LONGEST_HEAD], profile)
        if len(text) > start + LONGEST_HEAD:
            envelope = replace(envelope, message=envelope.message + text[start + LONGEST_HEAD :])
        consumed = len(text) - len(envelope.message) if text.endswith(envelope.message) else start
        following = (mark for mark in marks if mark > max(consumed, start))
        end = next(following, len(text)) if len(found) < MOST_SEGMENTS else len(text)
        if end < len(text):
            envelope = replace(envelope, message=envelope.message[: len(envelope.message) - (len(text) - end)])
        if found:
            first = found[0].envelope
            envelope = replace(envelope, host=envelope.host or first.host, when=envelope.when or first.when)
        found.append(Segment(text[start:end], envelope))
        if end >= len(text):
            return found
        start = end


@dataclass(frozen=True, slots=True)
class Found:
    """A signature that hit: the observation without times, the process it names, a stamp of its own."""

    signature: Signature
    observation: Observation
    pid: int | None
    when: Reading | None


@dataclass(frozen=True, slots=True)
class Probe:
    """A cheap look at a whole line for one signature: a literal stands in it and its pattern is found."""

    signature: Signature
    literals: tuple[str, ...]

    @classmethod
    def of(cls, signature: Signature) -> Probe:
        """The probe of a signature."""
        return cls(signature, signature.literals)

    def __call__(self, text: str) -> bool:
        """Whether the signature may match in the line; certain only where it says no.

        A pattern that holds to an end of the message is not searched: the whole line tells nothing about it. Raises
        :class:`facts_adapters.text.patterns.UnfitPattern` where a literal is found and the pattern cannot be used.
        """
        for literal in self.literals:
            if literal in text:
                pattern = self.signature.pattern
                search = pattern.compiled.search
                return pattern.anchored or len(text) > LONGEST_SEARCH or search(text) is not None or text[:1] == "{"
        return False


def matches(path: str, number: int, line: str, segment: Segment, signatures: Sequence[Signature]) -> Iterator[Found]:
    """The signatures that hit in a segment, each once per different outcome.

    Raises :class:`facts_adapters.text.patterns.UnfitPattern` where a literal is found and the pattern cannot be used.
    """
    seen: set[tuple[object, ...]] = set()
    for signature in signatures:
        if not signature.fits(segment.envelope.kinds):
            continue
        for match in _search(signature, segment):
            fields = signature.fields(match)
            key = (signature.name, tuple(sorted(fields.items(), key=str)))
            if key not in seen:
                seen.add(key)
                yield _found(path, number, line, segment.envelope, signature, match, fields)


def _search(signature: Signature, segment: Segment) -> Iterable[re.Match[str]]:
    for text in (segment.envelope.message, segment.text):
        if not any(literal in text for literal in signature.literals):
            continue
        pattern = signature.pattern
        finditer = pattern.compiled.finditer
        if len(text) > LONGEST_SEARCH:
            windows = _windows(text, signature.literals, LONGEST_SEARCH * (4 if pattern.anchored else 1))
            found = [match for begin, end in windows for match in finditer(text, begin, end)]
        else:
            found = list(finditer(text))
        if found:
            return found
    return ()


def _windows(text: str, literals: Iterable[str], width: int) -> Iterator[tuple[int, int]]:
    """Where to search a long message: around literals, each with at least half a window behind it."""
    reached = 0
    for _ in range(MOST_WINDOWS):
        least = max(reached - width // 2, 0)
        starts = [start for start in (text.find(literal, least) for literal in literals) if start >= 0]
        if not starts:
            return
        begin = max(0, min(starts) - width // 4)
        reached = begin + width
        yield begin, reached
        if reached >= len(text):
            return


def _found(
    path: str,
    number: int,
    line: str,
    envelope: Envelope,
    signature: Signature,
    match: re.Match[str],
    fields: dict[str, Scalar],
) -> Found:
    groups = match.groupdict()
    subject = {name: fields.pop(name) for name in SUBJECT_FIELDS if name in fields}
    own = {name: value for name, value in fields.items() if name in signature.types}
    observation = Observation(
        kind=signature.emits,
        source=Source(path, number, line[:LONGEST_TEXT]),
        fields=own,
        lag=signature.lag_of(match),
        adapter=signature.name,
    )
    for name, value in subject.items():
        setattr(observation, name, value)
    pid = groups.get("pid")
    named = int(pid) if pid and pid.isdigit() else envelope.pid
    stamp = groups.get("when")
    return Found(signature, observation, named, stamps.reading(stamp) if stamp else None)
