"""Which dump of a rank counts: the last one, as a whole, and none of another run that lay in the folder."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median_low

from engine.facts.collectives import GroupState

APART_NS = 60 * 10**9
"""How far the time that a dump covers may lie from that of most; clocks of hosts are rarely seconds apart."""

LEAST_TOGETHER = (3, 4)
"""Share of the ranks whose dumps must lie together before one that lies elsewhere is left out."""

_WORTH = ("whole", "cut")


def counting(states: Iterable[GroupState]) -> tuple[list[GroupState], tuple[int, ...]]:
    """The states that count, and ranks whose only dump is of another time than those of most ranks.

    Two dumps of one rank bear the same clock: the later one counts, and its groups are not mixed with those of the
    other. Across ranks clocks tell nothing but this: ranks of one run wait for each other, so that the times that their
    dumps cover meet; where those of most do, one that lies more than a minute away is of another run. Where clocks are
    anything, no dump is left out.
    """
    others: list[GroupState] = []
    dumps: dict[int, dict[str, list[GroupState]]] = defaultdict(lambda: defaultdict(list))
    for state in states:
        if state.origin == "recorder" and state.rank is not None and not state.run:
            dumps[state.rank][state.source.path].append(state)
        else:
            others.append(state)
    kept = {rank: _last(of_rank) for rank, of_rank in dumps.items()}
    stale = _elsewhere({rank: found[0] for rank, found in kept.items()})
    for rank, found in kept.items():
        others.extend([] if rank in stale else found)
    return others, stale


def _last(dumps: Mapping[str, list[GroupState]]) -> list[GroupState]:
    """The states of the dump that was taken last; of several of one moment the most telling."""
    path = max(sorted(dumps), key=lambda path: _telling(dumps[path]))
    return dumps[path]


def _telling(states: Sequence[GroupState]) -> tuple[int, int, int]:
    first = states[0]
    usable = any(state.usable for state in states)
    worth = -_WORTH.index(first.condition) if first.condition in _WORTH else -len(_WORTH)
    return (first.last_ns or 0) if usable else -1, worth, sum(len(state.seqs) for state in states)


def _elsewhere(dumps: Mapping[int, GroupState]) -> tuple[int, ...]:
    """Ranks whose dump covers a time more than a minute away from that of nearly all others."""
    known = {
        rank: (state.first_ns, state.last_ns)
        for rank, state in dumps.items()
        if state.first_ns is not None and state.last_ns is not None
    }
    if len(known) < 3:
        return ()
    begin = median_low(first for first, _ in known.values()) - APART_NS
    end = median_low(last for _, last in known.values()) + APART_NS
    far = tuple(sorted(rank for rank, (first, last) in known.items() if last < begin or first > end))
    share, whole = LEAST_TOGETHER
    return far if whole * (len(known) - len(far)) >= share * len(known) else ()
