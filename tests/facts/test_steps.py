"""Ranks that stopped at another step than the rest."""

from __future__ import annotations

from dataclasses import replace

from engine.facts.model import Fact, Observation
from tests.facts.building import facts, seen


def printed(rank: int, *steps: int, path: str = "") -> list[Observation]:
    """The step lines of one rank."""
    return [
        replace(
            seen(
                "job.phase_mark",
                path or f"logs/rank{rank}.log",
                number,
                host="n1",
                rank=rank,
                phase="steady",
                what="step",
                step=step,
            ),
            adapter="frameworks/step-with-loss",
        )
        for number, step in enumerate(steps, 1)
    ]


def positions(*lines: list[Observation]) -> list[tuple[int | None, object]]:
    found: list[Fact] = facts(*(item for rank in lines for item in rank)).get("job.rank_position", [])
    return sorted((fact.rank, fact.fields["step"]) for fact in found)


def test_the_rank_that_stopped_earlier_is_shown_beside_one_that_did_not() -> None:
    lines = [printed(rank, 10, 20, 30, 40, 50, 60) for rank in range(3)]
    assert positions(*lines, printed(3, 10, 20, 30)) == [(0, 60), (3, 30)]


def test_ranks_in_step_give_nothing() -> None:
    assert positions(*(printed(rank, 10, 20, 30) for rank in range(4))) == []


def test_one_interval_apart_is_the_ordinary_end_of_a_hang() -> None:
    lines = [printed(rank, 10, 20, 30, 40) for rank in range(3)]
    assert positions(*lines, printed(3, 10, 20, 30)) == []


def test_ranks_that_print_at_other_intervals_are_not_compared() -> None:
    lines = [printed(rank, 10, 20, 30, 40, 50, 60) for rank in range(3)]
    assert positions(*lines, printed(3, 1, 2, 3)) == []


def test_too_few_lines_tell_no_interval() -> None:
    lines = [printed(rank, 10, 20, 30, 40, 50, 60) for rank in range(3)]
    assert positions(*lines, printed(3, 10, 20)) == []


def test_where_half_of_the_ranks_differ_nobody_is_odd() -> None:
    first = [printed(rank, 10, 20, 30, 40, 50, 60) for rank in range(2)]
    assert positions(*first, *(printed(rank, *range(10, 100 + 10 * rank, 10)) for rank in range(2, 6))) == []


def test_a_rank_in_two_files_is_not_compared() -> None:
    lines = [printed(rank, 10, 20, 30, 40, 50, 60) for rank in range(3)]
    split = [*printed(3, 10, 20, 30), *printed(3, 10, 20, 30, path="logs/again.log")]
    assert positions(*lines, split) == []


def test_lines_of_another_run_do_not_count() -> None:
    lines = [printed(rank, 10, 20, 30, 40, 50, 60) for rank in range(3)]
    older = [replace(item, run="previous") for item in printed(3, 10, 20, 30)]
    assert positions(*lines, older) == []
