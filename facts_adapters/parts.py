"""The parts of a file that shows several: fences of a Markdown text, output of ``tail``, a bug report of NVIDIA.

Each part is read as a file of its own, because what stands above in another part need not have happened before. The
sections of an ``nvidia-bug-report.log`` (nvidia-bug-report.sh of driver 450 .. 580) begin with a rule of 44 underscores
and then have ``*** /path`` or the command.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from facts_adapters.adapter import Head
from facts_adapters.discovery import choose, registry
from facts_adapters.records import joiner
from facts_adapters.text.lines import decode
from facts_adapters.text.pasted import Wrapping, wrapping

LONGEST_PASTE = 32 << 20
"""Bytes of a file beyond which it is read as it stands."""

MOST_PARTS = 2_000
"""Parts of one file; the last one holds all the rest."""

_FENCE = re.compile(r"(?P<indent>[ \t]*)(?P<mark>`{3,}|~{3,})(?P<info>[^`]*)$")
_SHOWN = re.compile(r"==> (?P<path>\S.*?) <==\s*$")
_RULE = "_" * 44
_BUG_REPORT = "Start of NVIDIA bug report log file"
_LISTED = "*** ls: "
_FRONT = 400
"""Lines at the beginning that tell what a file or a section is."""
_HEAD = 64 * 1024
_LONGEST_LINE = 1_000
_PROSE_FILE = re.compile(r"(?:\.(?:md|markdown|mdx|rst|txt|text)|(?:^|/)[^./]+)$", re.IGNORECASE)
_TOKEN = re.compile(
    r"[\w.@=+-]*/[\w.@=+/-]*\w|[\w@=+-][\w.@=+-]*\.(?:log|txt|out|err|json|ya?ml|csv|conf|jsonl|html?)\b"
)
_MOST_WORDS = 6
_LONGEST_TITLE = 80


@dataclass(frozen=True, slots=True)
class Part:
    """Lines of a file that belong together.

    ``raw`` is what stands in the file, ``data`` is for the reader of log lines, ``inner`` (without the prefixes of
    collectors too) for whole-file adapters; ``numbers`` are the numbers in the file of its lines, ``title`` is what is
    written above it, ``prose`` marks text of which no adapter reads anything.
    """

    raw: bytes
    data: bytes
    inner: bytes
    numbers: Sequence[int]
    title: str = ""
    prose: bool = False

    def line(self, number: int) -> int:
        """The number in the file of the line ``number`` of the part; 0 is the part as a whole."""
        return self.numbers[min(number, len(self.numbers)) - 1] if number > 0 and self.numbers else number

    def path(self, of_file: str) -> str:
        """The path that tells host, rank and snapshot: the one that the title names, else one made of the title."""
        folder = of_file.rpartition("/")[0]
        name = titled(self.title)
        if not name:
            return of_file
        return f"{folder}/{name}" if folder else name


def titled(title: str) -> str:
    """A path in a title, else the title as the name of a file; empty where it is a sentence."""
    plain = title.strip(" \t#*_`:>-=")
    token = _TOKEN.search(plain)
    if token:
        return token[0].strip("/")
    words = plain.split()
    if not words or len(words) > _MOST_WORDS or len(plain) > _LONGEST_TITLE:
        return ""
    return re.sub(r"[^\w.-]+", "_", plain).strip("_.") + ".txt"


def is_pasted(path: str, head: str) -> bool:
    """Whether the first lines of a file show that it must be taken apart or stripped."""
    lines = head.splitlines()
    return joiner(lines) is not None or bool(wrapping(lines)) or any(_marks(path, line) for line in lines)


def _marks(path: str, line: str) -> bool:
    if line.startswith(_BUG_REPORT):
        return True
    if line.startswith("==> "):
        return _SHOWN.match(line) is not None
    return ("```" in line or "~~~" in line) and bool(_PROSE_FILE.search(path) and _FENCE.match(line))


def parts(path: str, data: bytes) -> list[Part]:
    """The parts of a file, in order; every line but titles and fences is in one."""
    lines = [decode(raw) for raw in data.split(b"\n")]
    if lines and not lines[-1]:
        lines.pop()
    join = joiner(lines)
    if join is not None:
        return [_joined_records(lines, join)]
    outside = wrapping(lines).outside
    plain = [outside.strip(line) for line in lines] if outside else lines
    found = [part for part in map(_part, _at_most(MOST_PARTS, _split(path, plain))) if part.data.strip()]
    if _is_bug_report(plain):
        return [part if _known(part) else replace(part, prose=True) for part in found]
    return found


def _joined_records(lines: Sequence[str], join: Callable[[Sequence[str]], Iterator[tuple[int, str]]]) -> Part:
    """The records of a log, each as the one line that a reader of lines knows."""
    records = list(join(lines))
    data = _joined([text for _, text in records])
    return Part(_joined(lines), data, data, [number for number, _ in records])


def _is_bug_report(lines: Sequence[str]) -> bool:
    return any(line.startswith(_BUG_REPORT) for line in lines[:_FRONT])


def _known(part: Part) -> bool:
    """Whether an adapter reads a section; of a hundred others, such as lists of packages, nothing is expected."""
    lines = decode(part.inner[:_HEAD]).splitlines()
    head = Head(part.title, "\n".join(lines), tuple(line[:_LONGEST_LINE] for line in lines[:_FRONT]))
    return any(choice.taken for choice in choose(head, registry().adapters))


@dataclass(slots=True)
class _Piece:
    """Numbered lines before their own prefixes are taken off."""

    lines: list[str]
    numbers: list[int]
    title: str = ""
    prose: bool = False


def _part(piece: _Piece) -> Part:
    found: Wrapping = wrapping(piece.lines)
    outside = found.outside
    data = [outside.strip(line) for line in piece.lines] if outside else piece.lines
    inner = [found.strip(line) for line in piece.lines] if found != outside else data
    return Part(_joined(piece.lines), _joined(data), _joined(inner), piece.numbers, piece.title, piece.prose)


def _joined(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _split(path: str, lines: Sequence[str]) -> Iterator[_Piece]:
    if _is_bug_report(lines):
        yield from _sections(lines)
    elif any(line.startswith("==> ") and _SHOWN.match(line) for line in lines):
        yield from _shown(lines)
    elif _PROSE_FILE.search(path) and any(_FENCE.match(line) for line in lines if "```" in line or "~~~" in line):
        yield from _fenced(lines)
    else:
        yield _Piece(list(lines), list(range(1, len(lines) + 1)))


def _at_most(most: int, pieces: Iterable[_Piece]) -> Iterator[_Piece]:
    """The pieces, from a number on as one: each costs a look of all adapters."""
    rest = _Piece([], [])
    for count, piece in enumerate(pieces, start=1):
        if count < most:
            yield piece
        else:
            rest.lines += piece.lines
            rest.numbers += piece.numbers
    if rest.lines:
        yield rest


def _shown(lines: Sequence[str]) -> Iterator[_Piece]:
    """What ``head`` and ``tail`` print of several files."""
    piece = _Piece([], [])
    for number, line in enumerate(lines, start=1):
        match = _SHOWN.match(line) if line.startswith("==> ") else None
        if match:
            yield piece
            piece = _Piece([], [], match["path"])
        else:
            piece.lines.append(line)
            piece.numbers.append(number)
    yield piece


def _sections(lines: Sequence[str]) -> Iterator[_Piece]:
    """What stands between the rules of a bug report; the first line that is not empty is the title.

    The script ends its work early where the driver hangs, so a section that is not there says nothing.
    """
    piece = _Piece([], [])
    titled_yet = False
    for number, line in enumerate(lines, start=1):
        if line.startswith(_RULE) and not line.strip("_ "):
            yield piece
            piece, titled_yet = _Piece([], []), False
        elif not titled_yet and line.strip():
            titled_yet = True
            piece.title = line.removeprefix("*** ").strip()
        elif not line.startswith(_LISTED):
            piece.lines.append(line)
            piece.numbers.append(number)
    yield piece


def _fenced(lines: Sequence[str]) -> Iterator[_Piece]:
    """Code blocks, and the prose between them. A fence that nothing closes goes on to the next that opens."""
    piece = _Piece([], [], prose=True)
    mark, indent, title = "", "", ""
    for number, line in enumerate(lines, start=1):
        fence = _FENCE.match(line) if "```" in line or "~~~" in line else None
        closes = fence is not None and mark and fence["mark"].startswith(mark) and not fence["info"].strip()
        if fence and (not mark or closes or fence["info"].strip()):
            yield piece
            mark = "" if closes else fence["mark"]
            indent = fence["indent"]
            piece = _Piece([], [], title if mark else "", prose=not mark)
            title = ""
            continue
        if not mark and line.strip():
            title = line
        piece.lines.append(line.removeprefix(indent) if mark else line)
        piece.numbers.append(number)
    yield piece
