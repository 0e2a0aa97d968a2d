"""Text exposition of Prometheus and OpenMetrics, and the lines of ``promtool query``.

``name{label="value"} value [milliseconds]``; a file may hold several scrapes, each under the output of ``date``. The
text of ``promtool query instant`` has ``=> value @[seconds]`` behind the labels, that of ``query range`` one such line
for each point below them (prometheus/common expfmt, prometheus/prometheus model/value.go).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from engine.facts.model import CounterSample, Observation, Reading
from facts_adapters.adapter import Context, EvidenceFile, Head, Line, Verdict
from facts_adapters.counter_maps.emitting import Collector
from facts_adapters.counter_maps.model import CounterMap
from facts_adapters.counter_maps.series import number
from facts_adapters.quoting import quote

Maps = Callable[[], Sequence[CounterMap]]

LONGEST_LINE = 8_000
"""Characters of a line beyond which it is no metric: labels of pods and devices make long ones."""

_TYPE = re.compile(r"^# TYPE [a-zA-Z_:][\w:]* (?:counter|gauge|untyped|unknown|histogram|summary|info|stateset)", re.M)
_LABELS = r"(?:\{(?P<labels>[^{}]*(?:\{[^{}]*\}[^{}]*)*)\})"
_METRIC = re.compile(
    rf"^(?P<name>[a-zA-Z_:][\w:]{{0,199}}){_LABELS}?\s+(?P<value>[-+\w.]{{1,40}})(?:\s+(?P<at>\d{{9,13}}(?:\.\d{{1,9}})?))?\s*(?:#.*)?$"
)
_QUERIED = re.compile(
    rf"^(?P<name>[a-zA-Z_:][\w:]{{0,199}}){_LABELS}\s*=>\s*"
    r"(?:(?P<value>\S{1,40}) @\[(?P<at>\d{9,10}(?:\.\d+)?)\])?\s*$"
)
_POINT = re.compile(r"^(?P<value>[-+\w.]{1,40}) @\[(?P<at>\d{9,10}(?:\.\d+)?)\]\s*$")
_LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"')
_CLOCK = re.compile(r"\d:\d\d:\d\d")


def sniff(maps: Maps, head: Head) -> Verdict:
    """A typed exposition, or lines whose metrics a map knows."""
    if "# TYPE " in head.text and _TYPE.search(head.text):
        return Verdict(0.95, "text exposition of metrics")
    for line in head.lines:
        match = _METRIC.match(line) or _QUERIED.match(line) if "{" in line else None
        if match and any(item.knows(match["name"]) for item in maps()):
            return Verdict(0.95, "metrics that a counter map knows")
    return Verdict(0.0, "")


def read(maps: Maps, adapter: str, file: EvidenceFile, context: Context) -> Iterator[Observation | CounterSample]:
    """Samples of the counters, facts of the changes."""
    collector = Collector([item for item in maps() if item.reads == "metrics"], file, context, adapter)
    when = context.snapshot_time(file.path)
    series: tuple[str, dict[str, str], Line] | None = None
    for line in file.lines():
        text = line.text
        if len(text) > LONGEST_LINE or not text.strip():
            continue
        point = _POINT.match(text) if series else None
        if point and series:
            yield from _one(collector, *series[:2], point["value"], line, file, context.reading(point["at"]))
            continue
        match = _METRIC.match(text) or _QUERIED.match(text)
        if match:
            labels = labels_of(match["labels"] or "")
            at = context.reading(match["at"]) if match["at"] else when
            series = (match["name"], labels, line)
            if match["value"]:
                yield from _one(collector, match["name"], labels, match["value"], line, file, at)
        elif len(text) < 80 and _CLOCK.search(text):
            when = context.reading(text.lstrip("#= ").rstrip("= ")) or when
    yield from collector.rest()


def _one(
    collector: Collector,
    name: str,
    labels: dict[str, str],
    value: str,
    line: Line,
    file: EvidenceFile,
    when: Reading | None,
) -> Iterator[Observation | CounterSample]:
    amount = number(value)
    channel = collector.channel(name, labels, line.number) if amount is not None else None
    if amount is not None and channel is not None:
        yield from collector.add(channel, amount, lambda: (quote(file, line), when))


def labels_of(text: str) -> dict[str, str]:
    """The labels between the braces; escapes are undone."""
    found = {}
    for name, value in _LABEL.findall(text):
        found[name] = value.replace('\\"', '"').replace("\\n", " ").replace("\\\\", "\\") if "\\" in value else value
    return found
