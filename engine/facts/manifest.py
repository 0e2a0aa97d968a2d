"""What the person who packed a bundle says about it: ``incident.yaml``, without its labels."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from engine.facts.model import Span

MOST_RANKS = 1_000_000
"""A stated world size beyond this names no ranks: no job is that large."""


@dataclass(frozen=True, slots=True)
class SourceHint:
    """What a path cannot tell about a file. ``pattern`` is a path or a glob (``*`` stays in one folder, ``**`` not)."""

    pattern: str
    host: str | None = None
    rank: int | None = None
    timezone: str | None = None
    adapter: str | None = None
    job: str | None = None

    def matches(self, path: str) -> bool:
        """Whether ``path`` (relative to the bundle, with ``/``) is meant."""
        return self.pattern == path or _expression(self.pattern).fullmatch(path) is not None


@lru_cache(maxsize=65_536)
def _expression(pattern: str) -> re.Pattern[str]:
    """A glob as an expression: ``**`` stands for any folders, none included, other signs stay inside one component."""
    *folders, name = pattern.split("/")
    above = "".join("(?:[^/]+/)*" if part == "**" else f"{_component(part)}/" for part in folders)
    return re.compile(above + (".*" if name == "**" else _component(name)))


def _component(part: str) -> str:
    """A glob of one path component; its ``*`` and ``?`` do not cross a slash."""
    inside = fnmatch.translate(part).removeprefix("(?s:").removesuffix(r")\Z").removesuffix(r")\z")
    return inside.replace(".*", "[^/]*")


@dataclass(frozen=True, slots=True)
class Manifest:
    """The stated frame of an incident; everything but ``id`` is optional.

    ``window`` is UTC microseconds; ``timezone`` an IANA name or offset for stamps without one; ``clock_hosts`` gives
    per host (offset, uncertainty) in microseconds, offset being the host's clock minus true time.
    """

    id: str
    title: str = ""
    framework: str | None = None
    world_size: int | None = None
    nodes: tuple[str, ...] = ()
    gpus_per_node: int | None = None
    window: Span | None = None
    timezone: str | None = None
    year: int | None = None
    clock_hosts: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    sources: tuple[SourceHint, ...] = ()
    answers: Mapping[str, str] = field(default_factory=dict)

    @property
    def ranks(self) -> int | None:
        """The stated number of ranks, where a job can be that large."""
        return self.world_size if self.world_size and self.world_size <= MOST_RANKS else None

    def hint(self, path: str) -> SourceHint:
        """All that ``sources`` says about ``path``: exact paths before globs, earlier entries before later ones."""
        merged: dict[str, str | int] = {}
        for exact in (True, False):
            for source in self.sources:
                if (source.pattern == path) is exact and source.matches(path):
                    for name in ("host", "rank", "timezone", "adapter", "job"):
                        value = getattr(source, name)
                        if value is not None:
                            merged.setdefault(name, value)
        return SourceHint(pattern=path, **merged)  # type: ignore[arg-type]
