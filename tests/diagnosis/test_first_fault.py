"""Which line is named the first fault where several state the same event, or a symptom stands beside the fault."""

from __future__ import annotations

from engine.facts.model import Fact, Observation
from engine.rules.pack import load_packs
from tests.diagnosis.test_diagnose import run
from tests.facts.building import seen, utc

KNOWLEDGE = load_packs()


def first(*items: Observation) -> Fact:
    found = run(KNOWLEDGE, *items).first_fault
    assert found is not None
    return found


def signalled(line: int, second: int, path: str = "0.err") -> Observation:
    when = utc(f"2026-03-01T10:00:{second:02d}")
    return seen("job.agent_signalled", path, line, host="n1", when=when, lag=(0, 0), signal=15, reporter="submitit")


def cancelled(line: int, second: int) -> Observation:
    when = utc(f"2026-03-01T10:00:{second:02d}")
    return seen("job.cancelled", "0.err", line, host="n1", when=when, lag=(0, 0), reason="preemption", entity="job")


def test_of_one_event_that_a_file_tells_twice_the_upper_line_is_named() -> None:
    assert first(signalled(4, 5), cancelled(6, 6)).source.line == 4


def test_the_record_is_named_where_the_signal_follows_it() -> None:
    assert first(cancelled(4, 5), signalled(6, 6)).source.line == 4


def wait(rank: int, line: int, numel: int) -> Observation:
    return seen(
        "comm.collective_timeout",
        "first.log",
        line,
        rank=rank,
        when=utc("2026-03-01T10:00:00"),
        backend="nccl",
        op="ALLREDUCE",
        seq=7,
        pg="0",
        numel=numel,
        elapsed_ms=600_000,
    )


def mismatch() -> Observation:
    fields = {"aspect": "shape", "expected": "8", "found": "9"}
    return seen("comm.operation_mismatch", "second.log", 25, rank=0, **fields)


def test_a_line_that_states_the_fault_comes_before_the_time_outs_that_show_it() -> None:
    waits = [wait(0, 1, 9), *(wait(rank, rank + 1, 8) for rank in range(1, 8))]
    assert first(*waits, mismatch()).kind == "comm.operation_mismatch"
    assert first(*waits).kind == "comm.collective_timeout"


def test_a_fetch_that_fails_comes_before_the_undated_stack_of_its_rank() -> None:
    when = utc("2026-03-01T09:55:00")
    text = "Retrying after connection broken by 'ReadTimeoutError"
    fetch = seen("job.data_wait", "first.log", 3, rank=5, when=when, what="download", text=text)
    stack = seen("job.python_stack", "stack.txt", 7, rank=5, where="data_input", function="_try_get_data (d.py:1)")
    other = seen("job.python_stack", "other.txt", 7, rank=2, where="collective", function="all_reduce (d.py:1)")
    assert first(stack, other, fetch, wait(2, 9, 8)).source.line == 3
