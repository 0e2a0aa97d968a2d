"""Reading ``incident.yaml``: tolerant, with one problem per wrong place, and blind to ``labels``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from engine.authored import Document, InvalidDocument, Problem, parse_document
from engine.authored.problem import did_you_mean
from engine.facts.manifest import Manifest, SourceHint
from engine.facts.model import SECOND, Reading, Span
from facts_adapters.text import stamps

LARGEST = 4 << 20
"""Bytes of a manifest that are read."""

_TOP = ("schema", "id", "title", "job", "window", "clock", "sources", "answers", "labels")
_JOB = ("framework", "world_size", "nodes", "gpus_per_node")
_SOURCE = ("path", "host", "rank", "timezone", "adapter", "job")

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

T = TypeVar("T")
Way = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class ReadManifest:
    """A manifest and what is wrong with its text; what is wrong was left out."""

    manifest: Manifest
    problems: tuple[Problem, ...] = ()


def read_manifest(raw: bytes | None, name: str, path: str = "incident.yaml") -> ReadManifest:
    """Read the bytes of a manifest; ``name`` is the incident's id where the text has none."""
    if raw is None:
        return ReadManifest(Manifest(id=name))
    if len(raw) > LARGEST:
        problem = Problem(path, 0, 0, "FF251", f"the manifest is longer than {LARGEST} bytes and is not read")
        return ReadManifest(Manifest(id=name), (problem,))
    try:
        document = parse_document(raw.decode("utf-8-sig", "replace"), path)
    except InvalidDocument as error:
        return ReadManifest(Manifest(id=name), tuple(error.problems))
    reader = _Reader(document)
    return ReadManifest(reader.read(name), tuple(reader.problems))


def zone(name: str) -> tzinfo | None:
    """An IANA zone or a numeric offset, ``None`` where the name is neither known nor an offset."""
    east = stamps.offset(name.strip().removeprefix("UTC") or "Z")
    if east is not None:
        return timezone(timedelta(microseconds=east))
    if not re.fullmatch(r"[A-Za-z][\w+\-/]{0,60}", name):
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None


class _Reader:
    def __init__(self, document: Document) -> None:
        self.document = document
        self.problems: list[Problem] = []

    def _wrong(self, way: Way, message: str, hint: str = "", *, key: bool = False) -> None:
        level = "warning"
        self.problems.append(self.document.problem("FF250", way, message, help=hint, level=level, key=key))

    def read(self, name: str) -> Manifest:
        value = self.document.value
        if value is None:
            return Manifest(id=name)
        if not isinstance(value, dict):
            self._wrong((), "a manifest is a mapping of keys to values")
            return Manifest(id=name)
        self._unknown(value, _TOP, ())
        job = self._mapping(value, "job", _JOB)
        clock = self._mapping(value, "clock", ("timezone", "year", "hosts"))
        zone_name = self._zone(clock, ("clock",))
        manifest = Manifest(
            id=self._text(value, "id", ()) or name,
            title=self._text(value, "title", ()) or "",
            framework=self._text(job, "framework", ("job",)),
            world_size=self._count(job, "world_size", ("job",)),
            nodes=self._names(job, "nodes", ("job",)),
            gpus_per_node=self._count(job, "gpus_per_node", ("job",)),
            timezone=zone_name,
            year=self._year(clock),
            clock_hosts=self._clock_hosts(clock),
            sources=self._sources(value.get("sources")),
            answers=self._answers(value.get("answers")),
        )
        return replace(manifest, window=self._window(value, zone_name))

    def _unknown(self, value: dict[str, Any], known: tuple[str, ...], way: Way) -> None:
        for key in value:
            if key not in known:
                self._wrong((*way, key), f'unknown key "{key}"', did_you_mean(key, known), key=True)

    def _mapping(self, value: dict[str, Any], name: str, known: tuple[str, ...]) -> dict[str, Any]:
        found = value.get(name)
        if found is None:
            return {}
        if not isinstance(found, dict):
            self._wrong((name,), f"{name} is a mapping")
            return {}
        self._unknown(found, known, (name,))
        return found

    def _of(self, value: dict[str, Any], name: str, way: Way, what: str, take: Callable[[Any], T | None]) -> T | None:
        given = value.get(name)
        if given is None:
            return None
        taken = take(given)
        if taken is None:
            self._wrong((*way, name), f"{name} must be {what}")
        return taken

    def _text(self, value: dict[str, Any], name: str, way: Way) -> str | None:
        return self._of(value, name, way, "text", _as_text)

    def _count(self, value: dict[str, Any], name: str, way: Way) -> int | None:
        return self._of(value, name, way, "a whole number above 0", lambda v: v if _is_int(v) and v > 0 else None)

    def _names(self, value: dict[str, Any], name: str, way: Way) -> tuple[str, ...]:
        given = value.get(name)
        if given is None:
            return ()
        if not isinstance(given, list):
            self._wrong((*way, name), f"{name} is a list of names")
            return ()
        names: list[str] = []
        for index, item in enumerate(given):
            text = _as_text(item)
            if text is None:
                self._wrong((*way, name, index), "a name must be text")
            else:
                names.append(text)
        return tuple(names)

    def _zone(self, value: dict[str, Any], way: Way) -> str | None:
        name = self._text(value, "timezone", way)
        if name is not None and zone(name) is None:
            hint = "Use an IANA name such as Asia/Shanghai or an offset such as +08:00"
            self._wrong((*way, "timezone"), f'no time zone "{name}"', hint)
            return None
        return name

    def _year(self, clock: dict[str, Any]) -> int | None:
        return self._of(clock, "year", ("clock",), "a year", lambda v: v if _is_int(v) and 1990 <= v <= 2200 else None)

    def _clock_hosts(self, clock: dict[str, Any]) -> dict[str, tuple[int, int]]:
        hosts = clock.get("hosts")
        found: dict[str, tuple[int, int]] = {}
        if hosts is not None and not isinstance(hosts, dict):
            self._wrong(("clock", "hosts"), "hosts is a mapping of host names to {offset_s, uncertainty_s}")
        for host, entry in hosts.items() if isinstance(hosts, dict) else ():
            way: Way = ("clock", "hosts", host)
            if not isinstance(entry, dict):
                self._wrong(way, "a host's clock is {offset_s, uncertainty_s}")
                continue
            self._unknown(entry, ("offset_s", "uncertainty_s"), way)
            offset = self._of(entry, "offset_s", way, "seconds", _as_seconds)
            uncertainty = self._of(entry, "uncertainty_s", way, "seconds", _as_seconds)
            if offset is not None:
                found[host] = (offset, abs(uncertainty or 0))
        return found

    def _window(self, value: dict[str, Any], zone_name: str | None) -> Span | None:
        window = self._mapping(value, "window", ("start", "end"))
        start = self._instant(window, "start", zone_name)
        end = self._instant(window, "end", zone_name)
        if start is None and end is None:
            return None
        if start is not None and end is not None and start > end:
            self._wrong(("window",), "the window ends before it starts; it is not used")
            return None
        return Span(start, end)

    def _instant(self, window: dict[str, Any], name: str, zone_name: str | None) -> int | None:
        reading = self._of(window, name, ("window",), "a time such as 2026-03-12T08:00:00+08:00", _as_reading)
        if reading is None:
            return None
        at = reading.earliest if name == "start" else reading.latest
        if reading.basis == "utc":
            return at
        assumed = zone(zone_name) if zone_name else None
        if assumed is None:
            self._wrong(("window", name), f"{name} has no time zone and clock.timezone is not given; read as UTC")
            return at
        return to_utc(at, assumed)

    def _sources(self, value: object) -> tuple[SourceHint, ...]:
        if value is not None and not isinstance(value, list):
            self._wrong(("sources",), "sources is a list of {path, host, rank, timezone, adapter, job}")
        hints: list[SourceHint] = []
        for index, entry in enumerate(value if isinstance(value, list) else ()):
            way: Way = ("sources", index)
            if not isinstance(entry, dict):
                self._wrong(way, "a source is {path, host, rank, timezone, adapter, job}")
                continue
            self._unknown(entry, _SOURCE, way)
            path = self._text(entry, "path", way)
            if not path:
                self._wrong(way, "a source needs a path")
                continue
            hints.append(
                SourceHint(
                    pattern=path.removeprefix("./").strip("/"),
                    host=self._text(entry, "host", way),
                    rank=self._of(entry, "rank", way, "a rank", lambda v: v if _is_int(v) and v >= 0 else None),
                    timezone=self._zone(entry, way),
                    adapter=self._text(entry, "adapter", way),
                    job=self._text(entry, "job", way),
                )
            )
        return tuple(hints)

    def _answers(self, value: object) -> dict[str, str]:
        if value is not None and not isinstance(value, dict):
            self._wrong(("answers",), "answers is a mapping of question ids to answer ids")
        found: dict[str, str] = {}
        for question, answer in value.items() if isinstance(value, dict) else ():
            text = ("yes" if answer else "no") if isinstance(answer, bool) else _as_text(answer)
            if text is None:
                self._wrong(("answers", question), "an answer must be text")
            else:
                found[question] = text
        return found


def to_utc(local: int, assumed: tzinfo) -> int:
    """Microseconds of a wall clock in a zone as UTC; in the hour that occurs twice the earlier one."""
    aware = (_EPOCH + timedelta(microseconds=local)).replace(tzinfo=assumed)
    return (aware - _EPOCH) // timedelta(microseconds=1)


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _as_text(value: object) -> str | None:
    if isinstance(value, bool) or value is None:
        return None
    return str(value) if isinstance(value, str | int | float) else None


def _as_seconds(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e9:
        return None
    return round(value * SECOND)


def _as_reading(value: object) -> Reading | None:
    return stamps.reading(value) if isinstance(value, str) else None
