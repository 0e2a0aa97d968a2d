"""What an entry of the Flight Recorder launched: name, sizes and types, as plain data or as bytes of a pickle."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from engine.facts.collectives import call_number

UNEVEN = ("all_to_all", "alltoall", "gather", "scatter", "all_gather_v", "reduce_scatter_v", "split")
"""Operations of which ranks may rightly give different sizes; only the name and type are compared."""

LONGEST_NAME = 200

_TRANSFER = re.compile(r"(?:\w+:)?(?:(?P<send>send) (\d+)->(?P<to>\d+)|recv (\d+)<-(?P<of>\d+))$")


@dataclass(frozen=True, slots=True)
class Call:
    """What an entry launched: a number for comparison, and for a transfer the peer's rank in the group."""

    number: int
    words: str
    peer: int = -1
    sends: bool = False
    ends_batch: bool = False
    retires: bool = False
    """Of a backend whose entries get no events: such an operation is finished once it is retired."""


def number(value: object) -> int | None:
    """An integer, also as text (the JSON variant writes some numbers as strings)."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if abs(value) < 2**63 else None
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,18}", value):
        return int(value)
    return None


@lru_cache(maxsize=65_536)
def call_of(name: str, numels: tuple[str, ...], types: tuple[str, ...]) -> Call:
    """The call of a name and its sizes; sizes count as numbers of elements, which is what must agree."""
    backend, colon, operation = name.partition(":")
    operation = operation if colon else name
    match, retires = _TRANSFER.match(name), backend == "gloo"
    words = operation
    if match or not operation.startswith(UNEVEN):
        words = f"{operation} {' -> '.join(dict.fromkeys(numels))}".strip()
    words = f"{words} {' '.join(dict.fromkeys(types))}".strip()
    if match:
        sends = match["send"] is not None
        peer = int(match["to"] if sends else match["of"])
        return Call(call_number(words), words, peer, sends, retires=retires)
    return Call(call_number(words), words, ends_batch=operation == "coalesced", retires=retires)


def numels_of(sizes: object) -> str:
    """Numbers of elements of the tensors: ``[4, 3]`` is 12."""
    if not isinstance(sizes, (list, tuple)):
        return ""
    counts = [
        str(prod(part)) if all(isinstance(size, int) and abs(size) < 1 << 40 for size in part) else "?"
        for part in sizes[:256]
        if isinstance(part, (list, tuple)) and len(part) <= 16
    ]
    return "+".join(counts)[:400]


def types_of(types: object) -> str:
    if not isinstance(types, (list, tuple)):
        return ""
    return "+".join(dict.fromkeys(part[:24] for part in types[:256] if isinstance(part, str)))[:200]


_WRITTEN: dict[tuple[str, bytes], tuple[tuple[tuple[bytes, object], ...], Call]] = {}
"""Calls by name and bytes, with the references in them: dumps of one job are written alike."""

MOST_WRITTEN = 16_384
LONGEST_KEPT = 1_024


def chunk_call(name: bytes, sizes: bytes, memo: Callable[[bytes], object]) -> Call:
    """The call of a reference to its name and the bytes of its sizes and types."""
    named = memo(name) if name else ""
    words = named[:LONGEST_NAME] if isinstance(named, str) else ""
    known = _WRITTEN.get((words, sizes))
    if known is not None and all(memo(reference) == value for reference, value in known[0]):
        return known[1]
    seen: dict[bytes, object] = {}

    def noted(reference: bytes) -> object:
        value = seen[reference] = memo(reference)
        return value

    values = _chunk_values(sizes, noted)
    numels = tuple(numels_of(values.get(key)) for key in ("input_sizes", "output_sizes"))
    types = tuple(types_of(values.get(key)) for key in ("input_dtypes", "output_dtypes"))
    call = call_of(words, numels, types)
    if all(isinstance(value, str) for value in seen.values()) and len(sizes) < LONGEST_KEPT:
        if len(_WRITTEN) >= MOST_WRITTEN:
            _WRITTEN.clear()
        _WRITTEN[words, sizes] = (tuple(seen.items()), call)
    return call


def _chunk_values(chunk: bytes, memo: Callable[[bytes], object]) -> dict[str, object]:
    """The keys and lists of a chunk that an expression has matched."""
    stack: list[list[object]] = [[]]
    at = 0
    while at < len(chunk):
        code = chunk[at : at + 1]
        size = _WIDTHS.get(code, 0)
        if code == b"]":
            stack[-1].append([])
            if chunk[at + 1 : at + 2] == b"(":
                stack.append([])
                size = 1
        elif code == b"e":
            items = stack.pop()
            held = stack[-1][-1]
            if isinstance(held, list):
                held.extend(items)
        elif code in b"hj":
            stack[-1].append(memo(chunk[at : at + 1 + size]))
        else:
            stack[-1].append(integer(chunk[at : at + 1 + size]))
        at += 1 + size
    flat = stack[0]
    return {key: value for key, value in zip(flat[::2], flat[1::2], strict=False) if isinstance(key, str)}


_WIDTHS = {b"h": 1, b"j": 4, b"K": 1, b"M": 2, b"J": 4, b"\x8a": 9}


def references(chunk: bytes) -> list[bytes]:
    """The references at the beginning of some bytes."""
    found, at = [], 0
    while at < len(chunk) and chunk[at : at + 1] in (b"h", b"j"):
        end = at + (2 if chunk[at : at + 1] == b"h" else 5)
        found.append(chunk[at:end])
        at = end
    return found


def integer(chunk: bytes) -> int:
    """The number of one opcode with its bytes."""
    if len(chunk) == 2:
        return chunk[1]
    if len(chunk) == 3:
        return chunk[1] | chunk[2] << 8
    if len(chunk) == 5:
        return int.from_bytes(chunk[1:], "little", signed=True)
    return int.from_bytes(chunk[2:], "little", signed=True)
