"""Dumps of another run or moment, and those of a recorder that does not tell everything (gloo's)."""

from __future__ import annotations

from array import array

import pytest

from engine.facts.collectives import COMPLETED, SCHEDULED, STARTED, GroupState
from engine.facts.manifest import Manifest
from engine.facts.waits import Waits, analyse
from tests.facts.building import seen, timeline
from tests.facts.waits.test_waits import named, state

SECOND = 10**9


def at(made: GroupState, path: str, second: int) -> GroupState:
    """The state as a dump under ``path`` whose last entry was made in that second."""
    made.source = type(made.source)(path, 1)
    made.first_ns, made.last_ns = (second - 5) * SECOND, second * SECOND
    return made


# --- which dump counts ---


def hang(second: int = 10_000) -> list[GroupState]:
    return [
        at(state(0, 4), "dumps/0", second),
        *(at(state(rank, 4, [STARTED]), f"dumps/{rank}", second) for rank in (1, 2, 3)),
    ]


def test_of_two_dumps_of_a_rank_the_later_one_counts_however_far_the_other_came() -> None:
    old = [at(state(rank, 90, [STARTED]), f"run0/{rank}", 6_000) for rank in range(4)]
    for states in ([*old, *hang()], [*hang(), *old]):
        assert named(analyse(states)) == [(0, "never_entered")]


def test_groups_of_two_dumps_of_a_rank_are_not_mixed() -> None:
    old = at(state(1, 9, [STARTED], group="7", members="1,2"), "run0/1", 6_000)
    waits = analyse([*hang(), old])
    assert [front.name for front in waits.fronts] == ["0"]


@pytest.mark.parametrize("order", [1, -1])
def test_an_empty_dump_does_not_replace_a_whole_one(order: int) -> None:
    empty = GroupState(type(hang()[0].source)("later/0", 1), rank=0, condition="empty")
    assert named(analyse([*hang(), empty][::order])) == [(0, "never_entered")]


def test_a_dump_of_another_run_counts_as_none() -> None:
    stale = at(state(3, 2, [SCHEDULED], call="broadcast 16 Float"), "dumps/3", 9_000)
    now = [at(state(rank, 4, [STARTED]), f"dumps/{rank}", 10_000) for rank in (0, 1, 2)]
    waits = analyse([*now, stale])
    assert (named(waits), waits.stale, waits.missing, waits.undecided) == ([], (3,), (3,), (3,))
    near = at(state(3, 2, [SCHEDULED], call="broadcast 16 Float"), "dumps/3", 9_970)
    assert analyse([*now, near]).stale == ()


def test_where_clocks_are_anything_no_dump_is_left_out() -> None:
    wild = [at(made, made.source.path, 10_000 + 5_000 * number) for number, made in enumerate(hang())]
    waits = analyse(wild)
    assert (named(waits), waits.stale) == ([(0, "never_entered")], ())


# --- what dumps alone do not tell ---


def status_of(*states: GroupState, title: str = "", reported: bool = False) -> object:
    """The doubt in the fact about the rank that seems late."""
    noise = [seen("comm.collective_timeout", "logs/1", 1, rank=1, host="n1", op="ALLREDUCE")] if reported else []
    made = timeline(*states, *noise, manifest=Manifest(id="a", title=title))
    (fact,) = [fact for fact in made.facts if fact.kind == "comm.rank_behind"]
    return fact.fields.get("doubt")


def test_dumps_alone_may_be_of_different_moments_of_a_job_that_runs() -> None:
    assert status_of(*hang()) == "moment"
    assert status_of(*hang(), title="Nightly run 12") == "moment"
    assert status_of(*hang(), title="The job hangs after the second epoch") is None
    assert status_of(*hang(), title="训练任务卡住") is None
    assert status_of(*hang(), title="Rank 3 is not responding") is None
    assert status_of(*hang(), title="The job was slow, then did not hang") == "moment"
    assert status_of(*hang(), title="训练没有卡住") == "moment"
    assert status_of(*hang(), reported=True) is None


def coarse(*states: GroupState) -> list[GroupState]:
    for made in states:
        made.coarse = True
    return list(states)


def test_a_recorder_that_holds_no_transfers_leaves_a_doubt_whatever_else_is_there() -> None:
    assert status_of(*coarse(*hang()), reported=True) == "recorder"


def gloo(rank: int, done: int, opened: list[int], group: str = "0", first: int = 0) -> GroupState:
    """gloo names no members."""
    (made,) = coarse(state(rank, done, opened, group=group, members="", first=first))
    made.description = "default_pg" if group == "0" else "TP"
    return made


def test_an_operation_that_ended_may_have_failed_where_a_member_left_no_dump() -> None:
    """Rank 2 was killed: rank 3 left the operation with it by an error, which gloo calls retired."""
    states = [
        *(gloo(rank, 5, []) for rank in (0, 1, 3)),
        *(gloo(rank, 6, [], group="1", first=5) for rank in (0, 1)),
        gloo(3, 6, [], group="2", first=5),
        gloo(0, 0, [SCHEDULED], group="3", first=20),
        gloo(1, 0, [SCHEDULED], group="4", first=20),
    ]
    waits = analyse(states)
    assert (named(waits), waits.undecided) == ([], (2,))


def test_where_a_member_went_on_the_operation_had_not_failed() -> None:
    states = [gloo(2, 5, []), *(gloo(rank, 5, [SCHEDULED]) for rank in (0, 1, 3))]
    assert named(analyse(states, world=5)) == [(2, "never_entered")]


def test_of_operations_that_may_have_failed_nobody_is_stuck_inside() -> None:
    survivors = [gloo(0, 5, [SCHEDULED]), gloo(1, 6, []), gloo(3, 6, [])]
    waits = analyse(survivors)
    assert (named(waits), waits.undecided) == ([], (2,))


def test_nobody_says_that_all_is_finished_by_such_a_recorder() -> None:
    over = analyse([gloo(rank, 6, []) for rank in range(4)])
    assert not over.at_rest
    assert analyse([state(rank, 6) for rank in range(4)]).at_rest


def test_of_a_group_without_known_members_nobody_says_that_all_are_in() -> None:
    alone = gloo(2, 0, [SCHEDULED], group="5", first=9)
    waits = analyse([*(gloo(rank, 5, []) for rank in range(4)), alone])
    (front,) = [front for front in waits.fronts if front.name == "5"]
    assert (front.standing, front.closed, waits.stalled) == ("open", False, ())


def test_ranks_below_the_last_one_exist() -> None:
    waits: Waits = analyse([gloo(rank, 3, []) for rank in (0, 3)])
    assert waits.missing == (1, 2)
    whole = state(0, 3)
    whole.states = bytearray([COMPLETED] * 3)
    whole.records = array("q", range(3))
    assert analyse([whole]).missing == (1, 2, 3)


def test_operations_of_other_groups_of_the_same_rank_are_not_doubted() -> None:
    """A rank uses NCCL and gloo: what NCCL calls finished is."""
    states = [made for rank in range(3) for made in (gloo(rank, 1, [], group="7"), state(rank, 1, first=5))]
    waits = analyse(states)
    assert (waits.undecided, waits.waits) == ((), ())


def test_a_dump_that_was_left_out_is_not_counted_as_present() -> None:
    stale = at(state(3, 2, [SCHEDULED]), "dumps/3", 9_000)
    now = [at(state(rank, 4, [STARTED]), f"dumps/{rank}", 10_000) for rank in (0, 1, 2)]
    (fact,) = [fact for fact in timeline(*now, stale).facts if fact.kind == "comm.dump_missing"]
    assert (fact.rank, fact.fields["present"], fact.fields["expected"]) == (3, 3, 4)


def test_a_number_far_above_all_dumps_is_that_of_no_rank() -> None:
    waits = analyse([*(gloo(rank, 3, []) for rank in range(4)), gloo(1_234_567, 3, [])])
    assert waits.missing == ()
