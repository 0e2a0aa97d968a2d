"""The comparison of ranks on small states, those of logs and libraries among them, and the facts that follow."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

from engine.facts.collectives import (
    COMPLETED,
    SCHEDULED,
    STARTED,
    GroupState,
    Transfer,
    call_number,
    compact,
    members_of,
    spoken,
)
from engine.facts.manifest import Manifest
from engine.facts.model import Fact, Observation, Source
from engine.facts.waits import Waits, analyse
from engine.facts.waits.homes import homes_of
from engine.report.waiting_words import reason
from tests.facts.building import facts, seen, timeline

WORLD = "0-3"


def state(
    rank: int,
    done: int,
    opened: Iterable[int] = (),
    group: str = "0",
    call: str = "all_reduce 8 Float",
    members: str = WORLD,
    first: int = 0,
    **more: object,
) -> GroupState:
    """A rank that finished collectives 1 to ``done`` and has those after it open, each as far as ``opened`` says."""
    came = [COMPLETED] * done + list(opened)
    made = GroupState(Source(f"dumps/{rank}", 1), group, rank, members=members, words={call_number(call): call})
    made.seqs = array("q", range(1, len(came) + 1))
    made.calls = array("Q", [call_number(call)] * len(came))
    made.records = array("q", range(first, first + len(came)))
    made.states = bytearray(came)
    made.last_enqueued, made.last_completed = len(came), done
    for name, value in more.items():
        setattr(made, name, value)
    return made


def named(waits: Waits) -> list[tuple[int, str]]:
    return [(item.rank, item.how) for item in waits.suspects]


def test_the_rank_that_never_launched_what_the_others_wait_in() -> None:
    waits = analyse([state(0, 4), *(state(rank, 4, [STARTED]) for rank in (1, 2, 3))])
    assert named(waits) == [(0, "never_entered")]
    (front,) = waits.fronts
    assert (front.launched, front.started, front.finished, front.late) == (3, 3, 0, (0,))
    assert front.standing == "late"


def test_a_rank_that_is_late_because_it_waits_elsewhere_is_no_suspect() -> None:
    pair = "0,1"
    waits = analyse(
        [
            state(0, 4),
            state(1, 4, members=WORLD),
            state(1, 2, [STARTED], group="1", members=pair, first=50),
            state(0, 2, group="1", members=pair, first=50),
            *(state(rank, 4, [STARTED]) for rank in (2, 3)),
        ]
    )
    assert named(waits) == [(0, "never_entered")]
    assert waits.suspects[0].waiting == 3


def test_where_most_never_launched_it_the_few_that_wait_may_be_wrong() -> None:
    states = [state(0, 4, [STARTED]), *(state(rank, 4) for rank in (1, 2, 3))]
    assert named(analyse(states)) == []
    pair = [state(0, 4, [STARTED], members="0,1"), state(1, 4, members="0,1")]
    assert named(analyse(pair)) == [(1, "never_entered")]


def test_a_rank_alone_in_what_most_have_finished_is_stuck_inside() -> None:
    states = [state(0, 3, [STARTED]), *(state(rank, 4, [STARTED]) for rank in (1, 2, 3))]
    assert named(analyse(states)) == [(0, "stuck_inside")]


def test_a_root_finishes_a_broadcast_before_the_others() -> None:
    call = "broadcast 8 Float"
    states = [state(0, 3, [STARTED], call=call), *(state(rank, 4, call=call) for rank in (1, 2, 3))]
    assert named(analyse(states)) == []


def test_an_operation_that_all_are_in_names_nobody() -> None:
    waits = analyse([state(rank, 4, [STARTED]) for rank in range(4)])
    assert (waits.suspects, waits.undecided) == ((), ())
    assert [item.seq for item in waits.stalled] == [5]


def test_where_the_members_are_not_known_nobody_can_say_that_all_are_in() -> None:
    waits = analyse([state(rank, 4, [STARTED], members="") for rank in range(4)])
    assert (waits.suspects, waits.stalled) == ((), ())


def test_a_receiver_that_never_came_and_one_that_waits_for_somebody_else() -> None:
    def pipe(rank: int, *transfers: Transfer) -> GroupState:
        made = state(rank, 0, group="pipe", transfers=transfers)
        made.last_enqueued = made.last_completed = -1
        return made

    waits = analyse(
        [
            pipe(0, Transfer(1, True, 1, 5, STARTED)),
            pipe(1, Transfer(2, True, 1, 7, STARTED)),
            pipe(2),
            pipe(3),
        ]
    )
    assert named(waits) == [(2, "never_entered")]
    assert waits.suspects[0].waiting == 2


def test_unequal_calls_are_judged_by_majority_and_only_where_somebody_has_not_finished() -> None:
    odd = state(2, 4, [STARTED], call="all_reduce 9 Float")
    others = [state(rank, 4, [STARTED]) for rank in (0, 1, 3)]
    odd.calls[:4] = others[0].calls[:4]
    waits = analyse([odd, *others])
    assert named(waits) == [(2, "mismatch")]
    (mismatch,) = waits.mismatches
    assert (mismatch.seq, mismatch.aspect, mismatch.found) == (5, "shape", ("all_reduce 9 Float",))
    finished = [state(rank, 4, call="all_reduce 9 Float" if rank == 2 else "all_reduce 8 Float") for rank in range(4)]
    assert analyse(finished).mismatches == ()


def test_two_against_two_name_nobody() -> None:
    calls = ("all_reduce 8 Float", "all_gather 8 Float")
    waits = analyse([state(rank, 4, [STARTED], call=calls[rank % 2]) for rank in range(4)])
    assert named(waits) == []
    assert waits.mismatches[0].aspect == "operation"


def test_a_library_that_counts_launches_names_the_rank_below_the_majority() -> None:
    def counted(*counts: int) -> Waits:
        return analyse(
            GroupState(Source("ras", 1), "c", rank, members=WORLD, origin="library", last_enqueued=count)
            for rank, count in enumerate(counts)
        )

    assert named(counted(9, 9, 8, 9)) == [(2, "fewer_operations")]
    assert named(counted(9, 11, 10, 12)) == []
    assert named(counted(9, 9, 9, 9)) == []


def test_a_name_that_stands_for_two_groups_is_told_apart_by_members() -> None:
    first = [state(rank, 4, [STARTED], members="0,1") for rank in (0, 1)]
    second = [state(2, 9, [STARTED], members="2,3"), state(3, 9, members="2,3")]
    assert named(analyse([*first, *second])) == [(3, "never_entered")]


def test_other_runs_say_nothing() -> None:
    old = [state(0, 9, run="attempt_0")]
    waits = analyse([*old, *(state(rank, 4, [SCHEDULED]) for rank in range(4))])
    assert named(waits) == []


def test_ranks_are_written_as_ranges_and_read_again() -> None:
    for ranks in ((), (4,), (0, 1), (0, 1, 2), (3, 11, 19, 27), (0, 2, 3, 4, 9), (5, 7), tuple(range(0, 4096, 8))):
        assert members_of(compact(ranks)) == ranks
    assert compact(range(3, 28, 8)) == "3-27:8"
    assert members_of("0-99999999999") == members_of("x") == members_of("9-1") == ()
    assert spoken(range(0, 40, 3), 1) == "0-39:3"
    assert spoken([1, 2, 3, 10, 20, 31], 2) == "1-3, 10, 20 (+1)" or spoken([1, 2, 3, 10, 20, 31], 2).endswith(")")


# --- log lines ---


def status(rank: int, enqueued: int, completed: int, number: int | None = None, pg: str = "0") -> Observation:
    fields = {"seq": number} if number is not None else {}
    return seen(
        "comm.work_status", f"logs/{rank}", 1, rank=rank, host=f"n{rank // 4}", pg=pg,
        last_enqueued=enqueued, last_completed=completed, **fields,
    )  # fmt: skip


def one(found: dict[str, list[Fact]], kind: str) -> Fact:
    (fact,) = found[kind]
    return fact


def test_watchdog_lines_name_the_rank_that_launched_less() -> None:
    found = facts(status(3, 8, 8), *[status(rank, 10, 8, 9) for rank in range(8) if rank != 3])
    behind = one(found, "comm.rank_behind")
    assert (behind.rank, behind.host, behind.fields["how"], behind.fields["seq"]) == (3, "n0", "never_entered", 9)
    assert behind.fields["waiting"] == 7


def test_ranks_that_launched_the_same_or_further_ahead_name_nobody() -> None:
    for extra in (1, 3):
        found = facts(*[status(rank, 10 + rank % extra, 8, 9) for rank in range(8)])
        assert "comm.rank_behind" not in found
        assert "comm.operation_stalled" not in found


def test_with_the_size_of_the_job_watchdog_lines_tell_that_all_are_in() -> None:
    manifest = Manifest("x", world_size=8)
    items = [status(rank, 10, 8, 9) for rank in range(8)]
    stalled = one(facts(*items, manifest=manifest), "comm.operation_stalled")
    assert (stalled.fields["members"], stalled.fields["seq"]) == (8, 9)
    assert "comm.operation_stalled" not in facts(*items[1:], manifest=manifest)


def test_the_chain_of_watchdog_lines_leads_over_two_groups() -> None:
    items = [status(rank, 10, 8, 9) for rank in (0, 1, 2)]
    items += [status(3, 8, 8), status(3, 5, 3, 4, pg="7"), status(4, 3, 3, pg="7")]
    behind = one(facts(*items), "comm.rank_behind")
    assert (behind.rank, behind.fields["pg"], behind.fields["waiting"]) == (4, "7", 4)


def test_the_end_of_the_chain_of_connections_is_the_cause() -> None:
    def link(rank: int, peer: int) -> Observation:
        return seen(
            "comm.link_wait_timeout", f"plog/{rank}", 1, rank=rank, host=f"n{rank}", role="client", peer_rank=peer
        )

    items = [link(0, 1), link(2, 1), link(1, 3)]
    alive = seen("comm.init_started", "plog/3", 1, rank=3, host="n3", nranks=4)
    behind = one(facts(*items, alive), "comm.rank_behind")
    assert (behind.rank, behind.fields["waiting"]) == (3, 3)
    assert "comm.rank_behind" not in facts(*items)


def test_a_rank_that_never_began_a_communicator() -> None:
    def mark(kind: str, rank: int, comm: str = "0xa") -> Observation:
        return seen(kind, f"logs/{rank}", 1, rank=rank, host=f"n{rank}", nranks=4, comm=comm)

    manifest = Manifest("x", world_size=4)
    speaks = seen("comm.network_used", "logs/3", 2, rank=3, host="n3", network="IB")
    started = [mark("comm.init_started", rank) for rank in (0, 1, 2)]
    behind = one(facts(*started, speaks, manifest=manifest), "comm.rank_behind")
    assert behind.rank == 3
    assert "comm.rank_behind" not in facts(*started, manifest=manifest)
    ended = [mark("comm.init_completed", rank) for rank in (0, 1, 2)]
    assert "comm.rank_behind" not in facts(*started, *ended, speaks, manifest=manifest)


# --- facts of dumps ---


def test_states_become_facts_with_hosts_from_other_files() -> None:
    states = [state(0, 4), *(state(rank, 4, [STARTED]) for rank in (1, 2))]
    empty = GroupState(Source("dumps/3", 1), rank=3, condition="empty")
    log = seen("job.process_exit", "logs/0", 1, rank=0, host="n7", signal=9)
    made = timeline(*states, empty, log)
    found = {fact.kind: fact for fact in made.facts}
    behind = found["comm.rank_behind"]
    assert (behind.rank, behind.host, behind.fields["op"]) == (0, "n7", "all_reduce 8 Float")
    assert behind.source.text == "pg 0, seq 5, op all_reduce 8 Float, waiting 2, how never_entered"
    assert not behind.onset.known
    assert found["comm.dump_missing"].fields == {"present": 4, "expected": 4, "condition": "empty"}
    assert found["comm.collective"].fields["waiting"] == 2
    assert made.waits is not None
    assert made.waits.suspects[0].host == "n7"


def test_a_stack_tells_where_the_suspect_stands_and_signals_who_asked() -> None:
    states = [state(0, 4), *(state(rank, 4, [STARTED]) for rank in (1, 2, 3))]
    stack = seen("job.python_stack", "stacks/0", 1, rank=0, host="n0", where="user_code", function="load (data.py:7)")
    signal = seen("comm.dump_signal", "logs/1", 1, rank=1, host="n0", origin="remote", origin_rank=2)
    made = timeline(*states, stack, signal)
    assert made.waits is not None
    assert made.waits.suspects[0].stands == "load (data.py:7)"
    assert made.waits.asked_first == (2,)


def without(lost: set[int]) -> list[GroupState]:
    """Eight ranks in one operation; those that are lost left no dump."""
    return [state(rank, 4, [STARTED], members="0-7") for rank in range(8) if rank not in lost]


def test_a_rank_without_a_dump_is_named_only_where_something_speaks_against_it() -> None:
    assert analyse(without({5})).suspects == ()
    assert analyse(without({5})).undecided == (5,)
    for condition in ("dead", "unresponsive"):
        told = GroupState(Source("ras.txt", 3), rank=5, origin="library", condition=condition, host="n1")
        waits = analyse([*without({5}), told])
        assert [(item.rank, item.sign, item.host) for item in waits.suspects] == [(5, condition, "n1")]
        assert analyse([*(state(rank, 4, [STARTED], members="0-7") for rank in range(8)), told]).suspects == ()


def test_a_log_that_does_not_report_what_the_others_report_speaks_against_a_rank() -> None:
    def report(rank: int) -> Observation:
        return seen("comm.collective_timeout", f"logs/{rank}", 1, rank=rank, host="n0", op="ALLREDUCE")

    speaks = seen("comm.network_used", "logs/5", 2, rank=5, host="n0", network="IB")
    made = timeline(*without({5}), *(report(rank) for rank in range(8) if rank != 5), speaks)
    assert made.waits is not None
    assert [(item.rank, item.sign) for item in made.waits.suspects] == [(5, "silent")]
    absent = next(fact for fact in made.facts if fact.kind == "comm.rank_absent")
    assert absent.fields["sign"] == "silent"
    made = timeline(*without({5}), *(report(rank) for rank in range(8)))
    assert made.waits is not None
    assert (made.waits.suspects, made.waits.undecided) == ((), (5,))


def test_of_several_ranks_without_dumps_only_a_hard_sign_singles_one_out() -> None:
    soft = GroupState(Source("ras.txt", 3), rank=5, origin="library", condition="unresponsive")
    assert analyse([*without({5, 6}), soft]).undecided == (5, 6)
    hard = GroupState(Source("ras.txt", 3), rank=5, origin="library", condition="dead")
    assert named(analyse([*without({5, 6}), hard])) == [(5, "no_report")]


def test_a_host_from_which_nothing_came_is_told_as_one() -> None:
    nodes = Manifest("x", world_size=8, nodes=("a", "b"), gpus_per_node=4)
    states = without({4, 5, 6, 7})
    for item in states:
        item.host = "a"
    made = timeline(*states, manifest=nodes)
    assert made.waits is not None
    assert [(item.host, item.ranks) for item in made.waits.lost_hosts] == [("b", (4, 5, 6, 7))]
    assert (made.waits.suspects, made.waits.undecided) == ((), (4, 5, 6, 7))
    hosts = {fact.host for fact in made.facts if fact.kind == "comm.dump_missing"}
    assert hosts == {"b"}
    for heard in (
        seen("comm.network_used", "logs/x", 2, rank=6, network="IB"),
        seen("coverage.source", "logs/b/kernel.log", 0, host="b", lines=9, **{"class": "kernel_log"}),
    ):
        other = timeline(*states, heard, manifest=nodes).waits
        assert other is not None
        assert other.lost_hosts == ()
    by_others = (
        seen("comm.heartbeat_lost", "ras.txt", 2, rank=6, host="b", status="lost"),
        seen("switch.attached", "topology.csv", 2, host="b", switch="sw1", switch_port="Ethernet4"),
        seen("coverage.source", "slurmctld.log", 0, lines=9, **{"class": "scheduler"}),
        seen("host.boot", "slurmctld.log", 3, host="b"),
    )
    told = timeline(*states, *by_others, manifest=nodes)
    assert told.waits is not None
    assert len(told.waits.lost_hosts) == 1


def test_a_host_from_which_nothing_came_is_a_fact_of_all_its_ranks() -> None:
    nodes = Manifest("x", world_size=8, nodes=("a", "b"), gpus_per_node=4)
    states = without({4, 5, 6, 7})
    for item in states:
        item.host = "a"
    (lost,) = (fact for fact in timeline(*states, manifest=nodes).facts if fact.kind == "host.nothing_collected")
    assert (lost.host, lost.ranks) == ("b", (4, 5, 6, 7))
    assert lost.fields == {"ranks": "4-7", "size": 4, "chains_end": True}
    behind = [state(2, 4, members="0-7"), *(item for item in states if item.rank != 2)]
    behind[0].host = "a"
    (lost,) = (fact for fact in timeline(*behind, manifest=nodes).facts if fact.kind == "host.nothing_collected")
    assert lost.fields["chains_end"] is False


def test_hosts_of_ranks_follow_the_list_of_nodes_only_where_the_known_ones_do() -> None:
    nodes = ("a", "b", "c", "d")
    known = {0: "a", 2: "b"}
    assert homes_of(known, range(8), nodes, 2) == dict(enumerate("aabbccdd"))
    assert homes_of({0: "b", 2: "a"}, range(8), nodes, 2) == dict(enumerate("bbaa"))
    shuffled = {0: "b", 2: "a", 4: "d"}
    assert homes_of(shuffled, range(8), nodes, 2) == dict(enumerate("bbaaddcc"))
    assert homes_of({0: "a"}, range(8), nodes, 2) == dict(enumerate("aa"))
    assert homes_of({0: "a", 1: "b"}, range(4), ("a", "b"), 2) == {0: "a", 1: "b"}
    assert homes_of(known, range(8), (), 2) == homes_of(known, range(8), nodes, None) == known


def test_the_last_step_is_told_of_a_suspect_that_is_behind_all_others_and_makes_none() -> None:
    def steps(rank: int, last: int) -> list[Observation]:
        return [
            seen("job.phase_mark", f"logs/{rank}", at, rank=rank, phase="steady", what="step", step=step, total=900)
            for at, step in enumerate(range(last - 40, last + 1, 10), 1)
        ]

    late = [item for rank in range(4) for item in steps(rank, 100 if rank == 0 else 200)]
    states = [state(0, 4), *(state(rank, 4, [STARTED]) for rank in (1, 2, 3))]
    made = timeline(*states, *late)
    assert made.waits is not None
    (suspect,) = made.waits.suspects
    assert (suspect.rank, suspect.step, suspect.others_step) == (0, 100, 200)
    assert "its last step line is 100" in reason(suspect).en
    other = timeline(*states, *(item for rank in range(4) for item in steps(rank, 100 if rank == 2 else 200)))
    assert other.waits is not None
    assert [(item.rank, item.step) for item in other.waits.suspects] == [(0, None)]
    equal = timeline(*(state(rank, 4, [STARTED]) for rank in range(4)), *late)
    assert equal.waits is not None
    assert equal.waits.suspects == ()


def test_without_any_state_there_is_nothing_to_compare() -> None:
    assert timeline(seen("job.process_exit", rank=0, host="n1", signal=9)).waits is None
