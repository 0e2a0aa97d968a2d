"""The two YAML parsers, stripped of what the dialect does not have: tag resolution and object construction."""

from __future__ import annotations

from typing import Any

import yaml
from yaml.composer import Composer
from yaml.nodes import Node
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner

UNTAGGED = "untagged"
"""Tag of every node whose author wrote none."""


class _Resolution:
    """Leaves every value as it is written: :func:`engine.authored.document.scalar` decides later."""

    def resolve(self, _kind: Any, _value: Any, _implicit: Any) -> str:
        return UNTAGGED

    def descend_resolver(self, _node: Any, _index: Any) -> None:
        return None

    def ascend_resolver(self) -> None:
        return None

    def check_resolver_prefix(self, _depth: Any, _path: Any, _node: Any, _index: Any) -> bool:
        return False


class PythonLoader(_Resolution, Reader, Scanner, Parser, Composer):
    """Pure Python; about ten times slower."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)


Loader: Any = PythonLoader

if yaml.__with_libyaml__:
    from yaml._yaml import CParser

    class FastLoader(_Resolution, CParser):
        """On libyaml."""

        def __init__(self, text: str) -> None:
            CParser.__init__(self, text)

    Loader = FastLoader


def compose(text: str, loader: Any = None) -> Node | None:
    """The node tree of the only document in ``text``; raises ``yaml.YAMLError``."""
    parser = (loader or Loader)(text)
    node: Node | None = parser.get_single_node()
    return node


def anchors(text: str, loader: Any = None) -> list[tuple[int, int]]:
    """0-based line and column of each anchor and alias; raises ``yaml.YAMLError``."""
    parser = (loader or Loader)(text)
    found = []
    while parser.check_event():
        event = parser.get_event()
        if getattr(event, "anchor", None) is not None:
            found.append((event.start_mark.line, event.start_mark.column))
    return found
