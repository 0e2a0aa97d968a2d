"""What an exception is: a genuine failure, an echo, or read elsewhere.

The table is ``knowledge/builtin/profiles/exceptions.yaml``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from engine.authored import load_document
from engine.facts.model import Scalar
from facts_adapters.text.blocks import Frame, PythonException
from knowledge import BUILTIN

MESSAGE_KEPT = 200
"""Characters of an exception's message that a fact keeps."""

_NAME = re.compile(r"[A-Za-z_][\w.]{1,120}")
_LIBRARY = re.compile(
    r"site-packages|dist-packages|/lib/python\d|<frozen |<string>|multiprocessing/|concurrent/futures/"
)
_LOADER = re.compile(r"torch/utils/data/(?:dataloader|_utils/(?:fetch|worker|pin_memory))\.py")
_LOADER_WORDS = re.compile(r"Caught \w+ in DataLoader worker process")


@dataclass(frozen=True, slots=True)
class ExceptionRule:
    """One row: what must fit, and the fact kind with its class; ``kind`` is ``None`` for echoes."""

    name: re.Pattern[str] | None
    message: re.Pattern[str] | None
    frames: re.Pattern[str] | None
    kind: str | None
    category: str

    def fits(self, name: str, message: str, frames: Iterable[Frame]) -> bool:
        """Whether every part that the row states fits."""
        if self.name and not self.name.fullmatch(name):
            return False
        if self.message and not self.message.search(message):
            return False
        return not self.frames or any(self.frames.search(f"{frame.file} {frame.function}") for frame in frames)


def _row(values: Mapping[str, Any]) -> ExceptionRule:
    patterns = {key: re.compile(values[key]) if key in values else None for key in ("name", "message", "frames")}
    kind = values["emits"]
    return ExceptionRule(**patterns, kind=None if kind == "none" else str(kind), category=str(values.get("class", "")))


@cache
def table() -> tuple[ExceptionRule, ...]:
    """The rows in order; the last one fits everything."""
    profile = load_document(BUILTIN / "profiles" / "exceptions.yaml").value
    return (*(_row(row) for row in profile["rules"]), _row(profile["default"]))


def classify(name: str, message: str, frames: Sequence[Frame] = ()) -> ExceptionRule:
    """The first row that fits; ``name`` may be dotted."""
    short = name.rpartition(".")[2]
    return next(row for row in table() if row.fits(short, message, frames))


def default() -> ExceptionRule:
    """The row for what no other row knows."""
    return table()[-1]


def fields_of(error: PythonException, row: ExceptionRule) -> dict[str, Scalar]:
    """Fields of ``job.exception``: class name, first line of the message, category, place in user code."""
    found: dict[str, Scalar] = {"error": error.name.rpartition(".")[2], "class": row.category}
    message = error.message.partition("\n")[0].strip()
    if message:
        found["message"] = message[:MESSAGE_KEPT]
    place = location(error.frames)
    if place:
        found["location"] = place
    if _LOADER_WORDS.match(message) or any(_LOADER.search(frame.file) for frame in error.frames):
        found["raised_in"] = "data_loader"
    return found


def stated_exception(text: str) -> tuple[str, dict[str, Scalar]] | None:
    """Kind and fields of an exception given as ``Name: text``; ``None`` where it is the echo of another failure."""
    name, colon, message = text.partition(":")
    if not colon or not _NAME.fullmatch(name.strip()):
        return None
    row = classify(name.strip(), message.strip())
    if row.kind is None:
        return None
    fields: dict[str, Scalar] = {"error": name.strip().rpartition(".")[2], "class": row.category}
    if message.strip():
        fields["message"] = message.strip().partition("\n")[0][:MESSAGE_KEPT]
    return row.kind, fields


def library(path: str) -> bool:
    """Whether a source file belongs to a library rather than to the program."""
    return bool(_LIBRARY.search(path))


def location(frames: Sequence[Frame]) -> str:
    """``file:line`` of the innermost frame outside libraries, empty where there is none."""
    for frame in reversed(frames):
        if not library(frame.file):
            return f"{frame.file}:{frame.line}"
    return ""


def telling(errors: Sequence[PythonException], caused: Sequence[bool]) -> tuple[PythonException, ExceptionRule] | None:
    """The exception of a chain that says what went wrong, ``None`` where all are echoes.

    ``caused[i]`` tells that exception ``i`` is the direct cause of the next one; else the next one was raised while
    ``i`` was being handled, and what was being handled (a cache miss, say) usually tells less.
    """
    rows = [classify(error.name, error.message, error.frames) for error in errors]
    best: int | None = None
    for index, row in enumerate(rows):
        if row.kind is None:
            continue
        if best is None or not all(caused[best:index]):
            best = index
    return None if best is None else (errors[best], rows[best])
