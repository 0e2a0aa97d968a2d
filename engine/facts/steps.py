"""Ranks whose last step is not that of the others, from the step lines of programs that print them on several ranks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from engine.facts.model import Observation

STEP_KIND = "job.rank_position"
"""The kind that the comparison of steps yields."""

LEAST_LINES = 3
"""Step lines of a rank from which its interval of printing is known."""

MOST_ODD = 16
"""Ranks that may differ; where more do, the job does not print in step at all."""

Series = dict[int, list[Observation]]


def diverging_steps(observations: Iterable[Observation]) -> list[Observation]:
    """``job.rank_position`` of every rank that stopped away from the majority, and of one that did not.

    Ranks are compared where one statement (the same adapter with the same total) gives their steps at the same
    interval, each in one file. Nothing comes out where all lie within one interval, where more than half or more than
    MOST_ODD differ, or where a rank printed too little to tell its interval: ranks that print at different intervals
    never stop at one number.
    """
    found: list[Observation] = []
    for _, series in sorted(_series(observations).items(), key=lambda item: item[0]):
        found += _odd(series)
    return found


def _series(observations: Iterable[Observation]) -> dict[tuple[str, str], Series]:
    """Step lines by the statement that they are, then by rank, in the order of their file."""
    groups: dict[tuple[str, str], Series] = defaultdict(lambda: defaultdict(list))
    for item in observations:
        fields = item.fields
        if item.kind != "job.phase_mark" or fields.get("phase") != "steady" or fields.get("what") != "step":
            continue
        if item.rank is None or item.run or not _step(item):
            continue
        groups[(item.adapter, str(fields.get("total", "")))][item.rank].append(item)
    return groups


def _step(item: Observation) -> int:
    step = item.fields.get("step")
    return step if isinstance(step, int) and not isinstance(step, bool) else 0


def _interval(lines: Sequence[Observation]) -> int:
    """The interval at which a rank prints, 0 where it is not known."""
    if len(lines) < LEAST_LINES or len({item.source.path for item in lines}) > 1:
        return 0
    steps = [_step(item) for item in sorted(lines, key=lambda item: item.source.line)]
    gaps = [later - earlier for earlier, later in zip(steps[-LEAST_LINES:], steps[-LEAST_LINES + 1 :], strict=False)]
    return gaps[0] if min(gaps) == max(gaps) > 0 else 0


def _odd(series: Series) -> list[Observation]:
    intervals = {rank: _interval(lines) for rank, lines in series.items()}
    if len(intervals) < LEAST_LINES or len(set(intervals.values())) != 1 or 0 in intervals.values():
        return []
    interval = next(iter(intervals.values()))
    last = {rank: max(lines, key=lambda item: item.source.line) for rank, lines in series.items()}
    counts = Counter(_step(item) for item in last.values())
    usual = max(counts, key=lambda step: (counts[step], step))
    odd = sorted(rank for rank, item in last.items() if abs(_step(item) - usual) > interval)
    if not odd or len(odd) > min(MOST_ODD, len(last) // 2):
        return []
    other = min(rank for rank, item in last.items() if _step(item) == usual)
    return [_position(last[rank]) for rank in (*odd, other)]


def _position(item: Observation) -> Observation:
    return Observation(
        kind=STEP_KIND,
        source=item.source,
        fields={"phase": "steady", "step": _step(item)},
        job=item.job,
        host=item.host,
        rank=item.rank,
        when=item.when,
        after=item.after,
        until=item.until,
        adapter="comparison",
    )
