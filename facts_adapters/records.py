"""Records of the kernel log and the journal that go over several lines, written as one line each.

``dmesg -J`` (util-linux 2.38 .. 2.41) and ``journalctl -o json-pretty``, ``-o export`` and ``-o verbose`` (systemd 219
.. 257) put the time and the message of one entry into different lines, where no reader of lines can join them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence

Joined = Iterator[tuple[int, str]]
"""The number of the line that holds the message, and the whole record as a line of a log."""

_FRONT = 60
_MOST_LINES = 400
"""Lines of one record."""

_DMESG = re.compile(r'\s*"dmesg": ?\[')
_TIME = re.compile(r'\s*"time": +(?P<time>\d{1,12}\.\d{1,9}),')
_TEXT = re.compile(r'\s*"msg": ?(?P<text>".*")$')
_PRETTY = re.compile(r'\s+"(?P<key>__REALTIME_TIMESTAMP|__CURSOR|MESSAGE)" : ')
_EXPORT = re.compile(r"__CURSOR=s=")
_VERBOSE = re.compile(
    r"(?P<when>[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})? [A-Z0-9+:-]{1,10}) \[s=[0-9a-f]+;i=[0-9a-f]+;"
)
_FIELD = re.compile(r"(?:\s{4})?(?P<key>[A-Z0-9_]{1,64})=(?P<value>.*)$")
_KEPT = (
    *("MESSAGE", "SYSLOG_IDENTIFIER", "_COMM", "_PID", "_HOSTNAME", "_TRANSPORT", "_BOOT_ID"),
    *("__REALTIME_TIMESTAMP", "__MONOTONIC_TIMESTAMP", "_SOURCE_MONOTONIC_TIMESTAMP"),
)


def joiner(lines: Sequence[str]) -> Callable[[Sequence[str]], Joined] | None:
    """What joins the records of a file, by its first lines; ``None`` where its lines stand for themselves."""
    front = lines[:_FRONT]
    for mark, join in ((_DMESG, _dmesg), (_VERBOSE, _verbose), (_EXPORT, _export)):
        if any(mark.match(line) for line in front[:4]):
            return join
    keys = {match["key"] for line in front if (match := _PRETTY.match(line))}
    return _pretty if {"__REALTIME_TIMESTAMP", "__CURSOR"} <= keys else None


def _dmesg(lines: Sequence[str]) -> Joined:
    time = ""
    for number, line in enumerate(lines, start=1):
        stamp, text = _TIME.match(line), _TEXT.match(line)
        if stamp:
            time = stamp["time"]
        elif text:
            try:
                message = json.loads(text["text"])
            except ValueError:
                message = text["text"]
            yield number, f"[{time}] {message}" if time else str(message)
            time = ""


def _pretty(lines: Sequence[str]) -> Joined:
    begin = 0
    for number, line in enumerate(lines, start=1):
        if line.startswith("{"):
            begin = number
        elif line.startswith("}") and begin and number - begin < _MOST_LINES:
            try:
                record = json.loads("\n".join([*lines[begin - 1 : number - 1], "}"]))
            except (ValueError, RecursionError):
                continue
            where = next((n for n in range(begin, number) if '"MESSAGE"' in lines[n - 1]), begin)
            yield where, json.dumps(record)


def _export(lines: Sequence[str]) -> Joined:
    """Blocks of fields with an empty line behind each; a field that is not plain text has no ``=`` and is left out."""
    fields: dict[str, str] = {}
    where = 0
    for number, line in enumerate([*lines, ""], start=1):
        field = _FIELD.match(line)
        if field and field["key"] in _KEPT:
            fields.setdefault(field["key"], field["value"])
            where = number if field["key"] == "MESSAGE" else where
        elif not line.strip() and fields:
            if where:
                yield where, json.dumps(fields)
            fields, where = {}, 0


def _verbose(lines: Sequence[str]) -> Joined:
    """An entry's stamp, then its fields, indented."""
    when, where = "", 0
    fields: dict[str, str] = {}
    for number, line in enumerate([*lines, "Xxx end"], start=1):
        start, field = _VERBOSE.match(line), _FIELD.match(line)
        if field and line.startswith("    ") and when:
            if field["key"] in _KEPT:
                fields.setdefault(field["key"], field["value"])
                where = number if field["key"] == "MESSAGE" else where
        elif start or number > len(lines):
            if where:
                yield where, _as_syslog(when, fields)
            when, where, fields = start["when"] if start else "", 0, {}


def _as_syslog(when: str, fields: dict[str, str]) -> str:
    writer = (
        "kernel" if fields.get("_TRANSPORT") == "kernel" else fields.get("SYSLOG_IDENTIFIER") or fields.get("_COMM")
    )
    pid = f"[{fields['_PID']}]" if fields.get("_PID") and writer != "kernel" else ""
    return f"{when} {fields.get('_HOSTNAME', 'localhost')} {writer or 'unknown'}{pid}: {fields['MESSAGE']}"
