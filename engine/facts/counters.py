"""Counters as evidence: changes between two samples, judged by the counters profile.

A single snapshot says only "not zero since an unknown time". A counter at its ceiling says nothing about change, a
counter that is absent says nothing at all. Which rise means something is knowledge (``profiles/counters.yaml``).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from engine.facts.model import SECOND, CounterSample, Observation, Reading, Scalar, Span

EARLY_WORDS = ("before", "baseline", "pre", "t0", "start", "prev", "old", "first")
LATE_WORDS = ("after", "incident", "post", "t1", "end", "now", "new", "second", "last")


@dataclass(frozen=True, slots=True)
class CounterSpec:
    """What the profile says of one counter; rates are per second."""

    meaning: str
    min_delta: int = 1
    min_per_s: float = 0.0
    context: bool = False
    consequence: bool = False
    ceiling: int | None = None
    kind: str | None = None
    gauge: bool = False
    min_value: int = 1


@dataclass(frozen=True, slots=True)
class Family:
    """A naming scheme: the branch whose facts it yields and its counters by name or pattern."""

    branch: str
    counters: Mapping[str, CounterSpec | None]
    patterns: tuple[tuple[re.Pattern[str], CounterSpec | None], ...]
    deltas: bool

    def lookup(self, name: str) -> tuple[CounterSpec | None, int | None]:
        """The specification of a counter and the queue or priority that its name carries."""
        if name in self.counters:
            return self.counters[name], None
        for pattern, spec in self.patterns:
            match = pattern.fullmatch(name)
            if match:
                queue = match.groupdict().get("queue")
                return spec, int(queue) if queue and queue.isdigit() else None
        return None, None


CounterProfile = Mapping[str, Family]


def read_profile(document: Mapping[str, Any]) -> CounterProfile:
    """The counters profile from the plain values of its YAML file."""
    families: dict[str, Family] = {}
    for name, body in document.get("families", {}).items():
        families[name] = Family(
            branch=body["branch"],
            counters={key: _spec(value) for key, value in (body.get("counters") or {}).items()},
            patterns=tuple((re.compile(key), _spec(value)) for key, value in (body.get("patterns") or {}).items()),
            deltas=bool(body.get("delta", False)),
        )
    return families


def _spec(value: Any) -> CounterSpec | None:
    if not isinstance(value, Mapping):
        return None
    return CounterSpec(
        meaning=str(value.get("class", "other")),
        min_delta=int(value.get("min_delta", 1)),
        min_per_s=float(value.get("min_per_s", 0.0)),
        context=bool(value.get("context", False)),
        consequence=bool(value.get("consequence", False)),
        ceiling=value.get("ceiling"),
        kind=value.get("kind"),
        gauge=bool(value.get("gauge", False)),
        min_value=int(value.get("min_value", 1)),
    )


Place = Callable[[CounterSample], Span]
"""Gives the UTC span of a sample."""


def counter_facts(samples: Sequence[CounterSample], profile: CounterProfile, place: Place) -> list[Observation]:
    """Pair the samples of each counter and say what rose, what stood still and what was merely not zero.

    ``place`` gives the UTC span of a sample, unbounded where nothing is known. The observation of a rise carries as
    ``after`` and ``until`` (basis ``utc``) the times of the two samples between which it began.
    """
    series: dict[tuple[object, ...], list[CounterSample]] = defaultdict(list)
    for sample in samples:
        series[_series_key(sample)].append(sample)
    found: list[Observation] = []
    still: dict[tuple[str, str | None, str | None, str | None, str], list[CounterSample]] = defaultdict(list)
    for key in sorted(series, key=str):
        ordered = sorted(series[key], key=lambda sample: _order(sample, place))
        family = profile.get(ordered[0].family)
        if family is None:
            continue
        spec, queue = family.lookup(ordered[0].counter)
        if spec is None:
            continue
        queue = ordered[0].queue if ordered[0].queue is not None else queue
        observation = _judge(ordered, family, spec, queue, place)
        if observation is None:
            first = ordered[0]
            if len(ordered) > 1 and ordered[0].value == ordered[-1].value:
                still[(family.branch, first.host, first.device, first.port, spec.meaning)].extend(ordered)
            continue
        found.append(observation)
    return [*found, *_idle(still, found)]


def _series_key(sample: CounterSample) -> tuple[object, ...]:
    return (sample.family, sample.host, sample.device, sample.port, sample.queue, sample.counter)


def _order(sample: CounterSample, place: Place) -> tuple[int, int, str, int]:
    span = place(sample)
    known = span.earliest if span.earliest is not None else 0
    words = set(re.split(r"[^a-z0-9]+", sample.group.lower()))
    rank = 0 if words & set(EARLY_WORDS) else 2 if words & set(LATE_WORDS) else 1
    return (known, rank, sample.source.path, sample.source.line)


def _judge(
    ordered: Sequence[CounterSample], family: Family, spec: CounterSpec, queue: int | None, place: Place
) -> Observation | None:
    first, last = ordered[0], ordered[-1]
    fields: dict[str, Scalar] = {"counter": last.counter, "class": spec.meaning}
    if queue is not None:
        fields["queue"] = queue
    if spec.gauge or (len(ordered) == 1 and not family.deltas):
        if last.value < spec.min_value or spec.context:
            return None
        return _observe(f"{family.branch}.counter_value", last, {**fields, "value": last.value})
    if spec.ceiling is not None and first.value >= spec.ceiling and last.value >= spec.ceiling:
        return _observe(f"{family.branch}.counter_saturated", last, fields)
    moving = _moving(ordered)
    delta, resets = (last.value, 0) if len(ordered) == 1 else _delta(moving)
    seconds = _seconds(place(moving[0]), place(moving[-1])) if len(ordered) > 1 else None
    per_s = delta / seconds if seconds else 0.0
    if delta < spec.min_delta or (seconds is not None and per_s < spec.min_per_s):
        return None
    kind = spec.kind or f"{family.branch}.counter_rise"
    if spec.kind is None and (spec.context or spec.consequence):
        kind = f"{family.branch}.counter_activity" if spec.context else f"{family.branch}.counter_symptom"
    earlier, later = _began(moving, delta)
    fields = {**fields, "delta": delta, "per_s": round(per_s, 4)}
    if resets:
        fields["resets"] = resets
    observation = _observe(kind, later, fields)
    observation.after, observation.until = _reading(place(earlier)), _reading(place(later))
    return observation


def _delta(ordered: Sequence[CounterSample]) -> tuple[int, int]:
    """Sum of the increases, and how often the counter fell (a reset: what it then shows has risen since)."""
    total = resets = 0
    for earlier, later in pairwise(ordered):
        if later.value >= earlier.value:
            total += later.value - earlier.value
        else:
            total, resets = total + later.value, resets + 1
    return total, resets


def _moving(ordered: Sequence[CounterSample]) -> Sequence[CounterSample]:
    """The samples from the last one before the first change to the one with the last change; all where none changes.

    A series of a monitoring system stands still for hours around what happened: neither its rate nor its time is that
    of the whole series.
    """
    changed = [index for index in range(1, len(ordered)) if ordered[index].value != ordered[index - 1].value]
    return ordered[changed[0] - 1 : changed[-1] + 1] if changed else ordered


def _began(moving: Sequence[CounterSample], delta: int) -> tuple[CounterSample, CounterSample]:
    """The two samples between which the rise began.

    The last one at which no more than a hundredth of it had happened (so that a stray count long before does not
    decide), and the first one at which a tenth had.
    """
    earlier, risen = moving[0], 0
    for previous, sample in pairwise(moving):
        risen += sample.value - previous.value if sample.value >= previous.value else sample.value
        if risen * 10 >= delta:
            return earlier, sample
        if risen * 100 <= delta:
            earlier = sample
    return moving[0], moving[-1]


def _seconds(first: Span, last: Span) -> float | None:
    if first.earliest is None or last.earliest is None or last.earliest <= first.earliest:
        return None
    return (last.earliest - first.earliest) / SECOND


def _reading(span: Span) -> Reading | None:
    if span.earliest is None or span.latest is None:
        return None
    return Reading(span.earliest, span.latest, basis="utc")


def _observe(kind: str, sample: CounterSample, fields: dict[str, Scalar]) -> Observation:
    return Observation(
        kind=kind,
        source=sample.source,
        fields=fields,
        host=sample.host,
        device=sample.device,
        port=sample.port,
        adapter=sample.adapter,
    )


def _idle(
    still: Mapping[tuple[str, str | None, str | None, str | None, str], Sequence[CounterSample]],
    found: Iterable[Observation],
) -> list[Observation]:
    """Classes of which no counter of the device moved between two samples."""
    moved = {(item.host, item.device, item.port, item.fields.get("class")) for item in found}
    idle: list[Observation] = []
    for (branch, host, device, port, meaning), samples in still.items():
        if (host, device, port, meaning) in moved:
            continue
        fields: dict[str, Scalar] = {"class": meaning, "samples": len(samples)}
        idle.append(_observe(f"{branch}.counter_idle", samples[-1], fields))
    return idle
