"""Numbers of a process group: translated where the group is known, else told without a rank."""

from __future__ import annotations

import pytest

from engine.facts.collectives import GroupState
from engine.facts.manifest import Manifest
from engine.facts.model import Observation, Source
from engine.facts.waits import in_ranks_of_job
from tests.facts.building import facts, seen, timeline

BARRIER, DESYNC = "monitored_barrier", "desync_report"


def missing(number: int, writer: int | None, called: int = 0) -> Observation:
    made = seen("comm.barrier_missing", f"logs/{writer}", 5, rank=number, timeout_ms=3000)
    made.writer, made.called, made.adapter, made.of_another = writer, called, BARRIER, True
    return made


def came(writer: int, called: int) -> Observation:
    made = seen("comm.ranks_listed", f"logs/{writer}", 5, rank=writer, list=BARRIER, ranks=str(called), stage="waiting")
    made.called, made.adapter = called, BARRIER
    return made


def behind(number: int, writer: int, called: int) -> Observation:
    made = seen("comm.rank_behind", f"logs/{writer}", 8, rank=number, how="never_entered", seq=9)
    made.writer, made.called, made.adapter, made.of_another = writer, called, DESYNC, True
    return made


def dump(rank: int, group: str, members: str = "") -> GroupState:
    return GroupState(Source(f"dumps/{rank}", 1), group, rank=rank, members=members)


def told(items: list[Observation], *states: GroupState, world: int | None = None) -> list[tuple[int | None, object]]:
    """Rank and number in the group of what is said of others."""
    made = in_ranks_of_job(items, states, world)
    return [(item.rank, item.fields.get("group_rank")) for item in made if item.of_another]


def test_a_writer_that_calls_itself_by_its_rank_names_ranks_of_the_job() -> None:
    assert told([missing(2, 0), came(1, 1), came(3, 3)], world=4) == [(2, None)]
    assert told([missing(2, None)]) == [(2, None)]


def test_a_number_in_a_group_that_nothing_tells_names_nobody() -> None:
    assert told([missing(1, 2)]) == [(None, 1)]
    assert told([behind(5, 11, 3), behind(6, 11, 3)], world=16) == [(None, 5), (None, 6)]


def test_recorders_tell_the_group_of_the_writer() -> None:
    states = [dump(2, "0", "0-3"), dump(2, "2", "2,3"), dump(2, "3", "0,2")]
    assert told([missing(1, 2)], *states) == [(3, None)]
    assert told([missing(1, 2)], *states, dump(2, "5", "2,7")) == [(None, 1)]
    assert told([missing(2, 2)], *states) == [(None, 2)]


def test_groups_without_members_are_known_where_every_rank_left_a_dump() -> None:
    groups = {"0": (0, 1, 2, 3), "2": (2, 3), "3": (0, 2), "4": (1, 3)}
    states = [dump(rank, name) for name, ranks in groups.items() for rank in ranks]
    assert told([missing(1, 2)], *states) == [(3, None)]
    assert told([missing(1, 2)], *(state for state in states if state.rank != 0)) == [(None, 1)]


def test_members_that_agree_tell_where_their_group_begins() -> None:
    assert told([missing(1, 4), came(6, 2)], world=8) == [(5, None)]
    assert told([missing(3, 4), came(5, 1), came(6, 2)], world=8) == [(7, None)]
    # two of them say nothing of a number beyond them
    assert told([missing(3, 4), came(5, 1)], world=8) == [(None, 3)]
    assert told([missing(4, 4), came(5, 1), came(6, 2)], world=8) == [(None, 4)]


def test_members_of_a_group_with_gaps_do_not_agree() -> None:
    assert told([missing(1, 0), came(4, 2), came(6, 3)], world=8) == [(None, 1)]
    assert told([missing(1, 1), came(5, 2), came(7, 3)], world=8) == [(None, 1)]


def test_a_list_of_a_part_is_marked_and_not_compared() -> None:
    rows = [("6", "finished", 8), ("0-5,7", "started", 9)]
    items = []
    for line, (ranks, stage, seq) in enumerate(rows, 9):
        made = seen("comm.ranks_listed", "logs/11", line, rank=11, list=DESYNC, ranks=ranks, stage=stage, seq=seq)
        made.called, made.adapter = 3, DESYNC
        items.append(made)
    manifest = Manifest("x", world_size=16)
    found = timeline(*items, behind(6, 11, 3), manifest=manifest)
    assert found.waits is None
    assert [fact.fields.get("part") for fact in found.facts if fact.kind == "comm.ranks_listed"] == [True, True]
    (late,) = facts(*items, behind(6, 11, 3), manifest=manifest)["comm.rank_behind"]
    assert (late.rank, late.ranks, late.fields["group_rank"]) == (None, (), 6)


def test_that_somebody_is_missing_makes_way_for_who_is() -> None:
    somebody = seen("comm.barrier_missing", "logs/1", 5)
    somebody.of_another = True
    assert told([somebody]) == [(None, None)]
    assert told([somebody, missing(2, 0)]) == [(2, None)]


def test_who_waits_in_the_barrier_of_a_recorded_group_is_not_late_elsewhere() -> None:
    def state(rank: int, group: str, members: str, enqueued: int) -> GroupState:
        made = dump(rank, group, members)
        made.last_enqueued, made.last_completed = enqueued, 5
        return made

    dumps = [state(rank, "0", "0-3", 5) for rank in range(4)]
    dumps += [state(rank, "2", "2,3", 5) for rank in (2, 3)]
    dumps += [state(0, "3", "0,2", 6), state(2, "3", "0,2", 5), state(1, "4", "1,3", 6), state(3, "4", "1,3", 5)]
    lists = [
        seen("comm.ranks_listed", "logs/2", 5, rank=2, list=BARRIER, ranks=ranks, stage=stage, **more)
        for ranks, stage, more in (("1", "absent", {"whole": False}), ("0", "waiting", {}))
    ]
    for item in lists:
        item.called, item.adapter = 0, BARRIER
    found = timeline(*lists, missing(1, 2), *dumps)
    assert found.waits is not None
    assert [item.rank for item in found.waits.suspects] == [3]
    assert found.waits.suspects[0].waiting == 3


@pytest.mark.parametrize(("members", "world", "rank"), [(4, 32, None), (32, 32, 2), (4, None, None), (32, None, 2)])
def test_a_rank_of_a_smaller_communicator_is_a_number_within_it(
    members: int, world: int | None, rank: int | None
) -> None:
    behind = seen("comm.rank_behind", "ras.txt", 9, rank=2, how="fewer_operations", seq=7, members=members)
    other = seen("job.process_exit", "job.log", 1, rank=31, signal=6)
    found, _ = in_ranks_of_job([behind, other], [], world)
    assert found.rank == rank
    assert found.fields.get("group_rank") == (2 if rank is None else None)
