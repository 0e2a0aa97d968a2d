"""Versions of libraries as the evidence states them, and ranges of versions as profiles write them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from engine.facts.model import Observation, Source

Parts = tuple[int, ...]
"""The numbers of a version: (2, 21, 5)."""

MOST_PARTS = 4
_NUMBERS = re.compile(r"v?(\d{1,6}(?:\.\d{1,6})*)")

PACKAGES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("nccl", re.compile(r"nvidia-nccl-cu\d+|libnccl2")),
    ("rccl", re.compile(r"rccl")),
    ("torch", re.compile(r"torch|pytorch")),
    ("ofi_plugin", re.compile(r"aws-ofi-nccl|libnccl-ofi")),
    ("libfabric", re.compile(r"libfabric")),
)
"""Component and the names under which package managers list it."""


def parts(version: str) -> Parts:
    """The leading numbers of a version, at most four; empty where it does not begin with one."""
    match = _NUMBERS.match(version)
    return tuple(int(number) for number in match[1].split(".")[:MOST_PARTS]) if match else ()


def within(version: Parts, first: Parts, last: Parts) -> bool:
    """Whether a version lies between two, both included; an end of fewer numbers means all versions that begin so.

    An empty end is open; a version without numbers lies nowhere.
    """
    if not version:
        return False
    return (not first or version[: len(first)] >= first) and (not last or version[: len(last)] <= last)


@dataclass(frozen=True, slots=True)
class Stated:
    """A version that something states, and where."""

    version: str
    source: Source

    @property
    def parts(self) -> Parts:
        """Its numbers."""
        return parts(self.version)


@dataclass(slots=True)
class Versions:
    """What is stated of each component, by host; the host ``None`` is that of statements which name none."""

    stated: dict[str, dict[str | None, dict[str, Stated]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(dict))
    )

    def add(self, component: str, host: str | None, version: str, source: Source) -> None:
        """Take in a statement; of equal ones the first in the order of files and lines stays."""
        known = self.stated[component][host]
        other = known.get(version)
        if other is None or (source.path, source.line) < (other.source.path, other.source.line):
            known[version] = Stated(version, source)

    def of(self, component: str, host: str | None) -> list[Stated]:
        """What is stated for a host; where nothing is, all that is stated anywhere."""
        by_host = self.stated.get(component, {})
        own = by_host.get(host) if host is not None else None
        found = [own] if own else list(by_host.values())
        unique = {version: item for items in found for version, item in items.items()}
        return [unique[version] for version in sorted(unique)]


def stated_versions(observations: Iterable[Observation]) -> Versions:
    """What libraries print of themselves, and the installed packages of those that print nothing.

    Evidence of another run is left aside.
    """
    printed, installed = Versions(), Versions()
    for item in observations:
        version = item.fields.get("version")
        if item.run or not isinstance(version, str):
            continue
        if item.kind == "comm.version":
            printed.add(str(item.fields.get("component")), item.host, version, item.source)
        elif item.kind == "comm.library_error":
            printed.add("nccl", item.host, version, item.source)
        elif item.kind == "comm.plugin_used" and str(item.fields.get("plugin", "")).lower() == "aws-ofi-nccl":
            printed.add("ofi_plugin", item.host, version, item.source)
        elif item.kind == "host.software":
            name = str(item.fields.get("name", "")).lower()
            for component in (word for word, names in PACKAGES if names.fullmatch(name)):
                installed.add(component, item.host, version, item.source)
    for component, by_host in installed.stated.items():
        if component not in printed.stated:
            printed.stated[component] = by_host
    return printed


def spans(entries: object) -> list[tuple[Parts, Parts]]:
    """``versions`` of a profile: a list of ``{from, until}``; anything else is left out."""
    if not isinstance(entries, list):
        return []
    return [
        (parts(str(entry.get("from") or "")), parts(str(entry.get("until") or "")))
        for entry in entries
        if isinstance(entry, Mapping)
    ]
