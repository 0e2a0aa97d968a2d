"""The one that differs: settings compared across hosts or ranks, and ranks compared in what they report."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from engine.facts.model import Fact, Observation, Scalar, Source
from engine.facts.vocabulary import Vocabulary

NOT_SET = "(not set)"

KINDS = ("compare.differs", "comm.rank_silent")
"""Kinds that the comparison yields."""


def differing_settings(facts: Sequence[Fact], vocabulary: Vocabulary) -> list[Observation]:
    """``compare.differs`` observations for every unit whose value is not the majority's.

    Only kinds with ``compare`` in the vocabulary take part. With two units both differ and no majority is claimed.
    Where the vocabulary says so, a unit that states other settings of the kind but not this one counts as "(not set)".
    """
    found: list[Observation] = []
    for kind in sorted({fact.kind for fact in facts}):
        comparison = vocabulary[kind].compare
        if comparison is None:
            continue
        groups: dict[tuple[str, ...], dict[str | int, dict[str, Fact]]] = defaultdict(lambda: defaultdict(dict))
        units: set[str | int] = set()
        for fact in facts:
            value = fact.fields.get(comparison.value)
            if fact.kind != kind or fact.scope != "incident" or value is None:
                continue
            key = tuple(_as_read(fact, name) for name in comparison.key)
            for unit in [fact.host] if comparison.across == "host" else fact.ranks:
                if unit is not None:
                    units.add(unit)
                    groups[key][unit].setdefault(str(value), fact)
        for key, by_unit in sorted(groups.items()):
            found.extend(_odd_ones(kind, key, by_unit, units, comparison.unset))
    return found


def _as_read(fact: Fact, name: str) -> str:
    """A key as the source spells it: what one tool prints stays comparable, whichever host has other names for it."""
    return (fact.as_read or {}).get(name) or str(fact.get(name) or "")


def _odd_ones(
    kind: str,
    key: tuple[str, ...],
    by_unit: dict[str | int, dict[str, Fact]],
    units: set[str | int],
    unset_counts: bool,
) -> Iterable[Observation]:
    values = {unit: ",".join(sorted(found)) for unit, found in by_unit.items()}
    if unset_counts:
        values.update({unit: NOT_SET for unit in units if unit not in by_unit})
    if len(values) < 2:
        return
    ranking = Counter(values.values()).most_common()
    majority = ranking[0][0] if len(ranking) == 1 or ranking[0][1] > ranking[1][1] else None
    for unit in sorted(values, key=str):
        if len(ranking) == 1 or values[unit] == majority:
            continue
        stated = by_unit.get(unit) or next(iter(by_unit.values()))
        sample = next(iter(stated.values()))
        fields: dict[str, Scalar] = {
            "of": kind,
            "key": ",".join(key),
            "value": values[unit],
            "majority": majority or next(value for value in sorted(set(values.values())) if value != values[unit]),
            "odd": sum(1 for value in values.values() if value == values[unit]),
            "total": len(values),
            "clear": majority is not None,
            **_lower(values[unit], values.values()),
        }
        yield Observation(
            kind="compare.differs",
            source=Source(sample.source.path, sample.source.line, sample.source.text),
            fields=fields,
            host=unit if isinstance(unit, str) else sample.host,
            rank=unit if isinstance(unit, int) else None,
            adapter="comparison",
        )


def _lower(value: str, values: Iterable[str]) -> dict[str, Scalar]:
    """Whether a number is the lowest of all; nothing is said of what is no number."""
    numbers = [_number(other) for other in values]
    own = _number(value)
    known = [number for number in numbers if number is not None]
    return {"lowest": own == min(known)} if own is not None and len(known) == len(numbers) else {}


def _number(text: str) -> float | None:
    return float(text) if text.replace(".", "", 1).isdecimal() else None


def silent_ranks(
    facts: Sequence[Fact], known_ranks: set[int], covered_ranks: set[int], goes_on: Mapping[int, bool] | None = None
) -> list[Observation]:
    """Ranks that did not report the time-out that the others report.

    ``known_ranks`` are all ranks of the job as far as anything names them, ``covered_ranks`` those whose output is in
    the bundle; ``goes_on`` says of ranks with an own log whether it goes on past a report. A rank without output is
    never called silent.
    """
    return list(_silent(facts, known_ranks & covered_ranks, goes_on or {}))


def _silent(facts: Sequence[Fact], covered: set[int], goes_on: Mapping[int, bool]) -> Iterable[Observation]:
    groups: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        if fact.kind == "comm.collective_timeout" and fact.scope == "incident":
            groups[str(fact.fields.get("pg", ""))].append(fact)
    for _, group in sorted(groups.items()):
        reporters = {rank for fact in group for rank in fact.ranks}
        silent = covered - reporters
        if not reporters or not silent or len(silent) > len(covered) // 2:
            continue
        for rank in sorted(silent):
            fields: dict[str, Scalar] = {"reporters": len(reporters)}
            if rank in goes_on:
                fields["goes_on"] = goes_on[rank]
            yield Observation(
                kind="comm.rank_silent",
                source=group[0].source,
                fields=fields,
                rank=rank,
                adapter="comparison",
            )
