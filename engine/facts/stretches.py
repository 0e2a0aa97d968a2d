"""What lies between two stamps: where something may have happened, and what a log certainly covers.

A statement without a stamp of its own lies between its stamped neighbours; a log covers what lies between its first and
its last stamp. Doubt about the clock widens the one and narrows the other.
"""

from __future__ import annotations

from engine.facts.clocks import Placed
from engine.facts.model import Span

OPEN = Placed("", Span(), Span())
"""Stands for a stamp that is not there."""


def joined(path: str, first: Placed, last: Placed) -> Placed:
    """From the earliest moment of one stamp to the latest of another; on a clock where both are of one clock."""
    if first is last and first is not OPEN:
        return first
    known = [end for end in (first, last) if end is not OPEN]
    clocks = {end.clock for end in known}
    notes = tuple(sorted({note for end in known for note in end.assumptions}))
    if len(clocks) != 1:
        return Placed(f"none:{path}", Span(), _between(first.utc, last.utc), notes)
    return Placed(clocks.pop(), _between(first.local, last.local), _between(first.utc, last.utc), notes)


def covered(first: Placed, last: Placed) -> tuple[Span, Span]:
    """What a log from ``first`` to ``last`` certainly covers, in UTC and on its own clock.

    The clock may be wrong, but moves both stamps alike: a moment is certainly covered only if the latest possible
    begin lies before it and the earliest possible end after it. On its own clock a log covers what its stamps say,
    and nothing where they run backwards.
    """
    local = Span(first.local.earliest, last.local.latest) if first.clock == last.clock else Span()
    forward = local.earliest is None or local.latest is None or local.earliest <= local.latest
    begins, ends = first.utc.latest, last.utc.earliest
    certain = begins is not None and ends is not None and begins <= ends
    return Span(begins, ends) if certain else Span(), local if forward else Span()


def _between(first: Span, last: Span) -> Span:
    """All moments between two stamps, in whichever order they stand."""
    span = Span(first.earliest, last.latest)
    if span.earliest is not None and span.latest is not None and span.earliest > span.latest:
        return Span(last.earliest, first.latest)
    return span
