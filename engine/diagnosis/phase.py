"""The phase of the job at the first fault, from the marks that the phases profile names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from engine.facts.model import Fact, Order, before

STATED_BY_CAUSE_FIRST = ("startup",)


def phase_at(
    moment: Fact | None, facts: Iterable[Fact], profile: Mapping[str, Any], of_cause: str | None
) -> str | None:
    """The phase of the last mark that does not certainly follow ``moment``; else the phase that the cause implies.

    ``profile`` holds ``phases``: entries with ``phase`` and ``when`` (``fact`` and ``where`` tests on its fields).
    """
    marks = [
        (phase, weight, fact)
        for fact in facts
        if fact.scope == "incident"
        for phase, weight in _phases_of(fact, profile.get("phases", ()))
    ]
    reached = [mark for mark in marks if moment is None or before(moment, mark[2]) is not Order.YES]
    if not reached:
        return of_cause
    return max(reached, key=lambda mark: (mark[1], _latest(mark[2])))[0]


def _latest(fact: Fact) -> tuple[int, str, int]:
    known = fact.onset.earliest
    return (known if known is not None else -(2**62), fact.source.path, fact.source.line)


def _phases_of(fact: Fact, entries: Sequence[Mapping[str, Any]]) -> Iterable[tuple[str, int]]:
    for position, entry in enumerate(entries):
        when = entry.get("when", {})
        kinds = when.get("fact")
        kinds = kinds if isinstance(kinds, list) else [kinds]
        if fact.kind in kinds and all(_passes(fact, name, test) for name, test in (when.get("where") or {}).items()):
            yield str(entry["phase"]), int(entry.get("order", position))


def _passes(fact: Fact, name: str, test: Any) -> bool:
    value = fact.get(name)
    if isinstance(test, Mapping):
        if "known" in test:
            return (value is not None) is bool(test["known"])
        if not isinstance(value, (int, float)):
            return "not" in test and value != test["not"]
        bounds = (
            ("min", lambda limit: value >= limit),
            ("max", lambda limit: value <= limit),
            ("above", lambda limit: value > limit),
            ("below", lambda limit: value < limit),
        )
        return all(check(test[word]) for word, check in bounds if word in test)
    return value in test if isinstance(test, list) else bool(value == test)
