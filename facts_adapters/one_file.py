"""Reading one file, in whatever process: its text, and what the whole-file adapters make of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from engine.facts.model import CounterSample, Reading
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Record
from facts_adapters.archives import Member
from facts_adapters.bundle import Bundle, BundleWarning
from facts_adapters.discovery import Registry, Site
from facts_adapters.evidence import BundleFile, text_of
from facts_adapters.result import FileReport
from facts_adapters.text import stamps
from facts_adapters.text.reader import TextReader
from facts_adapters.text.result import TextResult

MOST_OF_ADAPTER = 2_000_000
"""Records that one adapter may yield for one file."""

SLOWEST_ADAPTER_S = 300.0
"""Seconds that one adapter may take for one file, looked at between records."""

Warn = Callable[[str, int, str], None]
"""Called with a path, a line (0 for the whole file) and a reason."""


@dataclass(slots=True)
class Read:
    """What a file gave where no other file was needed for it: the text, or the records of a file that is none.

    ``warnings`` are (path, line, reason), ``told`` the warnings of the bundle.
    """

    text: TextResult | None = None
    records: list[Record] = field(default_factory=list)
    warnings: list[tuple[str, int, str]] = field(default_factory=list)
    told: list[BundleWarning] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class OneFile:
    """Reads the files of a bundle, each for itself."""

    bundle: Bundle
    site: Site
    adapters: Registry
    reader: TextReader
    world: int | None
    fast: bool

    def read(self, member: Member, report: FileReport) -> Read:
        """Read a file that is not taken apart; one that is no text goes to its adapters."""
        read = Read()
        notes = _Notes(self.site, read)
        known = len(self.bundle.warnings)
        if report.text:
            try:
                data = text_of(self.bundle, member)
                read.text = self.reader.read(member.path, data, notes, self.site.nodes, self.world, fast=self.fast)
            except Exception as error:  # one file must not end the rest
                notes.warn(member.path, 0, f"the file could not be read as text: {type(error).__name__}: {error}")
        else:
            placement = self.site.place_part(member.path, member.path)
            report.group = placement.group.value if placement.group else ""
            report.host, report.rank = placement.host, placement.rank
            file = BundleFile(self.bundle, member, report)
            read.records = self.records(report.adapters, file, notes, notes.warn)
        read.told = self.bundle.warnings[known:]
        del self.bundle.warnings[known:]
        return read

    def records(self, names: Sequence[str], file: EvidenceFile, context: Context, warn: Warn) -> list[Record]:
        """What the adapters of these names make of a file."""
        known = (self.adapters.named(name) for name in names)
        return [record for adapter in known if adapter for record in _run(adapter, file, context, warn)]


def _run(adapter: Adapter, file: EvidenceFile, context: Context, warn: Warn) -> list[Record]:
    """Run one adapter on one file; what it yields before it fails counts."""
    found: list[Record] = []
    started = time.monotonic()
    try:
        for record in adapter.read(file, context):
            found.append(record)
            if not record.adapter:
                _set_adapter(found, adapter.name)
            if len(found) >= MOST_OF_ADAPTER or time.monotonic() - started > SLOWEST_ADAPTER_S:
                warn(file.path, 0, f"the adapter {adapter.name} was stopped after {len(found)} records")
                break
    except Exception as error:  # one file must not end the rest
        warn(file.path, 0, f"the adapter {adapter.name} failed: {type(error).__name__}: {error}")
    return found


def _set_adapter(found: list[Record], name: str) -> None:
    last = found[-1]
    if isinstance(last, CounterSample):
        found[-1] = replace(last, adapter=name)
    else:
        last.adapter = name


class _Notes:
    """A context that collects warnings instead of telling the run, which may be another process."""

    def __init__(self, site: Site, read: Read) -> None:
        self.site = site
        self.warnings = read.warnings

    def warn(self, path: str, line: int, reason: str) -> None:
        self.warnings.append((path, line, reason))

    def reading(self, text: str) -> Reading | None:
        return stamps.reading(text)

    def snapshot_time(self, path: str) -> Reading | None:
        return self.site.snapshot_time(path)
