"""Reading a whole bundle: every file placed, given to its readers, and its failures told."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from engine.facts.collectives import GroupState
from engine.facts.manifest import Manifest
from engine.facts.model import CounterSample, Observation, Reading, Source
from engine.facts.vocabulary import Vocabulary, load_vocabulary
from facts_adapters.adapter import Record
from facts_adapters.archives import Member
from facts_adapters.bundle import Bundle, BundleWarning
from facts_adapters.cores import cores, in_order
from facts_adapters.coverage import classes_of, coverage
from facts_adapters.discovery import Forced, Placement, Registry, Site, registry
from facts_adapters.evidence import BundleFile, PartFile
from facts_adapters.look import Look, Looker
from facts_adapters.manifest import read_manifest
from facts_adapters.one_file import OneFile, Read
from facts_adapters.parts import Part
from facts_adapters.places import Paths, Told
from facts_adapters.result import BundleReading, FileReport
from facts_adapters.streams import DAMAGE, Limits
from facts_adapters.text import stamps
from facts_adapters.text.lines import LONGEST_LINE
from facts_adapters.text.reader import TextReader
from facts_adapters.text.result import TextResult
from facts_adapters.text.signatures import load_signatures
from knowledge import BUILTIN

FAST_FROM = 2 << 20
"""Bytes of a bundle from which on Hyperscan is worth the time that it takes to start."""

SPREAD_FROM = 16 << 20
"""Bytes of a bundle from which on its files are read on several cores."""

MANY_FILES = 200
"""Files from which on several cores look at them."""

_EXPLAINS = re.compile(r"(?:^|/)(?:readme|licen[cs]e|notes?|changelog|copying)[^/]*$|\.(?:md|rst)$", re.IGNORECASE)
"""Texts for people, of which nothing is expected."""

_UNORDERED = (0, 1)
"""A lag by which a line tells no order to the lines above it."""


@cache
def builtin_reader() -> TextReader:
    """The reader with the built-in signatures and block readers."""
    return text_reader(load_vocabulary())


def text_reader(vocabulary: Vocabulary, folders: Sequence[Path] = (BUILTIN / "signatures",)) -> TextReader:
    """A reader with the signatures of these folders; faulty ones are left out (``test`` reports them)."""
    return TextReader(load_signatures(folders, vocabulary).signatures, registry().blocks, vocabulary)


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
        self.fast = sum(member.size for member in bundle.members) >= FAST_FROM
        self.warnings: list[BundleWarning] = []
        self.manifest = self._manifest()
        self.site = Site.of(self.manifest, [member.path for member in bundle.members])
        self.result = BundleReading(self.manifest)
        self.titles: list[str] = []
        """Paths that parts of pasted files are titled with."""
        self.dated: set[str] = set()
        """Files that gave the date of their folder."""

    def read(self) -> BundleReading:
        members = self.bundle.members
        looker = Looker(self.bundle, self.manifest, self.adapters, self.forced, refusals=self.only is not None)
        many = cores() if len(members) >= MANY_FILES else 1
        looks = in_order(lambda number: looker.look(members[number]), range(len(members)), many)
        reports = [self._see(look) for look in looks]
        self.site.paths = Paths([*(member.path for member in self.bundle.members), *self.titles], self.site.nodes)
        files = OneFile(self.bundle, self.site, self.adapters, self.reader, self.manifest.world_size, self.fast)
        reads = self._reads(files, reports)
        following = next(reads, None)
        for number, (member, report) in enumerate(zip(members, reports, strict=True)):
            if not self._asked(report):
                continue
            self.result.files.append(report)
            read = None
            if self.left > 0 and following is not None and following[0] == number:
                read, following = following[1], None
            if self.left > 0:
                self._file(looker, files, member, report, read)
                following = following or next(reads, None)
            else:
                self.warn(member.path, 0, "not read: the files before it hold more bytes than are read")
        reads.close()
        for record in self.result.observations:
            record.host = self.site.named(record.host)
            record.peer = self.site.known(record.peer)
        self.result.samples = [replace(s, host=self.site.named(s.host)) for s in self.result.samples]
        for state in self.result.states:
            state.host = self.site.named(state.host)
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

    def _see(self, look: Look) -> FileReport:
        """Note what a first look told."""
        report = look.report
        if look.failure:
            self.warn(report.path, 0, look.failure)
        self.titles += look.titles
        for path, date in look.dates:
            self.dated.add(path)
            self.site.dates.setdefault(path.rpartition("/")[0], date)
        return report

    def _file(self, looker: Looker, files: OneFile, member: Member, report: FileReport, read: Read | None) -> None:
        pasted = looker.parts(member) if report.pasted else []
        if not pasted:
            self._part(files, member, report, None, read)
        for part in pasted:
            path = part.path(member.path)
            own = FileReport(member.path, len(part.data), text=True)
            own.choices, body = looker.readers(path, part)
            first = len(self.result.observations)
            self._part(files, member, own, replace(part, inner=body), None)
            if report.observations:
                self._distrust(self.result.observations[first:])
            report.add(own)

    def _part(self, files: OneFile, member: Member, report: FileReport, part: Part | None, read: Read | None) -> None:
        path = part.path(member.path) if part else member.path
        placement = self.site.place_part(member.path, path)
        report.group = placement.group.value if placement.group else ""
        report.run = placement.run.value if placement.run else None
        context = _Context(self, part)
        if read is not None:
            report.whole = not any(warning.path == member.path for warning in read.told)
            self.bundle.warnings += [w for w in read.told if w not in self.bundle.warnings[-50:]]
            for place, line, reason in read.warnings:
                self.warn(place, line, reason)
        text = self._text_of(report, context, read) if report.text else None
        self._learn(placement, text)
        self._writers(placement, text)
        report.host, report.rank = placement.host, placement.rank
        whole = BundleFile(self.bundle, member, report)
        file = PartFile(whole, part) if part else whole
        if report.text or read is None:
            found = files.records(report.adapters, file, context, self.warn)
        else:
            found = read.records
        if text is not None:
            found.extend(text.observations)
            for name, count in text.folded.items():
                self.warn(member.path, 0, f"{count} more equal lines of {name} were only counted")
        if text is not None and not found and not report.adapters and not classes_of(text):
            self._not_understood(path, report, context, part)
        found.extend(coverage(path, report, text, self._covered(report)))
        for record in found:
            self._keep(record, placement, report, context)

    def _not_understood(self, path: str, report: FileReport, context: _Context, part: Part | None) -> None:
        """Say that a text gave nothing, so that nobody takes its silence for a statement."""
        if path in self.dated:
            return  # it gave the date of its folder
        word = "line" if report.lines == 1 else "lines"
        if report.lines and not (part and part.prose) and not _EXPLAINS.search(path):
            context.warn(report.path, 1 if part and part.title else 0, f"not understood: {report.lines} {word}")

    def _distrust(self, records: Sequence[Observation]) -> None:
        """Parts say nothing about each other's order: with another part above, line numbers do not count."""
        for record in records:
            lag = record.lag if record.lag is not None else self._lag(record.kind)
            if lag == (0, 0):
                record.lag = _UNORDERED

    def _lag(self, kind: str) -> tuple[int, int]:
        vocabulary = self.reader.vocabulary
        return vocabulary[kind].lag if vocabulary is not None and kind in vocabulary else (0, 0)

    def _covered(self, report: FileReport) -> list[str]:
        classes = (a.coverage for a in map(self.adapters.named, report.adapters) if a is not None)
        return sorted({c for c in classes if c})

    def _reads(self, files: OneFile, reports: Sequence[FileReport]) -> Generator[tuple[int, Read]]:
        """Numbers and contents of the files that are not taken apart, in order; several at once where there is much."""
        wanted = [n for n, report in enumerate(reports) if not report.pasted and self._asked(report)]
        size = sum(report.size for report in reports)
        workers = cores() if size >= SPREAD_FROM and self.left > 0 else 1
        members = self.bundle.members
        reads = in_order(lambda number: files.read(members[number], reports[number]), wanted, workers)
        yield from zip(wanted, reads, strict=True)

    def _asked(self, report: FileReport) -> bool:
        return self.only is None or self.only(report.path)

    def _text_of(self, report: FileReport, context: _Context, read: Read | None) -> TextResult | None:
        """The text of a file as it was read, or that of a part."""
        text = None
        if context.part is not None:
            world = self.manifest.world_size
            self.left -= len(context.part.data)
            try:
                text = self.reader.read(report.path, context.part.data, context, self.site.nodes, world)
            except Exception as error:  # one part must not end the rest
                self.warn(report.path, 0, f"the file could not be read as text: {type(error).__name__}: {error}")
        elif read is not None:
            text = read.text
            self.left -= text.size if text is not None else 0
        if text is not None:
            report.lines, report.first, report.last = text.lines, text.first, text.last
            report.signatures, report.kinds = dict(text.hits), dict(text.kinds)
            if text.cut and not report.adapters:
                context.warn(report.path, text.cut, f"only the first {LONGEST_LINE} bytes of a line are looked at")
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
        if len(hosts) == 1 and placement.host and self._own_name(placement, text):
            own = str(next(iter(hosts)))
            self.site.alias(placement.host.value, own)
            placement.host = Told(own, "the journal's own records name it")
        alone = placement.host is not None and len(hosts) <= 1 and len(identity.ranks_of_task) <= 1
        if alone and placement.host is not None:
            for host in hosts:
                self.site.alias(str(host), placement.host.value)
        for observation, writer in zip(text.observations, text.writers, strict=True):
            elsewhere = observation.of_another and self._several_hosts
            if observation.host is None and writer is not None and not alone and not elsewhere:
                observation.host = self.site.canonical(writer)

    def _own_name(self, placement: Placement, text: TextResult) -> bool:
        """Whether a host's own journal knows better what the host is called than the folder that it was put into."""
        named = placement.stated or (placement.host is not None and placement.host.value in self.site.nodes)
        return not named and text.kinds["journal"] > text.lines // 2 and not text.identity.merged

    def _single_node(self) -> int | None:
        world, local = self.manifest.world_size, self.manifest.gpus_per_node
        return 0 if world is not None and world == local else None

    def _keep(self, record: Record, placement: Placement, report: FileReport, context: _Context) -> None:
        host = self._host_of(record, placement)
        path = context.path(report.path)
        source = context.source(record.source, report.path)
        if isinstance(record, CounterSample):
            group = record.group or report.group
            when = record.when or self.site.snapshot_time(path)
            record = replace(record, source=source)
            self.result.samples.append(replace(record, host=host, group=group, when=when))
            report.samples += 1
            return
        if isinstance(record, GroupState) and record.origin == "library":
            host = self.site.canonical(record.host)  # it tells of other processes than the one that was asked
        record.host, record.source = host, source
        told = int(placement.rank.value) if placement.rank is not None else None
        if isinstance(record, Observation) and record.of_another:
            record.writer = told if record.writer is None else record.writer
        elif record.rank is None:
            record.rank = told
        record.run = record.run or report.run
        if isinstance(record, GroupState):
            self.result.states.append(record)
            report.samples += 1
            return
        if record.when is None and record.after is None and record.until is None:
            self._date(record, report, path)
        job = self.manifest.hint(record.source.path).job
        record.job = record.job or job
        self.result.observations.append(record)
        report.observations += 1

    def _date(self, record: Observation, report: FileReport, path: str) -> None:
        """The time of the snapshot: what an adapter read was so then, what a log line says happened before."""
        at = self.site.snapshot_time(path)
        if record.adapter in report.adapters:
            record.when = at
        elif record.kind != "coverage.source":
            record.until = at

    @property
    def _several_hosts(self) -> bool:
        """Whether the job runs on more than one host, as far as manifest and paths tell."""
        manifest = self.manifest
        ranks, per_node = manifest.world_size, manifest.gpus_per_node
        return len(self.site.nodes) > 1 or (ranks is not None and per_node is not None and ranks > per_node)

    def _host_of(self, record: Record, placement: Placement) -> str | None:
        own = self.site.canonical(record.host)
        if isinstance(record, Observation) and record.of_another and self._several_hosts:
            return own
        return own or (placement.host.value if placement.host else None)


@dataclass(frozen=True, slots=True)
class _Context:
    run: _Run
    part: Part | None = None

    def path(self, of_file: str) -> str:
        """The path that tells whose file it is."""
        return self.part.path(of_file) if self.part else of_file

    def source(self, source: Source, path: str) -> Source:
        """The source as it stands in the file."""
        return Source(path, self.part.line(source.line), source.text) if self.part else source

    def warn(self, path: str, line: int, reason: str) -> None:
        self.run.warn(path, self.part.line(line) if self.part else line, reason)

    def reading(self, text: str) -> Reading | None:
        return stamps.reading(text)

    def snapshot_time(self, path: str) -> Reading | None:
        return self.run.site.snapshot_time(self.path(path))
