"""The same incident told in another way: other host names, other days, more noise around it."""

from __future__ import annotations

import gzip
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from engine.facts.collectives import GroupState
from engine.facts.manifest import Manifest
from engine.facts.model import CounterSample, Observation, Reading, Span

LETTERS = "xwvutsrp"
NOT_A_NAME = re.compile(r"localhost|[0-9.:]+|[0-9a-f:]{8,}")
"""What stands in the place of a host and is no name that a site chose: a loopback name, an address."""

NODE_LIST = re.compile(rb"([A-Za-z][\w.-]*)\[(\d{1,4}(?:-\d{1,4})?(?:,\d{1,4}(?:-\d{1,4})?)*)\]")

UNRELATED: Mapping[str, str] = {
    "other/nginx.log": (
        '10.0.0.1 - - [20/Jan/2026:11:14:00 +0000] "GET /timeout?error=connection+reset HTTP/1.1" 504 0\n'
        '10.0.0.2 - - [20/Jan/2026:11:14:01 +0000] "GET /status/fatal HTTP/1.1" 200 512\n'
    )
    * 50,
    "other/billing-service.log": (
        "2026-01-20 11:13:58,101 WARNING billing.worker retrying payment 4711, attempt 3 of 5\n"
        "2026-01-20 11:13:59,377 ERROR billing.worker upstream timed out after 30000 ms, giving up on payment 4711\n"
        "2026-01-20 11:13:59,378 INFO billing.worker closing connection to ledger (peer closed)\n"
    )
    * 40,
}
"""Logs of programs that have nothing to do with training, with the words that people search for."""


def shifted(item: Observation | CounterSample | GroupState, by: int) -> Observation | CounterSample | GroupState:
    """The reading ``by`` microseconds later, on every clock that says a date."""
    if isinstance(item, GroupState):
        return item
    if isinstance(item, CounterSample):
        return replace(item, when=_moved(item.when, by))
    return replace(item, when=_moved(item.when, by), after=_moved(item.after, by), until=_moved(item.until, by))


def _moved(reading: Reading | None, by: int) -> Reading | None:
    if reading is None or reading.basis == "boot":
        return reading
    return replace(reading, earliest=reading.earliest + by, latest=reading.latest + by)


def shifted_frame(manifest: Manifest, by: int) -> Manifest:
    """The manifest of the incident ``by`` microseconds later."""
    window = manifest.window
    if window is None:
        return manifest
    ends = (None if end is None else end + by for end in (window.earliest, window.latest))
    return replace(manifest, window=Span(*ends))


def other_names(hosts: Iterable[str]) -> dict[str, str]:
    """A new name for each host, in the order of the old ones, looking like a name of a site."""
    chosen = sorted({host for host in hosts if host.isascii() and not NOT_A_NAME.fullmatch(host)})
    return {host: f"zq{LETTERS[number % 8]}{number:03d}" for number, host in enumerate(chosen)}


def renamed_copy(bundle: Path, target: Path, names: Mapping[str, str]) -> None:
    """Copy ``bundle`` with the hosts ``names`` called otherwise in texts and paths."""
    shutil.copytree(bundle, target)
    if not names:
        return
    known = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    begins = r"(?:(?<![A-Za-z0-9])|(?<=\dm))"  # also after the code of a colour
    pattern = re.compile(rf"{begins}(?:{known})(?![A-Za-z0-9])".encode())

    def other(match: re.Match[bytes]) -> bytes:
        return names[match[0].decode()].encode()

    def others(match: re.Match[bytes]) -> bytes:
        listed = _listed(match[1].decode(), match[2].decode())
        return ",".join(names[name] for name in listed).encode() if set(listed) <= names.keys() else match[0]

    def told(text: bytes) -> bytes:
        return pattern.sub(other, NODE_LIST.sub(others, text))

    for path in sorted(target.rglob("*"), key=lambda path: len(path.parts), reverse=True):
        path.chmod(0o755 if path.is_dir() else 0o644)
        if path.suffix == ".gz" and path.is_file():
            path.write_bytes(gzip.compress(told(gzip.decompress(path.read_bytes()))))
        elif path.is_file():
            path.write_bytes(told(path.read_bytes()))
        path.rename(path.with_name(pattern.sub(other, path.name.encode()).decode()))


def _listed(prefix: str, numbers: str) -> list[str]:
    """The hosts that a scheduler writes as ``node[03-05,9]``."""
    found: list[str] = []
    for part in numbers.split(","):
        first, _, last = part.partition("-")
        found += (f"{prefix}{number:0{len(first)}}" for number in range(int(first), int(last or first) + 1))
    return found


def with_unrelated_logs(bundle: Path, target: Path) -> None:
    """Copy ``bundle`` and put the logs of other programs beside its own."""
    shutil.copytree(bundle, target)
    target.chmod(0o755)
    for name, text in UNRELATED.items():
        path = target / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
