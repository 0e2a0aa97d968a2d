"""Counters in tables: CSV with a header (comma, semicolon, tab), JSON lines, a JSON list of objects.

A counter map says which columns name the host, device, port, queue and time, and which column is which counter; or
that each row names one counter and gives its value. Nested JSON objects have columns with dots (``labels.port``).
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from engine.facts.model import CounterSample, Observation, Reading
from facts_adapters.adapter import Context, EvidenceFile, Head, Line, Verdict
from facts_adapters.counter_maps.emitting import Channel, Collector
from facts_adapters.counter_maps.model import CounterMap, Subject
from facts_adapters.counter_maps.reading import builtin_profile
from facts_adapters.counter_maps.series import number
from facts_adapters.quoting import line_at, quote

MOST_COLUMNS = 2_000
MOST_WARNINGS = 5
"""Rows that cannot be used and are told one by one; the others are counted."""

LONGEST_ROW = 64_000
LONGEST_LIST = 64 << 20
"""Bytes of a JSON list that are read; one object in a line has no such limit."""

_EMPTY = ("", "-", "--", "n/a", "na", "nan", "null", "none", "inf", "+inf", "-inf")


@dataclass(frozen=True, slots=True)
class _Row:
    line: Line
    cells: Mapping[str, str]


def fits_columns(counter_map: CounterMap, columns: frozenset[str]) -> bool:
    """Whether a table with these columns is one of the map's: its counters, and somebody whose counters they are."""
    subject: Subject = counter_map.subject
    terms = [term for term in (subject.host, subject.device, subject.port, subject.queue) if term is not None]
    if terms and not any(name in columns for term in terms for name in term.names()):
        return False
    if counter_map.name:
        return {name for name in (counter_map.name, counter_map.value, counter_map.family) if name} <= columns
    return any(counter_map.knows(name) for name in columns)


def sniff(counter_map: CounterMap, head: Head) -> Verdict:
    """The columns of the map are those of the table."""
    for line in head.lines[:20]:
        text = line.strip()
        if text.startswith(("{", "[{")):
            if fits_columns(counter_map, _columns_of_json(head.text)):
                return Verdict(0.9, f"JSON rows with the columns of the counter map {counter_map.id}")
            return Verdict(0.0, "")
        if text and not text.startswith("#"):
            columns = frozenset(_split(text, _delimiter(text)))
            if len(columns) > 1 and fits_columns(counter_map, columns):
                return Verdict(0.9, f"a table with the columns of the counter map {counter_map.id}")
            if text not in ("[", "{"):
                return Verdict(0.0, "")
    return Verdict(0.0, "")


def _columns_of_json(text: str) -> frozenset[str]:
    """The columns of the first object in a text."""
    try:
        value, _ = json.JSONDecoder().raw_decode(text, text.index("{"))
    except (ValueError, RecursionError):
        return frozenset()
    return frozenset(_flat(value)) if isinstance(value, dict) else frozenset()


def read(counter_map: CounterMap, file: EvidenceFile, context: Context) -> Iterator[Observation | CounterSample]:
    """Samples of the counters of every row."""
    collector = Collector((counter_map,), file, context, counter_map.id)
    reader = _Reader(counter_map, collector, file, context)
    for row in _rows(file, context):
        yield from reader.row(row)
    reader.summary()
    yield from collector.rest()


class _Reader:
    def __init__(self, counter_map: CounterMap, collector: Collector, file: EvidenceFile, context: Context) -> None:
        self.map = counter_map
        self.collector = collector
        self.file = file
        self.context = context
        self.snapshot = context.snapshot_time(file.path)
        self.faulty = 0
        self.known: dict[str, bool] = {}

    def row(self, row: _Row) -> Iterator[Observation | CounterSample]:
        cells = row.cells
        when = self._time(row)
        if self.map.name:
            name, text = cells.get(self.map.name, ""), cells.get(self.map.value, "")
            value = self._number(text, row, self.map.value)
            if name and value is not None:
                yield from self._named(name, value, row, when)
            return
        for column, text in cells.items():
            known = self.known.get(column)
            if known is None:
                known = self.known[column] = self.map.knows(column)
            value = self._number(text, row, column) if known else None
            if value is not None:
                channel = self.collector.channel(column, cells, row.line.number)
                yield from self._fed(channel, value, row, when)

    def _named(self, name: str, value: float, row: _Row, when: Reading | None) -> Iterator[Observation | CounterSample]:
        family = row.cells.get(self.map.family, "") if self.map.family else ""
        if family and family not in builtin_profile():
            self._complain(row, f'no counter family "{family[:60]}"')
            return
        line = row.line.number
        if family:
            channel: Channel | None = self.collector.counter(self.map, family, name, row.cells, line)
        else:
            channel = self.collector.channel(name, row.cells, line)
        yield from self._fed(channel, value, row, when)

    def _fed(
        self, channel: Channel | None, value: float, row: _Row, when: Reading | None
    ) -> Iterator[Observation | CounterSample]:
        if channel is not None:
            yield from self.collector.add(channel, value, lambda: (quote(self.file, row.line), when))

    def _time(self, row: _Row) -> Reading | None:
        text = self.map.time.of(row.cells)
        if text is None:
            return self.snapshot
        reading = self.context.reading(text.strip())
        if reading is None:
            self._complain(row, f'"{text[:60]}" is no time')
        return reading or self.snapshot

    def _number(self, text: str, row: _Row, column: str) -> float | None:
        value = number(text)
        if value is None and text.strip().lower() not in _EMPTY:
            self._complain(row, f'{column} is "{text[:60]}", no number')
        return value

    def _complain(self, row: _Row, reason: str) -> None:
        self.faulty += 1
        if self.faulty <= MOST_WARNINGS:
            self.context.warn(self.file.path, row.line.number, reason)

    def summary(self) -> None:
        """How many more places could not be used than were told."""
        if self.faulty > MOST_WARNINGS:
            self.context.warn(self.file.path, 0, f"{self.faulty - MOST_WARNINGS} more cells could not be used")


def _delimiter(header: str) -> str:
    return max((",", ";", "\t"), key=header.count)


def _split(text: str, delimiter: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([text], delimiter=delimiter), [])]
    except csv.Error:
        return []


def _rows(file: EvidenceFile, context: Context) -> Iterator[_Row]:
    with file.open() as stream:
        start = stream.read(4096).lstrip()[:1]
    if start == b"[":
        yield from _listed(file, context)
        return
    columns: list[str] = []
    delimiter = ","
    for line in file.lines():
        text = line.text.strip()
        if not text or text.startswith("#") or len(text) > LONGEST_ROW:
            continue
        if text.startswith("{"):
            yield from _object(line, text, file, context)
        elif not columns:
            delimiter = _delimiter(text)
            columns = _split(text, delimiter)[:MOST_COLUMNS]
        else:
            cells = _split(line.text, delimiter)
            if cells != columns:  # the header stands again where files were put together
                yield _Row(line, dict(zip(columns, cells, strict=False)))


def _object(line: Line, text: str, file: EvidenceFile, context: Context) -> Iterator[_Row]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        context.warn(file.path, line.number, f"not JSON: {error}")
        return
    if isinstance(value, dict):
        yield _Row(line, _flat(value))


def _listed(file: EvidenceFile, context: Context) -> Iterator[_Row]:
    """The objects of one JSON list; of a damaged one those before the damage."""
    with file.open() as stream:
        text = stream.read(LONGEST_LIST).decode("utf-8", "replace")
    decoder = json.JSONDecoder()
    place, number_of_line, counted = text.find("[") + 1, 1, 0
    while (start := text.find("{", place)) >= 0:
        number_of_line += text.count("\n", counted, start)
        counted = start
        try:
            value, place = decoder.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            context.warn(file.path, line_at(text, start), f"not JSON from here on: {error}")
            return
        yield _Row(Line(number_of_line, text[start : start + 500]), _flat(value))


def _flat(value: Mapping[str, Any], prefix: str = "", depth: int = 0) -> dict[str, str]:
    """Cells by column; a key of an inner object stands behind a dot."""
    found: dict[str, str] = {}
    for key, inner in list(value.items())[:MOST_COLUMNS]:
        name = f"{prefix}{key}"
        if isinstance(inner, dict) and depth < 5:
            found.update(_flat(inner, f"{name}.", depth + 1))
        elif isinstance(inner, (str, int, float)) and not isinstance(inner, bool):
            found[name] = str(inner)
    return found
