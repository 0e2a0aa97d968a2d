"""Which adapters read a file, and whose file it is.

Adapters are found by name in the five branch packages. A file goes to every adapter that recognises its head, or to
the one that the user or the manifest names, and to the signatures if it is text.
"""

from __future__ import annotations

import fnmatch
import importlib
import pkgutil
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from engine.facts.manifest import Manifest
from engine.facts.model import Reading
from facts_adapters.adapter import Adapter, Head, Verdict
from facts_adapters.places import Paths, Told
from facts_adapters.text import stamps
from facts_adapters.text.blocks import BlockReader

BRANCHES = ("job", "comm", "host", "nic", "switch")
ACCEPTED = 0.5
"""Least score of an adapter that gets a file."""


@dataclass(frozen=True, slots=True)
class Registry:
    """All adapters and block readers, by name in a fixed order."""

    adapters: tuple[Adapter, ...]
    blocks: tuple[BlockReader, ...]

    def named(self, name: str) -> Adapter | None:
        """The adapter of that name."""
        return next((adapter for adapter in self.adapters if adapter.name == name), None)


@cache
def registry() -> Registry:
    """Import the modules of the branch packages and collect ``ADAPTER``, ``ADAPTERS``, ``BLOCK`` and ``BLOCKS``."""
    adapters: list[Adapter] = []
    blocks: list[BlockReader] = []
    for branch in BRANCHES:
        package = importlib.import_module(f"facts_adapters.{branch}")
        for info in sorted(pkgutil.iter_modules(package.__path__), key=lambda i: i.name):
            if info.name.startswith("_"):
                continue
            module = importlib.import_module(f"facts_adapters.{branch}.{info.name}")
            adapters += [a for a in _named(module, "ADAPTER", "ADAPTERS") if isinstance(a, Adapter)]
            blocks += [b for b in _named(module, "BLOCK", "BLOCKS") if isinstance(b, BlockReader)]
    return Registry(tuple(adapters), tuple(blocks))


def _named(module: object, one: str, several: str) -> Iterable[object]:
    found = [getattr(module, one)] if hasattr(module, one) else []
    return [*found, *getattr(module, several, ())]


@dataclass(frozen=True, slots=True)
class Choice:
    """An adapter's verdict on a file; ``taken`` where it gets the file."""

    adapter: str
    verdict: Verdict
    taken: bool


@dataclass(frozen=True, slots=True)
class Forced:
    """``NAME=GLOB`` of the command line."""

    adapter: str
    pattern: str

    @classmethod
    def parse(cls, text: str) -> Forced:
        """Raises :class:`ValueError` where the text is not ``NAME=GLOB``."""
        name, equals, pattern = text.partition("=")
        if not name or not equals or not pattern:
            raise ValueError(f'"{text}" is not NAME=GLOB')
        return cls(name, pattern)

    def matches(self, path: str) -> bool:
        """Whether the path, or its last component, fits the pattern."""
        return fnmatch.fnmatchcase(path, self.pattern) or fnmatch.fnmatchcase(path.rpartition("/")[2], self.pattern)


def choose(head: Head, adapters: Sequence[Adapter], named: str | None = None) -> list[Choice]:
    """Ask every adapter, best first. ``named`` (from the manifest or the command line) takes the file alone."""
    choices: list[Choice] = []
    for adapter in adapters:
        try:
            verdict = adapter.sniff(head)
        except Exception as error:  # a faulty look must not cost the file
            verdict = Verdict(0.0, f"failed: {type(error).__name__}: {error}")
        taken = adapter.name == named if named else verdict.score >= ACCEPTED
        choices.append(Choice(adapter.name, verdict, taken))
    return sorted(choices, key=lambda c: (not c.taken, -c.verdict.score, c.adapter))


@dataclass(slots=True)
class Placement:
    """Whose file it is. ``stated`` marks a host that the manifest names: no line may overrule it."""

    host: Told | None = None
    rank: Told | None = None
    local_rank: Told | None = None
    group: Told | None = None
    run: Told | None = None
    stated: bool = False
    timezone: str | None = None


@dataclass(slots=True)
class Site:
    """What is known about the whole bundle while its files are read one by one."""

    manifest: Manifest
    paths: Paths
    dates: dict[str, Reading] = field(default_factory=dict)
    """Stamps of files that hold nothing but a date, by their folder."""
    aliases: dict[str, str | None] = field(default_factory=dict)
    """Names that files call their host by, and the one that path or manifest give it."""

    @classmethod
    def of(cls, manifest: Manifest, paths: Collection[str]) -> Site:
        """The site of a bundle with these files."""
        hints = {source.host for source in manifest.sources if source.host}
        known = {*manifest.nodes, *manifest.clock_hosts, *hints}
        return cls(manifest, Paths(paths, known))

    @property
    def nodes(self) -> set[str]:
        """Host names known so far."""
        return self.paths.known

    def place(self, path: str) -> Placement:
        """What manifest and path tell about a file."""
        hint = self.manifest.hint(path)
        placement = Placement(
            host=self.paths.host(path),
            rank=self.paths.rank(path),
            local_rank=self.paths.local_rank(path),
            group=self.paths.group(path),
            run=self.paths.run(path),
            timezone=hint.timezone,
        )
        if hint.host:
            placement.host, placement.stated = Told(hint.host, "the manifest says so"), True
        if hint.rank is not None:
            placement.rank = Told(str(hint.rank), "the manifest says so")
        return placement

    def place_part(self, of_file: str, path: str) -> Placement:
        """What the title of a part does not tell, the path of the file may; what the manifest says counts first."""
        placement, outer = self.place(path), self.place(of_file)
        host, rank = (None, None) if outer.stated else (placement.host, placement.rank)
        return replace(
            placement,
            host=host or outer.host,
            rank=rank or outer.rank,
            stated=outer.stated or placement.stated,
            timezone=placement.timezone or outer.timezone,
            group=placement.group or outer.group,
            run=placement.run or outer.run,
        )

    def snapshot_time(self, path: str) -> Reading | None:
        """The nearest date file beside or above ``path``, not above its snapshot folder."""
        folders = path.split("/")[:-1]
        for depth in range(len(folders), -1, -1):
            reading = self.dates.get("/".join(folders[:depth]))
            if reading is not None:
                return reading
            if depth and self.paths.group("/".join([*folders[:depth], "x"])) is not None:
                label = folders[depth - 1]
                if self.paths.group(label + "/x") is not None:
                    return stamps.label_reading(label)
        return None

    def alias(self, name: str, host: str) -> None:
        """Note another name of a host; a name for two hosts is none."""
        if name != host and name not in self.nodes:
            self.aliases[name] = host if self.aliases.get(name, host) == host else None

    def named(self, host: str | None) -> str | None:
        """The host that goes by this name."""
        return (self.aliases.get(host) or host) if host else host

    def known(self, name: str | None) -> str | None:
        """The host that a peer's name means, where the bundle knows it; else the name as it is."""
        if name and is_nobody(name):
            return None
        host = self.named(self.canonical(name))
        return host if host in self.nodes or (name and self.canonical(name) in self.aliases) else name

    def canonical(self, host: str | None) -> str | None:
        """A host name as the bundle knows it: NCCL and syslog cut the domain, the launcher does not."""
        if not host or host in self.nodes:
            return host
        if is_nobody(host) or _LOOPBACK.match(host):
            return None
        short = host.partition(".")[0]
        if short.isdigit() or ":" in host:
            return host
        return short


def explain(file: Path, bundle: Path | None = None) -> Iterable[str]:
    """Lines that say how one file is read and why; see :mod:`facts_adapters.explain`."""
    from facts_adapters.explain import explain as lines

    return lines(file, bundle)


_LOOPBACK = re.compile(
    r"(?:localhost|ip6-localhost|localhost\.localdomain|127\.\d+\.\d+\.\d+|::1|0\.0\.0\.0|::)$", re.IGNORECASE
)
"""What every host calls itself."""


def is_nobody(name: str) -> bool:
    """Whether a program printed a word for a host that it does not know."""
    return name.strip("[]<>() ").lower() in ("", "unknown", "none", "null", "nil", "n/a", "-", "?")


_DATE_FILE = re.compile(
    r"(?:^|[_.\-])(?:date|time|timestamp|when|now|(?:collected|captured)(?:_at)?)(?:[_.\-]|$)", re.I
)
_LONGEST_DATE = 200
"""Characters of a file that may hold nothing but a date."""


def date_of(path: str, text: str) -> Reading | None:
    """The stamp of a file that is named after a date and holds one and nothing else."""
    stripped = text.strip()
    if not 0 < len(stripped) <= _LONGEST_DATE or not _DATE_FILE.search(path.rpartition("/")[2]):
        return None
    return stamps.reading(stripped.splitlines()[0])
