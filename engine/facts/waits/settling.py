"""One statement for one rank: what a line says of a rank, beside what the comparison of all ranks says of it.

Reports and log lines that name a rank are facts already; :func:`engine.facts.waits.analyse` finds the same rank again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from engine.facts.collectives import compact
from engine.facts.model import Fact
from engine.facts.waits.facts import ADAPTER, MOST_FACTS
from engine.facts.waits.model import ALL_MUST_COME
from engine.facts.waits.told import BARRIER, CHECK, CHECKED, DESYNC, JOINED, LISTED, numbers_of_a_part

BEHIND, UNEQUAL, MISSED = "comm.rank_behind", "comm.operation_mismatch", "comm.barrier_missing"


def settled(facts: Sequence[Fact], derived: Sequence[Fact]) -> list[Fact]:
    """The facts of readers and those that follow from comparisons, with one of both where they speak of the same.

    - A list that every rank prints is one statement of each rank that it names.
    - A fact that follows from a list has the time of its line.
    - Who is absent from a monitored barrier is told already; of those who did not join there is one fact.
    - Where the calls of the ranks were put to the vote, what single lines say of their writers makes way for it.
    - A rank that a line calls behind, or odd, and the comparison as well, keeps the line, and gets the group, the
      operation and how many wait for it.
    """
    lines = {_line(fact): fact for fact in reversed(facts) if fact.kind in (LISTED, CHECK, JOINED)}
    own = [_dated(fact, lines) for fact in derived if fact.adapter == ADAPTER]
    missing = {rank for fact in facts if fact.kind == MISSED for rank in fact.ranks}
    own = [fact for fact in own if not (_of(fact, BARRIER) and missing.issuperset(fact.ranks))]
    own = [*_joined(lines, own), *(fact for fact in own if not _of(fact, ALL_MUST_COME))]
    told = _once(_without_voters(facts, own))
    places: dict[int, list[int]] = defaultdict(list)
    for at, fact in enumerate(told):
        for rank in fact.ranks if fact.kind in (BEHIND, UNEQUAL) else ():
            places[rank].append(at)
    kept: list[Fact] = []
    for fact in own:
        near = [at for rank in fact.ranks[:1] for at in places[rank] if _same(told[at], fact)]
        if not near:
            kept.append(fact)
        elif told[near[0]].ranks == fact.ranks:
            line = told[near[0]]
            told[near[0]] = replace(line, fields={**line.fields, **fact.fields}, host=fact.host or line.host)
    return [*told, *kept, *(fact for fact in derived if fact.adapter != ADAPTER)]


def _line(fact: Fact) -> tuple[str, int]:
    return fact.source.path, fact.source.line


def _once(facts: Sequence[Fact]) -> list[Fact]:
    """The facts, those that readers of lists state alike in several files once."""
    found: dict[object, Fact] = {}
    lists = {fact.adapter for fact in facts if fact.kind == LISTED}
    for number, fact in enumerate(facts):
        key: object = number
        if fact.adapter in lists and fact.kind in (BEHIND, UNEQUAL, MISSED):
            key = (fact.kind, fact.adapter, fact.scope, fact.ranks, tuple(sorted(fact.fields.items())))
        first = found.setdefault(key, fact)
        if first is not fact:
            found[key] = replace(first, count=first.count + fact.count)
    return list(found.values())


def _of(fact: Fact, group: str) -> bool:
    return fact.fields.get("pg") == group


def _of_vote(fact: Fact) -> bool:
    return fact.adapter == ADAPTER and fact.kind == UNEQUAL and str(fact.fields.get("pg")).startswith(CHECKED)


def _dated(fact: Fact, lines: Mapping[tuple[str, int], Fact]) -> Fact:
    at = lines.get(_line(fact))
    listed = _of_vote(fact) or str(fact.fields.get("pg")) in (DESYNC, BARRIER, ALL_MUST_COME)
    if at is None or not listed or fact.kind not in (BEHIND, UNEQUAL):
        return fact
    return replace(
        fact,
        reported=at.reported,
        onset=at.onset,
        local=at.local,
        clock=at.clock,
        sequence=at.sequence,
        assumptions=at.assumptions,
    )


def _joined(lines: Mapping[tuple[str, int], Fact], own: Iterable[Fact]) -> list[Fact]:
    """Who did not join, as one fact beside the counts of those who wait."""
    absent = [fact for fact in own if _of(fact, ALL_MUST_COME) and fact.kind == BEHIND]
    if not 0 < len(absent) < MOST_FACTS:
        return []
    ranks = tuple(sorted({rank for fact in absent for rank in fact.ranks}))
    hosts = {fact.host for fact in absent}
    count = lines.get(_line(absent[0]))
    expected = count.fields.get("expected") if count else None
    fields = {"joined": expected - len(ranks), "expected": expected} if isinstance(expected, int) else {}
    return [
        replace(
            absent[0],
            kind=JOINED,
            fields={**fields, "missing": compact(ranks)},
            rank=ranks[0] if len(ranks) == 1 else None,
            ranks=ranks,
            host=next(iter(hosts)) if len(hosts) == 1 else None,
        )
    ]


def _without_voters(facts: Sequence[Fact], own: Iterable[Fact]) -> list[Fact]:
    """The facts without the mismatches that ranks stated of themselves where the calls of all decide."""
    voted = {fact.fields.get("seq") for fact in own if _of_vote(fact)}
    checks = [fact for fact in facts if fact.kind == CHECK and fact.scope == "incident" and not numbers_of_a_part(fact)]
    checks = [fact for fact in checks if voted & {fact.fields.get("seq"), fact.fields.get("other_seq")}]
    if not checks:
        return list(facts)
    seqs = {None, *(fact.fields.get(name) for fact in checks for name in ("seq", "other_seq"))}
    voters = {fact.fields.get(name) for fact in checks for name in ("own_rank", "other_rank")}
    return [
        fact
        for fact in facts
        if fact.kind != UNEQUAL
        or fact.fields.get("pg") is not None
        or fact.scope != "incident"
        or fact.fields.get("seq") not in seqs
        or not voters.issuperset(fact.ranks)
    ]


def _same(told: Fact, fact: Fact) -> bool:
    """Whether a line and the comparison say of the same rank that it is behind, or odd, in the same operation."""
    if told.kind != fact.kind or fact.kind not in (BEHIND, UNEQUAL) or told.scope != fact.scope or not fact.ranks:
        return False
    alike = all(told.fields.get(name) in (None, fact.fields.get(name)) for name in ("seq", "pg"))
    return alike and set(fact.ranks) <= set(told.ranks)
