"""What stands before every line of a pasted file and is not of the program that wrote it.

Quotes of a mail, the numbers of ``cat -n``, the file and line of ``grep -n``, the indentation of a code block, escaped
HTML; also the names of ``docker compose logs`` and the stamps of a container's runtime, which tell something and are
taken off only for readers of tables. Lines are never joined or left out, so their numbers hold.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

SHARE = 0.9
"""Share of the lines that are not empty on which a prefix must stand."""

MOST_LAYERS = 4
SAMPLED = 400
"""Lines at the beginning that are looked at."""

Agrees = Callable[[Sequence[re.Match[str]]], bool]


@dataclass(frozen=True, slots=True)
class Layer:
    """A prefix of every line: its pattern, and what the matches of all lines must have in common.

    ``telling`` prefixes name a host or a time, which the reader of log lines uses.
    """

    name: str
    pattern: re.Pattern[str]
    agrees: Agrees
    telling: bool = False


def _always(_matches: Sequence[re.Match[str]]) -> bool:
    return True


def _numbers(matches: Sequence[re.Match[str]]) -> list[int]:
    return [int(match["n"]) for match in matches]


def _consecutive(matches: Sequence[re.Match[str]]) -> bool:
    """Numbers that rise by one, but for empty lines that a tool leaves without a number or a quote leaves out."""
    steps = [second - first for first, second in pairwise(_numbers(matches))]
    return all(step > 0 for step in steps) and sum(step == 1 for step in steps) >= 0.5 * len(steps)


def _padded(matches: Sequence[re.Match[str]]) -> bool:
    return len(matches) > 2 and _consecutive(matches)


def _rising(matches: Sequence[re.Match[str]]) -> bool:
    numbers = _numbers(matches)
    return len(numbers) > 2 and all(first < second for first, second in pairwise(numbers))


def _grepped(matches: Sequence[re.Match[str]]) -> bool:
    """Line numbers of one file rise."""
    last: dict[str, int] = {}
    for match in matches:
        number = int(match["n"])
        if number <= last.get(match["path"], 0):
            return False
        last[match["path"]] = number
    return True


def _one_service(matches: Sequence[re.Match[str]]) -> bool:
    return len({match["host"] for match in matches}) == 1


_PATH = r"(?P<path>(?:[\w.@+=~-]*/)*[\w@+=~-][\w.@+=~-]*\.[A-Za-z]\w{0,8}(?:\.\d{1,3})?|(?:[\w.@+=~-]*/)+[\w.@+=~-]+)"

_CRI = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]{8,18}(?:Z|[+-]\d\d:\d\d) (?:stdout|stderr) [FP](?: |$)")

_LAYERS = (
    Layer("quote", re.compile(r" {0,3}>(?: |$|(?=>))"), _always),
    Layer("number", re.compile(r"(?=[ \d]{5}\d)[ ]{0,5}(?P<n>\d{1,9})\t"), _consecutive),
    Layer("number", re.compile(r"(?=[ \d]{6,7} )[ ]{2,7}(?P<n>\d{1,6}) "), _padded),
    Layer("grep", re.compile(_PATH + r"(?P<mark>[:-])(?P<n>\d{1,9})(?P=mark)(?!\d+ \[-?\d+\] )"), _grepped),
    Layer("line", re.compile(r"(?!\d\d?:\d\d:\d\d(?!:))(?P<n>\d{1,9})[:-](?! )"), _rising),
    Layer(
        "cri",
        re.compile(r"\d{4}-\d\d-\d\dT[\d:.]{8,18}(?:Z|[+-]\d\d:\d\d) (?:stdout|stderr) [FP](?: |$)"),
        _always,
        True,
    ),
    Layer("compose", re.compile(r"(?P<host>[A-Za-z0-9][\w.-]{0,60}) +\|(?: |$)"), _one_service, True),
)
_INDENT = re.compile(r" {4,}")


@dataclass(frozen=True, slots=True)
class Wrapping:
    """How a file was pasted: ``layers`` from the outside to the inside."""

    escaped: bool = False
    layers: tuple[Layer, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything is to be taken off."""
        return self.escaped or bool(self.layers)

    @property
    def outside(self) -> Wrapping:
        """The part that tells nothing: the layers up to the first one that does."""
        telling = next((i for i, layer in enumerate(self.layers) if layer.telling), len(self.layers))
        return Wrapping(self.escaped, self.layers[:telling])

    def strip(self, line: str) -> str:
        """The line as the program wrote it; one without the prefix stays as it is."""
        if self.escaped:
            line = html.unescape(line)
        for layer in self.layers:
            match = layer.pattern.match(line)
            if match:
                line = line[match.end() :]
        return line


def wrapping(lines: Sequence[str]) -> Wrapping:
    """What the first lines of a file share."""
    sample = [line.rstrip("\r\n") for line in lines[:SAMPLED]]
    escaped = _escaped(sample)
    if escaped:
        sample = [html.unescape(line) for line in sample]
    layers: list[Layer] = []
    while len(layers) < MOST_LAYERS:
        filled = [line for line in sample if line.strip()]
        layer = next((found for found in (*_LAYERS, _indent(filled)) if found and _shared(found, filled)), None)
        if layer is None:
            break
        layers.append(layer)
        sample = [Wrapping(layers=(layer,)).strip(line) for line in sample]
    return Wrapping(escaped, tuple(layers))


def _shared(layer: Layer, filled: Sequence[str]) -> bool:
    if not filled or (not layer.pattern.match(filled[0]) and not layer.pattern.match(filled[-1])):
        return False
    matches = [match for match in map(layer.pattern.match, filled) if match]
    return len(matches) >= SHARE * len(filled) and layer.agrees(matches)


def _indent(filled: Sequence[str]) -> Layer | None:
    """The blanks that every line begins with: a code block. A heading over indented lines is a layout of its own."""
    found = [match[0] for match in map(_INDENT.match, filled) if match]
    if not found or len(found) < len(filled):
        return None
    common = min(found, key=len)
    if not all(indent.startswith(common) for indent in found):
        return None
    return Layer("indent", re.compile(re.escape(common)), _always)


_ENTITY = re.compile(r"&(?:lt|gt|quot|amp|nbsp|apos|#39|#x27|#34);")


def _escaped(sample: Sequence[str]) -> bool:
    """Whether the text went through an escape for HTML: entities, and none of the characters they stand for."""
    text = "\n".join(sample)
    return _ENTITY.search(text) is not None and not any(mark in text for mark in "<>")
