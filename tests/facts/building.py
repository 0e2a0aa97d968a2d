"""Builders for observations in tests."""

from __future__ import annotations

from datetime import datetime, timezone

from engine.authored.document import load_document
from engine.facts.collectives import GroupState
from engine.facts.counters import CounterProfile
from engine.facts.manifest import Manifest
from engine.facts.model import CounterSample, Fact, Observation, Reading, Source
from engine.facts.timeline import Timeline, build_timeline
from engine.facts.vocabulary import Vocabulary, load_vocabulary
from knowledge import BUILTIN

SECOND = 1_000_000
VOCABULARY: Vocabulary = load_vocabulary()
PROFILES = {path.stem: load_document(path).value for path in sorted((BUILTIN / "profiles").glob("*.yaml"))}


def micros(text: str) -> int:
    """Microseconds since the epoch of an ISO stamp read as UTC where it has no zone."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return round(moment.timestamp() * SECOND)


def utc(text: str, width_s: float = 0.0) -> Reading:
    start = micros(text)
    return Reading(start, start + round(width_s * SECOND), basis="utc")


def local(text: str, width_s: float = 0.0, year_known: bool = True) -> Reading:
    start = micros(text if year_known else f"1970-{text}")
    return Reading(start, start + round(width_s * SECOND), basis="local", year_known=year_known)


def seen(kind: str, path: str = "log.txt", line: int = 1, **given: object) -> Observation:
    subjects = {name: given.pop(name) for name in ("host", "rank", "device", "port", "peer", "job") if name in given}
    placing = {name: given.pop(name) for name in ("when", "after", "until", "lag", "run") if name in given}
    fields = dict(given)
    return Observation(kind, Source(path, line, f"{kind} line"), fields, **subjects, **placing)  # type: ignore[arg-type]


def timeline(
    *items: Observation | CounterSample | GroupState,
    manifest: Manifest | None = None,
    counters: CounterProfile | None = None,
) -> Timeline:
    return build_timeline(items, VOCABULARY, manifest or Manifest(id="test"), counters or {}, PROFILES)


def facts(*items: Observation | CounterSample, manifest: Manifest | None = None) -> dict[str, list[Fact]]:
    found: dict[str, list[Fact]] = {}
    for fact in timeline(*items, manifest=manifest).facts:
        found.setdefault(fact.kind, []).append(fact)
    return found
