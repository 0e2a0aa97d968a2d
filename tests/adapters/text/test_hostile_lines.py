"""No line can make the reader slow: the cost of each step grows with the length of the line, not faster."""

from __future__ import annotations

import time

import pytest

from facts_adapters.adapter import Head
from facts_adapters.host import pressure_stall
from facts_adapters.job import progress
from facts_adapters.reader import builtin_reader
from facts_adapters.text.blocks import BlockLine
from facts_adapters.text.envelope import Profile, open_envelope
from facts_adapters.text.match import segments
from facts_adapters.text.neighbours import inline
from facts_adapters.text.stamps import reading
from tests.adapters.text.conftest import Notes

UNITS = [
    *(
        "[",
        "]",
        "1:",
        "a.",
        "a-",
        "(",
        " ",
        "0",
        "[1",
        "[a",
        "20",
        "rank ",
        "Mon ",
        "Jan 1 ",
        "{",
        '"',
        "a_",
        ":",
        "|",
        "%",
    ),
    *(
        "NCCL ",
        "[a]",
        "[1]",
        "[1] ",
        "start ",
        "error: ",
        "a:1:2 [3] ",
        "[E a",
        "\t",
        "<1>",
        "-",
        "2026-01-01 ",
        "pid=",
    ),
    *(
        "rank 1 ",
        "local_rank ",
        "local_rank: 1 (pid: ",
        "host=",
        "n[1-2],",
        "CANCELLED AT ",
        "Traceback ",
        "é",
        "\x1b[",
    ),
]


@pytest.mark.parametrize("unit", UNITS)
def test_repeated_units(unit: str) -> None:
    text = (unit * 60_000)[:60_000]
    started = time.process_time()
    known = Profile(True, frozenset({"a"}), frozenset({"a"}))
    open_envelope(text, known)
    segments(text, known)
    inline(text)
    reading(text)
    assert time.process_time() - started < 2.0


@pytest.mark.parametrize("unit", [":", "-", "a ", "1:", "0"])
def test_the_built_in_signatures(unit: str) -> None:
    """Every literal stands in a line, so that every pattern is searched."""
    reader = builtin_reader()
    literals = sorted({signature.literals[0] for signature in reader.signatures})
    data = "\n".join(f"{literal} {unit * 500}" for literal in literals).encode()
    started = time.process_time()
    reader.read("f.log", data, Notes())
    assert time.process_time() - started < 20.0


def test_a_long_line_with_a_bar_at_its_end() -> None:
    bar = "Running:  50%|#####     | 5/10 [00:05<00:05,  1.00it/s]"
    start = time.process_time()
    fields = [fields for _, fields in progress._of(BlockLine(1, "Running " * 8_000 + bar))]
    assert [(found["done"], found["total"]) for found in fields] == [(5, 10)]
    assert time.process_time() - start < 1


def test_a_look_for_pressure_averages_in_a_long_line() -> None:
    start = time.process_time()
    line = "avg10=" * 10_000
    assert pressure_stall.sniff(Head("a.txt", line, (line[:1000],))).score == 0
    assert time.process_time() - start < 0.2
