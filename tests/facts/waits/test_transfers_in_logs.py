"""Watchdogs that gave up a transfer: each rank counts its own, so that no number of it counts for others."""

from __future__ import annotations

import pytest

from engine.facts.model import Observation
from engine.facts.timeline import Timeline
from tests.facts.building import seen, timeline


def gave_up(rank: int, op: str, seq: int, **given: object) -> Observation:
    return seen("comm.collective_timeout", f"logs/{rank}", 5, rank=rank, op=op, seq=seq, **given)


def status(rank: int, seq: int, pg: str = "5") -> Observation:
    fields = {"pg": pg, "seq": seq, "last_enqueued": seq + 1, "last_completed": seq - 1}
    return seen("comm.work_status", f"logs/{rank}", 6, rank=rank, **fields)


def suspects(made: Timeline) -> list[tuple[int, str]]:
    return [(item.rank, item.how) for item in made.waits.suspects] if made.waits else []


@pytest.mark.parametrize("op", ["RECV", "SEND", "COALESCED"])
def test_numbers_of_transfers_name_nobody(op: str) -> None:
    places = {0: 210, 1: 208, 2: 205, 3: 103}
    items = [item for rank, seq in places.items() for item in (gave_up(rank, op, seq, pg="5"), status(rank, seq))]
    assert suspects(timeline(*items)) == []
    unnamed = [item for rank, seq in places.items() for item in (gave_up(rank, op, seq), status(rank, seq))]
    assert suspects(timeline(*unnamed)) == []


def test_numbers_of_collectives_still_count() -> None:
    places = {0: 210, 1: 210, 2: 210, 3: 103}
    items = [item for rank, seq in places.items() for item in (gave_up(rank, "ALLREDUCE", seq), status(rank, seq))]
    assert [rank for rank, _ in suspects(timeline(*items))] == [3]


def test_a_transfer_in_one_group_leaves_the_collectives_of_another() -> None:
    items = [item for rank in range(3) for item in (gave_up(rank, "ALLREDUCE", 40), status(rank, 40, "1"))]
    items += [gave_up(3, "ALLREDUCE", 30), status(3, 30, "1"), gave_up(3, "RECV", 77), status(3, 77, "5")]
    assert [rank for rank, _ in suspects(timeline(*items))] == [3]
