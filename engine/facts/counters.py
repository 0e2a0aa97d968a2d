"""Counters as evidence: changes between two samples, judged by the counters profile.

A single snapshot says only "not zero since an unknown time". A counter at its ceiling says nothing about change, a
counter that is absent says nothing at all. Which rise means something is knowledge (``profiles/counters.yaml``).

Two samples are compared only where their order is known: by time, by the labels of their snapshots, or by their lines
in one file. Of one snapshot that several tools show, one is taken: it is no second sample.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

from engine.facts.model import SECOND, CounterSample, Observation, Reading, Scalar, Span

EARLY_WORDS = ("before", "baseline", "healthy", "pre", "start", "begin", "prev", "old", "first")
LATE_WORDS = ("after", "incident", "post", "end", "final", "now", "new", "second", "last")
LARGEST = 2**64 - 1
"""What a counter can show; a larger number is damage."""


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
    verified: bool = True

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
            verified=bool(body.get("verified_on", True)),
        )
    return families


def yielded_kinds(profile: CounterProfile) -> frozenset[str]:
    """The fact kinds that :func:`counter_facts` can yield with this profile."""
    kinds: set[str] = set()
    for family in profile.values():
        specs = [spec for spec in (*family.counters.values(), *(s for _, s in family.patterns)) if spec is not None]
        counts = [spec for spec in specs if not spec.gauge]
        kinds |= {_rise_kind(family, spec) for spec in counts}
        kinds |= {f"{family.branch}.counter_value" for spec in specs if not spec.context and not family.deltas}
        kinds |= {f"{family.branch}.counter_idle" for _ in counts}
        kinds |= {f"{family.branch}.counter_saturated" for spec in counts if spec.ceiling is not None}
    return frozenset(kinds)


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

    ``place`` gives the UTC span of a sample, unbounded where nothing is known. The observation of a rise carries the
    time of the last sample before it as ``after`` and of the first that shows all of it as ``until`` (basis ``utc``);
    its rate is over the time between these two.
    """
    series: dict[tuple[object, ...], list[CounterSample]] = defaultdict(list)
    for sample in samples:
        if 0 <= sample.value <= LARGEST:
            series[_series_key(sample)].append(sample)
    found: list[Observation] = []
    still: dict[_Class, list[CounterSample]] = defaultdict(list)
    stirred: set[_Class] = set()
    for key in sorted(series, key=str):
        family = profile.get(series[key][0].family)
        spec, queue = family.lookup(series[key][0].counter) if family else (None, None)
        if family is None or spec is None:
            continue
        ordered = _in_order(series[key], place)
        queue = ordered[0].queue if ordered[0].queue is not None else queue
        observation = _judge(ordered, family, spec, queue, place)
        whose = (family.branch, ordered[0].host, ordered[0].device, ordered[0].port, spec.meaning)
        if observation is not None:
            if not family.verified:
                observation.fields["verified"] = False
            found.append(observation)
            stirred.add(whose)
        elif len(ordered) > 1 and not spec.gauge:
            if len({sample.value for sample in ordered}) == 1 and not (family.deltas and ordered[0].value):
                still[whose].extend(ordered)
            else:
                stirred.add(whose)
    return [*found, *_idle(still, stirred)]


_Class = tuple[str, str | None, str | None, str | None, str]
"""Branch, host, device, port and class of counters."""


def _series_key(sample: CounterSample) -> tuple[object, ...]:
    return (sample.family, sample.host, sample.device, sample.port, sample.queue, sample.counter)


def _in_order(samples: Sequence[CounterSample], place: Place) -> list[CounterSample]:
    """The samples of one counter by time, or by label where a time is missing; of one snapshot those of one file."""
    times = {id(sample): place(sample).earliest for sample in samples}
    dated = None not in times.values()
    samples = samples if dated else _comparable(samples)

    def moment(sample: CounterSample) -> tuple[object, ...]:
        return (times[id(sample)],) if dated else _label_rank(sample.group)

    ordered: list[CounterSample] = []
    whole = sorted(samples, key=lambda sample: (moment(sample), sample.source.path, sample.source.line))
    for _, same in groupby(whole, key=moment):
        snapshot = list(same)
        ordered += [sample for sample in snapshot if sample.source.path == snapshot[0].source.path]
    return ordered


def _comparable(samples: Sequence[CounterSample]) -> list[CounterSample]:
    """Samples whose labels tell their order.

    A snapshot whose label says nothing stands after one that says ``before`` and before one that says ``after``; where
    there are both, or beside another such snapshot, its place is not known. A row of numbered ones has its own order.
    """
    rows: dict[str, list[CounterSample]] = defaultdict(list)
    ends: list[CounterSample] = []
    for sample in samples:
        rank, name, _ = _label_rank(sample.group)
        (rows[name] if rank == 1 else ends).append(sample)
    row = max((rows[name] for name in sorted(rows)), key=len, default=[])
    both = len({_label_rank(sample.group)[0] for sample in ends}) > 1
    if both and (len(rows) > 1 or len({sample.group for sample in row}) < 2):
        return ends
    return [*ends, *row]


def _label_rank(label: str) -> tuple[int, str, int]:
    """Where a snapshot stands by its label: ``before`` < ``t0`` < ``t1_1430`` < ``t10`` < ``after``."""
    words = set(re.split(r"[^a-z0-9]+", label.lower()))
    if words & set(EARLY_WORDS):
        return (0, "", 0)
    if words & set(LATE_WORDS):
        return (2, "", 0)
    bare = re.sub(r"^([a-z]+[-_]?\d{1,4})[-_]\d\d[-:h]?\d\d(?:[-:]?\d\d)?$", r"\1", label.lower())
    numbered = re.fullmatch(r"(?P<name>.*?)(?P<number>\d{1,18})", bare)
    return (1, numbered["name"], int(numbered["number"])) if numbered else (1, label, 0)


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
    if spec.ceiling is not None and {sample.value for sample in ordered} == {spec.ceiling}:
        return _observe(f"{family.branch}.counter_saturated", last, fields)
    delta, resets = (sum(sample.value for sample in ordered), 0) if family.deltas else _delta(ordered)
    moving = ordered if family.deltas else _moving(ordered)
    first, last = moving[0], moving[-1]
    seconds = _seconds(place(first), place(last)) if len(moving) > 1 else None
    per_s = delta / seconds if seconds else 0.0
    if delta < spec.min_delta or (seconds is not None and per_s < spec.min_per_s):
        return None
    source = moving[min(1, len(moving) - 1)]
    fields = {**fields, "delta": delta, "per_s": round(per_s, 4)}
    if resets:
        fields["resets"] = resets
    observation = _observe(_rise_kind(family, spec), source, fields)
    observation.after, observation.until = _reading(place(first)), _reading(place(last))
    return observation


def _rise_kind(family: Family, spec: CounterSpec) -> str:
    """The fact kind that a rise of the counter is."""
    if spec.kind is not None:
        return spec.kind
    name = "activity" if spec.context else "symptom" if spec.consequence else "rise"
    return f"{family.branch}.counter_{name}"


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
    """The samples from the last before the first change to the first after the last change."""
    changes = [place for place, (a, b) in enumerate(pairwise(ordered)) if a.value != b.value]
    return ordered[changes[0] : changes[-1] + 2] if changes else ordered


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
        as_read={"device": sample.as_read} if sample.as_read else None,
    )


def _idle(still: Mapping[_Class, Sequence[CounterSample]], stirred: Iterable[_Class]) -> list[Observation]:
    """Classes of which every counter of the device that was sampled twice stood where it was, below its ceiling."""
    idle: list[Observation] = []
    for whose, samples in still.items():
        if whose not in set(stirred):
            fields: dict[str, Scalar] = {"class": whose[-1], "samples": len(samples)}
            idle.append(_observe(f"{whose[0]}.counter_idle", samples[-1], fields))
    return idle
