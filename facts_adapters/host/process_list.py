"""Process lists: ``ps aux``, ``ps -ef``, ``ps -eo pid,stat,wchan,comm`` and ``top -b`` (procps 3-4).

Only processes in uninterruptible sleep, stopped ones and zombies are told. Kernel threads in D are normal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.host._statement import state

_STATES = {"D": "uninterruptible", "T": "stopped", "t": "stopped", "Z": "zombie"}
_STATE_COLUMNS = ("STAT", "S", "STATE")
_COMMAND_COLUMNS = ("COMMAND", "CMD", "COMM", "ARGS")


def sniff(head: Head) -> Verdict:
    """A header with PID, a state and a command."""
    found = any(_header(line) for line in head.lines if "PID" in line.upper())
    return Verdict(0.9, "process list") if found else Verdict(0.0, "no header of a process list with states")


def read(file: EvidenceFile, context: Context) -> Iterator[Observation]:
    """``host.process_state`` for processes that do not run or sleep normally."""
    columns: list[str] = []
    when = context.snapshot_time(file.path)
    for line in file.lines():
        header = _header(line.text)
        if header:
            columns = header
            continue
        if not columns:
            continue
        row = dict(zip(columns, line.text.split(None, len(columns) - 1), strict=False))
        fields = _fields(row)
        if fields:
            yield state(file, line, "host.process_state", fields, when)


def _header(text: str) -> list[str]:
    names = [name.upper() for name in text.split()]
    fits = "PID" in names and any(n in names for n in _STATE_COLUMNS) and any(n in names for n in _COMMAND_COLUMNS)
    return names if fits and len(names) < 25 else []


def _fields(row: dict[str, str]) -> dict[str, Scalar]:
    status = _first(row, _STATE_COLUMNS)
    command = _first(row, _COMMAND_COLUMNS)
    if not row.get("PID", "").isdigit() or status[:1] not in _STATES or command.startswith("["):
        return {}
    if not re.fullmatch(r"[A-Za-z<+]{1,6}", status):
        return {}
    fields: dict[str, Scalar] = {"pid": int(row["PID"]), "state": _STATES[status[0]], "process": _program(command)}
    if row.get("WCHAN", "-") not in ("-", "0"):
        fields["waits_in"] = row["WCHAN"]
    return fields


def _first(row: dict[str, str], names: Sequence[str]) -> str:
    return next((row[name] for name in names if row.get(name)), "")


def _program(command: str) -> str:
    return command.split(maxsplit=1)[0].rpartition("/")[2][:64] if command.split() else ""


_AUX = """\
USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND
root           2  0.0  0.0      0     0 ?        D    Dec12   0:00 [kworker/u64:1+flush]
train       4711 99.0  1.0 912312 88121 ?        Dl   Dec12 912:11 /opt/venv/bin/python -u train.py
train       4712 99.0  1.0 912312 88121 ?        Rl   Dec12 912:11 /opt/venv/bin/python -u train.py
"""
_WCHAN = """\
    PID STAT WCHAN                            COMMAND
   4711 D    nfs_wait_bit_killable            python
"""

ADAPTER = Adapter(
    name="process_list",
    branch="host",
    emits=("host.process_state",),
    coverage=None,
    sniff=sniff,
    read=read,
    samples=(
        Sample(_AUX, (("host.process_state", {"process": "python", "pid": 4711, "state": "uninterruptible"}),)),
        Sample(_WCHAN, (("host.process_state", {"pid": 4711, "waits_in": "nfs_wait_bit_killable"}),)),
        Sample(
            "UID          PID    PPID  C STIME TTY          TIME CMD\ntrain 4711 1 99 Dec12 ? 1-22:11:09 python D\n"
        ),
    ),
)
