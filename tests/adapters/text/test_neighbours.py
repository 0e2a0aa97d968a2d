"""The nearest stamps around a line, in whatever order the lines are asked for."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from engine.facts.model import Reading
from facts_adapters.text import neighbours
from facts_adapters.text.chunks import Lines
from facts_adapters.text.content import Text
from facts_adapters.text.envelope import Profile
from facts_adapters.text.matchers import Plain
from facts_adapters.text.neighbours import Neighbours
from facts_adapters.text.scan import scan
from facts_adapters.text.stamps import reading


def of(stamps: list[str | None]) -> Neighbours:
    text = Text.of("".join(f"{stamp} x\n" if stamp else "x\n" for stamp in stamps).encode())
    found = scan(text, Plain([b"x"]))
    return Neighbours(Lines(text, found.chunks, found.lines), Profile())


def minute(number: int) -> str:
    return f"2026-05-01 10:{number % 60:02d}:00"


@given(st.lists(st.booleans(), min_size=1, max_size=40), st.randoms(use_true_random=False))
def test_whatever_the_order_of_the_questions(stamped: list[bool], shuffle: random.Random) -> None:
    stamps = [minute(index) if known else None for index, known in enumerate(stamped)]
    lines = of(stamps)
    numbers = list(range(1, len(stamps) + 1)) * 2
    shuffle.shuffle(numbers)

    def first(found: list[str | None]) -> Reading | None:
        stamp = next((stamp for stamp in found if stamp), None)
        return reading(stamp) if stamp else None

    for number in numbers:
        assert lines.before(number) == first(stamps[: number - 1][::-1])
        assert lines.after(number) == first(stamps[number:])


def test_far_from_all_stamps_the_ends_of_the_text_are_the_bounds() -> None:
    far = neighbours.FAR
    stamps: list[str | None] = [None, minute(1), *[None] * (3 * far), minute(50), None]
    lines = of(stamps)
    middle = len(stamps) // 2
    assert lines.before(middle) == reading(minute(1))
    assert lines.after(middle) == reading(minute(50))
    assert lines.before(far // 2) == reading(minute(1))
    assert lines.after(len(stamps)) is None
    assert lines.before(2) is None


def test_the_last_stamp_is_no_bound_for_what_comes_after_it() -> None:
    far = neighbours.FAR
    stamps: list[str | None] = [minute(1), *[None] * 10, minute(9), *[None] * (far + 50)]
    lines = of(stamps)
    assert lines.after(13) is None
    assert lines.before(13) == reading(minute(9))
    assert lines.before(len(stamps)) in (reading(minute(9)), reading(minute(1)))
