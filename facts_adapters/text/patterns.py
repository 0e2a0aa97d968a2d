"""Which regular expressions signatures may use: those that RE2 can run, so that no line can make them explode."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable
from functools import cached_property
from typing import Any

if sys.version_info >= (3, 11):
    from re import _constants as sre  # type: ignore[attr-defined]
    from re import _parser as parser  # type: ignore[attr-defined]
else:  # pragma: no cover - the names before 3.11
    import sre_constants as sre
    import sre_parse as parser

_REFUSED = {
    "ASSERT": "look-around",
    "ASSERT_NOT": "look-around",
    "GROUPREF": "a back-reference",
    "GROUPREF_EXISTS": "a conditional group",
    "ATOMIC_GROUP": "an atomic group",
    "POSSESSIVE_REPEAT": "a possessive repeat",
}
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT")
_UNBOUNDED = 1000

_SUSPICIOUS = re.compile(r"\(\?[=!<>(]|\(\?P=|\\[1-9]|[*+?}]\+|\)[*+{]|\(\?[a-zA-Z]*x")
"""What every look-around, reference, possessive repeat or repeated group looks like, and harmless text at times.

In a verbose pattern (``x``) white space may stand in between.
"""

_ANCHOR = re.compile(r"(?<!\[)\^|\\\[\^|\$|\\[AZ]")
_GROUP = re.compile(r"\\.|\(\?P<(?P<name>\w+)>", re.DOTALL)


class UnfitPattern(ValueError):  # noqa: N818 - it is the pattern that is unfit
    """A signature's pattern cannot be used."""


class Expression:
    """The pattern of a signature, parsed and compiled when that is first asked for, and only once.

    Most signatures meet no line of an incident that holds their literals: compiling all patterns would take longer
    than reading the incident.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"

    @cached_property
    def groups(self) -> frozenset[str]:
        """Names of the groups, without compiling."""
        return frozenset(match["name"] for match in _GROUP.finditer(self.text) if match["name"])

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The compiled pattern. Raises :class:`UnfitPattern` for every :attr:`fault`."""
        if self.fault:
            raise UnfitPattern(self.fault)
        return re.compile(self.text)

    @cached_property
    def fault(self) -> str:
        """Why the pattern cannot be used, in words that follow "the pattern"; empty where it can."""
        try:
            pattern = re.compile(self.text)
        except (re.error, RecursionError, OverflowError) as error:
            return f"does not compile: {error}"
        reason = unsafe(self.text)
        if reason:
            return f"uses {reason}"
        return "matches an empty text" if pattern.search("") else ""

    @cached_property
    def required(self) -> tuple[str, ...]:
        """Texts of which every match holds one; see :func:`required`."""
        return required(self.text)

    @cached_property
    def anchored(self) -> bool:
        """Whether the pattern holds to the beginning or the end of the text."""
        return anchored(self.text)


def unsafe(pattern: str) -> str:
    """What makes the pattern unfit (``look-around``, ``nested repeats`` …), empty where it is fit."""
    if not _SUSPICIOUS.search(pattern):
        return ""
    try:
        nodes: Any = parser.parse(pattern)
        return _walk(nodes)
    except (re.error, RecursionError) as error:
        return f"something that does not parse: {error}"


def _walk(nodes: Iterable[Any]) -> str:
    for code, argument in nodes:
        name = str(code)
        if name in _REFUSED:
            return _REFUSED[name]
        if name in _REPEATS:
            body = argument[2]
            if _many(code, argument) and _only_repeats(body):
                return "nested repeats without bound, which can take exponential time"
            reason = _walk(body)
        elif name == "BRANCH":
            reason = next((r for r in map(_walk, argument[1]) if r), "")
        elif name == "SUBPATTERN":
            reason = _walk(argument[-1])
        else:
            continue
        if reason:
            return reason
    return ""


def required(pattern: str) -> tuple[str, ...]:
    """Texts of which every match must hold one: of several such sets that with the longest shortest text.

    Length is counted without digits. Empty where nothing is required.
    """
    try:
        nodes: Any = parser.parse(pattern)
    except (re.error, RecursionError):
        return ()
    if nodes.state.flags & re.IGNORECASE:
        return ()
    return _best(_sets(nodes))


def selectivity(texts: Collection[str]) -> int:
    """Length without digits of the shortest of the texts, 0 for none."""
    return min((len(re.sub(r"\d", "", text)) for text in texts), default=0)


_MOST_ALTERNATIVES = 40


def _best(sets: list[tuple[str, ...]]) -> tuple[str, ...]:
    fit = [texts for texts in sets if len(texts) <= _MOST_ALTERNATIVES]
    return max(fit, key=lambda texts: (selectivity(texts), -len(texts)), default=())


def _sets(nodes: Any) -> list[tuple[str, ...]]:
    """Sets of texts of which one must stand in every match of a sequence."""
    runs: list[str] = [""]
    found: list[tuple[str, ...]] = []
    _collect(nodes, runs, found)
    return [*((run,) for run in runs if run), *found]


def _collect(nodes: Any, runs: list[str], found: list[tuple[str, ...]]) -> None:
    """Append to the last run what must follow it; begin a new run where anything else may stand between."""
    for code, argument in nodes:
        name = str(code)
        if name == "LITERAL":
            runs[-1] += chr(argument)
        elif name == "SUBPATTERN" and not argument[1]:
            _collect(argument[-1], runs, found)
        elif name in _REPEATS and argument[0] >= 1:
            _collect(argument[2], runs, found)
            runs.append("")
        elif name == "BRANCH":
            branches = [_best(_sets(branch)) for branch in argument[1]]
            if all(branches):
                found.append(tuple(sorted({text for branch in branches for text in branch})))
            runs.append("")
        elif name != "AT":
            runs.append("")


def anchored(pattern: str) -> bool:
    """Whether the pattern holds to the beginning or the end of the text."""
    if not _ANCHOR.search(pattern):
        return False
    try:
        nodes: Any = parser.parse(pattern)
    except (re.error, RecursionError):
        return True
    return _anchors(nodes)


def _anchors(nodes: Any) -> bool:
    for code, argument in nodes:
        name = str(code)
        if name == "AT":
            if "BOUNDARY" not in str(argument):
                return True
        elif name == "SUBPATTERN":
            if _anchors(argument[-1]):
                return True
        elif name in _REPEATS:
            if _anchors(argument[2]):
                return True
        elif name == "BRANCH" and any(_anchors(branch) for branch in argument[1]):
            return True
    return False


def _many(code: Any, argument: Any) -> bool:
    return str(code) in _REPEATS and (argument[1] is sre.MAXREPEAT or argument[1] >= _UNBOUNDED)


def _only_repeats(body: Any) -> bool:
    """Whether a body can be matched by an unbounded repeat alone, with nothing fixed that separates its rounds."""
    items = list(body)
    while len(items) == 1 and str(items[0][0]) == "SUBPATTERN":
        items = list(items[0][1][-1])
    if len(items) == 1 and str(items[0][0]) == "BRANCH":
        return any(_only_repeats(branch) for branch in items[0][1][1])
    repeats = [item for item in items if _many(*item)]
    fixed = [item for item in items if not _many(*item) and not _optional(*item)]
    return bool(repeats) and not fixed


def _optional(code: Any, argument: Any) -> bool:
    return str(code) in _REPEATS and argument[0] == 0
