"""The phase of the job at the first fault, from the marks that the phases profile names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from engine.facts.model import SECOND, Fact, Order, before
from engine.inference import Firing
from engine.rules.model import FactCondition, Operator, Rule, Test

PREFIX = "phase/"
RECOVERY = "recovery"
BY_CAUSE = 5
"""Order of the phase that the cause implies, among the orders of the profile's marks."""

LATER_ATTEMPT = 45
"""Order of the phase of a cause that only a later attempt can have: the training seen is that of an earlier one."""

_BOUNDS: Mapping[str, Operator] = {"min": ">=", "max": "<=", "above": ">", "below": "<", "known": "known"}


def phase_rules(profile: Mapping[str, Any]) -> tuple[Rule, ...]:
    """Rules that find the marks; evaluated with the others. ``profile`` is the plain phases profile.

    An entry of ``phases`` has ``phase`` and ``when`` (``fact``, one kind or several, and ``where``), and ``within_s``
    where it only counts so shortly before the moment. The id of its rules is ``phase/<order>/<phase>/<within_s>``,
    ``order`` being its own or its position; a mark of higher order counts more.
    """
    return tuple(
        Rule(
            f"{PREFIX}{int(entry.get('order', position)):03d}/{entry['phase']}/{entry.get('within_s', '')}",
            (condition,),
        )
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
    less than any mark that the job itself gave. Marks of an attempt that was certainly over when a later one began,
    itself certainly before ``moment``, do not count.
    """
    marks = [mark for mark in _marks(firings, facts) if _counts(mark, moment)]
    restarts = [
        mark.fact
        for mark in marks
        if mark.phase == RECOVERY and moment is not None and before(mark.fact, moment) is Order.YES
    ]
    order = LATER_ATTEMPT if of_cause == RECOVERY else BY_CAUSE
    found = [(order, (-(2**62), "", 0), of_cause)] if of_cause else []
    found += [
        (mark.order, _latest(mark.fact), mark.phase)
        for mark in marks
        if not any(_over_before(mark.fact, restart) for restart in restarts)
    ]
    return max(found)[2] if found else None


class _Mark(NamedTuple):
    """A fact that marks a phase, and within how many microseconds before the moment it counts, where that matters."""

    order: int
    phase: str
    within: int | None
    fact: Fact


def _marks(firings: Iterable[Firing], facts: Mapping[str, Fact]) -> Iterator[_Mark]:
    for firing in firings:
        if firing.rule_id.startswith(PREFIX):
            _, order, phase, within = firing.rule_id.split("/", 3)
            yield _Mark(int(order), phase, int(within) * SECOND if within else None, facts[firing.bindings[0][1]])


def _counts(mark: _Mark, moment: Fact | None) -> bool:
    if mark.within is None:
        return moment is None or not (before(moment, mark.fact) is Order.YES or _nominally_later(mark.fact, moment))
    return moment is not None and before(mark.fact, moment) is Order.YES and _near(mark.fact, moment, mark.within)


def _nominally_later(mark: Fact, moment: Fact) -> bool:
    """Whether a mark of another host lies after the moment as the stamps read, where the clocks settle nothing.

    A phase is no evidence: the likelier order is enough where both clocks are open by the same doubt.
    """
    if mark.host is None or moment.host is None or mark.host == moment.host:
        return False
    spans = (mark.onset.earliest, mark.onset.latest), (moment.onset.earliest, moment.onset.latest)
    (since, until), (begin, end) = spans
    if since is None or until is None or begin is None or end is None:
        return False
    return before(mark, moment) is Order.CANNOT_TELL and since > begin and until > end


def _near(mark: Fact, moment: Fact, microseconds: int) -> bool:
    """Whether the moment is certainly no further from the mark than that."""
    one_clock = mark.clock == moment.clock
    begin = mark.local.earliest if one_clock else mark.onset.earliest
    end = moment.local.latest if one_clock else moment.onset.latest
    return begin is not None and end is not None and end - begin <= microseconds


def _over_before(mark: Fact, restart: Fact) -> bool:
    """Whether the last occurrence of the mark certainly lies before the restart."""
    if before(mark, restart) is not Order.YES:
        return False
    if mark.last_source is None:
        return True
    if mark.last_source.path == restart.source.path and restart.sequence is not None:
        return mark.last_source.line < restart.sequence
    ends, begins = mark.reported.latest, restart.onset.earliest
    return ends is not None and begins is not None and ends < begins


def _latest(fact: Fact) -> tuple[int, str, int]:
    known = fact.onset.earliest
    return (known if known is not None else -(2**62), fact.source.path, fact.source.line)
