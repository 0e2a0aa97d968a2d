"""Ranks that lists name: desync reports, monitored barriers, comparisons of calls, counts of who joined."""

from __future__ import annotations

from engine.facts.manifest import Manifest
from engine.facts.model import Fact, Observation, Source
from engine.facts.timeline import Timeline
from engine.facts.waits import states_told
from tests.facts.building import facts, local, seen, timeline

EIGHT = Manifest("x", world_size=8, nodes=("n0", "n1"), gpus_per_node=4)
ALL = list(range(8))


def listed(what: str, ranks: str, stage: str, writer: int | None = None, **fields: object) -> Observation:
    line = fields.pop("line", 1)
    given = {"list": what, "ranks": ranks, "stage": stage, **fields}
    made = seen("comm.ranks_listed", f"logs/{writer}", line, rank=writer, **given)  # type: ignore[arg-type]
    made.adapter = what
    return made


def snapshot(*rows: tuple[str, str, int, str], writer: int | None = None) -> list[Observation]:
    return [
        listed("desync_report", ranks, stage, writer, seq=seq, op=op, line=line)
        for line, (ranks, stage, seq, op) in enumerate(rows, 5)
    ]


def behind(rank: int, writer: int, **fields: object) -> Observation:
    made = seen("comm.rank_behind", f"logs/{writer}", 3, rank=rank, when=local("2026-05-12T10:00:00"), **fields)
    made.adapter = "desync_report"
    return made


def check(rank: int, op: str, other: int, other_op: str | None, seq: int = 7, other_seq: int = 7) -> Observation:
    fields: dict[str, object] = {"own_rank": rank, "seq": seq, "op": op, "other_rank": other}
    if other_op is not None:
        fields |= {"other_op": other_op, "other_seq": other_seq}
    return seen("comm.collective_check", f"logs/{rank}", 4, rank=rank, when=local("2026-05-12T10:00:00"), **fields)


def mismatch(rank: int) -> Observation:
    """What the same line says of its writer."""
    return seen("comm.operation_mismatch", f"logs/{rank}", 4, rank=rank, aspect="operation", seq=7, found="x")


def joined(rank: int, count: int, expected: int = 8, **more: object) -> Observation:
    return seen("job.rendezvous_incomplete", f"logs/{rank}", 2, rank=rank, joined=count, expected=expected, **more)


def suspects(made: Timeline) -> list[tuple[int, str]]:
    return [(item.rank, item.how) for item in made.waits.suspects] if made.waits else []


def of(kind: str, *items: Observation, manifest: Manifest | None = EIGHT) -> list[Fact]:
    return facts(*items, manifest=manifest).get(kind, [])


# --- desync reports ---


def test_a_snapshot_names_the_rank_that_did_not_join() -> None:
    rows = (("6", "finished", 1023, "ALLREDUCE"), ("0-5,7", "started", 1024, "ALLREDUCE"))
    for manifest in (EIGHT, None):
        made = timeline(*snapshot(*rows, writer=0), manifest=manifest)
        assert suspects(made) == [(6, "never_entered")]
    assert suspects(timeline(*snapshot(*rows), manifest=Manifest("x", world_size=16))) == []


def test_who_alone_does_not_finish_what_the_others_have_finished() -> None:
    rows = (("5", "started", 1023, "ALLREDUCE"), ("0-4,6,7", "started", 1024, "ALLREDUCE"))
    assert suspects(timeline(*snapshot(*rows), manifest=EIGHT)) == [(5, "stuck_inside")]


def test_a_snapshot_is_a_vote_on_the_operation() -> None:
    rows = (("4", "started", 1024, "BROADCAST"), ("0-3,5-7", "started", 1024, "ALLREDUCE"))
    (odd,) = of("comm.operation_mismatch", *snapshot(*rows))
    assert (odd.rank, odd.fields["expected"], odd.fields["found"]) == (4, "ALLREDUCE", "BROADCAST")
    even = (("0-3", "started", 1024, "BROADCAST"), ("4-7", "started", 1024, "ALLREDUCE"))
    (split,) = of("comm.operation_mismatch", *snapshot(*even))
    assert split.rank is None


def test_all_in_one_operation_are_told_as_a_stall() -> None:
    rows = (("0-7", "started", 1024, "ALLREDUCE"),)
    made = timeline(*snapshot(*rows), manifest=EIGHT)
    assert suspects(made) == []
    assert [fact.kind for fact in made.facts if fact.kind.startswith("comm.operation")] == ["comm.operation_stalled"]


def test_many_writers_of_one_report_make_one_fact_with_the_line_of_the_rank() -> None:
    rows = (("6", "finished", 1023, "ALLREDUCE"), ("0-5,7", "started", 1024, "ALLREDUCE"))
    items = [item for writer in (0, 1, 7) for item in snapshot(*rows, writer=writer)]
    items += [behind(6, writer, how="never_entered", seq=1024) for writer in (0, 1, 7)]
    (fact,) = of("comm.rank_behind", *items)
    assert (fact.rank, fact.source.path, fact.source.line, fact.count) == (6, "logs/0", 3, 3)
    assert (fact.fields["waiting"], fact.fields["op"]) == (7, "ALLREDUCE")
    assert fact.onset.known


def test_what_the_report_says_stays_where_nothing_can_be_compared() -> None:
    never = [listed("desync_report", "5,6", "absent", 3), listed("desync_report", "3", "waiting", 3, seq=9, op="X")]
    told = [behind(rank, 3, how="never_entered", seq=9) for rank in (5, 6)]
    for manifest in (EIGHT, None):
        assert [fact.rank for fact in of("comm.rank_behind", *never, *told, manifest=manifest)] == [5, 6]


def test_a_report_by_a_rank_of_another_number_counts_the_ranks_of_a_part() -> None:
    rows = (("2", "finished", 9, "ALLREDUCE"), ("0,1,3", "started", 10, "ALLREDUCE"))
    assert suspects(timeline(*snapshot(*rows, writer=3))) == [(2, "never_entered")]
    assert suspects(timeline(*snapshot(*rows, writer=7))) == []
    never = [listed("desync_report", "2", "absent", 7), listed("desync_report", "3", "waiting", 7, seq=9, op="X")]
    never += [listed("desync_report", rank, "waiting", int(rank) + 4, seq=9, op="X") for rank in "01"]
    assert suspects(timeline(*never)) == []


# --- monitored barriers ---


def barrier(ranks: str, whole: bool, writer: int = 0) -> list[Observation]:
    absent = listed("monitored_barrier", ranks, "absent", writer, whole=whole)
    return [absent, listed("monitored_barrier", "0", "waiting", writer)]


def test_the_members_of_a_barrier_are_known_with_the_size_of_the_job() -> None:
    made = timeline(*barrier("1,5", True), manifest=EIGHT)
    assert suspects(made) == [(1, "never_entered"), (5, "never_entered")]
    assert made.waits is not None
    assert (made.waits.fronts[0].launched, made.waits.fronts[0].unknown) == (6, ())
    alone = timeline(*barrier("5", False), manifest=EIGHT)
    assert alone.waits is not None
    assert (alone.waits.fronts[0].launched, alone.waits.fronts[0].unknown) == (5, (6, 7))
    assert timeline(*barrier("5", False)).waits.fronts[0].size == 2  # type: ignore[union-attr]


def test_who_is_missing_from_a_barrier_is_told_once() -> None:
    told = seen("comm.barrier_missing", "logs/0", 1, rank=5, timeout_ms=3000)
    assert [fact.rank for fact in of("comm.barrier_missing", *barrier("5", True), told)] == [5]
    assert of("comm.rank_behind", *barrier("5", True), told) == []


def test_a_barrier_of_a_part_names_no_ranks_of_the_job() -> None:
    assert suspects(timeline(*barrier("1", True, writer=4), manifest=EIGHT)) == []
    assert suspects(timeline(*barrier("9", True), manifest=EIGHT)) == []


# --- comparisons of calls ---


def test_the_vote_over_all_lines_names_the_odd_rank_in_place_of_the_writers() -> None:
    items = [check(rank, "ALLREDUCE 4 Float", 5, "BROADCAST 8 Float") for rank in ALL if rank != 5]
    items.append(check(5, "BROADCAST 8 Float", 0, "ALLREDUCE 4 Float"))
    for manifest in (EIGHT, None):
        (odd,) = of("comm.operation_mismatch", *items, *map(mismatch, ALL), manifest=manifest)
        assert (odd.rank, odd.source.path, odd.fields["aspect"]) == (5, "logs/5", "operation")
        assert odd.onset.known


def test_two_ranks_make_no_majority_and_name_nobody() -> None:
    items = [
        check(0, "ALLREDUCE 4 Float", 1, "ALLREDUCE 8 Float"),
        check(1, "ALLREDUCE 8 Float", 0, "ALLREDUCE 4 Float"),
    ]
    (split,) = of("comm.operation_mismatch", *items, mismatch(0), mismatch(1), manifest=None)
    assert (split.rank, split.fields["aspect"]) == (None, "shape")


def test_ranks_before_the_first_unequal_one_are_equal() -> None:
    late, early = (check(0, "ALLREDUCE 4 Float", other, "ALLREDUCE 8 Float") for other in (6, 3))
    assert [fact.rank for fact in of("comm.operation_mismatch", late)] == [6]
    assert [fact.rank for fact in of("comm.operation_mismatch", late, manifest=None)] == [None]
    assert [fact.rank for fact in of("comm.operation_mismatch", early)] == [None]


def test_ranks_that_stand_at_another_number() -> None:
    items = [check(rank, "BARRIER", 2, "BARRIER", 3, 4) for rank in ALL if rank != 2]
    items.append(check(2, "BARRIER", 0, "BARRIER", 4, 3))
    (odd,) = of("comm.operation_mismatch", *items)
    assert (odd.rank, odd.fields["aspect"], odd.fields["found"]) == (2, "order", "BARRIER #4")


def test_a_call_of_which_only_is_known_that_it_is_another() -> None:
    items = [check(rank, "ALLGATHER 1 Long", 7, None, seq=101) for rank in range(3)]
    (odd,) = of("comm.operation_mismatch", *items)
    assert (odd.rank, odd.fields["aspect"], odd.fields["found"]) == (7, "unknown", "?")
    own = check(7, "ALLREDUCE 16x4 Float", 0, None, seq=101)
    (odd,) = of("comm.operation_mismatch", *items, own)
    assert (odd.rank, odd.fields["found"]) == (7, "ALLREDUCE 16x4 Float")


def test_lines_of_a_part_keep_what_they_say_of_their_writers() -> None:
    items = [check(rank, "ALLREDUCE 4 Float", 3, "ALLREDUCE 8 Float") for rank in range(3)]
    for item in items:
        item.rank = int(item.fields["own_rank"]) + 4
    told = [mismatch(rank) for rank in (4, 5, 6)]
    assert [fact.rank for fact in of("comm.operation_mismatch", *items, *told)] == [4, 5, 6]
    other = [check(0, "BARRIER", 1, "BROADCAST 8 Float", 30, 30), check(1, "BROADCAST 8 Float", 0, "BARRIER", 30, 30)]
    assert [fact.rank for fact in of("comm.operation_mismatch", *items, *told, *other)] == [None, 4, 5, 6]


# --- counts of who joined ---


def test_counts_tell_who_is_missing_where_all_who_joined_are_known() -> None:
    made = timeline(*[joined(rank, 6) for rank in ALL if rank not in (2, 3)], manifest=EIGHT)
    assert [rank for rank, _ in suspects(made)] == [2, 3]
    (missing,) = [fact for fact in made.facts if fact.fields.get("missing")]
    assert (missing.kind, missing.ranks, missing.fields["missing"]) == ("job.rendezvous_incomplete", (2, 3), "2,3")
    assert (missing.fields["joined"], missing.fields["expected"], missing.host) == (6, 8, None)
    assert not [fact for fact in made.facts if fact.kind == "comm.rank_behind"]


def test_the_last_count_is_the_one_that_counts_and_most_may_be_missing() -> None:
    counts = [joined(0, 1), joined(1, 2)]
    assert [rank for rank, _ in suspects(timeline(*counts, manifest=EIGHT))] == [2, 3, 4, 5, 6, 7]
    (missing,) = [fact for fact in of("job.rendezvous_incomplete", *counts) if fact.fields.get("missing")]
    assert (missing.fields["joined"], missing.fields["missing"]) == (2, "2-7")
    assert suspects(timeline(joined(0, 1), joined(1, 3), manifest=EIGHT)) == []


def test_counts_of_nodes_or_without_the_size_of_the_job_name_nobody() -> None:
    assert suspects(timeline(joined(0, 1, 2), manifest=EIGHT)) == []
    assert suspects(timeline(joined(0, 1, 2))) == []
    other = joined(0, 1)
    other.rank = None
    assert suspects(timeline(other, manifest=EIGHT)) == []


# --- what is not believed ---


def test_lists_that_contradict_themselves_tell_nothing() -> None:
    def placed(item: Observation) -> Fact:
        return Fact("f1", item.kind, item.fields, Source("a", 1))

    both = [listed("desync_report", "3", "absent"), listed("desync_report", "3", "started", seq=1, op="X")]
    assert states_told(map(placed, both), None) == []
    assert states_told([placed(listed("desync_report", "9-1,x", "started", seq=1, op="X"))], None) == []
    assert states_told([placed(listed("monitored_barrier", "0", "absent")), *map(placed, barrier("1", True))], 8) == []


def test_numbers_that_no_counter_reaches_are_not_believed() -> None:
    rows = (("6", "finished", 10**30, "ALLREDUCE"), ("0-5,7", "started", 10**30, "ALLREDUCE"))
    assert suspects(timeline(*snapshot(*rows), check(0, "X", 1, "Y", seq=10**30), manifest=EIGHT)) == []
    status = seen("comm.work_status", "logs/1", 1, rank=1, pg="0", seq=10**30, last_enqueued=5, last_completed=4)
    wait = seen("comm.collective_timeout", "logs/1", 2, rank=1, pg="0", seq=10**30, op="X")
    assert suspects(timeline(status, wait, manifest=EIGHT)) == []
