"""The report as plain data: schema version 1 of the contract, from which every renderer starts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

from engine.diagnosis.model import Diagnosis, Evidence, Hypothesis, Missing
from engine.facts.model import Fact, Source, Span
from engine.facts.vocabulary import Vocabulary
from engine.report.waiting import waits_section
from engine.rules.model import Text

SCHEMA_VERSION = 1
TIMELINE_NATURES = ("fault", "symptom", "activity")

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def to_report(diagnosis: Diagnosis, vocabulary: Vocabulary, language: str, version: str) -> dict[str, Any]:
    """The report of one incident in one language (``en`` or ``zh``); equal diagnoses give equal reports."""
    say = _Speaker(language)
    verdict = diagnosis.verdict
    facts = [_fact(fact, vocabulary, say) for fact in diagnosis.facts.values()]
    return {
        "schema_version": SCHEMA_VERSION,
        "language": language,
        "incident": _incident(diagnosis),
        "verdict": {
            "outcome": verdict.outcome,
            "cause": verdict.cause,
            "branch": verdict.branch,
            "owner": verdict.owner,
            "phase": verdict.phase,
            "confidence": verdict.confidence,
            "summary": say(verdict.summary),
        },
        "first_fault": _first_fault(diagnosis.first_fault, vocabulary, say),
        "suspects": [
            {"rank": item.rank, "host": item.host, "device": item.device, "port": item.port, "why": say(item.why)}
            for item in diagnosis.suspects
        ],
        "hypotheses": [_hypothesis(item, diagnosis.missing, say) for item in diagnosis.hypotheses],
        "undetermined": list(diagnosis.undetermined),
        "consequences": [
            {"fact": item.fact, "cause": item.cause, "rule": item.rule, "reason": say(item.reason)}
            for item in diagnosis.consequences
        ],
        "missing_evidence": [_missing(item, say) for item in diagnosis.missing],
        "timeline": [_moment(fact, vocabulary, say) for fact in _timed(diagnosis, vocabulary)],
        "facts": facts,
        "coverage": [_coverage(fact) for fact in diagnosis.facts.values() if fact.kind == "coverage.source"],
        "waits": waits_section(diagnosis.waits, say),
        "assumptions": list(diagnosis.assumptions),
        "warnings": list(diagnosis.warnings),
        "knowledge": dict(zip(("pack", "version", "hash"), diagnosis.pack, strict=True)),
        "engine": {"backend": diagnosis.backend, "version": version, "note": diagnosis.backend_note},
    }


def empty_report(incident: str, warning: str, language: str, version: str) -> dict[str, Any]:
    """The report of an incident that could not be read: it claims nothing and says why."""
    return {
        "schema_version": SCHEMA_VERSION,
        "language": language,
        "incident": {
            "id": incident,
            "title": "",
            "framework": None,
            "world_size": None,
            "nodes": [],
            "window": None,
        },
        "verdict": {
            "outcome": "insufficient_evidence",
            "cause": None,
            "branch": None,
            "owner": None,
            "phase": None,
            "confidence": 0.0,
            "summary": warning,
        },
        "first_fault": None,
        **{
            key: []
            for key in (
                "suspects",
                "hypotheses",
                "undetermined",
                "consequences",
                "missing_evidence",
                "timeline",
                "facts",
                "coverage",
                "assumptions",
            )
        },
        "waits": None,
        "warnings": [warning],
        "knowledge": {"pack": "", "version": "", "hash": ""},
        "engine": {"backend": "", "version": version, "note": ""},
    }


class _Speaker:
    def __init__(self, language: str) -> None:
        self.language = language

    def __call__(self, text: Text) -> str:
        return text.zh if self.language == "zh" else text.en

    def meaning(self, vocabulary: Vocabulary, kind: str) -> str:
        spec = vocabulary[kind]
        return spec.meaning_zh if self.language == "zh" else spec.meaning_en


def iso(moment: int | None) -> str | None:
    """Microseconds since the epoch as ISO 8601 in UTC with milliseconds; ``None`` and the absurd stay ``None``."""
    if moment is None:
        return None
    try:
        stamp = _EPOCH + timedelta(microseconds=moment)
    except OverflowError:
        return None
    return stamp.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _span(span: Span) -> dict[str, str | None]:
    return {"earliest": iso(span.earliest), "latest": iso(span.latest)}


def _incident(diagnosis: Diagnosis) -> dict[str, Any]:
    manifest = diagnosis.manifest
    return {
        "id": manifest.id,
        "title": manifest.title,
        "framework": manifest.framework,
        "world_size": manifest.world_size,
        "nodes": list(manifest.nodes),
        "window": _span(manifest.window) if manifest.window else None,
    }


def _source(source: Source) -> dict[str, Any]:
    return {"path": source.path, "line": source.line}


def _first_fault(fact: Fact | None, vocabulary: Vocabulary, say: _Speaker) -> dict[str, Any] | None:
    if fact is None:
        return None
    return {
        "fact": fact.id,
        "kind": fact.kind,
        "meaning": say.meaning(vocabulary, fact.kind),
        "time": _span(fact.onset),
        "host": fact.host,
        "rank": fact.rank,
        "source": _source(fact.source),
        "text": fact.source.text,
    }


def _evidence(item: Evidence, say: _Speaker) -> dict[str, Any]:
    return {
        "rule": item.rule,
        "strength": item.strength,
        "reason": say(item.reason),
        "facts": list(item.facts),
        "weight": round(item.weight, 3),
        "counted": item.counted,
        "verified": item.verified,
        "explained_by": item.explained_by,
    }


def _hypothesis(item: Hypothesis, missing: tuple[Missing, ...], say: _Speaker) -> dict[str, Any]:
    return {
        "id": item.id,
        "title": say(item.leaf.title),
        "status": item.status,
        "score": round(item.score, 3),
        "branch": item.leaf.branch,
        "owner": item.leaf.owner,
        "first": item.first,
        "consequence_of": item.consequence_of,
        "for": [_evidence(evidence, say) for evidence in item.support],
        "against": [_evidence(evidence, say) for evidence in item.against],
        "missing": [gap.fact for gap in missing if item.id in gap.hypotheses],
        "next_steps": [say(step) for step in item.leaf.next_steps],
        "rollback": [say(step) for step in item.leaf.rollback],
        "handover": say(item.leaf.handover),
        "references": list(item.leaf.references),
    }


def _missing(item: Missing, say: _Speaker) -> dict[str, Any]:
    return {
        "fact": item.fact,
        "host": item.host,
        "why": say(item.why),
        "ask": say(item.collect),
        "command": item.command,
        "who": item.who,
        "value": item.value,
        "question": item.question,
        "hypotheses": list(item.hypotheses),
    }


def _timed(diagnosis: Diagnosis, vocabulary: Vocabulary) -> list[Fact]:
    return [fact for fact in diagnosis.facts.values() if vocabulary[fact.kind].nature in TIMELINE_NATURES]


def _moment(fact: Fact, vocabulary: Vocabulary, say: _Speaker) -> dict[str, Any]:
    return {
        "fact": fact.id,
        "kind": fact.kind,
        "nature": vocabulary[fact.kind].nature,
        "branch": vocabulary[fact.kind].branch,
        "time": _span(fact.onset),
        "host": fact.host,
        "rank": fact.rank,
        "count": fact.count,
        "scope": fact.scope,
        "text": say.meaning(vocabulary, fact.kind),
    }


def _fact(fact: Fact, vocabulary: Vocabulary, say: _Speaker) -> dict[str, Any]:
    fields: Mapping[str, Any] = {name: fact.fields[name] for name in sorted(fact.fields)}
    return {
        "id": fact.id,
        "kind": fact.kind,
        "meaning": say.meaning(vocabulary, fact.kind),
        "fields": fields,
        "job": fact.job,
        "host": fact.host,
        "rank": fact.rank,
        "ranks": list(fact.ranks),
        "device": fact.device,
        "port": fact.port,
        "peer": fact.peer,
        "count": fact.count,
        "onset": _span(fact.onset),
        "reported": _span(fact.reported),
        "clock": fact.clock,
        "scope": fact.scope,
        "source": _source(fact.source),
        "last_source": _source(fact.last_source) if fact.last_source else None,
        "text": fact.source.text,
        "adapter": fact.adapter,
    }


def _coverage(fact: Fact) -> dict[str, Any]:
    return {
        "class": fact.fields.get("class"),
        "host": fact.host,
        "rank": fact.rank,
        "path": fact.source.path,
        "time": _span(fact.reported),
        "scope": fact.scope,
    }
