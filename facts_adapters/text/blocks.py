"""Records that span several lines: a traceback, a launcher's failure report, a table inside a log.

A block reader names the literals that can begin a block and says, line by line, how far the block goes. The text
reader collects the lines of one writer (interleaved lines of other ranks are left out) and hands the joined block on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from engine.facts.model import Observation, Reading, Source
from facts_adapters.adapter import Context, Sample

LONGEST_BLOCK = 2_000
"""Lines after which a block is cut."""


@dataclass(frozen=True, slots=True)
class BlockLine:
    """A line of a block: its number in the file, its message without prefixes (indentation kept), its own stamp."""

    number: int
    text: str
    when: Reading | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """The lines of one record, of one writer.

    ``when`` is the stamp of the block's own prefixes (of its last line that has one); ``after`` and ``until`` are the
    stamped neighbours in the file where it has none. ``host`` and ``rank`` come from the prefixes or the file.
    """

    path: str
    lines: tuple[BlockLine, ...]
    host: str | None = None
    rank: int | None = None
    local_rank: int | None = None
    when: Reading | None = None
    after: Reading | None = None
    until: Reading | None = None

    @property
    def text(self) -> str:
        """The messages joined with newlines."""
        return "\n".join(line.text for line in self.lines)

    def source(self, number: int) -> Source:
        """The source for the line ``number`` of the file; its text is the message as it stands in the block."""
        text = next((line.text for line in self.lines if line.number == number), "")
        return Source(self.path, number, text[:2000])


Begins = Callable[[str], bool]
"""Whether a message begins a block; asked only for lines that hold one of the reader's literals."""

Continues = Callable[[Sequence[str], str], bool]
"""Whether a message goes on with the block whose messages so far are given."""


@dataclass(frozen=True, slots=True)
class BlockReader:
    """A reader of multi-line records inside text files."""

    name: str
    literals: tuple[str, ...]
    begins: Begins
    continues: Continues
    read: Callable[[Block, Context], Iterable[Observation]]
    emits: tuple[str, ...] = ()
    samples: tuple[Sample, ...] = field(default=())


TRACEBACK = "Traceback (most recent call last):"

_FRAME = re.compile(r"(?:\s+|> )File \"(?P<file>[^\"]*)\", line (?P<line>\d+)(?:, in (?P<function>.*))?")
_EXCEPTION = re.compile(r"(?P<name>[A-Za-z_][\w.]*)(?:: ?(?P<message>.*))?$", re.DOTALL)
_CHAINED = (
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
)


@dataclass(frozen=True, slots=True)
class Frame:
    """One stack frame of a traceback, outermost first."""

    file: str
    line: int
    function: str


@dataclass(frozen=True, slots=True)
class PythonException:
    """One exception of a (possibly chained) traceback.

    ``name`` is the dotted class name as printed, ``message`` may hold several lines, ``line`` is where the exception
    line stands, ``first`` where its traceback begins. ``chained`` tells that a later one followed in the same block.
    """

    name: str
    message: str
    line: int
    first: int
    last: int
    frames: tuple[Frame, ...] = ()
    chained: bool = False


def traceback_begins(message: str) -> bool:
    """True for the line that opens a Python traceback, also glued behind other text."""
    return TRACEBACK in message


def traceback_continues(so_far: Sequence[str], message: str) -> bool:
    """True for frames, source and marker lines, the exception line and the lines of a long message, and for chains."""
    closed = _closing_line(so_far)
    if closed is None:
        return _inner(message) or bool(_EXCEPTION.match(message)) or message.startswith("Exception")
    if message in _CHAINED or TRACEBACK in message or not message.strip():
        return len(so_far) - closed < 4 or bool(message.strip())
    if so_far[-1] in _CHAINED or (not so_far[-1].strip() and message[:1] not in (" ", "\t")):
        return message in _CHAINED
    return message[:1] in (" ", "\t") and len(so_far) - closed < 40


def _inner(text: str) -> bool:
    """True for the lines between head and exception; loguru marks the frame that caught it with ``>``."""
    return text[:1] in (" ", "\t", "") or text.startswith('> File "')


def _closing_line(lines: Sequence[str]) -> int | None:
    """Index of the exception line of the last traceback in ``lines``, ``None`` while its frames go on."""
    for index in range(len(lines) - 1, -1, -1):
        if TRACEBACK in lines[index]:
            return None
        if not _inner(lines[index]) and lines[index] not in _CHAINED:
            return index
    return None


def exceptions(block: Block) -> list[PythonException]:
    """The exceptions of a traceback block in the order they are printed; the last one is what ended the program."""
    found: list[PythonException] = []
    first = block.lines[0].number if block.lines else 0
    frames: list[Frame] = []
    index = 0
    lines = block.lines
    while index < len(lines):
        text = lines[index].text
        frame = _FRAME.match(text)
        if TRACEBACK in text:
            first, frames = lines[index].number, []
        elif frame:
            frames.append(Frame(frame["file"], int(frame["line"]), frame["function"] or ""))
        elif not _inner(text) and text not in _CHAINED:
            index, record = _exception(lines, index, first, tuple(frames))
            if record:
                found.append(record)
            continue
        index += 1
    return [
        PythonException(e.name, e.message, e.line, e.first, e.last, e.frames, chained=i < len(found) - 1)
        for i, e in enumerate(found)
    ]


def _exception(
    lines: Sequence[BlockLine], index: int, first: int, frames: tuple[Frame, ...]
) -> tuple[int, PythonException | None]:
    match = _EXCEPTION.match(lines[index].text)
    if not match:
        return index + 1, None
    message = [match["message"] or ""]
    end = index + 1
    while end < len(lines) and TRACEBACK not in lines[end].text and lines[end].text not in _CHAINED:
        message.append(lines[end].text)
        end += 1
    record = PythonException(
        match["name"], "\n".join(message).strip(), lines[index].number, first, lines[end - 1].number, frames
    )
    return end, record
