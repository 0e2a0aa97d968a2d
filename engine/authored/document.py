"""YAML files as plain values, with the position of every key and value.

The dialect is the part of YAML 1.2 that people mean: ``true`` and ``false`` are the only booleans, numbers are decimal,
nothing is a date, keys are text. Duplicate keys, tags, anchors and aliases are refused.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from yaml.error import MarkedYAMLError, YAMLError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.reader import Reader

from engine.authored.loader import UNTAGGED, anchors, compose
from engine.authored.problem import Problem

KeyPath = tuple[str | int, ...]
"""The way from the root to a value: keys of mappings, indices of lists."""

LARGEST = 4 << 20
"""Bytes of a file beyond which it is refused unread."""

DEEPEST = 60
"""Levels of nesting beyond which a file is refused."""

_NUMBER = re.compile(
    r"[-+]?(?:(?P<int>0|[1-9][0-9]{0,17})|(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]{1,3})?)"
)
_LINE_END = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
_MAYBE_ANCHOR = re.compile(r"[&*](?<![^\s,\[{:-].)[^\s,\[\]{}&*]")
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}


class InvalidDocument(Exception):  # noqa: N818 - it is the file that is invalid
    """The file is not a document of this dialect; ``problems`` says where."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(f"{p.path}:{p.line}: {p.message}" for p in problems))
        self.problems = problems


@dataclass(slots=True)
class _Place:
    line: int
    column: int
    length: int


@dataclass
class Document:
    """A parsed file: ``value`` in plain Python, positions on demand.

    ``path`` is the file as it is shown in problems, ``name`` as it is shown in reports (relative to its pack).
    """

    path: str
    text: str
    value: Any
    name: str = ""
    items: dict[KeyPath, tuple[int, int]] = field(default_factory=dict)
    """Positions of the root's values and of the members of lists below the root, which every reader wants."""

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text without their ends."""
        return _LINE_END.split(self.text)

    @cached_property
    def _root(self) -> Node | None:
        return compose(self.text)

    def position(self, path: KeyPath, *, key: bool = False) -> tuple[int, int]:
        """1-based line and column of the value at ``path``, or of its key; of the nearest parent where it is absent."""
        known = None if key else self.items.get(path)
        if known is not None:
            return known
        place = self._place(path, key)
        return place.line, place.column

    def problem(
        self,
        code: str,
        path: KeyPath,
        message: str,
        *,
        key: bool = False,
        level: str = "error",
        label: str = "",
        where: str = "",
        reason: str = "",
        help: str = "",  # noqa: A002 - the word that users see
        part: str = "",
    ) -> Problem:
        """A problem at the value at ``path``, or at its key, or at ``part`` of the value's text."""
        place = self._place(path, key, part)
        snippet = self.lines[place.line - 1] if place.line <= len(self.lines) else ""
        return Problem(
            path=self.path,
            line=place.line,
            column=place.column,
            code=code,
            message=message,
            level="warning" if level == "warning" else "error",
            snippet=snippet,
            length=place.length,
            label=label,
            where=where,
            reason=reason,
            help=help,
        )

    def _place(self, path: KeyPath, key: bool, part: str = "") -> _Place:
        node = self._root
        if node is None:
            return _Place(1, 1, 1)
        parent_key: Node = node
        for step in path:
            found = _child(node, step)
            if found is None:
                break
            parent_key, node = found
        chosen = parent_key if key else node
        inside = self._part(chosen, part) if part else None
        if inside is not None:
            return inside
        line, column = chosen.start_mark.line, chosen.start_mark.column
        ends_here = chosen.end_mark.line == line and (key or isinstance(chosen, ScalarNode))
        length = max(1, chosen.end_mark.column - column) if ends_here else 1
        return _Place(line + 1, column + 1, length)

    def _part(self, node: Node, part: str) -> _Place | None:
        for number in range(node.start_mark.line, min(node.end_mark.line + 1, len(self.lines))):
            start = node.start_mark.column if number == node.start_mark.line else 0
            column = self.lines[number].find(part, start)
            if column >= 0:
                return _Place(number + 1, column + 1, len(part))
        return None


def _child(node: Node, step: str | int) -> tuple[Node, Node] | None:
    if isinstance(node, MappingNode):
        for key, value in node.value:
            if isinstance(key, ScalarNode) and key.value == step:
                return key, value
    elif isinstance(node, SequenceNode) and isinstance(step, int) and 0 <= step < len(node.value):
        return node.value[step], node.value[step]
    return None


def load_document(path: Path, *, shown: str | None = None, name: str = "") -> Document:
    """Read one file.

    Raises :class:`InvalidDocument` with problems of the codes FF100 (not readable) to FF106.
    """
    label = shown if shown is not None else path.as_posix()
    return parse_document(read_text(path, label), label, name=name)


def read_text(path: Path, shown: str) -> str:
    """The file's text without a byte order mark; raises :class:`InvalidDocument` (FF100) where it has none."""
    try:
        raw = path.read_bytes()
        if len(raw) > LARGEST:
            raise _whole_file(shown, f"the file has {len(raw)} bytes; at most {LARGEST} are read")
        return raw.decode("utf-8-sig")
    except OSError as error:
        raise _whole_file(shown, f"the file cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise _whole_file(shown, f"the file is not UTF-8: byte {error.start} is {raw[error.start]:#04x}") from error


def _whole_file(shown: str, message: str) -> InvalidDocument:
    return InvalidDocument([Problem(path=shown, line=0, column=0, code="FF100", message=message)])


def parse_document(text: str, path: str, *, name: str = "") -> Document:
    """Parse a text; ``path`` is only shown. Raises :class:`InvalidDocument`."""
    try:
        refused = anchors(text) if ("&" in text or "*" in text) and _MAYBE_ANCHOR.search(text) else []
        root = None if refused else compose(text)
    except YAMLError as error:
        raise InvalidDocument([_syntax(error, text, path)]) from error
    except RecursionError as error:
        raise InvalidDocument([Problem(path, 1, 1, "FF101", "the file is nested too deeply")]) from error
    builder = _Builder(path, text)
    for line, column in refused:
        builder.refuse(
            "FF104",
            line,
            column,
            "anchors and aliases are not allowed",
            "Write the value out: each place stands by itself",
        )
    value = builder.value(root, 0) if root is not None else None
    if builder.problems:
        raise InvalidDocument(builder.problems)
    return Document(path=path, text=text, value=value, name=name or path, items=_items(root))


def _items(root: Node | None) -> dict[KeyPath, tuple[int, int]]:
    places: dict[KeyPath, tuple[int, int]] = {}
    if root is not None:
        places[()] = (root.start_mark.line + 1, root.start_mark.column + 1)
    if not isinstance(root, MappingNode):
        return places
    for key, value in root.value:
        mark = value.start_mark
        places[(key.value,)] = (mark.line + 1, mark.column + 1)
        if isinstance(value, SequenceNode):
            for index, item in enumerate(value.value):
                mark = item.start_mark
                places[(key.value, index)] = (mark.line + 1, mark.column + 1)
    return places


def scalar(text: str) -> str | int | float | bool | None:
    """What an unquoted word means in this dialect."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] in "+-.0123456789":
        number = _NUMBER.fullmatch(text)
        if number and number["int"] is not None:
            return int(text)
        if number and math.isfinite(float(text)):
            return float(text)
    return text


class _Builder:
    """Plain values from nodes; collects what the dialect refuses."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.problems: list[Problem] = []

    def value(self, node: Node, depth: int) -> Any:
        if node.tag is not UNTAGGED:
            self._at(
                node,
                "FF104",
                f"the tag {node.tag} is not allowed",
                "Tags are not part of this dialect: write the plain value",
            )
        if isinstance(node, ScalarNode):
            return node.value if node.style else scalar(node.value)
        if depth >= DEEPEST:
            self._at(node, "FF101", f"more than {DEEPEST} levels of nesting", "")
            return None
        if isinstance(node, SequenceNode):
            return [self.value(item, depth + 1) for item in node.value]
        return self._mapping(node, depth)

    def _mapping(self, node: Node, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, ScalarNode):
                self._at(key, "FF104", "a key must be a plain word", "Put quotes around text that starts with [ or {")
                continue
            if key.value in result:
                self._at(
                    key,
                    "FF103",
                    f'the key "{key.value}" stands twice in this mapping',
                    "Remove or rename one of them; the later one would silently win",
                )
                continue
            result[key.value] = self.value(value, depth + 1)
        return result

    def _at(self, node: Node, code: str, message: str, hint: str) -> None:
        self.refuse(code, node.start_mark.line, node.start_mark.column, message, hint)

    def refuse(self, code: str, line: int, column: int, message: str, hint: str) -> None:
        lines = _LINE_END.split(self.text)
        snippet = lines[line] if line < len(lines) else ""
        self.problems.append(Problem(self.path, line + 1, column + 1, code, message, snippet=snippet, help=hint))


def _syntax(error: YAMLError, text: str, path: str) -> Problem:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    lines = _LINE_END.split(text)
    if not isinstance(error, MarkedYAMLError) or mark is None:
        return _unreadable(text, path)
    line = min(mark.line, len(lines) - 1)
    snippet = lines[line]
    what = error.problem or error.context or "the text cannot be read"
    tab = snippet.find("\t")
    if tab >= 0 and not snippet[:tab].strip():
        return Problem(
            path, line + 1, tab + 1, "FF102", "a tab in the indentation", snippet=snippet,
            reason="YAML allows only spaces there", help="Replace each tab with spaces",
        )  # fmt: skip
    hint = 'Put quotes around text that holds ": " or " #", or starts with one of @ ` % & * ! | > [ { ? -'
    reason = f"{error.context}, line {error.context_mark.line + 1}" if error.context and error.context_mark else ""
    return Problem(
        path, line + 1, mark.column + 1, "FF101", f"not valid YAML: {what}", snippet=snippet, reason=reason, help=hint
    )


def _unreadable(text: str, path: str) -> Problem:
    """A character that YAML forbids: such an error carries no mark."""
    found = Reader.NON_PRINTABLE.search(text)
    offset = found.start() if found else 0
    before = _LINE_END.split(text[:offset])
    line, column = len(before), len(before[-1]) + 1
    snippet = _LINE_END.split(text)[line - 1]
    message = f"the character U+{ord(text[offset]):04X} is not allowed" if found else "the text cannot be read"
    return Problem(
        path, line, column, "FF101", message, snippet=snippet, help="Remove it or write it as an escape in quotes"
    )
