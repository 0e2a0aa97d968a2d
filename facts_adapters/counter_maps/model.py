"""What a counter map says, ready to be asked about one metric or one row."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from engine.facts.model import Scalar
from facts_adapters.text.patterns import Expression

Labels = Mapping[str, str]
"""Labels of a metric, or the cells of a row by column."""

_PLACE = re.compile(r"\{([A-Za-z_][\w.\-/ ]*)\}")
_NUMBER_AT_END = re.compile(r"(\d{1,4})$")
_PORT_OF_INSTANCE = re.compile(r":\d{1,5}$")
LONGEST_NAME = 200
"""Characters of a host, device or port; longer ones are no names."""


@dataclass(frozen=True, slots=True)
class Term:
    """Where a value comes from: labels in the order of preference; one with ``{…}`` is put together from several."""

    choices: tuple[str, ...] = ()

    def of(self, labels: Labels) -> str | None:
        """The value of the first choice that is there and not empty."""
        for choice in self.choices:
            value = filled(choice, labels) if "{" in choice else labels.get(choice)
            if value and len(value) <= LONGEST_NAME:
                return value
        return None

    def names(self) -> tuple[str, ...]:
        """Labels of which one must be there for each choice that is no composition."""
        return tuple(name for choice in self.choices for name in (_PLACE.findall(choice) or [choice]))


def filled(template: str, labels: Labels) -> str | None:
    """A text with its ``{label}`` places filled; ``None`` where a label is missing or empty."""
    missing = False

    def value(match: re.Match[str]) -> str:
        nonlocal missing
        found = labels.get(match[1], "")
        missing = missing or not found
        return found

    text = _PLACE.sub(value, template)
    return None if missing else text


@dataclass(frozen=True, slots=True)
class Subject:
    """Who a metric is about."""

    host: Term | None = None
    device: Term | None = None
    port: Term | None = None
    queue: Term | None = None

    def over(self, other: Subject) -> Subject:
        """This subject where it says something, else the other."""
        return Subject(
            host=self.host if self.host is not None else other.host,
            device=self.device if self.device is not None else other.device,
            port=self.port if self.port is not None else other.port,
            queue=self.queue if self.queue is not None else other.queue,
        )


@dataclass(frozen=True, slots=True)
class Named:
    """Host, device, port and queue as they were found; ``None`` where they are not told."""

    host: str | None
    device: str | None
    port: str | None
    queue: int | None


def named(subject: Subject, labels: Labels) -> Named:
    """The subject of one metric; the port number of an ``instance`` label is left out of the host's name."""
    host = subject.host.of(labels) if subject.host else None
    queue = subject.queue.of(labels) if subject.queue else None
    number = _NUMBER_AT_END.search(queue) if queue else None
    return Named(
        host=_PORT_OF_INSTANCE.sub("", host) if host and host.count(":") == 1 else host,
        device=subject.device.of(labels) if subject.device else None,
        port=subject.port.of(labels) if subject.port else None,
        queue=int(number[1]) if number else None,
    )


@dataclass(frozen=True, slots=True)
class Target:
    """The counter that a metric is, under conditions on its labels."""

    family: str
    counter: str
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    subject: Subject = Subject()
    scale: float = 1.0

    def fits(self, labels: Labels) -> bool:
        """Whether the labels are as ``where`` wants them."""
        return fits(self.where, labels)


@dataclass(frozen=True, slots=True)
class Change:
    """A fact that a change of a level states: from one of ``before`` to one of ``after``, a rise or a fall.

    ``least`` is the smallest difference that is a change; empty lists mean any value. ``value`` is the field that the
    new level goes into, ``translate`` gives further fields by the new level, ``labels`` fields from labels,
    ``constants`` fields that are always so.
    """

    emits: str
    rise: bool = False
    fall: bool = False
    least: float = 0.0
    before: tuple[float, ...] = ()
    after: tuple[float, ...] = ()
    but: tuple[float, ...] = ()
    value: str = ""
    constants: Mapping[str, Scalar] = field(default_factory=dict)
    labels: Mapping[str, Term] = field(default_factory=dict)
    translate: Mapping[str, tuple[Mapping[str, Scalar], Scalar | None]] = field(default_factory=dict)
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    subject: Subject = Subject()

    def happened(self, first: float, second: float) -> bool:
        """Whether going from ``first`` to ``second`` is this change."""
        if first == second or abs(first - second) < self.least or second in self.but:
            return False
        if (self.rise and second < first) or (self.fall and second > first):
            return False
        return (not self.before or first in self.before) and (not self.after or second in self.after)


def fits(where: Mapping[str, tuple[str, ...]], labels: Labels) -> bool:
    """Whether every label has one of the values that are wanted of it."""
    return all(labels.get(name) in values for name, values in where.items())


@dataclass(frozen=True, slots=True)
class MapSample:
    """An input of a map, and the samples that must come out as field values; none for a near miss."""

    text: str
    expect: tuple[Mapping[str, Scalar], ...] = ()


@dataclass(frozen=True, slots=True)
class CounterMap:
    """One map. ``reads`` is ``metrics`` (Prometheus) or ``table`` (CSV, JSON lines).

    ``name`` and ``value`` are the columns of a table with one counter in each row; ``family`` is then the column that
    names the family, where the rows do that themselves. ``skip`` gives expressions for labels: where one matches the
    whole value, the metric is of no interest (loopback, interfaces of containers).
    """

    id: str
    reads: str
    covers: str = ""
    subject: Subject = Subject()
    time: Term = Term()
    name: str = ""
    value: str = ""
    family: str = ""
    targets: Mapping[str, tuple[Target, ...]] = field(default_factory=dict)
    patterns: tuple[tuple[Expression, Target], ...] = ()
    changes: Mapping[str, tuple[Change, ...]] = field(default_factory=dict)
    skip: Mapping[str, Expression] = field(default_factory=dict)
    samples: tuple[MapSample, ...] = ()
    place: tuple[str, int] = ("", 0)

    def knows(self, name: str) -> bool:
        """Whether the map says anything about a metric or column of this name."""
        if name in self.targets or name in self.changes:
            return True
        return any(pattern.compiled.fullmatch(name) for pattern, _ in self.patterns if not pattern.fault)

    def skips(self, labels: Labels) -> bool:
        """Whether the metric is of something that is of no interest."""
        return any(
            name in labels and not pattern.fault and pattern.compiled.fullmatch(labels[name]) is not None
            for name, pattern in self.skip.items()
        )

    def counters(self, name: str, labels: Labels) -> Iterator[tuple[Target, str]]:
        """The counters that a metric is, each with its name."""
        found = [target for target in self.targets.get(name, ()) if target.fits(labels)]
        for target in found:
            counter = filled(target.counter, labels) if "{" in target.counter else target.counter
            if counter:
                yield target, counter
        if name in self.targets:
            return
        for pattern, target in self.patterns:
            match = pattern.compiled.fullmatch(name) if not pattern.fault else None
            if match and target.fits(labels):
                counter = filled(target.counter, {**labels, **{k: v for k, v in match.groupdict().items() if v}})
                if counter:
                    yield target, counter
                return
