"""What reading a bundle gives: observations, samples, warnings, and what became of each file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

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
    warnings: list[BundleWarning] = field(default_factory=list)
    files: list[FileReport] = field(default_factory=list)

    @property
    def readings(self) -> Iterator[Observation | CounterSample]:
        """Observations and samples for the timeline."""
        yield from self.observations
        yield from self.samples
