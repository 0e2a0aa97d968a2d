"""What stands around a message: collector, launcher, logger, stamp. Missing and torn prefixes are fine.

Prefixes are taken off one after the other until none fits any more. Where several of them carry a stamp the one that
says most wins: UTC before local time, with a year before without, the finer before the coarser, the inner before the
outer; a kernel's own seconds since boot come last.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from engine.facts.model import Reading
from facts_adapters.text import stamps
from facts_adapters.text.prefixes import PREFIXES, Parts, Prefix
from facts_adapters.text.stamped import bracketed, leading

MOST_PREFIXES = 12
"""Prefixes taken off one line; more are left in the message."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """A line's message and what its prefixes tell.

    ``kind`` is the innermost of ``kinds`` (``plain`` where no prefix was recognised), ``task`` the number that
    ``srun -l`` prints, ``service`` the name of a container (also its ``host`` where nothing else is), ``device`` the
    CUDA device of an NCCL line (never a rank).
    """

    kind: str
    message: str
    kinds: tuple[str, ...] = ()
    when: Reading | None = None
    host: str | None = None
    rank: int | None = None
    local_rank: int | None = None
    task: int | None = None
    pid: int | None = None
    level: str | None = None
    unit: str | None = None
    device: int | None = None
    service: str | None = None

    @property
    def writer(self) -> tuple[object, ...]:
        """Tells the writers of an interleaved file apart."""
        return (self.host, self.rank, self.local_rank, self.task)


_BY_FIRST: dict[str, tuple[Prefix, ...]] = {}


def _candidates(first: str) -> tuple[Prefix, ...]:
    found = _BY_FIRST.get(first)
    if found is None:
        found = _BY_FIRST[first] = tuple(p for p in PREFIXES if not p.first or first in p.first)
    return found


_NUMBERED = re.compile(r" {0,5}(?P<task>\d{1,6}): ")
_HOSTED = re.compile(r"(?P<host>[A-Za-z0-9][\w.-]{0,80}): ")
_COMPOSE = re.compile(r"(?P<host>[A-Za-z0-9][\w.-]{0,60}) +\| ")
_RUNTIME = re.compile(r"^\d{4}-\d\d-\d\dT[\d:.]{8,18}(?:Z|[+-]\d\d:\d\d) (?:stdout|stderr) [FP] ")
_REPLICA = re.compile(r"[-_]\d{1,4}$")
_OF_SLURM = ("srun: ", "slurmstepd: ")
_NOT_HOSTS = ("srun", "slurmstepd", "error", "warning", "info", "debug", "note", "kernel", "fatal", "traceback")


@dataclass(frozen=True, slots=True)
class Profile:
    """Prefixes that only the whole file gives away: ``N: `` of srun, ``host: `` of pdsh, ``service | `` of compose."""

    numbered: bool = False
    hosts: frozenset[str] = frozenset()
    services: frozenset[str] = frozenset()


def profile(lines: Iterable[str], nodes: Collection[str] = ()) -> Profile:
    """Look at sample lines of a file. ``nodes`` are host names known otherwise; their ``host: `` needs no majority."""
    filled = [_RUNTIME.sub("", line, count=1) for line in lines if line.strip()]
    services = Counter(match["host"] for match in map(_COMPOSE.match, filled) if match)
    piped = {s for s in services if services[s] > 1 or (len(filled) == 1 and _REPLICA.search(s))}
    if sum(services.values()) < 0.8 * len(filled):
        piped = set()
    if piped:
        filled = [match.string[match.end() :] if match else "" for match in map(_COMPOSE.match, filled)]
    labelled = [line for line in filled if not line.startswith(_OF_SLURM)]
    numbered = sum(bool(_NUMBERED.match(line)) for line in labelled)
    hosts = Counter(match["host"] for match in map(_HOSTED.match, filled) if match)
    known = {host for host in hosts if host in nodes}
    if filled and sum(hosts.values()) >= 0.6 * len(filled):
        known |= {h for h in hosts if _like_host(h)}
    return Profile(bool(labelled) and numbered >= 0.7 * len(labelled), frozenset(known), frozenset(piped))


def _like_host(name: str) -> bool:
    """Exceptions and levels also stand before a colon: a host has a digit and is no class name."""
    classlike = name.endswith(("Error", "Exception", "Warning"))
    return any(c.isdigit() for c in name) and not name.isdigit() and name.lower() not in _NOT_HOSTS and not classlike


def open_envelope(text: str, known: Profile = Profile()) -> Envelope:
    """Take the prefixes off one logical line."""
    parts = Parts()
    if text[:1] == "{":
        unwrapped = _from_json(text, parts)
        if unwrapped is not None:
            text = unwrapped
    position = 0
    for _ in range(MOST_PREFIXES):
        following = _strip_one(text, position, parts, known)
        if following is None or following <= position:
            break
        position = following
        if parts.done:
            break
    if text.startswith((*_OF_SLURM, "slurmctld: ", "slurmd: "), position):
        parts.kind("slurm")
    message = text[position:]
    return Envelope(
        kind=parts.kinds[-1] if parts.kinds else "plain",
        message=message,
        kinds=tuple(parts.kinds) or ("plain",),
        when=_best(parts.readings),
        host=parts.host,
        rank=parts.rank,
        local_rank=parts.local_rank,
        task=parts.task,
        pid=parts.pid,
        level=parts.level,
        unit=parts.unit,
        device=parts.device,
        service=parts.service,
    )


def _strip_one(text: str, position: int, parts: Parts, known: Profile) -> int | None:
    special = _by_profile(text, position, parts, known)
    if special is not None:
        return special
    start = position
    while text[start : start + 1] == " ":
        start += 1
    first = text[start : start + 1]
    if not first or (start > position and first != "[" and not first.isdigit()):
        return None
    for prefix in _candidates(first):
        if prefix.needs not in text:
            continue
        match = prefix.pattern.match(text, start)
        if match:
            end = prefix.action(match, parts)
            if end is not None:
                return end
    if first == "[":
        return bracketed(text, start, parts)
    if len(parts.readings) < 3 and start == position:
        return leading(text, start, parts) or _level_first(text, start, parts)
    return None


_LEVEL_FIRST = re.compile(r"(?P<level>DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)[: ] ?(?=\d\d)")


def _level_first(text: str, position: int, parts: Parts) -> int | None:
    """``INFO 08-11 09:26:50 …``: a level before the stamp."""
    match = _LEVEL_FIRST.match(text, position)
    if not match:
        return None
    found = stamps.parse(text, match.end())
    if not found:
        return None
    parts.kind("python")
    parts.level = match["level"].lower()
    parts.stamp(found[0])
    end = found[1]
    while text[end : end + 1] in (":", " ") and text[end : end + 1]:
        end += 1
    return end


def _by_profile(text: str, position: int, parts: Parts, known: Profile) -> int | None:
    if known.numbered and parts.task is None:
        match = _NUMBERED.match(text, position)
        if match:
            parts.task = int(match["task"])
            return match.end()
    for names, pattern in ((known.hosts, _HOSTED), (known.services, _COMPOSE)):
        if names and parts.host is None:
            match = pattern.match(text, position)
            if match and match["host"] in names:
                parts.host = match["host"]
                parts.service = match["host"] if pattern is _COMPOSE else None
                return match.end()
    return None


def _rank_of(reading: Reading) -> tuple[bool, bool, bool, int]:
    return (
        reading.basis != "boot",
        reading.basis == "utc",
        reading.year_known,
        -(reading.latest - reading.earliest),
    )


def _best(readings: list[Reading]) -> Reading | None:
    best: Reading | None = None
    for reading in readings:
        if best is None or _rank_of(reading) >= _rank_of(best):
            best = reading
    return best


_TIME_KEYS = ("time", "timestamp", "ts", "@timestamp", "_time")
_TEXT_KEYS = ("MESSAGE", "log", "message", "msg", "text", "line")


def _from_json(text: str, parts: Parts) -> str | None:
    """A line of ``journalctl -o json``, Docker's json-file or another structured logger: its message, else ``None``."""
    if len(text) > 64 * 1024 or not text.rstrip().endswith("}"):
        return None
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    message = next((record[key] for key in _TEXT_KEYS if isinstance(record.get(key), str | list)), None)
    if isinstance(message, list):
        message = _bytes(message)
    if message is None:
        return None
    if "__REALTIME_TIMESTAMP" in record or "_BOOT_ID" in record:
        _from_journal(record, parts)
    elif "log" in record and "stream" in record:
        parts.kind("k8s")
    for key in _TIME_KEYS:
        value = record.get(key)
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            parts.stamp(stamps.reading(str(value)))
            break
    return str(message).rstrip("\n")


def _bytes(numbers: list[object]) -> str | None:
    """The message that is not UTF-8: the journal writes it as a list of byte values."""
    if not all(isinstance(n, int) and 0 <= n < 256 for n in numbers):
        return None
    return bytes(n for n in numbers if isinstance(n, int)).decode("utf-8", "replace")


_JOURNAL_CLOCKS = ("__REALTIME_TIMESTAMP", "__MONOTONIC_TIMESTAMP", "_SOURCE_MONOTONIC_TIMESTAMP")


def _from_journal(record: dict[str, object], parts: Parts) -> None:
    parts.kind("journal")
    transport, unit = record.get("_TRANSPORT"), record.get("SYSLOG_IDENTIFIER")
    parts.kind("syslog")
    if transport == "kernel" or unit == "kernel":
        parts.kind("kernel")
    host, pid = record.get("_HOSTNAME"), record.get("_PID")
    parts.host = host if isinstance(host, str) else None
    parts.unit = unit if isinstance(unit, str) else None
    parts.pid = int(pid) if isinstance(pid, str) and pid.isdigit() else None
    received, monotonic, source = (_number(record.get(key)) for key in _JOURNAL_CLOCKS)
    if received is not None:
        if monotonic is not None and source is not None and 0 <= monotonic - source < 86_400_000_000:
            received -= monotonic - source  # the kernel's own stamp; the journal may have read it later
        parts.stamp(Reading(received, received, "utc", True, "UTC"))


def _number(value: object) -> int | None:
    return int(value) if isinstance(value, str) and value.isdigit() else None
