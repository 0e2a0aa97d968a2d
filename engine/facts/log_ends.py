"""Ranks whose own log stops before the others report that they gave up waiting.

A process that is gone leaves neither a dump nor a last word. A log that stops early shows it only where nothing else
does: it is whole and dated to its last line, logs of its kind on the same host began before that line and hold the
reports, and most ranks with such a log report. A log that was collected early, rotated or belongs to another run has
no such neighbours, and counts for nothing.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from engine.facts.model import SECOND, Fact, Observation, Order, Source, Span, before
from engine.facts.vocabulary import COVERAGE_KIND

KIND = "comm.log_stops"
"""The kind that is made."""

_COMPRESSED = re.compile(r"\.(?:gz|bz2|xz|zst|lz4)$", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")

MOST_STOPPED = 16
"""Where more logs of one kind hold no report, they are not told of: that is no matter of single ranks."""

Pair = tuple[Observation, Fact]
"""A statement as it was read and as it was placed in time."""


@dataclass(frozen=True, slots=True)
class LogEnds:
    """The profile ``log_ends``: which kinds are reports, how much earlier a log must stop, who else must report."""

    reports: tuple[str, ...] = ()
    least: int = 0
    """Microseconds between the last line and the reports of the neighbours."""
    reporters: int = 2
    share: float = 0.5
    beside: int = 1


@dataclass(slots=True)
class _Log:
    """A log that one rank wrote; ``report`` is the first line in it that says that the rank gave up."""

    read: Observation
    fact: Fact
    report: Fact | None = None

    @property
    def kind(self) -> tuple[int, str]:
        """How deep it lies, and its name without numbers: logs that were collected alike."""
        folder, _, name = self.fact.source.path.rpartition("/")
        return folder.count("/"), _DIGITS.sub("#", _COMPRESSED.sub("", name))

    @property
    def place(self) -> str:
        """The host, or the folder where no host is known."""
        return f"host {self.fact.host}" if self.fact.host else self.fact.source.path.rpartition("/")[0]


@dataclass(slots=True)
class _Logs:
    """The own logs of all ranks, and the ranks that report anywhere."""

    of: dict[int, list[_Log]] = field(default_factory=lambda: defaultdict(list))
    reporters: set[int] = field(default_factory=set)
    reports: list[Fact] = field(default_factory=list)
    """The first report of every rank in every file."""


def read_log_ends(profile: Mapping[str, Any]) -> LogEnds:
    """The profile ``log_ends``; without one nothing is a report, and no log stops."""
    if not profile:
        return LogEnds()
    others = profile["reporters"]
    return LogEnds(
        tuple(str(kind) for kind in profile["reports"]),
        round(profile["least_s"] * SECOND),
        int(others["least"]),
        float(others["share"]),
        int(others["beside"]),
    )


def compare_ends(statements: Iterable[Pair], ends: LogEnds) -> tuple[list[Observation], dict[int, bool]]:
    """A ``comm.log_stops`` for every rank whose log stops; and whether the own logs of ranks go on past a report.

    Only ranks with an own log and without a report of their own are told of. A log that does not certainly go on does
    not cover the moment at which the rank would have reported. Statements are those before folding.
    """
    if not ends.reports:
        return [], {}
    logs = _own_logs(statements, ends.reports)
    first = _first_reports(logs.reports)
    silent = {rank: own for rank, own in sorted(logs.of.items()) if rank not in logs.reporters}
    return list(_all_stopped(logs, silent, ends)), {rank: _covers(own, first) for rank, own in silent.items()}


def _first_reports(reports: Iterable[Fact]) -> dict[str, Fact]:
    """The first report on each clock, and under no clock the first of all."""
    first: dict[str, Fact] = {}
    ends: dict[str, int] = {}
    for report in reports:
        for clock, end in ((report.clock, report.local.latest), ("", report.onset.latest)):
            if end is not None and (clock not in ends or end < ends[clock]):
                first[clock], ends[clock] = report, end
    return first


def _covers(own: Sequence[_Log], first: Mapping[str, Fact]) -> bool:
    """Whether the log of a rank certainly has a line after somebody's report."""
    for log in own:
        last = _last_stamp(log.fact)
        reports = (first[clock] for clock in (last.clock, "") if clock in first)
        if any(before(report, last) is Order.YES for report in reports):
            return True
    return False


def _all_stopped(logs: _Logs, silent: Mapping[int, Sequence[_Log]], ends: LogEnds) -> Iterator[Observation]:
    by_kind: dict[tuple[int, str], dict[int, _Log]] = defaultdict(dict)
    for rank, own in logs.of.items():
        for log in own:
            by_kind[log.kind].setdefault(rank, log)
    for kind, alike in sorted(by_kind.items()):
        ranks = sorted(set(alike) & set(silent))
        for rank in ranks if len(ranks) <= MOST_STOPPED else ():
            if kind == min(log.kind for log in silent[rank]):
                yield from _stopped(rank, silent[rank], alike, ends)


def _own_logs(statements: Iterable[Pair], kinds: Sequence[str]) -> _Logs:
    logs = _Logs()
    reports: dict[tuple[int, str], Fact] = {}
    for read, fact in statements:
        if fact.scope != "incident" or fact.rank is None:
            continue
        if fact.kind == COVERAGE_KIND and fact.fields.get("class") == "job_log":
            logs.of[fact.rank].append(_Log(read, fact))
        elif fact.kind in kinds and "rank" not in (fact.as_read or ()):
            logs.reporters.add(fact.rank)
            reports.setdefault((fact.rank, fact.source.path), fact)
    logs.reports = list(reports.values())
    for rank, own in logs.of.items():
        for log in own:
            log.report = reports.get((rank, log.fact.source.path))
    return logs


def _stopped(rank: int, own: Sequence[_Log], alike: Mapping[int, _Log], ends: LogEnds) -> Iterator[Observation]:
    """The statement on one rank; ``alike`` are the logs of all ranks of the kind of its own."""
    last = _last_line(own)
    others = [log for number, log in alike.items() if number != rank]
    reports = [log.report for log in others if log.report is not None]
    if last is None or len(reports) < ends.reporters or len(reports) <= ends.share * len(others):
        return
    late = replace(last, onset=_later(last.onset, ends.least), local=_later(last.local, ends.least))
    if any(before(late, report) is Order.NO for report in reports):
        return
    places = {log.place for log in own}
    beside = [log for log in others if log.place in places]
    told = [log.report for log in beside if log.report is not None and _goes_on(log, last, late)]
    if len(told) < max(ends.beside, len(beside)):
        return
    log = next(log for log in own if log.fact.source.path == last.source.path)
    lines = log.fact.fields.get("lines")
    yield Observation(
        KIND,
        Source(last.source.path, int(lines) if isinstance(lines, int) else 0),
        {"seconds": min(_apart(last, report) for report in told), "reporters": len(reports)},
        host=log.fact.host,
        rank=rank,
        when=log.read.until,
        adapter="comparison",
    )


def _last_line(own: Sequence[_Log]) -> Fact | None:
    """The last line of all logs of a rank as a fact; ``None`` where one may go on after its last stamp."""
    facts = [log.fact for log in own]
    known = [fact for fact in facts if fact.fields.get("undated") == 0 and fact.local.latest is not None]
    if len(known) < len(facts) or len({fact.clock for fact in facts}) != 1:
        return None
    return _last_stamp(max(known, key=lambda fact: fact.local.latest or 0))


def _last_stamp(fact: Fact) -> Fact:
    """The last stamp of a log as a fact."""
    stamp = Span(fact.local.latest, fact.local.latest)
    return replace(fact, onset=Span(fact.onset.latest, fact.reported.latest), local=stamp, sequence=None)


def _goes_on(log: _Log, last: Fact, late: Fact) -> bool:
    """Whether a log began before the last line of the other one, and holds its report well after it."""
    fact = log.fact
    starts = replace(
        fact,
        onset=Span(fact.reported.earliest, fact.onset.earliest),
        local=Span(fact.local.earliest, fact.local.earliest),
        sequence=None,
    )
    return log.report is not None and before(starts, last) is Order.YES and before(late, log.report) is Order.YES


def _later(span: Span, shift: int) -> Span:
    return Span(
        span.earliest + shift if span.earliest is not None else None,
        span.latest + shift if span.latest is not None else None,
    )


def _apart(last: Fact, report: Fact) -> int:
    """Seconds that certainly lie between the last line and a report."""
    one = last.clock == report.clock
    ends = last.local.latest if one else last.onset.latest
    begins = report.local.earliest if one else report.onset.earliest
    return (begins - ends) // SECOND if begins is not None and ends is not None else 0
