"""Reading a whole bundle: every file placed, given to its readers, and its failures told."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from engine.facts.manifest import Manifest
from engine.facts.model import CounterSample, Observation, Reading
from engine.facts.vocabulary import Vocabulary, load_vocabulary
from facts_adapters.adapter import Adapter
from facts_adapters.archives import Member
from facts_adapters.bundle import Bundle, BundleWarning
from facts_adapters.coverage import coverage
from facts_adapters.discovery import Forced, Placement, Registry, Site, choose, date_of, registry
from facts_adapters.evidence import Buffered, BundleFile, decode_head, head_of
from facts_adapters.manifest import read_manifest
from facts_adapters.places import Told
from facts_adapters.result import BundleReading, FileReport
from facts_adapters.streams import DAMAGE, Limits
from facts_adapters.text import stamps
from facts_adapters.text.lines import is_text
from facts_adapters.text.reader import TextReader, TextResult
from facts_adapters.text.signatures import load_signatures
from knowledge import BUILTIN

HEAD_BYTES = 64 * 1024
MOST_OF_ADAPTER = 2_000_000
"""Records that one adapter may yield for one file."""

SLOWEST_ADAPTER_S = 300.0
"""Seconds that one adapter may take for one file, looked at between records."""


@cache
def builtin_reader() -> TextReader:
    """The reader with the built-in signatures and block readers."""
    return text_reader(load_vocabulary())


def text_reader(vocabulary: Vocabulary, folders: Sequence[Path] = (BUILTIN / "signatures",)) -> TextReader:
    """A reader with the signatures of these folders; faulty ones are left out (``test`` reports them)."""
    return TextReader(load_signatures(folders, vocabulary).signatures, registry().blocks)


def read_bundle(
    path: Path,
    *,
    limits: Limits | None = None,
    forced: Sequence[Forced] = (),
    reader: TextReader | None = None,
    adapters: Registry | None = None,
    only: Callable[[str], bool] | None = None,
) -> BundleReading:
    """Read a bundle.

    Args:
        path: folder, archive or file.
        limits: what is read at most; see :class:`Limits`.
        forced: adapters that take files whatever they think of them.
        reader: text reader with other signatures than the built-in ones.
        adapters: other adapters than the built-in ones.
        only: reads just the files whose path it accepts (for ``explain``); all are placed.

    Raises:
        UnreadableBundle: nothing in it can be read.
    """
    with Bundle(path, limits) as bundle:
        return _Run(bundle, forced, reader or builtin_reader(), adapters or registry(), only).read()


class _Run:
    def __init__(
        self,
        bundle: Bundle,
        forced: Sequence[Forced],
        reader: TextReader,
        adapters: Registry,
        only: Callable[[str], bool] | None,
    ) -> None:
        self.bundle = bundle
        self.forced = forced
        self.reader = reader
        self.adapters = adapters
        self.only = only
        self.left = bundle.limits.total_bytes
        self.warnings: list[BundleWarning] = []
        self.manifest = self._manifest()
        self.site = Site.of(self.manifest, [member.path for member in bundle.members])
        self.result = BundleReading(self.manifest)

    def read(self) -> BundleReading:
        heads = [self._look(member) for member in self.bundle.members]
        for member, report in zip(self.bundle.members, heads, strict=True):
            if self.only is None or self.only(member.path):
                self.result.files.append(report)
                if self.left > 0:
                    self._file(member, report)
                else:
                    self.warn(member.path, 0, "not read: the files before it hold more bytes than are read")
        for record in self.result.observations:
            record.host = self.site.named(record.host)
            record.peer = self.site.known(record.peer)
        self.result.samples = [replace(s, host=self.site.named(s.host)) for s in self.result.samples]
        self.result.warnings = [*self.bundle.warnings, *self.warnings]
        return self.result

    def warn(self, path: str, line: int, reason: str) -> None:
        """Record a warning; of many for one file the first hundred are kept."""
        if sum(w.path == path for w in self.warnings[-100:]) < 100:
            self.warnings.append(BundleWarning(path, line, reason))

    def _manifest(self) -> Manifest:
        member = self.bundle.manifest
        raw = None
        if member is not None:
            try:
                with self.bundle.open(member) as stream:
                    raw = stream.read((4 << 20) + 1)
            except DAMAGE as error:
                self.warn(member.path, 0, f"the manifest cannot be read: {error}")
        read = read_manifest(raw, self.bundle.name, member.path if member else "incident.yaml")
        for problem in read.problems:
            self.warn(problem.path, problem.line, f"{problem.message}{'. ' + problem.help if problem.help else ''}")
        return read.manifest

    def _look(self, member: Member) -> FileReport:
        """First pass over a file: its head, who reads it, whether it is a date."""
        report = FileReport(member.path, member.size)
        try:
            with self.bundle.open(member, quiet=True) as stream:
                raw = stream.read(HEAD_BYTES)
        except DAMAGE as error:
            self.warn(member.path, 0, f"the file cannot be read: {error}")
            report.size = 0
            return report
        report.text = is_text(raw)
        text = decode_head(raw)
        date = date_of(member.path, text) if report.text else None
        if date is not None:
            self.site.dates.setdefault(member.path.rpartition("/")[0], date)
        report.choices = choose(head_of(member.path, text), self.adapters.adapters, self._named(member.path))
        return report

    def _named(self, path: str) -> str | None:
        for forced in self.forced:
            if forced.matches(path):
                return forced.adapter
        return self.manifest.hint(path).adapter

    def _file(self, member: Member, report: FileReport) -> None:
        placement = self.site.place(member.path)
        report.group = placement.group.value if placement.group else ""
        report.run = placement.run.value if placement.run else None
        found: list[Observation | CounterSample] = []
        text = self._text(member, report) if report.text else None
        self._learn(placement, text)
        self._writers(placement, text)
        report.host, report.rank = placement.host, placement.rank
        file = BundleFile(self.bundle, member, report)
        for name in report.adapters:
            adapter = self.adapters.named(name)
            if adapter is not None:
                found.extend(self._adapter(adapter, file))
        if text is not None:
            found.extend(text.observations)
            for name, count in text.folded.items():
                self.warn(member.path, 0, f"{count} more equal lines of {name} were only counted")
        found.extend(coverage(member.path, report, text, self._covered(report)))
        for record in found:
            self._keep(record, placement, report)

    def _covered(self, report: FileReport) -> list[str]:
        classes = (a.coverage for a in map(self.adapters.named, report.adapters) if a is not None)
        return sorted({c for c in classes if c})

    def _text(self, member: Member, report: FileReport) -> TextResult | None:
        try:
            with self.bundle.open(member) as stream, Buffered(stream) as data:
                self.left -= len(data)
                world = self.manifest.world_size
                text = self.reader.read(member.path, data, _Context(self), self.site.nodes, world)
        except Exception as error:  # one file must not end the rest
            self.warn(member.path, 0, f"the file could not be read as text: {type(error).__name__}: {error}")
            return None
        report.lines, report.first, report.last = text.lines, text.first, text.last
        report.signatures, report.kinds = dict(text.hits), dict(text.kinds)
        return text

    def _learn(self, placement: Placement, text: TextResult | None) -> None:
        """Host and rank of a file from its own lines where path and manifest do not tell."""
        if text is None:
            return
        identity = text.identity
        host = self.site.canonical(identity.only_host)
        if placement.host is None and host:
            placement.host = Told(host, "all lines of the file that name a host name this one")
        if placement.rank is not None:
            return
        base = identity.base if identity.base is not None else self._single_node()
        if placement.local_rank is not None and base is not None:
            rank = base + int(placement.local_rank.value)
            placement.rank = Told(str(rank), f"{placement.local_rank.why}; rank {base} is local rank 0")
        elif identity.only_rank is not None:
            placement.rank = Told(str(identity.only_rank), "one process wrote the file, and its lines name this rank")

    def _writers(self, placement: Placement, text: TextResult | None) -> None:
        """Hosts of lines: where one host wrote the whole file, the path's name for it holds (a pod's is another)."""
        if text is None:
            return
        identity = text.identity
        hosts = {self.site.canonical(host) for host in identity.hosts} - {None}
        alone = placement.host is not None and len(hosts) <= 1 and len(identity.ranks_of_task) <= 1
        if alone and placement.host is not None:
            for host in hosts:
                self.site.alias(str(host), placement.host.value)
        for observation, writer in zip(text.observations, text.writers, strict=True):
            if observation.host is None and writer is not None and not alone:
                observation.host = self.site.canonical(writer)

    def _single_node(self) -> int | None:
        world, local = self.manifest.world_size, self.manifest.gpus_per_node
        return 0 if world is not None and world == local else None

    def _adapter(self, adapter: Adapter, file: BundleFile) -> list[Observation | CounterSample]:
        """Run one adapter on one file; what it yields before it fails counts."""
        found: list[Observation | CounterSample] = []
        started = time.monotonic()
        try:
            for record in adapter.read(file, _Context(self)):
                found.append(record)
                if not record.adapter:
                    _set_adapter(found, adapter.name)
                if len(found) >= MOST_OF_ADAPTER or time.monotonic() - started > SLOWEST_ADAPTER_S:
                    self.warn(file.path, 0, f"the adapter {adapter.name} was stopped after {len(found)} records")
                    break
        except Exception as error:  # one file must not end the rest
            self.warn(file.path, 0, f"the adapter {adapter.name} failed: {type(error).__name__}: {error}")
        return found

    def _keep(self, record: Observation | CounterSample, placement: Placement, report: FileReport) -> None:
        host = self._host_of(record, placement)
        if isinstance(record, CounterSample):
            group = record.group or report.group
            when = record.when or self.site.snapshot_time(record.source.path)
            self.result.samples.append(replace(record, host=host, group=group, when=when))
            report.samples += 1
            return
        record.host = host
        if record.rank is None and placement.rank is not None:
            record.rank = int(placement.rank.value)
        record.run = record.run or report.run
        if record.when is None and record.after is None and record.until is None:
            self._date(record, report)
        job = self.manifest.hint(record.source.path).job
        record.job = record.job or job
        self.result.observations.append(record)
        report.observations += 1

    def _date(self, record: Observation, report: FileReport) -> None:
        """The time of the snapshot: what an adapter read was so then, what a log line says happened before."""
        at = self.site.snapshot_time(record.source.path)
        if record.adapter in report.adapters:
            record.when = at
        elif record.kind != "coverage.source":
            record.until = at

    def _host_of(self, record: Observation | CounterSample, placement: Placement) -> str | None:
        own = self.site.canonical(record.host)
        return own or (placement.host.value if placement.host else None)


def _set_adapter(found: list[Observation | CounterSample], name: str) -> None:
    last = found[-1]
    if isinstance(last, Observation):
        last.adapter = name
    else:
        found[-1] = replace(last, adapter=name)


@dataclass(frozen=True, slots=True)
class _Context:
    run: _Run

    def warn(self, path: str, line: int, reason: str) -> None:
        self.run.warn(path, line, reason)

    def reading(self, text: str) -> Reading | None:
        return stamps.reading(text)

    def snapshot_time(self, path: str) -> Reading | None:
        return self.run.site.snapshot_time(path)
