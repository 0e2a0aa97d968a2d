"""Folding: many equal statements become one fact with its ranks, its first and last occurrence and a count."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from engine.facts.model import SECOND, Fact, Span
from engine.facts.vocabulary import KindSpec, Vocabulary

EPISODE_GAP = 1_800 * SECOND
"""Equal facts further apart than this on one clock are two episodes."""

TOLD_AGAIN = 60 * SECOND
"""An event that is told again within so much is the same: the line further up tells it first."""

RANKS_KEPT_APART = 16
"""Up to this many ranks of one host keep facts of their own where the kind is a fault; beyond, they fold."""


def fold(facts: Sequence[Fact], vocabulary: Vocabulary) -> list[Fact]:
    """Fold facts (in file order) into episodes; the order of the result is that of the first occurrences."""
    per_rank = _group(facts, vocabulary, by_rank=True)
    crowds: dict[tuple[object, ...], int] = {}
    for group in per_rank:
        key = _key(group[0], vocabulary[group[0].kind], by_rank=False)
        crowds[key] = crowds.get(key, 0) + 1
    kept: list[list[Fact]] = []
    crowded: list[Fact] = []
    for group in per_rank:
        spec = vocabulary[group[0].kind]
        apart = spec.nature == "fault" or (spec.fold_by is not None and "rank" in spec.fold_by)
        if apart and crowds[_key(group[0], spec, by_rank=False)] <= RANKS_KEPT_APART:
            kept.append(group)
        else:
            crowded.extend(group)
    kept.extend(_group(crowded, vocabulary, by_rank=False))
    episodes = [_episode(part, vocabulary[part[0].kind]) for group in kept for part in _split_on_gaps(group)]
    return sorted(episodes, key=lambda fact: (fact.source.path, fact.source.line, fact.kind, fact.rank or 0))


def _group(facts: Iterable[Fact], vocabulary: Vocabulary, by_rank: bool) -> list[list[Fact]]:
    groups: dict[tuple[object, ...], list[Fact]] = {}
    for fact in facts:
        groups.setdefault(_key(fact, vocabulary[fact.kind], by_rank), []).append(fact)
    return list(groups.values())


def _key(fact: Fact, spec: KindSpec, by_rank: bool) -> tuple[object, ...]:
    if spec.fold_by is None:
        names = sorted(fact.fields) if spec.nature != "activity" else sorted(_labels(fact))
    else:
        names = [name for name in spec.fold_by if name in fact.fields]
    values = tuple((name, fact.fields.get(name)) for name in names)
    rank = fact.rank if by_rank else None
    file = fact.source.path if spec.nature == "coverage" else None
    subject = (fact.job, fact.host, rank, fact.device, fact.port, fact.peer)
    return (fact.kind, *subject, fact.scope, fact.clock, file, values)


def _labels(fact: Fact) -> list[str]:
    """Fields that name an activity; its numbers (step, done) move on and keep the last value."""
    return [name for name, value in fact.fields.items() if isinstance(value, (str, bool))]


def _split_on_gaps(group: list[Fact]) -> list[list[Fact]]:
    parts: list[list[Fact]] = []
    last: int | None = None
    for fact in sorted(group, key=_when):
        start = fact.local.earliest
        pause = last is not None and start is not None and start - last > EPISODE_GAP
        if not parts or (pause and not (fact.sparse and parts[-1][-1].sparse)):
            parts.append([])
        parts[-1].append(fact)
        last = fact.local.latest if fact.local.latest is not None else last
    return parts


def _when(fact: Fact) -> tuple[int, str, int]:
    earliest = fact.local.earliest
    return (earliest if earliest is not None else -(2**62), fact.source.path, fact.source.line)


def _episode(group: list[Fact], spec: KindSpec) -> Fact:
    if len(group) == 1 and not group[0].ranks:
        only = group[0]
        return replace(only, ranks=(only.rank,)) if only.rank is not None else only
    first, last = group[0], group[-1]
    ranks = sorted({rank for fact in group for rank in (*fact.ranks, fact.rank) if rank is not None})
    notes = sorted({note for fact in group for note in fact.assumptions})
    ends = [fact.reported.latest for fact in group]
    known_ends = [end for end in ends if end is not None]
    quoted = _told_first(group)
    below = last if last is not quoted else first
    return replace(
        first,
        source=quoted.source,
        sequence=quoted.sequence if first.sequence is not None else None,
        fields=last.fields if spec.nature == "activity" else first.fields,
        rank=ranks[0] if len(ranks) == 1 else None,
        ranks=tuple(ranks),
        count=sum(fact.count for fact in group),
        last_source=below.source if below is not quoted else None,
        reported=Span(first.reported.earliest, max(known_ends) if len(known_ends) == len(ends) else None),
        assumptions=tuple(notes),
    )


def _told_first(group: Sequence[Fact]) -> Fact:
    """The occurrence to quote: the upper line of the file that holds the earliest one, if it is not clearly later.

    A summary states the time of what the lines above it had told, and bounds of undated lines say little.
    """
    first = group[0]
    start = first.local.earliest
    near = [
        fact
        for fact in group
        if fact.source.path == first.source.path
        and (start is None or fact.local.earliest is None or fact.local.earliest - start <= TOLD_AGAIN)
    ]
    return min(near, key=lambda fact: fact.source.line, default=first)
