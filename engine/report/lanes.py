"""The timeline as a drawing: one lane a branch, marks that lie together folded into one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

BRANCHES = ("job", "comm", "host", "nic", "switch")
WIDTH = 1080
LEFT = 120
RIGHT = 30
LANE = 62
TOP = 34
CLUSTER = 9
TICKS = 6
WIDEST = 6 * 3600 * 1000
"""Marks whose time is less certain than this (milliseconds) are listed, not drawn."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One drawn mark: centre, half width of its uncertainty in pixels, the facts in it, how bad and how many."""

    x: float
    left: float
    right: float
    lane: int
    nature: str
    facts: tuple[str, ...]
    count: int
    label: str
    first: bool


@dataclass(frozen=True, slots=True)
class Drawing:
    """What the template needs to draw the lanes; ``undrawn`` counts facts whose time is not known well enough."""

    width: int
    height: int
    lanes: tuple[tuple[str, float], ...]
    ticks: tuple[tuple[float, str], ...]
    marks: tuple[Mark, ...]
    undrawn: int
    day: str


def draw(moments: Sequence[Mapping[str, Any]], first_fault: str | None) -> Drawing | None:
    """Place the timeline's moments on five lanes; ``None`` where no moment has a usable time."""
    usable: list[tuple[int, int, Mapping[str, Any]]] = []
    for moment in moments:
        earliest, latest = moment["time"]["earliest"], moment["time"]["latest"]
        if moment["scope"] != "incident" or earliest is None or latest is None or moment["branch"] not in BRANCHES:
            continue
        low, high = _milliseconds(earliest), _milliseconds(latest)
        if high - low <= WIDEST:
            usable.append((low, high, moment))
    if not usable:
        return None
    start, end = min(item[0] for item in usable), max(item[1] for item in usable)
    scale = (WIDTH - LEFT - RIGHT) / max(end - start, 1)
    placed = [
        (LEFT + ((low + high) / 2 - start) * scale, LEFT + (low - start) * scale, LEFT + (high - start) * scale, moment)
        for low, high, moment in usable
    ]
    marks = [mark for lane, branch in enumerate(BRANCHES) for mark in _cluster(placed, branch, lane, first_fault)]
    step = (end - start) / (TICKS - 1)
    ticks = tuple((LEFT + step * i * scale, _clock(start + step * i)) for i in range(TICKS)) if end > start else ()
    return Drawing(
        width=WIDTH,
        height=TOP + LANE * len(BRANCHES) + 10,
        lanes=tuple((branch, TOP + LANE * (lane + 0.5)) for lane, branch in enumerate(BRANCHES)),
        ticks=ticks,
        marks=tuple(marks),
        undrawn=len(moments) - len(usable),
        day=_day(start),
    )


def _cluster(
    placed: Iterable[tuple[float, float, float, Mapping[str, Any]]], branch: str, lane: int, first_fault: str | None
) -> Iterable[Mark]:
    group: list[tuple[float, float, float, Mapping[str, Any]]] = []
    own = sorted((item for item in placed if item[3]["branch"] == branch), key=lambda item: (item[0], item[3]["fact"]))
    for item in own:
        if group and item[0] - group[0][0] > CLUSTER:
            yield _mark(group, lane, first_fault)
            group = []
        group.append(item)
    if group:
        yield _mark(group, lane, first_fault)


def _mark(group: Sequence[tuple[float, float, float, Mapping[str, Any]]], lane: int, first_fault: str | None) -> Mark:
    order = {"fault": 0, "symptom": 1, "activity": 2}
    worst = min(group, key=lambda item: (item[3]["fact"] != first_fault, order[item[3]["nature"]], item[0]))
    count = sum(item[3]["count"] for item in group)
    return Mark(
        x=round(sum(item[0] for item in group) / len(group), 1),
        left=round(min(item[1] for item in group), 1),
        right=round(max(item[2] for item in group), 1),
        lane=lane,
        nature=worst[3]["nature"],
        facts=tuple(item[3]["fact"] for item in group),
        count=count,
        label=worst[3]["text"],
        first=any(item[3]["fact"] == first_fault for item in group),
    )


def _milliseconds(stamp: str) -> int:
    return round(datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp() * 1000)


def _moment(milliseconds: float) -> datetime:
    return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=milliseconds)


def _clock(milliseconds: float) -> str:
    return _moment(milliseconds).strftime("%H:%M:%S")


def _day(milliseconds: float) -> str:
    return _moment(milliseconds).strftime("%Y-%m-%d")
