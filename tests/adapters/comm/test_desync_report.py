"""What a desync report and a monitored barrier list, and what single lines say of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engine.facts.model import Observation, Scalar
from facts_adapters.reader import read_bundle

LAGGING = "\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:\n"
INSIDE = "\t   - [{}] joined but didn't finish collective #{} (count from 1)\n"
BEFORE = "\t     [{}] finished collective #{}, but didn't join collective #{} (count from 1)\n"


def report(*lagging: str, rows: Sequence[tuple[int, str, str, str]], rank: int = 3, seq: int = 1024) -> str:
    """A report as PyTorch prints it; ``rows`` are number, ``started`` or ``finished``, ranks and operation."""
    text = f"\t - [{rank}] Timeout at collective: ALLREDUCE, #{seq}\n{LAGGING}{''.join(lagging)}"
    text += "\t - Snapshot of ranks' latest states:\n"
    title = None
    for number, stage, ranks, op in rows:
        if title != (number, stage):
            text += f"\t   #{number} {stage} ranks:\n"
        title = (number, stage)
        text += f"\t     [{ranks}] {stage} {op}\n"
    return text


def read(folder: Path, text: str, nodes: str = "[n0]") -> list[Observation]:
    path = folder / "logs" / "n0" / "train.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    (folder / "incident.yaml").write_text(f"schema: 1\nid: x\njob: {{nodes: {nodes}}}\n", encoding="utf-8")
    return [item for item in read_bundle(folder).observations if item.kind.startswith("comm.")]


def lists(found: Sequence[Observation]) -> list[tuple[Scalar | None, ...]]:
    rows = [item.fields for item in found if item.kind == "comm.ranks_listed"]
    return [tuple(row.get(name) for name in ("stage", "ranks", "seq", "op")) for row in rows]


def told(found: Sequence[Observation], kind: str = "comm.rank_behind") -> list[int | None]:
    return [item.rank for item in found if item.kind == kind]


def test_every_row_of_the_snapshot_is_listed(tmp_path: Path) -> None:
    rows = [(1023, "started", "5", "ALLREDUCE"), (1023, "finished", "6", "ALLREDUCE")]
    rows += ((1024, "started", "0, 1, 2, 3, 7", "ALLREDUCE"), (1024, "started", "4", "BROADCAST"))
    found = read(tmp_path, report(INSIDE.format(5, 1023), BEFORE.format(6, 1023, 1024), rows=rows))
    assert lists(found) == [
        ("started", "5", 1023, "ALLREDUCE"),
        ("finished", "6", 1023, "ALLREDUCE"),
        ("started", "0-3,7", 1024, "ALLREDUCE"),
        ("started", "4", 1024, "BROADCAST"),
    ]
    assert told(found) == [5, 6]
    assert told(found, "comm.operation_mismatch") == [4]


def test_ranks_that_all_are_in_one_operation_are_not_behind(tmp_path: Path) -> None:
    everybody = ", ".join(map(str, range(8)))
    found = read(tmp_path, report(INSIDE.format(everybody, 1024), rows=((1024, "started", everybody, "ALLREDUCE"),)))
    assert told(found) == []
    assert lists(found) == [("started", "0-7", 1024, "ALLREDUCE")]


def test_an_even_split_makes_nobody_the_odd_one(tmp_path: Path) -> None:
    rows = ((1024, "started", "0, 1", "ALLREDUCE"), (1024, "started", "2, 3", "BROADCAST"))
    found = read(tmp_path, report(INSIDE.format("0, 1, 2, 3", 1024), rows=rows))
    assert told(found, "comm.operation_mismatch") == []


def test_a_report_that_was_cut_says_what_its_lines_say(tmp_path: Path) -> None:
    whole = report(BEFORE.format("5, 6", 1023, 1024), rows=((1023, "finished", "5, 6", "ALLREDUCE"),))
    found = read(tmp_path, whole.partition("\t - Snapshot")[0])
    assert told(found) == [5, 6]
    assert lists(found) == [("waiting", "3", 1024, "ALLREDUCE")]


def test_long_lists_are_listed_and_make_no_facts_of_single_ranks(tmp_path: Path) -> None:
    many = ", ".join(map(str, range(500)))
    never = f"\t - To our best knowledge, ranks [{many}] are the lagging ranks that caused this timeout. "
    found = read(tmp_path, never + "They never joined any collectives\n")
    assert told(found) == []
    assert lists(found) == [("absent", "0-499", None, None)]


def test_who_writes_a_list_is_on_another_host_than_whom_it_names(tmp_path: Path) -> None:
    text = report(BEFORE.format(6, 1023, 1024), rows=((1023, "finished", "6", "ALLREDUCE"),))
    text += "[Rank 0]: Ranks 1, 5 failed to pass monitoredBarrier in 3000 ms\n"
    found = [item for item in read(tmp_path, text, nodes="[n0, n1]") if item.rank is not None]
    assert {(item.kind, item.host) for item in found} == {("comm.rank_behind", None), ("comm.barrier_missing", None)}
    assert {item.host for item in read(tmp_path, text) if item.rank is not None} == {"n0"}


def test_the_list_of_a_barrier_is_whole_and_single_ranks_are_not(tmp_path: Path) -> None:
    line = (
        "[rank0]:[E1130 13:33:40.229271962 ProcessGroupGloo.cpp:2664] [Rank 0]: {} failed to pass monitoredBarrier in "
    )
    found = read(tmp_path, "".join(line.format(ranks) + "3000 ms\n" for ranks in ("Rank 1", "Rank 5", "Ranks 1, 5")))
    absent = [item.fields for item in found if item.fields.get("stage") == "absent"]
    assert [(item["ranks"], item["whole"]) for item in absent] == [("1", False), ("5", False), ("1,5", True)]
    assert told(found, "comm.barrier_missing") == [1, 5, 1, 5]
