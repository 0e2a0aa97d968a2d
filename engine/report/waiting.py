"""Who waits for whom as plain data for a report: fronts and waits folded, suspects with reasons, and the conclusion.

Ten thousand ranks make a few rows: groups of one description in one situation are one row, and ranks are ranges.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from engine.facts.collectives import spoken
from engine.facts.waits import Front, Suspected, Wait, Waits
from engine.report.waiting_words import conclusion, reason, separating
from engine.rules.model import Text

MOST_ROWS = 200
"""Rows of each table that a report holds; the rest is counted."""

MOST_NAMES = 6
MOST_SUSPECTS = 64
MOST_AHEAD = 16
"""Rows that one row leads to."""

Say = Callable[[Text], str]


def waits_section(waits: Waits | None, say: Say) -> dict[str, Any] | None:
    """The section of a report, ``None`` where nothing tells how far ranks came."""
    if waits is None:
        return None
    concluded = waits.suspects or waits.circles or waits.mismatches or waits.stalled or waits.undecided
    if not concluded and not waits.dumps:
        return None
    fronts, waiting = _fronts(waits), _waits(waits)
    return {
        "conclusion": say(conclusion(waits)),
        "ranks": waits.ranks,
        "dumps_missing": spoken(waits.missing),
        "dumps_broken": _broken(waits),
        "dumps_stale": spoken(waits.stale),
        "overrun": waits.overrun,
        "asked_first": spoken(waits.asked_first),
        "suspects": [_suspect(item, say) for item in waits.suspects[:MOST_SUSPECTS]],
        "undecided": spoken(waits.undecided),
        "lost_hosts": [{"host": item.host, "ranks": spoken(item.ranks)} for item in waits.lost_hosts[:MOST_ROWS]],
        "circles": [{"ranks": spoken(item.ranks, 12), "operations": list(item.operations)} for item in waits.circles],
        "mismatches": [
            {
                "group": item.name,
                "description": item.description,
                "seq": item.seq,
                "aspect": item.aspect,
                "expected": item.expected,
                "found": list(item.found or item.calls),
                "odd": spoken(item.odd),
            }
            for item in waits.mismatches[:MOST_ROWS]
        ],
        "fronts": fronts[:MOST_ROWS],
        "waits": waiting[:MOST_ROWS],
        "more_rows": max(len(fronts) - MOST_ROWS, 0) + max(len(waiting) - MOST_ROWS, 0),
        "separating": [say(text) for text in separating(waits)],
    }


def _broken(waits: Waits) -> list[dict[str, str]]:
    by_condition: dict[str, list[int]] = defaultdict(list)
    for rank, condition in waits.broken:
        by_condition[condition].append(rank)
    return [{"condition": condition, "ranks": spoken(ranks)} for condition, ranks in sorted(by_condition.items())]


def _suspect(item: Suspected, say: Say) -> dict[str, Any]:
    return {
        "rank": item.rank,
        "host": item.host,
        "how": item.how,
        "why": say(reason(item)),
        "group": item.name,
        "description": item.description,
        "seq": item.seq if item.seq >= 0 else None,
        "call": item.call,
        "waiting": item.waiting,
        "source": {"path": item.source.path, "line": item.source.line},
    }


_STANDINGS = ("mismatch", "cycle", "late", "unknown", "stalled", "open", "waits_elsewhere", "idle")


def _fronts(waits: Waits) -> list[dict[str, Any]]:
    """Groups of one description and size that stand alike are one row; those that hold others up come first."""
    guilty = {item.rank for item in waits.suspects}
    rows: dict[tuple[object, ...], list[Front]] = defaultdict(list)
    for item in waits.fronts:
        held = tuple(rank for rank in item.late if rank in guilty)
        own = (item.name,) if item.standing in ("mismatch", "cycle") else ()
        alike = (item.seq, item.call) if item.standing != "idle" else ()
        key = (item.description or item.name, item.size, item.standing, alike, held, own, bool(item.unknown))
        rows[key].append(item)
    ordered = sorted(rows.values(), key=lambda items: _front_order(items, guilty))
    return [_front(items) for items in ordered]


def _front_order(items: Sequence[Front], guilty: set[int]) -> tuple[object, ...]:
    first = items[0]
    return (
        not any(rank in guilty for rank in first.late),
        _STANDINGS.index(first.standing),
        first.description,
        -first.size,
        first.seq,
        first.name,
    )


def _front(items: Sequence[Front]) -> dict[str, Any]:
    first = items[0]
    names = sorted({item.name for item in items}, key=_by_number)
    return {
        "groups": len(items),
        "names": names[:MOST_NAMES],
        "description": first.description,
        "size": first.size,
        "members_known": all(item.closed for item in items),
        "standing": first.standing,
        "seq": first.seq if first.seq >= 0 else None,
        "call": first.call,
        "launched": sum(item.launched for item in items),
        "started": None if any(item.started is None for item in items) else sum(item.started or 0 for item in items),
        "finished": sum(item.finished for item in items),
        "members": sum(item.size for item in items),
        "late": spoken(rank for item in items for rank in item.late),
        "unknown": spoken(rank for item in items for rank in item.unknown),
    }


def _by_number(name: str) -> tuple[int, int, str]:
    return (0, int(name), "") if name.isdigit() and len(name) < 10 else (1, 0, name)


def _waits(waits: Waits) -> list[dict[str, Any]]:
    """The folded graph. Waits for a suspect, or for nobody, stand alone; chains of one kind are folded."""
    guilty = {item.rank for item in waits.suspects} | {rank for item in waits.circles for rank in item.ranks}
    rows: dict[tuple[object, ...], list[Wait]] = defaultdict(list)
    for item in waits.waits:
        held = tuple(rank for rank in item.awaited if rank in guilty)
        alone = (item.group, item.call) if item.standing in ("mismatch", "cycle", "stalled", "open") else ()
        kind = item.call.partition(" ")[0]
        rows[item.description or item.name, kind, item.standing, held, alone, bool(item.unknown)].append(item)
    ordered = sorted(rows.values(), key=lambda items: _wait_order(items, guilty))
    made = [_wait(items) for items in ordered]
    named = {item.rank: item for item in waits.suspects}
    for row, items, ahead in zip(made, ordered, _chains(ordered), strict=True):
        row["leads_to"] = ahead
        row["suspects"] = _ends(items, named)
    return made


def _chains(ordered: Sequence[Sequence[Wait]]) -> list[list[int]]:
    """For each row the rows in which the ranks wait that it waits for; of those that a report holds."""
    home: dict[int, set[int]] = defaultdict(set)
    for number, items in enumerate(ordered[:MOST_ROWS]):
        for item in items:
            for rank in item.waiting:
                home[rank].add(number)
    return [
        sorted({row for item in items for rank in item.awaited for row in home.get(rank, ())})[:MOST_AHEAD]
        for items in ordered
    ]


def _ends(items: Sequence[Wait], named: Mapping[int, Suspected]) -> list[int]:
    """The suspects that a row waits for, and those who are in its operation in a wrong way."""
    awaited = _union(item.awaited for item in items) | _union(item.unknown for item in items)
    wheres = {(item.group, item.seq) for item in items if item.seq >= 0}
    ends = {rank for rank, item in named.items() if rank in awaited or (item.group, item.seq) in wheres}
    return sorted(ends)[:MOST_SUSPECTS]


def _wait_order(items: Sequence[Wait], guilty: set[int]) -> tuple[object, ...]:
    first = items[0]
    direct = any(rank in guilty for rank in first.awaited)
    waiting = sum(len(item.waiting) for item in items)
    return (not direct, _STANDINGS.index(first.standing), -waiting, first.description, first.group, first.call)


def _wait(items: Sequence[Wait]) -> dict[str, Any]:
    first = items[0]
    waiting = _union(item.waiting for item in items)
    return {
        "groups": len({item.group for item in items}),
        "group": first.name if len({item.group for item in items}) == 1 else None,
        "description": first.description,
        "standing": first.standing,
        "seq": first.seq if len({item.seq for item in items}) == 1 and first.seq >= 0 else None,
        "call": first.call if len({item.call for item in items}) == 1 else first.call.partition(" ")[0],
        "waiting": spoken(waiting),
        "waiting_count": len(waiting),
        "awaited": spoken(_union(item.awaited for item in items)),
        "unknown": spoken(_union(item.unknown for item in items)),
    }


def _union(parts: Iterable[Iterable[int]]) -> set[int]:
    return {rank for part in parts for rank in part}
