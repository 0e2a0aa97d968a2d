"""Running the samples and near misses that counter maps carry."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

from engine.authored import Problem
from engine.facts.model import CounterSample, Observation, Reading, Scalar
from facts_adapters.adapter import Head, Line
from facts_adapters.counter_maps import exposition, query, table
from facts_adapters.counter_maps.model import CounterMap
from facts_adapters.text import stamps

Record = Observation | CounterSample


@dataclass(frozen=True, slots=True)
class _Text:
    """A sample as a file."""

    text: str
    path: str = "sample"
    host: str | None = None
    rank: int | None = None
    group: str = ""

    def open(self) -> BinaryIO:
        return io.BytesIO(self.text.encode())

    def lines(self) -> Iterator[Line]:
        return (Line(number, text) for number, text in enumerate(self.text.splitlines(), start=1))

    def holding(self, *literals: str) -> Iterator[Line]:
        return (line for line in self.lines() if any(literal in line.text for literal in literals))


@dataclass(slots=True)
class _Warnings:
    told: list[str] = field(default_factory=list)

    def warn(self, _path: str, line: int, reason: str) -> None:
        self.told.append(f"line {line}: {reason}")

    def reading(self, text: str) -> Reading | None:
        return stamps.reading(text)

    def snapshot_time(self, _path: str) -> Reading | None:
        return None


def check(maps: Iterable[CounterMap]) -> list[Problem]:
    """Samples that do not come out as stated, warnings that they cause, near misses that give something."""
    problems: list[Problem] = []
    for counter_map in maps:
        for index, sample in enumerate((sample for sample in counter_map.samples if not sample.expect), start=1):
            found, _ = try_text(counter_map, sample.text)
            if found:
                problems.append(_problem(counter_map, f"near miss {index} gives {_shown(found[0])}", sample.text))
        for index, sample in enumerate((sample for sample in counter_map.samples if sample.expect), start=1):
            found, warnings = try_text(counter_map, sample.text)
            for wanted in sample.expect:
                if not any(_fits(record, wanted) for record in found):
                    got = "; ".join(map(_shown, found[:5])) or "nothing"
                    message = f"sample {index} does not give {dict(wanted)}: it gives {got}"
                    problems.append(_problem(counter_map, message, sample.text))
            problems += [_problem(counter_map, f"sample {index}, {text}", sample.text) for text in warnings]
    return problems


def try_text(counter_map: CounterMap, text: str) -> tuple[list[Record], list[str]]:
    """What a map makes of a text, and the warnings; nothing where it does not recognise it."""
    file, context = _Text(text), _Warnings()
    head = Head(file.path, text, tuple(text.splitlines()[:400]))
    if counter_map.reads == "table":
        if table.sniff(counter_map, head).score < 0.5:
            return [], []
        found = list(table.read(counter_map, file, context))
    else:
        reader = query if text.lstrip()[:1] in ("{", "[") else exposition
        found = list(reader.read(lambda: (counter_map,), counter_map.id, file, context))
    return [record for record in found if _kind(record) != "coverage.source"], context.told


def _kind(record: Record) -> str:
    return record.kind if isinstance(record, Observation) else "counter"


def _value(record: Record, name: str) -> Scalar | None:
    if name == "kind":
        return _kind(record)
    if isinstance(record, Observation) and name in record.fields:
        return record.fields[name]
    value: Scalar | None = getattr(record, name, None)
    return value


def _fits(record: Record, wanted: Mapping[str, Scalar]) -> bool:
    return all(_value(record, name) == value for name, value in wanted.items())


def _shown(record: Record) -> str:
    if isinstance(record, Observation):
        return f"{record.kind} {record.fields}"
    names = ("family", "counter", "value", "host", "device", "port", "queue")
    return ", ".join(f"{name}: {getattr(record, name)}" for name in names if getattr(record, name) is not None)


def _problem(counter_map: CounterMap, message: str, text: str) -> Problem:
    path, line = counter_map.place
    return Problem(
        path, line, 1, "FF416", message, snippet=text.partition("\n")[0], where=f"counter map {counter_map.id}"
    )
