"""The entries of a pickled dump read by an expression instead of one value after the other.

torch's pickler (``jit/serialization/pickler.cpp``) writes the dicts of the entries list alike: the same keys in the
same order, each key a reference to the string's first place. From one such entry an expression is made that matches
the next ones whole. An opcode's first byte says what follows, so an entry can be read in one way only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

MOST_ENTRIES = 200_000
"""Entries of a dump that are read."""

MOST_SHAPES = 6
LONGEST_ENTRY = 1 << 16

CALL_KEYS = ("input_sizes", "input_dtypes", "output_sizes", "output_dtypes")
"""Keys whose values make up a call, together with its name; torch writes them side by side."""

WANTED = ("collective_seq_id", "p2p_seq_id", "process_group", "pg_id", "profiling_name", "state", "retired", "call")
"""What is kept of an entry, in the order of a row: two numbers of its own, then what it has in common with others."""

_REF = rb"(?:h.|j.{4})"
_INT = rb"(?:K.|M..|J.{4}|\x8a\x08.{8})"
_SIMPLE = rb"(?:[N\x88\x89]|K.|M..|[Jj].{4}|\x8a\x08.{8}|G.{8}|h.)"
_VALUES: Mapping[str, bytes] = {
    "process_group": rb"(?:" + _REF + rb"){2}\x86",
    "profiling_name": _REF,
    "state": _REF,
    "retired": rb"[\x88\x89]",
    "frames": rb"\](?:\((?:" + _REF + rb")*e)?",
    **dict.fromkeys(("record_id", "pg_id", "collective_seq_id", "p2p_seq_id"), _INT),
    **dict.fromkeys(("input_sizes", "output_sizes"), rb"\](?:\((?:\](?:\((?:" + _INT + rb")*e)?)*e)?"),
    **dict.fromkeys(("input_dtypes", "output_dtypes"), rb"\](?:\((?:" + _REF + rb")*e)?"),
}
_KEY = re.compile(_REF, re.DOTALL)


@dataclass(frozen=True, slots=True)
class Shape:
    """The expression of one order of keys, its groups that make up a row, and those of the record's number and time."""

    pattern: re.Pattern[bytes]
    order: tuple[int, ...]
    record: int
    created: int


class Shapes:
    """The shapes of one dump, with and without a duration, for instance; the one that fitted last comes first."""

    def __init__(self) -> None:
        self.known: list[Shape] = []
        self._keys: set[tuple[str, ...]] = set()

    def fits(self, data: bytes, at: int) -> bool:
        """Whether an entry of a known shape stands at this place; its shape is then the first."""
        for place, shape in enumerate(self.known):
            if shape.pattern.match(data, at) is not None:
                if place:
                    self.known.insert(0, self.known.pop(place))
                return True
        return False

    def knows(self, entry: Mapping[str, object]) -> bool:
        """Whether there is a shape for the keys of an entry."""
        return tuple(entry) in self._keys

    def learn(self, data: bytes, start: int, end: int, memo: Mapping[int, object]) -> None:
        """Make a shape of the entry at ``start``; one that names a new string, or holds other values, has none."""
        if start < 0 or len(self.known) >= MOST_SHAPES or end - start > LONGEST_ENTRY:
            return
        keys = _keys(data, start, end, memo)
        names = tuple(name for name, _ in keys)
        if not keys or names in self._keys:
            return
        self._keys.add(names)
        self.known.append(_shape(keys))


def _keys(data: bytes, start: int, end: int, memo: Mapping[int, object]) -> list[tuple[str, bytes]]:
    """Names and references of the keys of an entry; none where it is not written as torch writes them."""
    at = start + 2
    if data[start:at] != b"}(":
        return []
    found: list[tuple[str, bytes]] = []
    while at < end - 1:
        key = _KEY.match(data, at)
        name = memo.get(int.from_bytes(key[0][1:], "little")) if key else None
        if key is None or not isinstance(name, str):
            return []
        value = _value(name).match(data, key.end())
        if value is None:
            return []
        found.append((name, key[0]))
        at = value.end()
    return found if data[at:end] == b"u" else []


def _value(name: str) -> re.Pattern[bytes]:
    return re.compile(_VALUES.get(name, _SIMPLE), re.DOTALL)


def _shape(keys: list[tuple[str, bytes]]) -> Shape:
    """Groups: one for each wanted key, one for all of the call (with the keys between its values)."""
    parts: list[bytes] = [rb"\}\("]
    numbers: dict[str, int] = {}
    count = 0
    last_call = max((at for at, (name, _) in enumerate(keys) if name in CALL_KEYS), default=-1)
    for at, (key_name, reference) in enumerate(keys):
        name = "collective_seq_id" if key_name == "seq_id" else key_name  # up to torch 2.3
        value = _VALUES.get(name, _SIMPLE)
        key = re.escape(reference)
        if name in CALL_KEYS and "call" not in numbers:
            count += 1
            numbers["call"] = count
            parts.append(b"(")
        if name in (*WANTED, "record_id", "time_created_ns"):
            count += 1
            numbers[name] = count
            parts.append(key + b"(" + value + b")")
        else:
            parts.append(key + value)
        if at == last_call:
            parts.append(b")")
    parts.append(b"u()")
    count += 1
    order = tuple(numbers.get(name, count) for name in WANTED)
    record, created = (numbers.get(name, count) for name in ("record_id", "time_created_ns"))
    return Shape(re.compile(b"".join(parts), re.DOTALL), order, record, created)
