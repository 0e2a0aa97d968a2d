"""Results of Prometheus queries: ``/api/v1/query_range`` (matrix) and ``/api/v1/query`` (vector), as they were saved.

Each series is ``{"metric": {labels}, "values": [[seconds, "value"], …]}`` or has one ``value``. What stands around the
series does not matter: the whole answer, ``.data.result`` alone (``jq``, ``promtool``), several answers in one file.
VictoriaMetrics' ``/api/v1/export`` has ``values`` and ``timestamps`` (milliseconds) instead. A file is read series by
series, so that its size does not matter. An expression such as ``rate(…)`` has no name and tells no counter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, BinaryIO

from engine.facts.model import CounterSample, Observation, Reading, Source
from facts_adapters.adapter import Context, EvidenceFile, Head, Verdict
from facts_adapters.counter_maps.emitting import Collector
from facts_adapters.counter_maps.exposition import Maps
from facts_adapters.counter_maps.series import number
from facts_adapters.quoting import QUOTED

CHUNK = 1 << 20
LONGEST_SERIES = 64 << 20
"""Characters of one series beyond which the file is given up."""

_SERIES = re.compile(r'\{\s*"metric"\s*:\s*\{')
_ERROR = re.compile(r'"status"\s*:\s*"error"')
_TAIL = 64
"""Characters that may hold the beginning of a series."""


def sniff(_maps: Maps, head: Head) -> Verdict:
    """JSON with series in it."""
    start = head.text.lstrip()[:1]
    if start not in ("{", "["):
        return Verdict(0.0, "")
    if _SERIES.search(head.text):
        return Verdict(0.95, "series of a Prometheus query")
    if '"resultType"' in head.text or ('"errorType"' in head.text and _ERROR.search(head.text)):
        return Verdict(0.9, "answer of a Prometheus query")
    return Verdict(0.0, "")


def read(maps: Maps, adapter: str, file: EvidenceFile, context: Context) -> Iterator[Observation | CounterSample]:
    """Samples of the counters, facts of the changes."""
    collector = Collector([item for item in maps() if item.reads == "metrics"], file, context, adapter)
    nameless = total = 0
    for line, series in _all_series(file, context):
        labels = {str(key): str(value) for key, value in series["metric"].items()}
        name = labels.pop("__name__", "")
        total += 1
        nameless += not name
        channel = collector.channel(name, labels, line) if name else None
        if channel is not None:
            shown = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
            text = f"{name}{{{shown}}}"[: QUOTED - 60]
            for at, value in _points(series):
                yield from collector.add(channel, value, partial(_where, file.path, line, text, at, value, context))
    if nameless and nameless == total:
        context.warn(file.path, 1, "the series have no metric name (a rate or a sum): query the counter itself")
    yield from collector.rest()


def _where(path: str, line: int, text: str, at: str, value: float, context: Context) -> tuple[Source, Reading | None]:
    return Source(path, line, f"{text} {value:g} @{at}"), context.reading(at)


def _points(series: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """(time as text, value) of each point that is a number."""
    values, stamps = series.get("values"), series.get("timestamps")
    if isinstance(values, list) and isinstance(stamps, list):
        pairs: list[Any] = [[stamp, value] for stamp, value in zip(stamps, values, strict=False)]
    else:
        pairs = values if isinstance(values, list) else [series.get("value")]
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2 or isinstance(pair[0], bool):
            continue
        value = number(str(pair[1]))
        if value is not None and isinstance(pair[0], (int, float)) and 0 < pair[0] < 1e19:
            yield (f"{pair[0]:.3f}" if isinstance(pair[0], float) else str(pair[0])), value


def _all_series(file: EvidenceFile, context: Context) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line, series) of every series in the file; what is cut off at its end is told."""
    decoder = json.JSONDecoder()
    with file.open() as stream:
        text, place, line = _more(stream, CHUNK), 0, 1
        if _ERROR.search(text[:2000]) and not _SERIES.search(text):
            context.warn(file.path, 1, f"the query failed: {' '.join(text[:200].split())}")
            return
        while True:
            match = _SERIES.search(text, place)
            start = match.start() if match else max(place, len(text) - _TAIL)
            line += text.count("\n", place, start)
            place = start
            series: dict[str, Any] | None = None
            if match:
                try:
                    series, end = decoder.raw_decode(text, start)
                except (ValueError, RecursionError):
                    series = None
            if series is not None:
                yield line, series
                line += text.count("\n", start, end)
                place = end
                continue
            kept = len(text) - place
            new = _more(stream, max(CHUNK, kept)) if kept < LONGEST_SERIES else ""
            if not new:
                if match:
                    context.warn(file.path, line, "the last series is cut off or damaged; those before it are used")
                return
            text, place = text[place:] + new, 0


def _more(stream: BinaryIO, size: int) -> str:
    """The next part of the file as text, ending with a whole character."""
    data = stream.read(size)
    while data and data[-1] >= 0x80 and (next_byte := stream.read(1)):
        data += next_byte
    return data.decode("utf-8", "replace")
