"""Several samples of one stack: how long it stands in one frame."""

from __future__ import annotations

from engine.facts.model import Observation
from engine.facts.stack_samples import mark_lasting
from tests.facts.building import facts, local, seen, utc


def sample(at: str, function: str = "save (s.py:850)", rank: int = 0, **given: object) -> Observation:
    given.setdefault("when", local(f"2026-05-12T{at}"))
    return seen("job.python_stack", f"stacks/{at}", 5, rank=rank, where="checkpoint", function=function, **given)


def seconds(*items: Observation) -> list[object]:
    mark_lasting(items)
    return [item.fields.get("seconds") for item in items]


def test_samples_in_one_frame_tell_how_long() -> None:
    assert seconds(sample("10:00:00"), sample("10:02:00"), sample("10:05:00")) == [300, 300, 300]
    found = facts(sample("10:00:00"), sample("10:05:00"))["job.python_stack"]
    assert {fact.fields["seconds"] for fact in found} == {300}


def test_a_frame_that_changes_is_progress() -> None:
    assert seconds(sample("10:00:00"), sample("10:05:00", "write (s.py:90)")) == [None, None]


def test_one_sample_or_one_without_a_time_tells_nothing() -> None:
    assert seconds(sample("10:00:00")) == [None]
    assert seconds(sample("10:00:00"), sample("10:05:00", rank=1)) == [None, None]
    assert seconds(sample("10:00:00"), sample("10:05:00", when=None)) == [None, None]
    assert seconds(sample("10:00:00"), sample("10:05:00", when=utc("2026-05-12T10:05:00"))) == [None, None]
    assert seconds(sample("10:00:00"), sample("10:05:00", when=local("05-12T10:05:00", year_known=False))) == [
        None,
        None,
    ]
