"""The findings of NCCL's library state report as text: one for each heading below "Errors" and "Warnings".

What the lines say: ``rasClientRunComms`` of ``src/ras/client_support.cc``, NCCL 2.24 to 2.30. Early 2.24 counts all
collectives together and lists missing ranks without their processes. Outliers alone are listed: of a set of ranks that
is not small there is only the count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from facts_adapters.adapter import Line
from facts_adapters.text.blocks import BlockLine

What = Literal["missing", "processes", "dead", "status", "counts"]
"""Ranks or processes without data, dead processes, ranks in different states, ranks with different counts."""

HEADER = re.compile(r"\s*#(?P<group>\d{1,9})-\d{1,9} \((?P<hash>[0-9a-f]{1,32})\) (?:INCOMPLETE|ERROR|MISMATCH)\b")

COUNTS = re.compile(r"Communicator ranks have different (?P<op>\w{1,40}) operation counts")
DEAD = re.compile(r"\b(?P<count>\d{1,9}) job process(?: is|es are|es|\(es\))? considered dead\b")
MISSING = re.compile(
    r"Missing communicator data from (?P<count>\d{1,9}) (?:(?P<rank>rank(?:s|\(s\))?)|job process(?:es|\(es\))?)(?!\w)"
)
_STATUS = re.compile(r"Communicator ranks have different status\b")

_AT = r"(?:launched up to operation (?P<at>\d{1,18})|not launched any operations)"
_MANY = re.compile(rf"\s*(?P<ranks>\d{{1,9}}) ranks? (?:have|has) {_AT}")
_RANK = re.compile(rf"\s*Rank (?P<rank>\d{{1,9}}) (?:has (?:{_AT}|status (?P<status>[A-Z]+)) )?-- (?P<place>.*)")
_MANY_STATUS = re.compile(r"\s*(?P<ranks>\d{1,9}) ranks? (?:have|has) status (?P<status>[A-Z]+)")
_ALL_RANKS = re.compile(r"\s*The (?:missing|unknown) ranks?: (?P<ranks>\d{1,9}(?:, ?\d{1,9})*)\s*$")
_PLACE = re.compile(r"GPU .{1,200}? managed by process (?P<pid>\d{1,12}) on node (?P<node>[^\s,]{1,64})")
_PROCESS = re.compile(r"\s*[Pp]rocess (?P<pid>\d{1,12}) on node (?P<node>[^\s,]{1,64})")


@dataclass(frozen=True, slots=True)
class Listed:
    """A rank (within its communicator) or a process that the report names; ``line`` is where."""

    line: int
    rank: int | None = None
    node: str | None = None
    pid: int = 0
    status: str = ""


@dataclass(slots=True)
class CountSet:
    """Ranks that launched the same number of operations, and those of them that are listed."""

    line: int
    at: int
    count: int
    listed: list[Listed] = field(default_factory=list)


@dataclass(slots=True)
class Finding:
    """One finding: ``group`` is the number of its row in the summary, ``hash`` names the communicator."""

    what: What
    line: int
    group: int | None = None
    hash: str = ""
    count: int = 0
    operation: str = ""
    sets: list[CountSet] = field(default_factory=list)
    listed: list[Listed] = field(default_factory=list)


def findings(lines: Iterable[Line | BlockLine]) -> Iterator[Finding]:
    """The findings in a row of lines; what belongs to none is passed over."""
    group, name = None, ""
    current: Finding | None = None
    for line in lines:
        header = HEADER.match(line.text)
        opened = None if header else _opened(line)
        if opened is not None:
            opened.group, opened.hash = group, name
        if (header or opened or not line.text.strip() or not line.text[0].isspace()) and current is not None:
            yield current
            current = None
        if header:
            group, name = int(header["group"]), header["hash"]
        elif opened is not None:
            current = opened
        elif line.text.strip() and not line.text[0].isspace():
            group, name = None, ""
        elif current is not None:
            _add(current, line)
    if current is not None:
        yield current


def _opened(line: Line | BlockLine) -> Finding | None:
    """The finding that the line opens."""
    text = line.text
    if match := COUNTS.search(text):
        return Finding("counts", line.number, operation=match["op"])
    if match := MISSING.search(text):
        return Finding("missing" if match["rank"] else "processes", line.number, count=int(match["count"]))
    if match := DEAD.search(text):
        return Finding("dead", line.number, count=int(match["count"]))
    return Finding("status", line.number) if _STATUS.search(text) else None


def _add(finding: Finding, line: Line | BlockLine) -> None:
    if many := _MANY.match(line.text):
        finding.sets.append(CountSet(line.number, int(many["at"] or 0), int(many["ranks"])))
    elif many_status := _MANY_STATUS.match(line.text):
        finding.operation = many_status["status"]
    elif every := _ALL_RANKS.match(line.text):
        finding.listed += [Listed(line.number, int(rank)) for rank in every["ranks"].split(",")]
    elif process := _PROCESS.match(line.text):
        finding.listed.append(Listed(line.number, None, process["node"], int(process["pid"])))
    elif rank := _RANK.match(line.text):
        _add_rank(finding, line, rank)


def _add_rank(finding: Finding, line: Line | BlockLine, rank: re.Match[str]) -> None:
    place = _PLACE.match(rank["place"])
    status = rank["status"] or (finding.operation if finding.what == "status" else "")
    node, pid = (place["node"], int(place["pid"])) if place else (None, 0)
    listed = Listed(line.number, int(rank["rank"]), node, pid, status)
    if finding.what != "counts":
        finding.listed.append(listed)
    elif " has " not in line.text.partition("--")[0]:
        if finding.sets:
            finding.sets[-1].listed.append(listed)
    else:
        finding.sets.append(CountSet(line.number, int(rank["at"] or 0), 1, [listed]))
