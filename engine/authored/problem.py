"""A problem in a file that a person wrote, and how it is shown.

The form is that of compilers: level, code and what is wrong, the place, the line with a caret under the culprit, then
the reason and what to do.
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Level = Literal["error", "warning"]

_WIDEST = 110
"""Display columns of a quoted line; longer lines are shown around the caret."""


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing wrong in one file; sorts by place.

    ``line`` and ``column`` are 1-based; 0 means that the problem is about the file as a whole. ``length`` is the
    number of characters that the caret underlines, ``label`` what stands beside it, ``where`` the way to the place
    in words (``rule kernel-killed-rank › when › 2``), ``notes`` what was found on the way.
    """

    path: str
    line: int
    column: int
    code: str
    message: str
    level: Level = "error"
    snippet: str = ""
    length: int = 1
    label: str = ""
    where: str = ""
    reason: str = ""
    help: str = ""
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, str | int | list[str]]:
        """Plain values for ``--format json``."""
        return {
            "level": self.level,
            "code": self.code,
            "path": self.path,
            "line": self.line,
            "column": self.column,
            "where": self.where,
            "message": self.message,
            "label": self.label,
            "reason": self.reason,
            "help": self.help,
            "notes": list(self.notes),
        }


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """``did you mean "x"?`` for the nearest of ``known``, empty where nothing is near."""
    if not isinstance(word, str):
        return ""
    options = sorted(known)
    near = difflib.get_close_matches(word, options, n=1, cutoff=0.6)
    if not near and len(word) >= 3:
        tails = [option for option in options if option.rpartition(".")[2] == word.rpartition(".")[2]]
        near = tails[:1]
    return f'did you mean "{near[0]}"?' if near else ""


def listed(words: Iterable[str], limit: int = 12) -> str:
    """The words sorted and comma-separated; beyond ``limit`` the number of the others."""
    options = sorted(words)
    shown = ", ".join(options[:limit])
    return shown if len(options) <= limit else f"{shown} and {len(options) - limit} more"


def width(text: str) -> int:
    """Display columns of a text: East Asian wide characters take two, combining marks none."""
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def render(problem: Problem) -> str:
    """The problem as text of several lines, without a line end."""
    mark = "✘" if problem.level == "error" else "⚠"
    lines = [f"{mark} {problem.code} {problem.message}"]
    place = problem.path if problem.line == 0 else f"{problem.path}:{problem.line}:{problem.column}"
    lines.append(f"  --> {place}" + (f"   ({problem.where})" if problem.where else ""))
    if problem.line and problem.snippet:
        lines.extend(_quoted(problem))
    if problem.reason:
        lines.append(f"  reason: {problem.reason}")
    lines.extend(f"  note:   {note}" for note in problem.notes)
    if problem.help:
        lines.append(f"  help:   {problem.help}")
    return "\n".join(lines)


def render_for_github(problem: Problem) -> str:
    """The problem as a workflow command, which the forge shows beside the line."""
    text = "; ".join(part for part in (problem.message, problem.label, problem.reason, problem.help) if part)
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    place = f"file={problem.path},line={max(problem.line, 1)},col={max(problem.column, 1)}"
    return f"::{problem.level} {place},title={problem.code}::{escaped}"


def _quoted(problem: Problem) -> list[str]:
    number = str(problem.line).rjust(5)
    start = max(problem.column - 1, 0)
    line, start = _shortened(_printable(problem.snippet), start)
    length = max(1, min(problem.length, len(line) - start))
    caret = " " * width(line[:start]) + "^" * max(1, width(line[start : start + length]))
    if problem.label:
        caret += f" {problem.label}"
    return [f"{number} | {line}", f"{' ' * len(number)} | {caret}"]


def _printable(line: str) -> str:
    return "".join(character if character.isprintable() else " " for character in line)


def _shortened(line: str, start: int) -> tuple[str, int]:
    """Cut a long line to a window around the caret; returns the line and the caret's place in it."""
    if width(line) <= _WIDEST:
        return line, start
    left = max(0, min(start - 30, len(line) - 60))
    if left:
        line, start = "…" + line[left:], start - left + 1
    kept, used = 0, 0
    while kept < len(line) and used + _columns(line[kept]) < _WIDEST:
        used += _columns(line[kept])
        kept += 1
    return (line[:kept] + "…" if kept < len(line) else line), start


def render_all(problems: Sequence[Problem]) -> str:
    """All problems sorted by place, with a last line that sums them up; ends with a line end unless empty."""
    ordered = sorted(problems)
    if not ordered:
        return ""
    blocks = [render(problem) for problem in ordered]
    return "\n\n".join(blocks) + f"\n\n{summary(ordered)}\n"


def summary(problems: Sequence[Problem]) -> str:
    """``2 errors and 1 warning in 2 files``."""
    errors = sum(problem.level == "error" for problem in problems)
    warnings = len(problems) - errors
    files = len({problem.path for problem in problems})
    parts = [_counted(errors, "error")] if errors else []
    parts += [_counted(warnings, "warning")] if warnings else []
    return f"{' and '.join(parts)} in {_counted(files, 'file')}" if parts else "no problems"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
