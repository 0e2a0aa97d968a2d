"""Running the samples that adapters and block readers carry, each as a bundle of one file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from engine.facts.collectives import GroupState
from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Adapter, Record, Sample
from facts_adapters.discovery import registry
from facts_adapters.reader import read_bundle
from facts_adapters.text.blocks import BlockReader

COUNTER = "counter"
"""Kind by which a sample expects a :class:`CounterSample`."""

STATE = "group_state"
"""Kind by which a sample expects a :class:`GroupState`."""


def try_samples(readers: Iterable[Adapter | BlockReader] | None = None) -> Iterator[str]:
    """One line for each sample that does not come out as stated; all readers where none are named."""
    every: tuple[Adapter | BlockReader, ...] = (*registry().adapters, *registry().blocks)
    chosen = every if readers is None else readers
    for reader in chosen:
        for index, sample in enumerate(reader.samples, start=1):
            for problem in _try(reader, sample):
                yield f"{reader.name}, sample {index}: {problem}"
        if not any(sample.expect for sample in reader.samples):
            yield f"{reader.name} has no sample that gives facts"
        if all(sample.expect for sample in reader.samples):
            yield f"{reader.name} has no near miss"


def _try(reader: Adapter | BlockReader, sample: Sample) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / sample.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(sample.text, encoding="utf-8")
        result = read_bundle(Path(folder))
    found = [record for record in result.readings if record.adapter == reader.name]
    kinds = {record.kind for record in found if isinstance(record, Observation)}
    if not sample.expect and found:
        yield f"a near miss gives {', '.join(sorted(kinds)) or COUNTER}"
    for kind, fields in sample.expect:
        if not any(_fits(record, kind, fields) for record in found):
            yield f"no {kind} with {dict(fields)}"
    for kind in sorted(kinds - set(reader.emits)):
        yield f"{kind} is not among the kinds that it says it emits"
    for warning in result.warnings:
        if "failed" in warning.reason:
            yield warning.reason


def kind_of(record: Record) -> str:
    """The fact kind of an observation, the name by which samples expect it of another record."""
    return record.kind if isinstance(record, Observation) else STATE if isinstance(record, GroupState) else COUNTER


def _fits(record: Record, kind: str, fields: Mapping[str, Scalar]) -> bool:
    own = kind_of(record)
    return own == kind and all(_value(record, name) == value for name, value in fields.items())


def _value(record: Record, name: str) -> object:
    if isinstance(record, Observation) and name in record.fields:
        return record.fields[name]
    return getattr(record, name, None)
