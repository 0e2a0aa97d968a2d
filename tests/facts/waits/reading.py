"""Dumps of a case read as the adapter reads them, and analysed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from engine.facts.collectives import GroupState
from engine.facts.model import Reading, Source
from engine.facts.waits import Waits, analyse
from facts_adapters.comm.flight_recorder import states_of


class Quiet:
    """A context that keeps the warnings."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warn(self, path: str, line: int, reason: str) -> None:
        self.warnings.append(f"{path}:{line} {reason}")

    def reading(self, text: str) -> Reading | None:
        return None

    def snapshot_time(self, path: str) -> Reading | None:
        return None


def read_dumps(dumps: Mapping[int, bytes]) -> Iterable[GroupState]:
    for rank, data in dumps.items():
        for state in states_of(data, Source(f"dumps/nccl_trace_rank_{rank}", 1), Quiet()):
            state.rank = rank
            yield state


def analysed(dumps: Mapping[int, bytes]) -> Waits:
    return analyse(read_dumps(dumps))


def outcome(waits: Waits) -> str:
    """What the analysis says in one word."""
    if waits.circles:
        return "circle"
    if waits.suspects:
        return "suspects"
    return "stalled" if waits.stalled else "undecided"
