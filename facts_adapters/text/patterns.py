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


def parsed(pattern: str) -> Any:
    """The tree of a pattern as :mod:`re` reads it; raises :class:`re.error`."""
    return parser.parse(pattern)


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
            if _many(code, argument) and _ambiguous(body):
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


def _ambiguous(body: Any) -> bool:
    """Whether one text can be divided into rounds of an unbounded repeat in many ways.

    So it is where the body itself holds an unbounded repeat, and no character that every round must have tells the
    rounds apart because no inner repeat can match it.
    """
    for way in _ways(list(body)):
        inner = [characters for characters, least, many in way if many]
        if not inner:
            continue
        repeated: frozenset[int] = frozenset().union(*inner)
        if not any(least and not many and not characters & repeated for characters, least, many in way):
            return True
    return False


_Step = tuple[frozenset[int], bool, bool]
"""Characters (ASCII, 128 for all others) of a part of a pattern, whether it must be there, whether it may repeat."""

_MOST_WAYS = 200
_EVERY = frozenset(range(129))


def _ways(nodes: list[Any]) -> list[list[_Step]]:
    """The ways through a sequence: one for each choice of alternatives."""
    ways: list[list[_Step]] = [[]]
    for code, argument in nodes:
        name = str(code)
        if name == "SUBPATTERN":
            parts = _ways(list(argument[-1]))
        elif name == "BRANCH":
            parts = [way for branch in argument[1] for way in _ways(list(branch))]
        elif name in _REPEATS:
            least, many = argument[0] > 0, _many(code, argument)
            parts = [
                [(characters, least and must, many or again) for characters, must, again in way]
                + ([(characters, True, False) for characters, must, _ in way if must] if least and len(way) > 1 else [])
                for way in _ways(list(argument[2]))
            ]
        elif name == "AT":
            continue
        else:
            parts = [[(_characters(name, argument), True, False)]]
        ways = [[*way, *part] for way in ways for part in parts][:_MOST_WAYS]
    return ways


def _characters(name: str, argument: Any) -> frozenset[int]:
    if name == "LITERAL":
        return frozenset({min(argument, 128)})
    if name == "NOT_LITERAL":
        return _EVERY - {argument}
    if name != "IN":
        return _EVERY
    found: set[int] = set()
    negated = False
    for code, value in argument:
        kind = str(code)
        if kind == "NEGATE":
            negated = True
        elif kind == "RANGE":
            found |= set(range(min(value[0], 128), min(value[1], 128) + 1))
        elif kind == "LITERAL":
            found.add(min(value, 128))
        else:
            found |= _CATEGORIES.get(str(value), _EVERY)
    return (_EVERY - found) | {128} if negated else frozenset(found)


_OF_WORDS = frozenset(c for c in range(128) if chr(c).isalnum() or c == ord("_")) | {128}
_OF_DIGITS = frozenset(range(ord("0"), ord("9") + 1)) | {128}
_OF_BLANKS = frozenset(map(ord, " \t\n\r\f\v")) | {128}
_CATEGORIES = {
    "CATEGORY_DIGIT": _OF_DIGITS,
    "CATEGORY_NOT_DIGIT": _EVERY - _OF_DIGITS | {128},
    "CATEGORY_WORD": _OF_WORDS,
    "CATEGORY_NOT_WORD": _EVERY - _OF_WORDS | {128},
    "CATEGORY_SPACE": _OF_BLANKS,
    "CATEGORY_NOT_SPACE": _EVERY - _OF_BLANKS | {128},
}
