"""A reader of pickles that hold plain data, for Flight Recorder dumps from other people's machines.

``pickle`` is not used: there is nothing that could run. Only the opcodes of dicts, lists, tuples, strings, numbers,
booleans and ``None`` are known, every other one is refused by name. What the C unpickler allows a hostile stream to
do (memo slots at any index, deep tuples as keys, colliding keys, sizes that are not there) cannot be said here:
places of the memo cost nothing until they are used, keys are strings, depth and counts are bounded.

A dump is one long list of dicts of one shape, so most of the bytes are read by an expression made from the first
entries (:mod:`facts_adapters.comm._entry_shape`); the interpreter below reads the rest. A stream that ends early
gives what stands before its end.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Protocol

from facts_adapters.comm._entry_shape import MOST_ENTRIES, Shapes

MOST_OPCODES = 4_000_000
MOST_DEPTH = 64
LONGEST_STRING = 1 << 20
LONGEST_INT = 16
"""Bytes of an integer; a dump needs eight."""


class Sink(Protocol):
    """Who takes the entries; ``count`` of them so far."""

    count: int

    def add(self, entry: Mapping[str, object]) -> None:
        """One entry as plain data."""

    def rows(self, data: bytes, at: int, shapes: Shapes, memo: Callable[[bytes], object]) -> int:
        """The entries of known shapes from ``at`` on; ``memo`` resolves references. Returns where they end."""


class RefusedError(ValueError):
    """The stream holds what a dump does not need."""


class _EndError(Exception):
    """The stream is over before its end."""


class PlainPickle:
    """Reads one stream; ``header`` is the top dict without the entries, ``cut`` whether the stream ended early."""

    def __init__(self, data: bytes, sink: Sink) -> None:
        self.data = data
        self.sink = sink
        self.header: dict[str, object] = {}
        self.cut = False
        self._at = 0
        self._stack: list[object] = []
        self._marks: list[int] = []
        self._memo: dict[int, object] = {}
        self._list_depth = -1
        """Number of open marks within which every dict is an entry."""
        self._entry_at = -1
        self._shapes = Shapes()

    def read(self) -> None:
        """Read to the end.

        Raises:
            RefusedError: the stream is no pickle of plain data, or too large a one.
        """
        known, stack, memo = _OPCODES, self._stack, self._memo
        data, last, count = self.data, len(self.data) - 1, 0
        try:
            while True:
                at = self._at
                if at > last:
                    raise _EndError
                code = data[at]
                if code == _STOP:
                    break
                count += 1
                if count > MOST_OPCODES:
                    raise RefusedError("a dump needs fewer values")
                if at < last and code in _SHORT:  # most of a dump; the table has them too
                    if code == _BINGET:
                        stack.append(memo[data[at + 1]])
                    elif code == _BININT1:
                        stack.append(data[at + 1])
                    else:
                        memo[data[at + 1]] = stack[-1]
                    self._at = at + 2
                    continue
                self._at = at + 1
                step = known[code]
                if step is None:
                    raise RefusedError(f"a dump needs no opcode {bytes((code,))!r} (byte {self._at - 1})")
                step(self)
        except _EndError:
            self.cut = True
        except (IndexError, KeyError, TypeError, struct.error) as error:
            raise RefusedError(f"the stream is damaged at byte {self._at}") from error
        self._keep_header()

    def _keep_header(self) -> None:
        """The top dict; of a stream that ended early the pairs that are whole."""
        bottom = self._stack[0] if self._stack else None
        if isinstance(bottom, dict):
            self.header = bottom
            if self.cut and self._marks:
                loose = self._stack[self._marks[0] : self._marks[1] if len(self._marks) > 1 else None]
                for key, value in zip(loose[::2], loose[1::2], strict=False):
                    if isinstance(key, str):
                        self.header.setdefault(key, value)
        elif not isinstance(bottom, list):
            raise RefusedError("a dump is a dict or a list of entries")

    # --- what opcodes do ---

    def _take(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self.data):
            raise _EndError
        chunk = self.data[self._at : end]
        self._at = end
        return chunk

    def push(self, value: object) -> None:
        """Put a value on the stack."""
        self._stack.append(value)

    def number(self, size: int, signed: bool = False) -> int:
        """The next ``size`` bytes as a number."""
        return int.from_bytes(self._take(size), "little", signed=signed)

    def text(self, size: int) -> None:
        """A string of ``size`` bytes."""
        if size > LONGEST_STRING:
            raise RefusedError(f"a dump needs no string of {size} bytes")
        self.push(self._take(size).decode("utf-8", "replace"))

    def long(self) -> None:
        """An integer of a stated number of bytes."""
        size = self.number(1)
        if size > LONGEST_INT:
            raise RefusedError(f"a dump needs no integer of {size} bytes")
        self.push(self.number(size, signed=True))

    def double(self) -> None:
        """A float, big-endian."""
        self.push(struct.unpack(">d", self._take(8))[0])

    def frame(self) -> None:
        """The size of a frame says nothing that is needed."""
        self._take(8)

    def put(self, index: int) -> None:
        """Remember the top of the stack; a place far away costs nothing."""
        self._memo[index] = self._stack[-1]

    def get(self, index: int) -> None:
        """A value that was remembered; of what a shape passed over only the place is known."""
        self.push(self._memo[index])

    def mark(self) -> None:
        """Begin the items of a container."""
        if len(self._marks) >= MOST_DEPTH:
            raise RefusedError("a dump is not that deep")
        if self._in_entries():
            self._list_depth = len(self._marks) + 1
        self._marks.append(len(self._stack))

    def _in_entries(self) -> bool:
        """Whether the top of the stack is the list of entries."""
        stack = self._stack
        return bool(stack) and isinstance(stack[-1], list) and (len(stack) == 1 or stack[-2] == "entries")

    def begin_dict(self) -> None:
        """A dict; where entries stand it is one, and may be read by its shape."""
        if len(self._marks) == self._list_depth:
            if self._at_shape():
                return
            self._entry_at = self._at - 1
        self.push({})

    def _at_shape(self) -> bool:
        """Read as many entries as have a known shape; true where at least one had."""
        start = self._at - 1
        end = self.sink.rows(self.data, start, self._shapes, self._resolve)
        if end > start:
            self._at = end
        return end > start

    def _count(self) -> None:
        if self.sink.count >= MOST_ENTRIES:
            raise RefusedError(f"a dump has no more than {MOST_ENTRIES} entries")

    def _resolve(self, reference: bytes) -> object:
        return self._memo[int.from_bytes(reference[1:], "little")]

    def items(self) -> list[object]:
        """The values since the last mark."""
        start = self._marks.pop()
        found = self._stack[start:]
        del self._stack[start:]
        return found

    def set_items(self, pairs: list[object]) -> None:
        """Pairs into the dict below them; an entry goes to the sink instead."""
        target = self._stack[-1]
        if not isinstance(target, dict) or len(pairs) % 2:
            raise RefusedError(f"the stream is damaged at byte {self._at}")
        for key, value in zip(pairs[::2], pairs[1::2], strict=True):
            if not isinstance(key, str):
                raise RefusedError("the keys of a dump are strings")
            target[key] = value
        if len(self._marks) == self._list_depth and self._marks and self._marks[-1] == len(self._stack) - 1:
            self._stack.pop()
            self._count()
            self.sink.add(target)
            if not self._shapes.knows(target):
                self._shapes.learn(self.data, self._entry_at, self._at, self._memo)

    def append(self, values: list[object]) -> None:
        """Values into the list below them."""
        target = self._stack[-1]
        if not isinstance(target, list):
            raise RefusedError(f"the stream is damaged at byte {self._at}")
        if self._in_entries():
            for value in values:
                if isinstance(value, dict):  # the only one of a list, which Python's pickler writes without a mark
                    self._count()
                    self.sink.add(value)
        else:
            target.extend(values)
        if len(self._marks) < self._list_depth:
            self._list_depth = -1

    def pack(self, size: int) -> None:
        """The last ``size`` values as a tuple."""
        if len(self._stack) < size:
            raise RefusedError(f"the stream is damaged at byte {self._at}")
        values = tuple(self._stack[len(self._stack) - size :])
        del self._stack[len(self._stack) - size :]
        self.push(values)

    def pop(self) -> object:
        """The last value."""
        return self._stack.pop()

    def set_one(self) -> None:
        """One pair into the dict below it."""
        value, key = self.pop(), self.pop()
        self.set_items([key, value])


_STOP, _BINGET, _BININT1 = b".hK"
_SHORT = frozenset(b"hKq")


def _table() -> list[Callable[[PlainPickle], None] | None]:
    steps: dict[str, Callable[[PlainPickle], None]] = {
        "\x80": lambda p: None if p.number(1) <= 5 else _unknown_protocol(),
        "\x95": PlainPickle.frame,
        "}": PlainPickle.begin_dict,
        "]": lambda p: p.push([]),
        ")": lambda p: p.push(()),
        "(": PlainPickle.mark,
        "u": lambda p: p.set_items(p.items()),
        "s": PlainPickle.set_one,
        "e": lambda p: p.append(p.items()),
        "a": lambda p: p.append([p.pop()]),
        "t": lambda p: p.push(tuple(p.items())),
        "\x85": lambda p: p.pack(1),
        "\x86": lambda p: p.pack(2),
        "\x87": lambda p: p.pack(3),
        "X": lambda p: p.text(p.number(4)),
        "\x8c": lambda p: p.text(p.number(1)),
        "q": lambda p: p.put(p.number(1)),
        "r": lambda p: p.put(p.number(4)),
        "\x94": lambda p: p.put(len(p._memo)),  # noqa: SLF001 - the table belongs to the class
        "h": lambda p: p.get(p.number(1)),
        "j": lambda p: p.get(p.number(4)),
        "K": lambda p: p.push(p.number(1)),
        "M": lambda p: p.push(p.number(2)),
        "J": lambda p: p.push(p.number(4, signed=True)),
        "\x8a": PlainPickle.long,
        "G": PlainPickle.double,
        "N": lambda p: p.push(None),
        "\x88": lambda p: p.push(True),
        "\x89": lambda p: p.push(False),
    }
    return [steps.get(chr(code)) for code in range(256)]


def _unknown_protocol() -> None:
    raise RefusedError("a protocol above 5")


_OPCODES = _table()
