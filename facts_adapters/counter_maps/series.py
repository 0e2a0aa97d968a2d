"""Time series cut down to what matters: the first and the last point and those where the value changes.

A range query holds one point every few seconds for hours. Of a run of equal values the first and the last are kept, so
that every change stays between the same two times; of a series that changes all the time only so many points that its
rises and falls still add up, and that a step which stands out keeps its time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

MOST_POINTS = 64
"""Points of one series that are kept in any case; beyond them falls (a reset), large steps and the last point are."""

LARGE = 0.1
"""Share of the rise so far that a step must hold to be large."""

MOST_EVER = 2_000
"""Points of one series beyond which only the last one is kept."""

T = TypeVar("T")


@dataclass(slots=True)
class Thinned(Generic[T]):
    """One series, point by point. ``T`` is whatever a point carries along."""

    kept: int = 0
    first: float = 0.0
    last: float | None = None
    waiting: tuple[float, T] | None = None

    def add(self, value: float, point: T) -> Iterator[tuple[float, T]]:
        """The points to keep now that this one is known."""
        last, self.last = self.last, value
        if last is None:
            self.first = value
            yield from self._keep((value, point))
        elif value == last or not self._counts(last, value):
            self.waiting = (value, point)
        else:
            yield from self.rest()
            yield from self._keep((value, point))

    def _counts(self, last: float, value: float) -> bool:
        """Whether a change is kept with its own time."""
        if self.kept < MOST_POINTS:
            return True
        return self.kept < MOST_EVER and (value < last or value - last >= LARGE * abs(value - self.first))

    def rest(self) -> Iterator[tuple[float, T]]:
        """The last point, where it was not kept yet."""
        waiting, self.waiting = self.waiting, None
        if waiting is not None:
            yield from self._keep(waiting)

    def _keep(self, point: tuple[float, T]) -> Iterator[tuple[float, T]]:
        self.kept += 1
        yield point


def number(text: str) -> float | None:
    """A value of a metric or cell as a number; ``None`` for ``NaN``, infinities and what is none.

    Whole numbers stay exact as long as a float can hold them.
    """
    text = text.strip().replace(",", "")
    if len(text) > 40:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if -1e300 < value < 1e300 else None
