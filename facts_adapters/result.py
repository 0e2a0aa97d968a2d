"""What reading a bundle gives: observations, samples, states, warnings, and what became of each file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from engine.facts.collectives import GroupState
from engine.facts.manifest import Manifest
from engine.facts.model import CounterSample, Observation, Reading
from facts_adapters.bundle import BundleWarning
from facts_adapters.discovery import Choice
from facts_adapters.places import Told


@dataclass(slots=True)
class FileReport:
    """What became of one file."""

    path: str
    size: int
    text: bool = False
    lines: int = 0
    host: Told | None = None
    rank: Told | None = None
    group: str = ""
    run: str | None = None
    choices: list[Choice] = field(default_factory=list)
    signatures: dict[str, int] = field(default_factory=dict)
    kinds: dict[str, int] = field(default_factory=dict)
    first: Reading | None = None
    last: Reading | None = None
    observations: int = 0
    samples: int = 0
    whole: bool = False
    """Read to its end, as one text."""
    pasted: bool = False
    """Read in parts or without what stands before every line."""

    def add(self, part: FileReport) -> None:
        """Count in what became of a part; what differs between parts is not told."""
        one = not self.lines
        self.host = part.host if one or self.host == part.host else None
        self.rank = part.rank if one or self.rank == part.rank else None
        self.group = part.group if one or self.group == part.group else ""
        self.run = part.run if one or self.run == part.run else None
        known = {choice.adapter for choice in self.choices if choice.taken and not one}
        added = [choice for choice in part.choices if choice.taken and choice.adapter not in known]
        names = known | {choice.adapter for choice in added}
        kept = self.choices if not one else part.choices
        self.choices = [*added, *(c for c in kept if c.adapter not in names or c.adapter in known)]
        self.lines += part.lines
        for own, counts in ((self.signatures, part.signatures), (self.kinds, part.kinds)):
            for name, count in counts.items():
                own[name] = own.get(name, 0) + count
        self.first, self.last = self.first or part.first, part.last or self.last
        self.observations += part.observations
        self.samples += part.samples

    @property
    def adapters(self) -> list[str]:
        """Names of the whole-file adapters that read it."""
        return [choice.adapter for choice in self.choices if choice.taken]


@dataclass(slots=True)
class BundleReading:
    """All that a bundle says, in the order of its files."""

    manifest: Manifest
    observations: list[Observation] = field(default_factory=list)
    samples: list[CounterSample] = field(default_factory=list)
    states: list[GroupState] = field(default_factory=list)
    warnings: list[BundleWarning] = field(default_factory=list)
    files: list[FileReport] = field(default_factory=list)

    @property
    def readings(self) -> Iterator[Observation | CounterSample | GroupState]:
        """Observations, samples and states of ranks for the timeline."""
        yield from self.observations
        yield from self.samples
        yield from self.states
