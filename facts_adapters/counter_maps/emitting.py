"""From points of metrics and rows to counter samples, facts about changes, and what the file covers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
Point = tuple[Source, Reading | None]


@dataclass(slots=True)
class _Series:
    map: CounterMap
    family: str
    counter: str
    scale: float
    subject: Named
    points: Thinned[Point] = field(default_factory=Thinned)


@dataclass(slots=True)
class _Level:
    value: float
    when: Reading | None


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
        self.series: dict[Key, _Series] = {}
        self.levels: dict[Key, _Level] = {}
        self.covered: dict[tuple[str, str | None], _Covered] = {}
        self.full = False

    def point(
        self,
        name: str,
        labels: Labels,
        value: float,
        source: Source,
        when: Reading | None,
        *,
        only: CounterMap | None = None,
    ) -> Iterator[Observation | CounterSample]:
        """One value of one metric; yields the samples and facts that are complete with it."""
        if value >= BLANK:
            return
        for counter_map in self.maps if only is None else (only,):
            known = False
            if counter_map.skip and counter_map.skips(labels):
                continue
            for target, counter in counter_map.counters(name, labels):
                known = True
                subject = named(target.subject.over(counter_map.subject), labels)
                family = target.family
                yield from self._sample(counter_map, family, counter, target.scale, subject, value, (source, when))
            for change in counter_map.changes.get(name, ()):
                known = True
                if fits(change.where, labels):
                    yield from self._change(counter_map, name, change, labels, value, source, when)
            if known:
                return

    def counter(
        self, counter_map: CounterMap, family: str, counter: str, labels: Labels, value: float, point: Point
    ) -> Iterator[CounterSample]:
        """One value of a counter that is named by its family already."""
        yield from self._sample(counter_map, family, counter, 1.0, named(counter_map.subject, labels), value, point)

    def rest(self) -> Iterator[Observation | CounterSample]:
        """What was kept back until the end of the file: last points, and what it covers."""
        for series in self.series.values():
            for value, point in series.points.rest():
                yield self._made(series, value, point)
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

    def _sample(
        self,
        counter_map: CounterMap,
        family: str,
        counter: str,
        scale: float,
        subject: Named,
        value: float,
        point: Point,
    ) -> Iterator[CounterSample]:
        if value < 0:
            return
        key: Key = (family, counter, subject)
        series = self.series.get(key)
        if series is None:
            if len(self.series) >= MOST_SERIES:
                if not self.full:
                    self.context.warn(
                        self.file.path, point[0].line, f"more than {MOST_SERIES} series; the rest is left out"
                    )
                self.full = True
                return
            series = self.series[key] = _Series(counter_map, family, counter, scale, subject)
        self._cover(counter_map.covers, subject.host, point[1])
        for kept, at in series.points.add(value, point):
            yield self._made(series, kept, at)

    def _made(self, series: _Series, value: float, point: Point) -> CounterSample:
        source, when = point
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

    def _change(
        self,
        counter_map: CounterMap,
        name: str,
        change: Change,
        labels: Labels,
        value: float,
        source: Source,
        when: Reading | None,
    ) -> Iterator[Observation]:
        subject = named(change.subject.over(counter_map.subject), labels)
        key: Key = (name, id(change), tuple(sorted(labels.items())))
        level = self.levels.get(key)
        if level is None:
            if len(self.levels) < MOST_SERIES:
                self.levels[key] = _Level(value, when)
            return
        if change.happened(level.value, value):
            yield self._stated(change, subject, labels, value, source, (level.when, when))
        level.value, level.when = value, when

    def _stated(
        self,
        change: Change,
        subject: Named,
        labels: Labels,
        value: float,
        source: Source,
        between: tuple[Reading | None, Reading | None],
    ) -> Observation:
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
        return Observation(
            change.emits,
            source,
            fields,
            host=subject.host or self.file.host,
            device=subject.device,
            port=subject.port,
            after=between[0],
            until=between[1],
            adapter=self.adapter,
        )
