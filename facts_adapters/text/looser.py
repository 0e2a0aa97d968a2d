r"""A byte expression that is found wherever a signature's pattern could match, for a fast first look at many lines.

It may be found more often, never less: what a pattern says about text, the expression says about the bytes of the raw
line, in which characters may be escaped (JSON) or take several bytes (UTF-8), and of which prefixes are a part.
"""

from __future__ import annotations

import re
from typing import Any

from facts_adapters.text.patterns import parsed

_ANYTHING = r"[^\n]*"
_ESCAPED = r"[^\n]+"
"""One character that JSON may write as up to twelve bytes, or UTF-8 as up to four."""

_WHOLE = frozenset(map(chr, range(32, 127))) - {"\\"}
"""Characters that stand for themselves in the searchable bytes of a line."""

_MARKED = {'"': r'\\"', "<": r"\\u003[cC]", ">": r"\\u003[eE]", "&": r"\\u0026"}
"""Characters that JSON, or Go's encoder of it, escapes."""

_OTHERS = r"\x80-\xff\\"
"""Bytes of which other characters are made, in UTF-8 or escaped by JSON (its letters and digits not counted)."""

_CLASSES = {
    "CATEGORY_DIGIT": "0-9a-fA-Fu" + _OTHERS,  # or a digit of another script, which JSON may escape
    "CATEGORY_WORD": "0-9A-Za-z_" + _OTHERS,
}
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT")
_LEAST_LITERAL = 3
_FEW = 8
_REPEATED = re.compile(r"(?<!\\)[*+{]")


def looser(pattern: str) -> bytes | None:
    """The expression, ``None`` where the pattern asks for too little to be worth a look."""
    try:
        nodes: Any = parsed(pattern)
    except (re.error, RecursionError):
        return None
    if nodes.state.flags & re.VERBOSE:
        return None
    found = _sequence(nodes).removeprefix(_ANYTHING).removesuffix(_ANYTHING)
    flags = "(?i)" if nodes.state.flags & re.IGNORECASE else ""
    plain = re.sub(r"(?<!\\)\[[^\]]*\]|\\(.)|[()?:|*+]", r"\1", found)
    return (flags + found).encode() if len(plain) >= _LEAST_LITERAL else None


def _sequence(nodes: Any) -> str:
    found = "".join(_one(str(code), argument) for code, argument in nodes)
    return _RUNS.sub(lambda match: _ESCAPED if _ESCAPED in match[0] else _ANYTHING, found)


_RUNS = re.compile(r"(?:\[\^\\n\][*+]){2,}")


def _one(code: str, argument: Any) -> str:
    if code == "LITERAL":
        return _literal(chr(argument))
    if code == "IN":
        return _one_of(argument)
    if code == "SUBPATTERN":
        inner = _sequence(argument[-1])
        folded = "i" if argument[1] & re.IGNORECASE else ""
        return f"(?{folded}:{inner})" if inner else ""
    if code == "BRANCH":
        ways = [_sequence(branch) for branch in argument[1]]
        return _ANYTHING if {"", _ANYTHING, _ESCAPED} & set(ways) else "(?:" + "|".join(ways) + ")"
    if code in _REPEATS:
        return _repeat(argument)
    if code == "AT":
        return ""
    return _ESCAPED  # any character, or all but one


def _literal(character: str) -> str:
    if character not in _WHOLE:
        return _ESCAPED
    if character in _MARKED:
        return f"(?:{character}|{_MARKED[character]})"
    return character if character.isalnum() or character == " " else "\\" + character


def _one_of(items: Any) -> str:
    """A class of characters, where all of them stand for themselves or are those of a known class."""
    found = ""
    for code, argument in items:
        kind = str(code)
        if kind == "LITERAL" and chr(argument) in _WHOLE and chr(argument) not in _MARKED:
            found += _literal(chr(argument))
        elif kind == "RANGE" and chr(argument[0]) in _WHOLE and chr(argument[1]) in _WHOLE:
            if any(argument[0] <= ord(mark) <= argument[1] for mark in (*_MARKED, "\\")):
                return _ESCAPED
            found += f"{_literal(chr(argument[0]))}-{_literal(chr(argument[1]))}"
        elif kind == "CATEGORY" and str(argument) in _CLASSES:
            found += _CLASSES[str(argument)]
        else:
            return _ESCAPED
    return f"[{found}]"


def _repeat(argument: Any) -> str:
    """Simple on purpose: Hyperscan misses matches of some expressions with repeated groups in each other."""
    least, most, body = argument
    inner = _sequence(body)
    if not inner:
        return ""
    if len(body) == 1 and str(body[0][0]) in ("LITERAL", "IN") and inner != _ESCAPED and not inner.startswith("(?:"):
        if _OTHERS not in inner and most <= _FEW:
            return f"{inner}{{{least},{most}}}"
        return inner + ("+" if least else "*")
    if (least, most) == (0, 1) and not _REPEATED.search(inner):
        return f"(?:{inner})?"
    return inner + _ANYTHING if least else _ANYTHING
