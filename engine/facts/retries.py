"""How long a queue pair had retried when it gave up, and what that says: by version, by settings, by what came before.

A sender that hears nothing repeats a packet ``retry_count`` times, each time after ``4.096 us * 2^timeout``, and only
then is "retry exceeded" reported. Both numbers are the library's: their defaults changed with its versions, and jobs
set them (``profiles/nccl_retry_windows.yaml``). Here, and nowhere else, the lag of ``comm.transport_retry_exceeded``
is worked out from them, and what came before is looked up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from engine.facts.model import SECOND, Fact, Observation, Order, Scalar, Span, before
from engine.facts.versions import Parts, Versions, parts, stated_versions, within

KIND = "comm.transport_retry_exceeded"

Marks = Mapping[str, Mapping[str, tuple[Scalar, ...]]]
"""Kinds, with values of their fields."""

Lag = tuple[int, int]
"""Least and most microseconds from onset to report."""

Lags = Mapping[tuple[str, int], Lag]
"""The lag of the report in a line of a file."""

MOST_TIMEOUT, MOST_RETRIES = 31, 7
"""Both fields are 5 and 3 bits wide; a time-out of 0 waits for ever."""

STARTED = ("comm.init_completed", "comm.init_started")
"""What says when the connections of a process were made; the later is taken."""


@dataclass(frozen=True, slots=True)
class Default:
    """The numbers of a range of versions."""

    component: str
    first: Parts
    last: Parts
    timeout: int
    retry_count: int
    lag: Lag


@dataclass(frozen=True, slots=True)
class RetryWindows:
    """The profile of retry windows."""

    lines: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By the source of a line, the components that print it."""
    defaults: tuple[Default, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    """Names of the settings: of the time-out and of the number of retries."""
    unit_us: float = 4.096
    stretch: tuple[float, float] = (1.0, 1.0)
    unknown: Lag | None = None
    at_start: int = 0
    """Microseconds after the connections were made within which they never worked."""
    after_long: int = 0
    """Microseconds after which they had worked for long."""
    ends: Marks = field(default_factory=dict)
    """What says that a process or its host ended; fields with a value that is listed here are those of a clean-up."""
    progress: Marks = field(default_factory=dict)
    """What says that data had flowed: fields must have a value that is listed here."""

    def computed(self, timeout: int, retry_count: int) -> Lag | None:
        """The window of two numbers, ``None`` where they cannot be or never end."""
        if not 0 < timeout <= MOST_TIMEOUT or not 0 <= retry_count <= MOST_RETRIES:
            return None
        exact = self.unit_us * 2.0**timeout * (retry_count + 1)
        return round(exact * self.stretch[0]), round(exact * self.stretch[1]) + SECOND


def read_windows(profile: Mapping[str, Any]) -> RetryWindows:
    """The profile ``nccl_retry_windows``; without one nothing is known."""
    if not profile:
        return RetryWindows()
    timing, stretch = profile["timing"], profile["stretch"]
    return RetryWindows(
        lines={name: tuple(components) for name, components in profile["lines"].items()},
        defaults=tuple(
            Default(
                entry["component"],
                parts(entry["from"]),
                parts(entry["until"]),
                entry["timeout"],
                entry["retry_count"],
                _lag(entry["window_s"]),
            )
            for entry in profile["versions"]
        ),
        settings=tuple((entry["timeout"], entry["retry_count"]) for entry in profile["overrides"]),
        unit_us=profile["unit_us"],
        stretch=(stretch["least"], stretch["most"]),
        unknown=_lag(profile["unknown_version"]["window_s"]),
        at_start=round(timing["at_start_s"] * SECOND),
        after_long=round(timing["after_long_s"] * SECOND),
        ends=_marks(profile["ends"], "unless"),
        progress=_marks(profile["progress"], "where"),
    )


def _marks(entries: Iterable[Mapping[str, Any]], key: str) -> Marks:
    return {
        entry["fact"]: {name: tuple(values) for name, values in (entry.get(key) or {}).items()} for entry in entries
    }


def _lag(entry: Mapping[str, float]) -> Lag:
    return round(entry["min"] * SECOND), round(entry["max"] * SECOND)


# --- the lag ---


def set_windows(observations: Sequence[Observation], windows: RetryWindows, usual: Lag) -> Lags:
    """Give each retry of a library that the profile knows its lag, ``window_s`` and ``window_basis``.

    The answer is the lags of all retries; ``usual`` is that of those which have none of their own.
    """
    retries = [item for item in observations if item.kind == KIND]
    known = [item for item in retries if windows.lines.get(_printer(item))]
    if known:
        versions, settings = stated_versions(observations), _Settings(observations, windows)
        found: dict[tuple[str, str | None], tuple[Lag | None, str]] = {}
        for item in known:
            place = (_printer(item), item.host)
            if place not in found:
                found[place] = _window(item, windows, versions, settings)
            lag, basis = found[place]
            if lag is not None:
                item.lag = lag
                item.fields = {**item.fields, "window_s": lag[1] / SECOND, "window_basis": basis}
    return {
        (item.source.path, item.source.line): item.lag if item.lag is not None else usual for item in reversed(retries)
    }


def _printer(item: Observation) -> str:
    return item.adapter.partition("/")[0]


class _Settings:
    """Numbers of the two settings by host, and the hosts whose settings of the library are listed at all."""

    def __init__(self, observations: Iterable[Observation], windows: RetryWindows) -> None:
        self.names = {name for pair in windows.settings for name in pair}
        self.numbers: dict[str, dict[str | None, set[int]]] = defaultdict(lambda: defaultdict(set))
        self.listed: set[str | None] = set()
        for item in observations:
            name, number = item.fields.get("name"), item.fields.get("number")
            if item.kind != "comm.env" or item.run:
                continue
            self.listed.add(item.host)
            if name in self.names and isinstance(number, int):
                self.numbers[str(name)][item.host].add(number)

    def of(self, name: str, host: str | None, default: int) -> set[int]:
        """The numbers that a setting may have on a host.

        A host whose settings are listed has the default where it is not among them. Where they are not, it may have
        the default or what it is elsewhere.
        """
        by_host = self.numbers.get(name, {})
        own = by_host.get(host, set()) | by_host.get(None, set())
        if own:
            return own
        if host is not None and host in self.listed:
            return {default}
        return {default}.union(*by_host.values())

    def seen(self, host: str | None) -> bool:
        """Whether the settings of a host are listed; a list that names no host is one of the job."""
        return None in self.listed or (host is not None and host in self.listed)


def _window(
    item: Observation, windows: RetryWindows, versions: Versions, settings: _Settings
) -> tuple[Lag | None, str]:
    """The lag of one report and what it rests on; the hull of all that is possible."""
    components = windows.lines[_printer(item)]
    stated = [component for component in components if versions.of(component, item.host)]
    rows = [row for row in windows.defaults if row.component in (stated or components)]
    versioned = [
        row
        for row in rows
        if any(within(found.parts, row.first, row.last) for found in versions.of(row.component, item.host))
    ]
    lags: list[Lag] = []
    changed = False
    for row in versioned or rows:
        timeout_name, count_name = _names(windows, row.component)
        for timeout in settings.of(timeout_name, item.host, row.timeout):
            for count in settings.of(count_name, item.host, row.retry_count):
                if (timeout, count) == (row.timeout, row.retry_count):
                    lags.append(row.lag)
                    continue
                changed = True
                lag = windows.computed(timeout, count)
                if lag is None:
                    return None, ""
                lags.append(lag)
    if not versioned and not changed:
        return windows.unknown, "unknown"
    known = bool(versioned) or changed
    basis = "settings" if known and settings.seen(item.host) else "version" if versioned else "unknown"
    return (min(lag[0] for lag in lags), max(lag[1] for lag in lags)), basis


def _names(windows: RetryWindows, component: str) -> tuple[str, str]:
    """Names of the settings of a component: those that begin with its name, RCCL having those of NCCL."""
    prefix = "HCCL_" if component == "hccl" else "NCCL_"
    return next((pair for pair in windows.settings if pair[0].startswith(prefix)), ("", ""))


# --- what came before ---

MOST_LOOKED_AT = 64
"""Ends, and marks of progress, that are looked at, earliest first: only the first of them can have come before."""


def classify(facts: Sequence[Fact], windows: RetryWindows, lags: Lags) -> list[Fact]:
    """``facts``, placed with ``lags``; each retry with ``timing``, ``since_start_s``, ``same_host`` and ``ended_*``.

    ``timing`` is ``at_start`` where the connections of the process had just been made and nothing says that data had
    flowed, ``after_long`` where they had been there for long, ``running`` where data had flowed. ``ended_*`` name the
    rank or host whose end was reported before this report and may lie in its window, so that the retries may have
    begun with it. An end that certainly came before the window is for propagation to explain, and one that may itself
    be the answer to a report of retries is none.
    """
    own = [fact for fact in facts if fact.scope == "incident"]
    retries = [fact for fact in own if fact.kind == KIND]
    if not windows.lines or not retries:
        return list(facts)
    past = _Past(own, retries, windows, lags)
    return [past.classified(fact) if fact.kind == KIND and fact.scope == "incident" else fact for fact in facts]


class _Past:
    """What an incident tells of the time before its retries were given up."""

    def __init__(self, own: Sequence[Fact], retries: Sequence[Fact], windows: RetryWindows, lags: Lags) -> None:
        self.windows = windows
        mixed = {fact.source.path for fact in own if fact.sequence is None and _without_lag(fact)}
        self.reports = {
            id(fact): _as_reported(fact, lags[(fact.source.path, fact.source.line)], fact.source.path not in mixed)
            for fact in retries
        }
        self.marks = _first(fact for fact in own if _is_progress(fact, windows))
        self.starts: dict[str | None, list[Fact]] = defaultdict(list)
        for fact in own:
            if fact.kind in STARTED:
                self.starts[fact.host].append(fact)
        ends = _first(fact for fact in own if _is_end(fact, windows) and (fact.ranks or fact.host))
        reports = list(self.reports.values())
        self.ends = [end for end in ends if all(_is_no_answer(end, report) for report in reports)]

    def classified(self, fact: Fact) -> Fact:
        """The retry with what is found."""
        report = self.reports[id(fact)]
        fields = self._timing(fact, report)
        if _one_host(fact):
            fields["same_host"] = True
        end = next((end for end in self.ends if _may_have_begun(end, fact, report)), None)
        if end is not None and len(end.ranks) == 1:
            fields["ended_rank"] = end.ranks[0]
        elif end is not None and end.host is not None:
            fields["ended_host"] = end.host
        return replace(fact, fields={**fact.fields, **fields}) if fields else fact

    def _timing(self, fact: Fact, report: Fact) -> dict[str, Scalar]:
        groups = [self.starts.get(host, []) for host in {fact.host, None}] if fact.host else self.starts.values()
        near = [start for group in groups for start in group if _may_share_rank(start, fact)]
        least, most = _distance([start for start in near if before(start, report) is not Order.NO], fact)
        if least is not None and least >= self.windows.after_long:
            return {"timing": "after_long", "since_start_s": least // SECOND}
        orders = {before(mark, report) for mark in self.marks}
        if Order.YES in orders:
            return {"timing": "running"}
        if most is not None and most <= self.windows.at_start and Order.CANNOT_TELL not in orders:
            return {"timing": "at_start", "since_start_s": max(0, most) // SECOND}
        return {}


def _first(facts: Iterable[Fact]) -> list[Fact]:
    return sorted(facts, key=_placed)[:MOST_LOOKED_AT]


def _placed(fact: Fact) -> tuple[int, str, int]:
    earliest = fact.onset.earliest
    return (earliest if earliest is not None else 2**62, fact.source.path, fact.source.line)


def _without_lag(fact: Fact) -> bool:
    return fact.onset.earliest is not None and fact.onset.earliest == fact.reported.earliest


def _as_reported(fact: Fact, lag: Lag, lines_trusted: bool) -> Fact:
    """The first report of a retry, as a fact that :func:`before` can compare."""
    sequence = fact.source.line if lines_trusted else None
    return replace(fact, onset=_later(fact.onset, lag), local=_later(fact.local, lag), sequence=sequence)


def _later(span: Span, lag: Lag) -> Span:
    """The span that lay so long before: the earliest onset is the one of the longest lag."""
    least, most = lag
    return Span(
        span.earliest + most if span.earliest is not None else None,
        span.latest + least if span.latest is not None else None,
    )


def _is_progress(fact: Fact, windows: RetryWindows) -> bool:
    where = windows.progress.get(fact.kind)
    return where is not None and all(fact.fields.get(name) in values for name, values in where.items())


def _is_end(fact: Fact, windows: RetryWindows) -> bool:
    unless = windows.ends.get(fact.kind)
    return unless is not None and not any(fact.fields.get(name) in values for name, values in unless.items())


def _one_host(fact: Fact) -> bool:
    local, remote = fact.fields.get("local_gid"), fact.fields.get("remote_gid")
    return (fact.peer is not None and fact.peer == fact.host) or (bool(local) and local == remote)


def _may_share_rank(one: Fact, other: Fact) -> bool:
    return not one.ranks or not other.ranks or bool(set(one.ranks) & set(other.ranks))


def _distance(starts: Sequence[Fact], fact: Fact) -> tuple[int | None, int | None]:
    """Least and most microseconds from the latest of ``starts`` to the onset, each ``None`` where not known."""
    pairs = [(start.local, fact.local) if start.clock == fact.clock else (start.onset, fact.onset) for start in starts]
    least = [
        onset.earliest - start.latest
        for start, onset in pairs
        if start.latest is not None and onset.earliest is not None
    ]
    most = [
        onset.latest - start.earliest
        for start, onset in pairs
        if start.earliest is not None and onset.latest is not None
    ]
    whole = len(least) == len(pairs) > 0
    return (min(least) if whole else None, min(most) if most else None)


def _may_have_begun(end: Fact, fact: Fact, report: Fact) -> bool:
    """Whether an end of another process was reported before the retries were, and not certainly outside the window."""
    if _of_one_place(end, fact) or before(end, report) is not Order.YES:
        return False
    order = before(end, fact)
    return order is Order.CANNOT_TELL or (order is Order.NO and fact.fields.get("window_basis") != "settings")


def _of_one_place(end: Fact, fact: Fact) -> bool:
    if end.ranks and fact.ranks:
        return bool(set(end.ranks) & set(fact.ranks))
    return end.host is None or fact.host is None or end.host == fact.host


def _is_no_answer(end: Fact, report: Fact) -> bool:
    """Whether an end cannot be the answer to a report: where both are of one process it certainly came first.

    Elsewhere it is enough that it did not certainly come later.
    """
    order = before(end, report)
    return order is Order.YES if _of_one_place(end, report) else order is not Order.NO
