"""What a Python stack does (``knowledge/builtin/profiles/stack_frames.yaml``)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from engine.authored import load_document
from engine.facts.model import Observation, Scalar, Source
from facts_adapters.job._exceptions import library
from knowledge import BUILTIN


@dataclass(frozen=True, slots=True)
class StackFrame:
    """A frame: function, file and line, and where it stands in the evidence (0: with its thread)."""

    function: str
    file: str
    line: int
    place: int = 0

    def __str__(self) -> str:
        """The frame as py-spy prints it."""
        return f"{self.function} ({self.file}:{self.line})"


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread's frames, innermost first, and where it stands in its file."""

    name: str
    frames: tuple[StackFrame, ...]
    source: Source
    pid: int | None = None
    active: bool = False
    main: bool = False


@dataclass(frozen=True, slots=True)
class _Profile:
    strong: tuple[tuple[str, re.Pattern[str]], ...]
    weak: tuple[tuple[str, re.Pattern[str]], ...]
    covers: Mapping[str, Sequence[str]]
    idle_threads: re.Pattern[str]
    main_threads: re.Pattern[str]


@cache
def _profile() -> _Profile:
    values = load_document(BUILTIN / "profiles" / "stack_frames.yaml").value
    return _Profile(
        tuple((row["where"], re.compile(row["frame"])) for row in values["strong"]),
        tuple((row["where"], re.compile(row["frame"])) for row in values["weak"]),
        values["covers"],
        re.compile(values["idle_threads"]),
        re.compile(values["main_threads"]),
    )


def is_main(name: str) -> bool:
    """Whether a thread of this name runs the training loop."""
    return bool(_profile().main_threads.search(name))


def _first(frames: Sequence[StackFrame], rows: Sequence[tuple[str, re.Pattern[str]]]) -> tuple[int, str] | None:
    for index, frame in enumerate(frames):
        text = f"{frame.function} {frame.file}"
        for where, pattern in rows:
            if pattern.search(text):
                return index, where
    return None


def classify(frames: Sequence[StackFrame]) -> tuple[str, StackFrame] | None:
    """What the stack does and the frame that tells it; ``None`` for an empty stack."""
    profile = _profile()
    found = _first(frames, profile.strong)
    if found:
        index, where = found
        for cover, covered in profile.covers.items():
            outer = _first(frames[index + 1 :], [row for row in profile.strong if row[0] == cover])
            if where in covered and outer:
                return cover, frames[index + 1 + outer[0]]
        return where, frames[index]
    weak = _first(frames, profile.weak)
    if weak:
        return weak[1], frames[weak[0]]
    own = next((frame for frame in frames if not library(frame.file)), None)
    return ("user_code", own) if own else (("user_code", frames[0]) if frames else None)


def observe(thread: Thread) -> Observation | None:
    """``job.python_stack`` of a thread that tells something: the main one, or another busy with files or data."""
    told = classify(thread.frames)
    if told is None:
        return None
    where, frame = told
    if not thread.main:
        busy = thread.active and where in ("data_input", "checkpoint", "file_io")
        if not busy or _profile().idle_threads.search(thread.name):
            return None
    fields: dict[str, Scalar] = {"where": where, "function": str(frame), "thread": thread.name}
    if thread.pid is not None:
        fields["pid"] = thread.pid
    source = Source(thread.source.path, frame.place, str(frame)) if frame.place else thread.source
    return Observation("job.python_stack", source, fields)
