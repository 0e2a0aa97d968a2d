"""torchrun's failure report (``ChildFailedError``, torch 1.8 .. 2.9) and the ``error.json`` of its workers.

The "root cause" of the report is the first failure of one node only; where the worker wrote no error file its time is
the moment at which the agent noticed. So every entry becomes a ``job.process_exit`` of equal standing, and a traceback
inside an entry a ``job.exception``. torch 1.8 and 1.9 print "Root Cause:", "Other Failures:" and one ``msg`` instead of
a traceback (``torch/distributed/elastic/multiprocessing/errors/__init__.py``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from engine.facts.model import SECOND, Observation, Reading, Scalar, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.job._exceptions import fields_of, stated_exception, telling
from facts_adapters.job._outcome import outcome
from facts_adapters.text.blocks import TRACEBACK, Block, BlockLine, BlockReader, exceptions

_BEGINS = re.compile(
    r"\s*(?:(?:Other )?Failures:|Root Cause(?: \(first observed failure\))?:|time *: \d{4}-\d\d-\d\d_\d\d:\d\d:\d\d"
    r"|rank *: \d+ \(local_rank: \d+\)|exitcode *: -?\d+ \(pid: \d+\))\s*$"
)
_BELONGS = re.compile(r"\s|$|\[\d+\]:|[-=*]{10}|(?:Other )?Failures:|Root Cause")
_FIELD = re.compile(r"\s{0,4}(?P<name>time|host|rank|exitcode|error_file|traceback|msg) *: ?(?P<value>.*)")
_RANK = re.compile(r"(?P<rank>\d+) \(local_rank: (?P<local_rank>\d+)\)")
_EXIT = re.compile(r"(?P<code>-?\d+) \(pid: (?P<pid>\d+)\)")


def begins(message: str) -> bool:
    """True for the heads of the report's parts, also where the excerpt begins inside an entry."""
    return bool(_BEGINS.match(message))


def continues(_so_far: Sequence[str], message: str) -> bool:
    """True for the entries, their rules and the indented lines of their tracebacks."""
    return bool(_BELONGS.match(message))


def read(block: Block, context: Context) -> Iterator[Observation]:
    """``job.process_exit`` and ``job.exception`` of each entry of the report."""
    for entry in _entries(block.lines):
        values = {name: (line, value) for name, line, value in entry}
        if "exitcode" in values:
            yield from _failure(block, context, values)


def _entries(lines: Sequence[BlockLine]) -> Iterator[list[tuple[str, int, str]]]:
    """The entries as (field, line, value); a traceback's value holds its further lines."""
    entry: list[tuple[str, int, str]] = []
    for line in lines:
        field = _FIELD.match(line.text)
        in_traceback = bool(entry) and entry[-1][0] == "traceback"
        if field and not (in_traceback and line.text.startswith("    ")):
            if field["name"] == "time" and entry:
                yield entry
                entry = []
            entry.append((field["name"], line.number, field["value"]))
        elif in_traceback and line.text.startswith("  "):
            name, number, value = entry[-1]
            entry[-1] = (name, number, f"{value}\n{line.text[2:]}")
        elif entry and not line.text.startswith(" "):
            yield entry
            entry = []
    if entry:
        yield entry


def _failure(block: Block, context: Context, values: dict[str, tuple[int, str]]) -> Iterator[Observation]:
    number, text = values["exitcode"]
    exit_status, ranks = _EXIT.search(text), _RANK.search(values.get("rank", (0, ""))[1])
    if not exit_status:
        context.warn(block.path, number, "torchrun failure entry without exit code and pid")
        return
    when = context.reading(values["time"][1].strip().replace("_", " ")) if "time" in values else None
    host = block.host or values.get("host", (0, ""))[1].strip() or None
    rank = int(ranks["rank"]) if ranks else block.rank
    fields: dict[str, Scalar] = {"reporter": "torchrun", "pid": int(exit_status["pid"])}
    fields |= outcome(int(exit_status["code"]))
    if ranks:
        fields["local_rank"] = int(ranks["local_rank"])
    yield Observation("job.process_exit", block.source(number), fields, host=host, rank=rank, when=when)
    line, trace = values.get("traceback", (0, ""))
    if TRACEBACK in trace:
        yield from _exception(block, line, trace, host, rank, when)
    line, stated = values.get("msg", (0, ""))
    said = stated_exception(stated.strip().strip('"'))
    if said:
        source = Source(block.path, line, stated.strip()[:2000])
        yield Observation(said[0], source, said[1], host=host, rank=rank, when=when)


def _exception(
    block: Block, line: int, trace: str, host: str | None, rank: int | None, when: Reading | None
) -> Iterator[Observation]:
    lines = tuple(BlockLine(line + index, text) for index, text in enumerate(trace.splitlines()))
    errors = exceptions(Block(block.path, lines))
    found = telling(errors, [True] * len(errors))
    if found:
        error, row = found
        source = Source(block.path, error.line, f"{error.name}: {error.message}"[:2000])
        yield Observation(row.kind or "", source, fields_of(error, row), host=host, rank=rank, when=when)


def sniff_error_file(head: Head) -> Verdict:
    """An ``error.json``: a message with ``extraInfo`` and its epoch time, or with nothing but a text (torch 1.8)."""
    text = head.text.lstrip()
    if not text.startswith("{") or '"message"' not in text[:200]:
        return Verdict(0.0, "no message")
    named = head.path.rpartition("/")[2] == "error.json"
    fits = "extraInfo" in text or named
    return Verdict(0.95 if fits else 0.0, "torchelastic error file" if fits else "no extraInfo")


def read_error_file(file: EvidenceFile, context: Context) -> Iterable[Observation]:
    """The exception of one worker with its time (epoch seconds, UTC)."""
    with file.open() as stream:
        raw = stream.read(4 << 20)
    try:
        content = json.loads(raw)["message"]
    except (ValueError, KeyError, TypeError, RecursionError):
        context.warn(file.path, 1, "no torchelastic error file after all")
        return
    text, extra = _message(content)
    said = stated_exception(text)
    if said:
        when = _epoch(extra.get("timestamp"))
        yield Observation(said[0], Source(file.path, 1, text[:2000]), said[1], when=when)


def _message(content: Any) -> tuple[str, dict[str, Any]]:
    if isinstance(content, dict):
        extra = content.get("extraInfo")
        return str(content.get("message", "")), extra if isinstance(extra, dict) else {}
    return str(content), {}


def _epoch(value: Any) -> Reading | None:
    try:
        seconds = int(float(value))
    except (TypeError, ValueError, OverflowError):
        return None
    if not 0 < seconds < 1 << 36:
        return None
    return Reading(seconds * SECOND, seconds * SECOND + SECOND - 1, "utc")


BLOCK = BlockReader(
    name="torchelastic_report",
    literals=(
        *("Failures:", "Root Cause (first observed failure):", "  time      : ", " (local_rank: "),
        *("exitcode  : ", "exitcode : ", "exitcode: ", "Root Cause:"),
    ),
    begins=begins,
    continues=continues,
    read=read,
    emits=("job.process_exit", "job.exception"),
    samples=(
        Sample(
            "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
            "============================================================\n"
            "train.py FAILED\n"
            "------------------------------------------------------------\n"
            "Failures:\n"
            "[1]:\n"
            "  time      : 2026-11-30_13:34:49\n"
            "  host      : gpu12.cluster\n"
            "  rank      : 10 (local_rank: 2)\n"
            "  exitcode  : 3 (pid: 12477)\n"
            "  error_file: <N/A>\n"
            "  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html\n"
            "------------------------------------------------------------\n"
            "Root Cause (first observed failure):\n"
            "[0]:\n"
            "  time      : 2026-11-30_13:34:48\n"
            "  host      : gpu12.cluster\n"
            "  rank      : 9 (local_rank: 1)\n"
            "  exitcode  : -9 (pid: 12476)\n"
            "  error_file: <N/A>\n"
            "  traceback : Signal 9 (SIGKILL) received by PID 12476\n"
            "============================================================\n",
            (
                ("job.process_exit", {"rank": 10, "exit_code": 3, "signal": 0, "host": "gpu12"}),
                ("job.process_exit", {"rank": 9, "signal": 9, "pid": 12476, "local_rank": 1}),
            ),
        ),
        Sample(
            "Root Cause (first observed failure):\n"
            "[0]:\n"
            "  time      : 2026-11-30_13:33:33\n"
            "  host      : gpu12\n"
            "  rank      : 1 (local_rank: 1)\n"
            "  exitcode  : 1 (pid: 11637)\n"
            "  error_file: /tmp/torchelastic_k2/none_nj/attempt_0/1/error.json\n"
            "  traceback : Traceback (most recent call last):\n"
            '    File "/opt/train/exc.py", line 6, in main\n'
            "      raise ValueError('boom')\n"
            "  ValueError: boom\n"
            "  \n"
            "============================================================\n",
            (
                ("job.process_exit", {"rank": 1, "exit_code": 1, "signal": 0}),
                ("job.exception", {"rank": 1, "error": "ValueError", "message": "boom", "class": "application"}),
            ),
        ),
        Sample(
            "*****************************************\n       train.py FAILED       \n"
            "=========================================\nRoot Cause:\n[0]:\n"
            "  time: 2021-08-10_15:02:35\n  rank: 4 (local_rank: 0)\n  exitcode: -9 (pid: 2123)\n"
            '  error_file: <N/A>\n  msg: "Signal 9 (SIGKILL) received by PID 2123"\n'
            "=========================================\nOther Failures:\n[1]:\n"
            "  time: 2021-08-10_15:02:36\n  rank: 5 (local_rank: 1)\n  exitcode: 1 (pid: 2124)\n"
            '  error_file: /tmp/t/none_x/attempt_0/1/error.json\n  msg: "ValueError: boom"\n'
            "*****************************************\n",
            (
                ("job.process_exit", {"rank": 4, "signal": 9, "pid": 2123, "local_rank": 0}),
                ("job.process_exit", {"rank": 5, "exit_code": 1, "signal": 0}),
                ("job.exception", {"rank": 5, "error": "ValueError", "message": "boom"}),
            ),
        ),
        Sample(
            "  exitcode  : -11 (pid: 812)\n  error_file: <N/A>\n"
            "  traceback : Signal 11 (SIGSEGV) received by PID 812\n",
            (("job.process_exit", {"signal": 11, "pid": 812}),),
        ),
        Sample("Failures:\n  <NO_OTHER_FAILURES>\n  time to first byte : 12 ms\n"),
    ),
)

ADAPTER = Adapter(
    name="torchelastic_error_file",
    branch="job",
    emits=("job.exception",),
    coverage="job_log",
    sniff=sniff_error_file,
    read=read_error_file,
    samples=(
        Sample(
            '{"message": {"message": "ValueError: boom", "extraInfo": {"py_callstack": "...", "timestamp": '
            '"1796045613"}}}',
            (("job.exception", {"error": "ValueError", "message": "boom", "class": "application"}),),
            path="attempt_0/1/error.json",
        ),
        Sample(
            '{"message": "ValueError: boom"}',
            (("job.exception", {"error": "ValueError", "message": "boom"}),),
            path="none_x/attempt_0/1/error.json",
        ),
        Sample('{"message": "the service is up", "status": 200}', path="health/answer.json"),
        Sample(
            '{"message": {"message": "RendezvousClosedError: ", "extraInfo": {"py_callstack": "", "timestamp": '
            '"1796045613"}}}',
            path="attempt_0/1/error.json",
        ),
    ),
)
