"""Tables of switch shells: a header line, a ruler of dashes, rows; and sessions of several commands in one file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from engine.facts.model import CounterSample, Observation, Reading, Scalar, Source
from facts_adapters.adapter import Context, EvidenceFile, Line

_RULER = re.compile(r"^\s*-{2,}(?:\s+-{2,})*\s*$")
_PROMPT = re.compile(
    r"^(?:(?P<user>[\w.-]+)@(?P<at>[\w.-]+):[^$#>]{0,40}[$#]|(?P<name>[A-Za-z][\w.-]*)(?:\([\w./-]+\))?[#>]|<(?P<vrp>[\w.-]+)>|\[~?(?P<sys>[\w.-]+)\])"
    r"\s*(?P<command>\S.*)?$"
)
_CLEARED = re.compile(r"Last cached time was (?P<stamp>.+?)\.?\s*$")


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table: its line and its cells by column title."""

    line: Line
    cells: Mapping[str, str]


@dataclass
class Table:
    """A table with the command that printed it, the lines above its header, and the time known for it."""

    columns: tuple[str, ...]
    header: Line
    title: str = ""
    command: str = ""
    host: str | None = None
    when: Reading | None = None
    cleared: Reading | None = None
    """Since when the numbers count, where the table says so."""
    rows: list[Row] = field(default_factory=list)


@dataclass
class _Session:
    host: str | None = None
    command: str = ""
    when: Reading | None = None
    cleared: Reading | None = None
    above: list[Line] = field(default_factory=list)


def prompt(text: str) -> re.Match[str] | None:
    """The shell prompt at the beginning of a line, with the host's name and the command behind it."""
    match = _PROMPT.match(text)
    return match if match and (match["user"] or match["command"]) else None


def host_of(match: re.Match[str]) -> str:
    """The host that a prompt names."""
    return str(match["at"] or match["name"] or match["vrp"] or match["sys"])


LONGEST_LINE = 2_000
"""Characters of a line beyond which it is no line of a switch shell."""


def lines(file: EvidenceFile) -> Iterator[Line]:
    """The lines of a file that are not longer than any line a switch shell prints."""
    return (line for line in file.lines() if len(line.text) <= LONGEST_LINE)


def tables(file: EvidenceFile, context: Context, header: re.Pattern[str] | None = None) -> Iterator[Table]:
    """All tables with a ruler in a file, in order.

    A line like ``header`` begins one although ``grep`` left its ruler out.
    """
    session = _Session(when=context.snapshot_time(file.path))
    table: Table | None = None
    spans: list[tuple[int, int]] = []
    for line in lines(file):
        text = line.text.rstrip()
        shell = prompt(text)
        if shell or not text.strip():
            if table:
                yield table
            table = None
            session.above = []
            if shell:
                session.host, session.command = host_of(shell), shell["command"] or ""
                session.cleared = None
        elif _RULER.match(text) and session.above:
            if table:
                yield table
            spans = [match.span() for match in re.finditer(r"-+", text)]
            table = _begin(session, spans)
        elif header and header.match(text):
            if table:
                yield table
                table = None
            session.above = [*session.above[-3:], line]
        elif header and not table and session.above and header.match(session.above[-1].text):
            spans = titles(session.above[-1].text)
            table = _begin(session, spans)
            table.rows.append(Row(line, dict(zip(table.columns, cells(text, spans), strict=False))))
        elif table:
            table.rows.append(Row(line, dict(zip(table.columns, cells(text, spans), strict=False))))
        else:
            _note(session, line, context)
    if table:
        yield table


def titles(text: str) -> list[tuple[int, int]]:
    """The columns below a header without ruler: each reaches to the next title."""
    starts = [match.start() for match in re.finditer(r"\S+(?: \S+)*", text)]
    ends = [start - 2 for start in starts[1:]]
    return list(zip(starts, [*ends, len(text)], strict=True))


def _begin(session: _Session, spans: Sequence[tuple[int, int]]) -> Table:
    header = session.above[-1]
    title = session.above[-2].text.strip() if len(session.above) > 1 else ""
    columns = tuple(cells(header.text, spans))
    table = Table(columns, header, title, session.command, session.host, session.when, session.cleared)
    session.above = []
    return table


def _note(session: _Session, line: Line, context: Context) -> None:
    """Remember a line above a table: a date, the time of the last clearing, or the header."""
    cleared = _CLEARED.search(line.text)
    if cleared:
        session.cleared = context.reading(cleared["stamp"])
        return
    stamp = context.reading(line.text.strip()) if re.search(r"\d:\d\d", line.text) else None
    if stamp:
        session.when = stamp
    else:
        session.above = [*session.above[-3:], line]


def cells(text: str, spans: Sequence[tuple[int, int]]) -> list[str]:
    """The cells of a row by the ruler's columns; by runs of blanks where the row does not keep to them."""
    straight = all(start == 0 or start >= len(text) or text[start - 1] == " " for start, _ in spans) and all(
        end >= len(text) or text[end] == " " for _, end in spans[:-1]
    )
    if straight:
        last = len(spans) - 1
        return [text[start : None if i == last else end].strip() for i, (start, end) in enumerate(spans)]
    parts = re.split(r"\s{2,}", text.strip())
    return parts if len(parts) == len(spans) else text.split()


_SHORT = {
    "Et": "Ethernet",
    "Eth": "Ethernet",
    "Ma": "Management",
    "Po": "Port-Channel",
    "WGE": "Twenty-FiveGigE",
    "HGE": "HundredGigE",
    "THGE": "TwoHundredGigE",
    "FHGE": "FourHundredGigE",
}


def port_name(name: str) -> str:
    """The full name of a port: ``Et1/1`` and ``Eth1/1`` are ``Ethernet1/1``, ``HGE1/0/1`` is ``HundredGigE1/0/1``."""
    match = re.match(r"(Eth?|Ma|Po|WGE|HGE|THGE|FHGE)(\d[\d/:]*)$", name)
    return _SHORT[match[1]] + match[2] if match else name


def whole(text: str | None) -> int | None:
    """A count with thousands separators; ``None`` for ``N/A`` and anything else."""
    digits = (text or "").strip().replace(",", "")
    return int(digits) if digits.isdecimal() else None


def observation(
    kind: str,
    source: Source,
    fields: Mapping[str, Scalar | None],
    *,
    host: str | None = None,
    port: str | None = None,
    when: Reading | None = None,
) -> Observation:
    """An observation of a switch whose unknown fields are left out."""
    known = {name: value for name, value in fields.items() if value is not None}
    return Observation(kind, source, known, host=host, port=port, when=when)


@dataclass(frozen=True, slots=True)
class Counters:
    """Makes samples of one table: who reads, of which host, at what time, since when."""

    file: EvidenceFile
    adapter: str
    host: str | None
    when: Reading | None
    cleared: Reading | None = None

    def sample(
        self, family: str, counter: str, value: int | None, source: Source, port: str | None, queue: int | None = None
    ) -> Iterable[CounterSample]:
        """The sample; where the source states when it was cleared, a zero of that time before it."""
        if value is None:
            return
        common = {"family": family, "counter": counter, "host": self.host, "port": port, "queue": queue}
        if self.cleared and value:
            yield CounterSample(source, value=0, group="before", when=self.cleared, adapter=self.adapter, **common)  # type: ignore[arg-type]
        yield CounterSample(source, value=value, group=self.file.group, when=self.when, adapter=self.adapter, **common)  # type: ignore[arg-type]
