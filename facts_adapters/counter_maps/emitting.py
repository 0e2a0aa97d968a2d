"""From points of metrics and rows to counter samples, facts about changes, and what the file covers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from engine.facts.model import CounterSample, Observation, Reading, Scalar, Source
from facts_adapters.adapter import Context, EvidenceFile
from facts_adapters.counter_maps.model import Change, CounterMap, Labels, Named, fits, named
from facts_adapters.counter_maps.series import Thinned

MOST_SERIES = 300_000
"""Series of one file beyond which the rest is left out."""

MOST_HOSTS = 5_000
"""Hosts of which one file says that it covers them."""

BLANK = 9.2e18
"""DCGM says "no value" with the largest whole numbers (dcgm_fields.h); no counter comes near them."""

COUNTER_KINDS = (
    *(
        f"{branch}.counter_{what}"
        for branch in ("nic", "switch")
        for what in ("rise", "symptom", "activity", "value", "idle", "saturated")
    ),
    "host.listen_overflow",
    "host.counter_value",
    "host.counter_idle",
)
"""What the engine makes of counter samples."""

Key = tuple[object, ...]

Point = Callable[[], tuple[Source, Reading | None]]
"""Gives where a value stands and its time; asked for only where the value is kept, because most are not."""


@dataclass(slots=True)
class Series:
    """One counter of one subject."""

    family: str
    counter: str
    scale: float
    subject: Named
    covers: str
    points: Thinned[Point] = field(default_factory=Thinned)


@dataclass(slots=True)
class Level:
    """A level whose changes are facts, with its last value."""

    change: Change
    subject: Named
    labels: Labels
    value: float | None = None
    at: Point | None = None


@dataclass(slots=True)
class Channel:
    """What one metric with its labels comes to; resolved once, then fed with values."""

    series: list[Series] = field(default_factory=list)
    levels: list[Level] = field(default_factory=list)


@dataclass(slots=True)
class _Covered:
    first: Reading
    last: Reading


class Collector:
    """Takes the points of one file in their order and yields what they come to."""

    def __init__(self, maps: Sequence[CounterMap], file: EvidenceFile, context: Context, adapter: str) -> None:
        self.maps = maps
        self.file = file
        self.context = context
        self.adapter = adapter
        self.series: dict[Key, Series] = {}
        self.levels: dict[Key, Level] = {}
        self.covered: dict[tuple[str, str | None], _Covered] = {}
        self.full = False

    def channel(self, name: str, labels: Labels, line: int) -> Channel | None:
        """The counters and levels that a metric is, by the first map that knows it; ``None`` where none does."""
        for counter_map in self.maps:
            if counter_map.skip and counter_map.skips(labels):
                continue
            found = Channel()
            known = False
            for target, counter in counter_map.counters(name, labels):
                known = True
                subject = named(target.subject.over(counter_map.subject), labels)
                series = self._series(counter_map.covers, target.family, counter, target.scale, subject, line)
                found.series += [series] if series else []
            for number, change in enumerate(counter_map.changes.get(name, ())):
                known = True
                if fits(change.where, labels):
                    level = self._level(counter_map, name, number, change, labels)
                    found.levels += [level] if level else []
            if known:
                return found
        return None

    def counter(self, counter_map: CounterMap, family: str, counter: str, labels: Labels, line: int) -> Channel:
        """The channel of a counter whose family the row itself names."""
        series = self._series(counter_map.covers, family, counter, 1.0, named(counter_map.subject, labels), line)
        return Channel([series] if series else [])

    def add(self, channel: Channel, value: float, point: Point) -> Iterator[Observation | CounterSample]:
        """One value; yields the samples and facts that are complete with it."""
        if value >= BLANK:
            return
        for series in channel.series:
            if value >= 0:
                for kept, at in series.points.add(value, point):
                    yield self._sample(series, kept, at)
        for level in channel.levels:
            if level.value is not None and level.change.happened(level.value, value):
                yield self._fact(level, value, point)
            level.value, level.at = value, point

    def rest(self) -> Iterator[Observation | CounterSample]:
        """What was kept back until the end of the file: last points, and what it covers."""
        for series in self.series.values():
            for value, point in series.points.rest():
                yield self._sample(series, value, point)
        for (name, host), times in list(self.covered.items())[:MOST_HOSTS]:
            if times.first.earliest < times.last.earliest:
                yield Observation(
                    "coverage.source",
                    Source(self.file.path, 0),
                    {"class": name, "lines": 0},
                    host=host,
                    after=times.first,
                    until=times.last,
                    adapter=self.adapter,
                )

    def _series(self, covers: str, family: str, counter: str, scale: float, subject: Named, line: int) -> Series | None:
        key: Key = (family, counter, subject)
        series = self.series.get(key)
        if series is None and len(self.series) < MOST_SERIES:
            series = self.series[key] = Series(family, counter, scale, subject, covers)
        elif series is None and not self.full:
            self.full = True
            self.context.warn(self.file.path, line, f"more than {MOST_SERIES} series; the rest is left out")
        return series

    def _level(self, counter_map: CounterMap, name: str, number: int, change: Change, labels: Labels) -> Level | None:
        key: Key = (counter_map.id, name, number, tuple(sorted(labels.items())))
        level = self.levels.get(key)
        if level is None and len(self.levels) < MOST_SERIES:
            subject = named(change.subject.over(counter_map.subject), labels)
            level = self.levels[key] = Level(change, subject, labels)
        return level

    def _sample(self, series: Series, value: float, point: Point) -> CounterSample:
        source, when = point()
        self._cover(series.covers, series.subject.host, when)
        return CounterSample(
            source=source,
            family=series.family,
            counter=series.counter,
            value=round(value * series.scale),
            host=series.subject.host or self.file.host,
            device=series.subject.device,
            port=series.subject.port,
            queue=series.subject.queue,
            group=self.file.group,
            when=when,
            adapter=self.adapter,
        )

    def _cover(self, name: str, host: str | None, when: Reading | None) -> None:
        if not name or when is None:
            return
        known = self.covered.get((name, host))
        if known is None:
            self.covered[name, host] = _Covered(when, when)
            return
        if when.earliest < known.first.earliest:
            known.first = when
        if when.latest > known.last.latest:
            known.last = when

    def _fact(self, level: Level, value: float, point: Point) -> Observation:
        change, labels = level.change, level.labels
        fields: dict[str, Scalar] = dict(change.constants)
        if change.value:
            fields[change.value] = int(value)
        for name, term in change.labels.items():
            text = term.of(labels)
            if text:
                fields[name] = text
        for name, (values, default) in change.translate.items():
            chosen = values.get(str(int(value)), default)
            if chosen is not None:
                fields[name] = chosen
        source, until = point()
        return Observation(
            change.emits,
            source,
            fields,
            host=level.subject.host or self.file.host,
            device=level.subject.device,
            port=level.subject.port,
            after=level.at()[1] if level.at else None,
            until=until,
            adapter=self.adapter,
        )
