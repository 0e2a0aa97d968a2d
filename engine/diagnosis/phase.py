"""The phase of the job at the first fault, from the marks that the phases profile names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engine.facts.model import Fact, Order, before
from engine.inference import Firing
from engine.rules.model import FactCondition, Operator, Rule, Test

PREFIX = "phase/"
BY_CAUSE = 5
"""Order of the phase that the cause implies, among the orders of the profile's marks."""

_BOUNDS: Mapping[str, Operator] = {"min": ">=", "max": "<=", "above": ">", "below": "<", "known": "known"}


def phase_rules(profile: Mapping[str, Any]) -> tuple[Rule, ...]:
    """Rules that find the marks; evaluated with the others. ``profile`` is the plain phases profile.

    An entry of ``phases`` has ``phase`` and ``when`` (``fact``, one kind or several, and ``where``). The id of its
    rules is ``phase/<order>/<phase>``, ``order`` being its own or its position; a mark of higher order counts more.
    """
    return tuple(
        Rule(f"{PREFIX}{int(entry.get('order', position)):03d}/{entry['phase']}", (condition,))
        for position, entry in enumerate(profile.get("phases", ()))
        for condition in _conditions(entry.get("when", {}))
    )


def _conditions(when: Mapping[str, Any]) -> Iterator[FactCondition]:
    kinds = when.get("fact", [])
    tests = tuple(test for name, wanted in (when.get("where") or {}).items() for test in _tests(name, wanted))
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        yield FactCondition(str(kind), "mark", tests)


def _tests(name: str, wanted: Any) -> Iterator[Test]:
    if isinstance(wanted, list):
        yield Test(name, "in", tuple(wanted))
    elif not isinstance(wanted, Mapping):
        yield Test(name, "==", wanted)
    else:
        for word, value in wanted.items():
            if word == "not":
                yield Test(name, "not_in", tuple(value)) if isinstance(value, list) else Test(name, "!=", value)
            else:
                yield Test(name, _BOUNDS[word], value)


def phase_at(
    moment: Fact | None, firings: Iterable[Firing], facts: Mapping[str, Fact], of_cause: str | None
) -> str | None:
    """The phase of the latest mark that does not certainly follow ``moment``.

    The phase in which the cause usually strikes counts more than what a fault alone suggests (marks of order 1) and
    less than any mark that the job itself gave.
    """
    marks = [(BY_CAUSE, (-(2**62), "", 0), of_cause)] if of_cause else []
    for firing in firings:
        if firing.rule_id.startswith(PREFIX):
            _, order, phase = firing.rule_id.split("/", 2)
            fact = facts[firing.bindings[0][1]]
            if moment is None or before(moment, fact) is not Order.YES:
                marks.append((int(order), _latest(fact), phase))
    return max(marks)[2] if marks else None


def _latest(fact: Fact) -> tuple[int, str, int]:
    known = fact.onset.earliest
    return (known if known is not None else -(2**62), fact.source.path, fact.source.line)
