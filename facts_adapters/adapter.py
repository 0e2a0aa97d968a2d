"""What an adapter is: a name, a cheap look at a file's head, and a reader that yields observations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO, Protocol

from engine.facts.collectives import GroupState
from engine.facts.model import CounterSample, Observation, Reading, Scalar

Record = Observation | CounterSample | GroupState
"""What a reader yields: a statement, one reading of a counter, or the state of a rank in a process group."""


@dataclass(frozen=True, slots=True)
class Head:
    """The first 64 kB of a file: its path in the bundle, the text (undecodable bytes replaced) and its lines.

    ``lines`` are the first 400, cut after 1,000 characters; a binary file has none. ``text`` is whole: look for a fixed
    word in it before searching with a regular expression, because every file is looked at by every adapter. Of a longer
    file both hold only the first few of lines that differ in nothing but their numbers. Of a binary file ``text`` is
    the runs of printed characters in it, each once.
    """

    path: str
    text: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """An adapter's answer to "is this yours?": 0 (no) to 1 (certainly), and why, for people."""

    score: float
    why: str


@dataclass(frozen=True, slots=True)
class Line:
    """A logical line: its 1-based number in the file and its text without line end and escape sequences."""

    number: int
    text: str


class EvidenceFile(Protocol):
    """One file of a bundle; decompressed, never executed."""

    @property
    def path(self) -> str:
        """Path relative to the bundle, with ``/``."""

    @property
    def host(self) -> str | None:
        """Host that the manifest or the path names."""

    @property
    def rank(self) -> int | None:
        """Rank that the manifest or the path names."""

    @property
    def group(self) -> str:
        """Snapshot label where the path has one (``before``, ``t0``, a stamp), else empty."""

    def open(self) -> BinaryIO:
        """The decompressed bytes from the start."""

    def lines(self) -> Iterator[Line]:
        """The logical lines."""

    def holding(self, *literals: str) -> Iterator[Line]:
        """The logical lines that hold one of a few texts: many times faster than :meth:`lines` where they are rare."""


class Context(Protocol):
    """What a reader may ask of the run."""

    def warn(self, path: str, line: int, reason: str) -> None:
        """Record that a line could not be used; the report shows it."""

    def reading(self, text: str) -> Reading | None:
        """Parse a time stamp in any of the known shapes."""

    def snapshot_time(self, path: str) -> Reading | None:
        """The time that the snapshot folder of ``path`` states (``date.txt`` beside or above it), if any."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A small input and what must come out of it: (kind, fields) pairs; an empty list is a near miss."""

    text: str
    expect: tuple[tuple[str, Mapping[str, Scalar]], ...] = ()
    path: str = "sample.txt"


@dataclass(frozen=True, slots=True)
class Adapter:
    """A reader of one source."""

    name: str
    branch: str
    emits: tuple[str, ...]
    coverage: str | None
    sniff: Callable[[Head], Verdict]
    read: Callable[[EvidenceFile, Context], Iterable[Record]]
    samples: tuple[Sample, ...] = field(default=())
