"""What readers may ask and tell while they read: in the run itself, or in another process that tells it later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from engine.facts.model import Reading, Source
from facts_adapters.bundle import BundleWarning
from facts_adapters.discovery import Site
from facts_adapters.parts import Part
from facts_adapters.text import stamps
from facts_adapters.text.result import TextResult


class Run(Protocol):
    """The reading of a bundle, as far as a context needs it."""

    site: Site

    def warn(self, path: str, line: int, reason: str) -> None:
        """Record a warning."""


@dataclass(frozen=True, slots=True)
class TextRead:
    """A text as it was read, perhaps in another process: (path, line, reason) of its warnings, those of the bundle."""

    text: TextResult | None
    warnings: list[tuple[str, int, str]]
    told: list[BundleWarning]


class Notes:
    """A context that collects warnings instead of telling the run, which may be another process."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.warnings: list[tuple[str, int, str]] = []

    def warn(self, path: str, line: int, reason: str) -> None:
        """Record a warning."""
        self.warnings.append((path, line, reason))

    def reading(self, text: str) -> Reading | None:
        """The time that a text states."""
        return stamps.reading(text)

    def snapshot_time(self, path: str) -> Reading | None:
        """The time of the snapshot that a file belongs to."""
        return self.site.snapshot_time(path)


@dataclass(frozen=True, slots=True)
class RunContext:
    """A context in the run itself, of a file or of a part of a pasted one."""

    run: Run
    part: Part | None = None

    def path(self, of_file: str) -> str:
        """The path that tells whose file it is."""
        return self.part.path(of_file) if self.part else of_file

    def source(self, source: Source, path: str) -> Source:
        """The source as it stands in the file."""
        return Source(path, self.part.line(source.line), source.text) if self.part else source

    def warn(self, path: str, line: int, reason: str) -> None:
        """Record a warning."""
        self.run.warn(path, self.part.line(line) if self.part else line, reason)

    def reading(self, text: str) -> Reading | None:
        """The time that a text states."""
        return stamps.reading(text)

    def snapshot_time(self, path: str) -> Reading | None:
        """The time of the snapshot that a file belongs to."""
        return self.run.site.snapshot_time(self.path(path))
