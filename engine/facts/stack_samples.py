"""How long a rank stands in one place: several samples of its stack, all of them in the same frame."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from engine.facts.model import SECOND, Observation

KIND = "job.python_stack"


def mark_lasting(observations: Iterable[Observation]) -> None:
    """Set ``seconds`` on the samples of a thread that was seen more than once, each time in one frame.

    A frame that changes is progress. Samples count where their own stamps are of one kind of clock and have a year.
    """
    samples: dict[tuple[object, ...], list[Observation]] = defaultdict(list)
    for item in observations:
        if item.kind == KIND and item.rank is not None and item.run is None:
            samples[item.host, item.rank, item.fields.get("thread"), item.fields.get("pid")].append(item)
    for found in samples.values():
        stamps = [item.when for item in found if item.when is not None and item.when.year_known]
        places = {(item.fields.get("where"), item.fields.get("function")) for item in found}
        if len(stamps) < max(len(found), 2) or len(places) > 1 or len({stamp.basis for stamp in stamps}) > 1:
            continue
        apart = max(stamp.earliest for stamp in stamps) - min(stamp.latest for stamp in stamps)
        if apart >= SECOND:
            for item in found:
                item.fields = {**item.fields, "seconds": apart // SECOND}
