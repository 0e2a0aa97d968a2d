"""What ``kubectl describe`` prints of an object, as the object itself.

For kinds that kubectl does not know it prints every field: keys as words (``Last Transition Time``), two spaces for
each level, the items of a list one below the other without a mark. A key that stands a second time on its level begins
the next item (``printUnstructuredContent`` in kubectl's ``describe.go``, 1.20 .. 1.33).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from facts_adapters.adapter import Line

_KEY = re.compile(r"^(?P<indent> *)(?P<key>[A-Za-z][^:]{0,80}):(?:\s+(?P<value>\S.*?))?\s*$")
_DEEPEST = 20
_MOST_KEYS = 200_000


@dataclass(slots=True)
class Described:
    """An object and the line where its description begins."""

    line: Line
    value: dict[str, Any] = field(default_factory=dict)


def described(lines: Iterable[Line]) -> Iterator[Described]:
    """The objects of a file; each begins with ``Name:`` at the edge."""
    found: Described | None = None
    levels: list[tuple[int, list[dict[str, Any]]]] = []
    keys = 0
    for line in lines:
        match = _KEY.match(line.text)
        if not match:
            continue
        indent, key, value = len(match["indent"]), _camel(match["key"]), match["value"]
        if indent == 0 and key == "name":
            if found:
                yield _plain(found)
            found = Described(line)
            levels = [(0, [found.value])]
        keys += 1
        if not found or keys > _MOST_KEYS:
            continue
        while len(levels) > 1 and indent < levels[-1][0]:
            levels.pop()
        if indent > levels[-1][0] or len(levels) > _DEEPEST:
            continue
        items = levels[-1][1]
        if key in items[-1] and len(levels) > 1:
            items.append({})
        if value is None:
            below: list[dict[str, Any]] = [{}]
            items[-1][key] = below
            levels.append((indent + 2, below))
        else:
            items[-1].setdefault(key, int(value) if value.isdecimal() and len(value) < 16 else value)
    if found:
        yield _plain(found)


def _camel(words: str) -> str:
    parts = words.split()
    return (parts[0][:1].lower() + parts[0][1:] + "".join(parts[1:])) if parts else ""


def _plain(found: Described) -> Described:
    """Lists of one item become the item: most are no lists."""
    found.value = _unfold(found.value, 0)
    return found


def _unfold(value: Any, depth: int) -> Any:
    if isinstance(value, dict) and depth <= 2 * _DEEPEST:
        return {key: _unfold(part, depth + 1) for key, part in value.items()}
    if isinstance(value, list):
        items = [_unfold(part, depth + 1) for part in value]
        return items[0] if len(items) == 1 else items
    return value
