"""Time series cut down to what matters: the first and the last point and those where the value changes.

A range query holds one point every few seconds for hours. Of a run of equal values the first and the last are kept, so
that every change stays between the same two times; of a series that changes all the time only so many points that its
rises and falls still add up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

MOST_POINTS = 256
"""Points of one series that are kept; beyond them only falls (a reset) and the last point are."""

MOST_FALLS = 2_000
"""Points of one series that are kept in any case."""

T = TypeVar("T")


@dataclass(slots=True)
class Thinned(Generic[T]):
    """One series, point by point. ``T`` is whatever a point carries along."""

    kept: int = 0
    last: float | None = None
    waiting: tuple[float, T] | None = None

    def add(self, value: float, point: T) -> Iterator[tuple[float, T]]:
        """The points to keep now that this one is known."""
        last, self.last = self.last, value
        if last is None:
            yield from self._keep((value, point))
        elif value == last or (self.kept >= MOST_POINTS and (value > last or self.kept >= MOST_FALLS)):
            self.waiting = (value, point)
        else:
            yield from self.rest()
            yield from self._keep((value, point))

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
