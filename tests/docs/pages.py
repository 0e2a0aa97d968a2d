"""What a page holds, as far as the tests look at it: fenced blocks, headings, links."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    if "adr" not in path.parts
)

_FENCE = re.compile(r"^(?P<fence>```+)(?P<language>\w*)\n(?P<text>.*?)^(?P=fence)\n", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"<!-- file: (?P<path>[\w./-]+) -->\n\Z")
_EXIT = re.compile(r"#.*\bexit (?P<code>\d+)\b")
_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")


@dataclass(frozen=True)
class Command:
    """A line ``$ firstfault …`` of a console block and the exit code that its comment states."""

    line: str
    arguments: tuple[str, ...]
    exit_code: int


@dataclass(frozen=True)
class File:
    """A block that the page tells to save: a comment ``<!-- file: path -->`` stands above it."""

    path: str
    text: str


def steps(page: Path) -> Iterator[Command | File]:
    """The files and commands of a page in the order in which a reader meets them."""
    text = page.read_text(encoding="utf-8")
    for block in _FENCE.finditer(text):
        saved = _FILE.search(text, 0, block.start())
        if saved and saved.end() == block.start():
            yield File(saved["path"], block["text"])
        if block["language"] == "console":
            yield from (command(line) for line in block["text"].splitlines() if line.startswith("$ firstfault"))


def command(line: str) -> Command:
    """A console line; of the shell's own signs only ``#`` and ``>`` are known."""
    stated = _EXIT.search(line)
    words = shlex.split(line[2:], comments=True)
    if ">" in words:  # where the output goes does not matter
        words = words[: words.index(">")]
    return Command(line, tuple(words[1:]), int(stated["code"]) if stated else 0)


def prose(page: Path) -> str:
    """The page without its fenced blocks and code spans."""
    return re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", _FENCE.sub("", page.read_text(encoding="utf-8")))


def links(page: Path) -> list[str]:
    """Targets of the links that lead to other files or headings of the project."""
    return [link for link in _LINK.findall(prose(page)) if not re.match(r"[a-z]+:", link)]


def headings(page: Path) -> list[str]:
    """Headings without their marks."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """What a forge makes of the headings."""
    found = (re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings(page))
    return set(found)
