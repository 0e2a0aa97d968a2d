"""The library state report as text: its wordings, whose ranks they are, and how they are compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from engine.facts.timeline import Timeline
from facts_adapters.reader import read_bundle
from facts_adapters.result import BundleReading
from tests.facts.building import timeline

PLACE = "GPU {gpu} managed by process {pid} on node 10.7.0.{node}"


def place(rank: int) -> str:
    return PLACE.format(gpu=rank % 8, pid=5000 + rank, node=1 + rank // 8)


def listed(rank: int, what: str = "") -> str:
    return f"Rank {rank} {what}-- {place(rank)}"


def behind(rank: int, count: int) -> str:
    done = f"launched up to operation {count}" if count else "not launched any operations"
    return listed(rank, f"has {done} ")


def section(*lines: str) -> str:
    """A finding: its first line as it is, the others indented."""
    return "\n".join([lines[0], *(f"  {line}" for line in lines[1:])]) + "\n\n"


def counts(*lines: str, head: str = "#0-0 (5d01c2a97f3be644) MISMATCH", op: str = "AllReduce") -> str:
    return section(head, f"Communicator ranks have different {op} operation counts", *lines)


def report(errors: str = "", warnings: str = "", gpus: int = 16, sizes: Sequence[int] = (16,)) -> str:
    rows = "".join(
        f"{number:5d}  {1:8d}  {2:8d}  {'7-8':>8}  {size:8d}  {size:8d}   RUNNING  MISMATCH\n"
        for number, size in enumerate(sizes)
    )
    return (
        "NCCL version 2.27.5+cuda12.9 compiled with CUDA 12.9\nCUDA runtime version 12090, driver version 12090\n\n"
        "Job summary\n===========\n\n  Nodes  Processes         GPUs  Processes     GPUs\n"
        "(total)   per node  per process    (total)  (total)\n"
        f"      2          8            1  {gpus:9d}  {gpus:7d}\n\n"
        "Communicators... (1.21s)\n=============\n\nGroup     Comms     Nodes     Ranks     Ranks     Ranks    Status"
        "  Errors\n    #  in group  per comm  per node  per comm  in group\n"
        f"{rows}\nErrors\n======\n\n{errors}Warnings\n========\n\n{warnings}"
    )


def reading(folder: Path, *texts: str, name: str = "ras.txt") -> BundleReading:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("".join(texts), encoding="utf-8")
    return read_bundle(folder)


def told(result: BundleReading) -> list[tuple[str, int | None, str | None]]:
    left_out = ("comm.version", "coverage.source")
    return [(o.kind, o.rank, o.host or o.peer) for o in result.observations if o.kind not in left_out]


def launched(result: BundleReading) -> dict[int, int]:
    return {int(state.rank or 0): int(state.last_enqueued or 0) for state in result.states if state.group}


def compared(result: BundleReading) -> Timeline:
    return timeline(*result.readings, manifest=result.manifest)


DEAD = section(
    "DEAD",
    "1 job process is considered dead (unreachable via the RAS network)",
    "Process 5011 on node 10.7.0.2 managing GPU 3",
)
MISSING = section("#0-0 (5d01c2a97f3be644) INCOMPLETE", "Missing communicator data from 1 rank", listed(11))
ONE_BEHIND = counts("15 ranks have launched up to operation 90", behind(6, 88))


def test_the_rank_with_fewer_operations_enters_the_comparison(tmp_path: Path) -> None:
    result = reading(tmp_path, report(warnings=ONE_BEHIND))
    assert told(result) == [("comm.rank_behind", 6, "10.7.0.1")]
    assert launched(result) == {rank: 88 if rank == 6 else 90 for rank in range(16)}
    waits = compared(result).waits
    assert waits is not None
    assert [(item.rank, item.host, item.how, item.waiting) for item in waits.suspects] == [
        (6, "10.7.0.1", "fewer_operations", 15)
    ]
    assert not result.warnings


@pytest.mark.parametrize(
    ("line", "more"),
    [
        ("1 job process is considered dead (unreachable via the RAS network)", ()),
        (
            "2 job processes are considered dead (unreachable via the RAS network)",
            ("Process 5012 on node 10.7.0.2 managing GPUs 4,5",),
        ),
        ("1 job process(es) considered dead (unreachable via the RAS network)", ()),
    ],
)
def test_dead_processes_in_every_wording(line: str, more: Sequence[str], tmp_path: Path) -> None:
    lines = ("Process 5011 on node 10.7.0.2 managing GPU 3", *more)
    result = reading(tmp_path, report(section("DEAD", line, *lines)))
    assert told(result) == [("comm.heartbeat_lost", None, "10.7.0.2")] * len(lines)


@pytest.mark.parametrize(
    ("line", "entries", "expected"),
    [
        ("1 rank", (listed(11),), [(11, "10.7.0.2")]),
        ("2 ranks", (listed(3), listed(11)), [(3, "10.7.0.1"), (11, "10.7.0.2")]),
        ("1 rank(s)", (listed(11),), [(11, "10.7.0.2")]),
        ("1 rank", ("Rank 11 -- [process information not found]",), [(11, None)]),
        ("1 rank", ("The missing rank: 11",), [(11, None)]),
        ("2 ranks", ("The missing ranks: 3,11",), [(3, None), (11, None)]),
        ("12 ranks", (), []),
    ],
)
def test_missing_ranks_in_every_wording(
    line: str, entries: Sequence[str], expected: list[tuple[int, str | None]], tmp_path: Path
) -> None:
    head = "#0-0 (5d01c2a97f3be644) INCOMPLETE"
    result = reading(tmp_path, report(section(head, f"Missing communicator data from {line}", *entries)))
    assert [(rank, host) for _, rank, host in told(result)] == expected
    assert all(o.fields["pg"] == "5d01c2a97f3be644" for o in result.observations if o.kind == "comm.rank_behind")


@pytest.mark.parametrize(("line", "count"), [("1 job process", 1), ("2 job processes", 2)])
def test_processes_without_data_name_their_hosts(line: str, count: int, tmp_path: Path) -> None:
    processes = [f"Process {5010 + number} on node 10.7.0.{2 + number} managing GPU 2" for number in range(count)]
    found = section("INCOMPLETE", f"Missing communicator data from {line}", *processes)
    assert told(reading(tmp_path, report(found))) == [
        ("comm.rank_behind", None, f"10.7.0.{2 + number}") for number in range(count)
    ]


def test_a_dead_rank_is_no_part_of_the_sets_that_are_only_counted(tmp_path: Path) -> None:
    mismatch = counts("14 ranks have launched up to operation 90", behind(6, 0))
    result = reading(tmp_path, report(DEAD + MISSING, mismatch))
    assert launched(result) == {rank: 0 if rank == 6 else 90 for rank in range(16) if rank != 11}
    conditions = [(s.rank, s.condition, s.host) for s in result.states if not s.group]
    assert conditions == [(11, "dead", "10.7.0.2")]


def test_ranks_of_a_listed_set_and_counts_of_two_operations(tmp_path: Path) -> None:
    first = counts("14 ranks have launched up to operation 90", "2 ranks have launched up to operation 89",
                   listed(4), listed(5))  # fmt: skip
    second = section(
        "  Communicator ranks have different Broadcast operation counts",
        "15 ranks have launched up to operation 7",
        behind(5, 6),
    )
    result = reading(tmp_path, report(warnings=first + second))
    assert launched(result) == {rank: {4: 96, 5: 95}.get(rank, 97) for rank in range(16)}
    assert [rank for _, rank, _ in told(result)] == [4, 5, 5]
    assert [o.fields["op"] for o in result.observations if o.kind == "comm.rank_behind"] == [
        "AllReduce",
        "AllReduce",
        "Broadcast",
    ]


def test_sets_that_are_only_counted_tell_no_ranks(tmp_path: Path) -> None:
    two = counts("8 ranks have launched up to operation 90", "7 ranks have launched up to operation 89", behind(6, 88))
    result = reading(tmp_path, report(warnings=two))
    assert launched(result) == {}
    assert told(result) == []


SETS = ("20 ranks have launched up to operation 91", "11 ranks have launched up to operation 90")


def suspects(result: BundleReading) -> list[tuple[int, int, int]]:
    """Rank, number of the operation that waits for it, and how many ranks do."""
    waits = compared(result).waits
    return [(item.rank, item.seq, item.waiting) for item in waits.suspects] if waits is not None else []


def test_who_launched_least_is_known_though_the_sets_of_the_others_are_only_counted(tmp_path: Path) -> None:
    result = reading(tmp_path, report(warnings=counts(*SETS, behind(6, 88)), gpus=32, sizes=(32,)))
    assert launched(result) == {rank: 88 if rank == 6 else 90 for rank in range(32)}
    assert told(result) == [("comm.rank_behind", 6, "10.7.0.1")]
    assert suspects(result) == [(6, 89, 31)]
    dead = section("#0-0 (5d01c2a97f3be644) INCOMPLETE", "Missing communicator data from 1 rank", listed(31))
    lines = ("20 ranks have launched up to operation 91", "10 ranks have launched up to operation 90", behind(6, 0))
    result = reading(tmp_path, report(dead, counts(*lines), gpus=32, sizes=(32,)))
    assert launched(result) == {rank: 0 if rank == 6 else 90 for rank in range(31)}
    assert suspects(result) == [(6, 1, 30)]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param((SETS[0], "11 ranks have launched up to operation 88", behind(6, 90)), id="the least are counted"),
        pytest.param(
            (SETS[0], "11 ranks have launched up to operation 88", behind(6, 88)), id="a set told in two parts"
        ),
        pytest.param((SETS[0], "11 ranks have not launched any operations", behind(6, 88)), id="none at all"),
        pytest.param(
            (
                "12 ranks have launched up to operation 92",
                "10 ranks have launched up to operation 91",
                "9 ranks have launched up to operation 90",
                behind(6, 88),
            ),
            id="no set of more than half",
        ),
        pytest.param((*SETS, behind(6, 93)), id="one ahead"),
        pytest.param((SETS[0], "10 ranks have launched up to operation 90", behind(6, 88)), id="one too few"),
    ],
)
def test_sets_that_are_only_counted_name_nobody_unless_the_least_are_listed(
    lines: Sequence[str], tmp_path: Path
) -> None:
    result = reading(tmp_path, report(warnings=counts(*lines), gpus=32, sizes=(32,)))
    assert launched(result) == {}
    assert suspects(result) == []


def test_a_rank_is_not_behind_where_others_launched_less(tmp_path: Path) -> None:
    lines = (SETS[0], "11 ranks have launched up to operation 88", behind(6, 90))
    assert told(reading(tmp_path, report(warnings=counts(*lines), gpus=32, sizes=(32,)))) == []
    three = counts("14 ranks have launched up to operation 90", behind(6, 89), behind(9, 87))
    assert told(reading(tmp_path, report(warnings=three))) == [("comm.rank_behind", 9, "10.7.0.2")]


def test_bounds_of_two_operations_add(tmp_path: Path) -> None:
    first = counts(*SETS, behind(6, 88))
    apart = section(
        "  Communicator ranks have different Broadcast operation counts",
        "17 ranks have launched up to operation 8",
        "15 ranks have launched up to operation 7",
    )
    assert launched(reading(tmp_path, report(warnings=first + apart, gpus=32, sizes=(32,)))) == {}
    known = section(
        "  Communicator ranks have different Broadcast operation counts",
        "31 ranks have launched up to operation 8",
        behind(6, 7),
    )
    result = reading(tmp_path, report(warnings=first + known, gpus=32, sizes=(32,)))
    assert launched(result) == {rank: 95 if rank == 6 else 98 for rank in range(32)}
    assert suspects(result) == [(6, 96, 31)]


def test_the_verbose_report_lists_every_set_of_less_than_half(tmp_path: Path) -> None:
    inside = [listed(rank) for rank in range(7, 18)]
    verbose = counts(SETS[0], SETS[1], *inside, behind(6, 88))
    result = reading(tmp_path, report(warnings=verbose, gpus=32, sizes=(32,)))
    assert launched(result) == {rank: 88 if rank == 6 else 90 if 7 <= rank < 18 else 91 for rank in range(32)}
    assert told(result) == [("comm.rank_behind", 6, "10.7.0.1")]
    assert suspects(result) == [(6, 89, 31)]
    held = counts(SETS[0], "11 ranks have launched up to operation 88", *inside, behind(6, 90))
    result = reading(tmp_path, report(warnings=held, gpus=32, sizes=(32,)))
    assert [rank for _, rank, _ in told(result)] == list(range(7, 18))
    assert [rank for rank, _, _ in suspects(result)] == list(range(7, 18))


def test_counts_without_a_majority_name_nobody(tmp_path: Path) -> None:
    even = counts(behind(0, 90), behind(1, 89), behind(2, 88))
    result = reading(tmp_path, report(warnings=even, gpus=3, sizes=(3,)))
    assert told(result) == []
    waits = compared(result).waits
    assert waits is not None
    assert waits.suspects == ()


def test_ranks_of_a_part_are_not_taken_for_global_ones(tmp_path: Path) -> None:
    part = counts("7 ranks have launched up to operation 40", behind(2, 39), head="#1-0 (77) MISMATCH")
    result = reading(tmp_path, report(warnings=part, sizes=(16, 8)))
    assert told(result) == [("comm.rank_behind", None, "10.7.0.1")]
    assert launched(result) == {}


def test_a_communicator_that_moves_between_two_reports_is_at_work(tmp_path: Path) -> None:
    later = counts("15 ranks have launched up to operation 97", behind(6, 95))
    assert launched(reading(tmp_path, report(warnings=ONE_BEHIND), report(warnings=later))) == {}
    assert launched(reading(tmp_path, report(warnings=later), report(warnings=later)))[6] == 95


def test_ranks_are_not_placed_on_the_host_that_was_asked(tmp_path: Path) -> None:
    result = reading(tmp_path, report(warnings=ONE_BEHIND), name="node07/ras.txt")
    assert {state.host for state in result.states} == {None, "10.7.0.1"}


def test_the_report_inside_another_log(tmp_path: Path) -> None:
    text = "".join(f"srun: {line}\n" for line in ("starting", "done"))
    result = reading(tmp_path, text, ONE_BEHIND, text, name="job.log")
    assert ("comm.rank_behind", 6, "10.7.0.1") in told(result)


@pytest.mark.parametrize(
    "text",
    [
        report(warnings=ONE_BEHIND)[:-60],
        report(warnings=ONE_BEHIND, gpus=10**15, sizes=(10**8,)),
        report(warnings=counts(f"15 ranks have launched up to operation {10**30}", behind(6, 10**30))),
        report(warnings=counts("15 ranks have launched up to operation 90", behind(10**8, 88))),
        report(warnings=counts("99 ranks have launched up to operation 90", behind(6, 88))),
        report(warnings="#0-0 () MISMATCH\n#0-0\n  Communicator ranks have different  operation counts\n"),
        report("  Rank 3 -- \n  Missing communicator data from  rank\n"),
    ],
)
def test_broken_reports_raise_nothing_and_invent_no_state(text: str, tmp_path: Path) -> None:
    result = reading(tmp_path, text)
    assert result.states == []
    assert not [warning for warning in result.warnings if "failed" in warning.reason]
