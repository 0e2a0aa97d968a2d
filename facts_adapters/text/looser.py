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

_WHOLE = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 !#%'()*+,-.:;=?@[]^_`{|}~$")
"""Characters that stand for themselves in every encoding."""

_CLASSES = {
    "CATEGORY_DIGIT": r"[0-9a-fA-Fu\x80-\xff\\]",  # or a digit of another script, which JSON may escape
    "CATEGORY_WORD": r"[0-9A-Za-z_\x80-\xff\\]",
}
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT")
_LEAST_LITERAL = 3


def looser(pattern: str) -> bytes | None:
    """The expression, ``None`` where the pattern asks for too little to be worth a look."""
    try:
        nodes: Any = parsed(pattern)
    except (re.error, RecursionError):
        return None
    if nodes.state.flags & re.VERBOSE:
        return None
    found = _sequence(nodes)
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
        return "(?:" + "|".join(_sequence(branch) for branch in argument[1]) + ")"
    if code in _REPEATS:
        return _repeat(argument)
    if code == "AT":
        return ""
    return _ESCAPED  # any character, or all but one


def _literal(character: str) -> str:
    if character not in _WHOLE:
        return _ESCAPED
    return character if character.isalnum() or character == " " else "\\" + character


def _one_of(items: Any) -> str:
    kinds = [(str(code), argument) for code, argument in items]
    if len(kinds) == 1 and kinds[0][0] == "CATEGORY":
        known = _CLASSES.get(str(kinds[0][1]))
        if known:
            return known
    if all(code == "LITERAL" and chr(argument) in _WHOLE for code, argument in kinds):
        return "[" + "".join(re.escape(chr(argument)) for _, argument in kinds) + "]"
    return _ESCAPED


def _repeat(argument: Any) -> str:
    """Simple on purpose: Hyperscan misses matches of some expressions with repeated groups in each other."""
    least, _, body = argument
    if not least:
        return _ANYTHING
    inner = _sequence(body)
    return f"{inner}+" if inner in _CLASSES.values() else inner + _ANYTHING
