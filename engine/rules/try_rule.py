"""Why a rule fires on some facts, or which condition keeps it from firing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from engine.facts.model import SECOND, Fact, Order, Span, before
from engine.facts.vocabulary import COVERAGE_KIND, Vocabulary
from engine.rules.conditions import fact_kinds, needs_propagation
from engine.rules.describe import condition_text, fact_text, join_text, test_text, value_text
from engine.rules.model import (
    COMPARISONS,
    AbsentCondition,
    AnyCondition,
    Condition,
    EvidenceRule,
    FactCondition,
    Join,
    PropagationRule,
    Rule,
    Test,
)

_MOST_VARIANTS = 8
_MOST_BINDINGS = 20
_MOST_CANDIDATES = 200
_MOST_NEAR = 3


class Infer(Protocol):
    """``engine.inference.infer``."""

    def __call__(self, rules: Sequence[Rule], facts: Sequence[Fact], vocabulary: Vocabulary, backend: Any = ...) -> Any:
        """Evaluate rules over facts; the result has ``firings`` and ``derived``."""


Status = Literal["holds", "fails", "not_reached"]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One condition against the facts. ``facts`` satisfy it, ``near`` almost do; ``why`` says what was wrong."""

    number: int
    condition: str
    status: Status
    facts: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    why: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Trial:
    """A rule against the facts: its conditions in order up to the first that fails."""

    rule_id: str
    fires: bool
    attempts: tuple[Attempt, ...]


def try_rule(
    rule: EvidenceRule | PropagationRule,
    facts: Sequence[Fact],
    vocabulary: Vocabulary,
    infer: Infer,
    context: Sequence[Rule] = (),
) -> Trial:
    """Match the rule's conditions one after the other; ``context`` are propagations that ``unexplained`` needs.

    Of the variants of a rule with alternative kinds the one that comes furthest is shown.
    """
    there = {fact.kind for fact in facts if fact.scope == "incident"}
    variants = sorted((rule.when, *rule.variants), key=lambda when: len(fact_kinds(when) - there))[:_MOST_VARIANTS]
    used = [other for other in context if fact_kinds(other.when) <= there] if needs_propagation(*variants) else []
    trials = [_try(rule.id, when, facts, vocabulary, infer, used) for when in variants]
    return max(
        trials, key=lambda trial: (trial.fires, sum(a.status == "holds" for a in trial.attempts), _nearness(trial))
    )


def _nearness(trial: Trial) -> int:
    return -min((len(a.why) for a in trial.attempts if a.status == "fails" and a.near), default=99)


def _try(
    name: str,
    when: Sequence[Condition],
    facts: Sequence[Fact],
    vocabulary: Vocabulary,
    infer: Infer,
    context: Sequence[Rule],
) -> Trial:
    by_id = {fact.id: fact for fact in facts}
    attempts: list[Attempt] = []
    bindings: list[dict[str, Fact]] = [{}]
    failed = False
    for number, condition in enumerate(when, 1):
        text = condition_text(condition)
        if failed:
            attempts.append(Attempt(number, text, "not_reached"))
            continue
        found = infer([*context, Rule("", tuple(when[:number]))], facts, vocabulary, backend="reference")
        firings = [firing for firing in found.firings if firing.rule_id == ""]
        if firings:
            bindings = [{a: by_id[i] for a, i in firing.bindings if i in by_id} for firing in firings[:_MOST_BINDINGS]]
            attempts.append(Attempt(number, text, "holds", _satisfying(condition, firings, by_id)))
            continue
        failed = True
        near, why = _nearest(condition, bindings, facts, vocabulary)
        attempts.append(Attempt(number, text, "fails", (), near, why))
    return Trial(name, not failed, tuple(attempts))


def _satisfying(condition: Condition, firings: Sequence[Any], by_id: dict[str, Fact]) -> tuple[str, ...]:
    if not isinstance(condition, FactCondition):
        return ()
    ids = dict.fromkeys(i for firing in firings for i in firing.facts(condition.alias))
    return tuple(fact_text(by_id[i]) for i in list(ids)[:_MOST_NEAR] if i in by_id)


def _nearest(
    condition: Condition, bindings: Sequence[dict[str, Fact]], facts: Sequence[Fact], vocabulary: Vocabulary
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The fact that comes nearest to the condition, and what is wrong with it."""
    if isinstance(condition, AnyCondition):
        return (), tuple(
            f"no branch holds: {' and '.join(map(condition_text, branch))}" for branch in condition.branches
        )
    candidates = [fact for fact in facts if fact.kind == condition.kind and fact.scope == "incident"][:_MOST_CANDIDATES]
    if isinstance(condition, AbsentCondition):
        return _present(condition, bindings, candidates, facts, vocabulary)
    if not candidates:
        others = sum(fact.kind == condition.kind for fact in facts)
        outside = f" in the incident ({others} outside its window or of another run)" if others else ""
        return (), (f"there is no {condition.kind}{outside}",)
    best: tuple[list[str], Fact] | None = None
    for bound in bindings:
        for fact in candidates:
            if any(fact is other for other in bound.values()):
                continue
            wrong = _wrong(condition, fact, bound)
            if best is None or len(wrong) < len(best[0]):
                best = (wrong, fact)
    if best is None:
        return (), (f"every {condition.kind} is bound to another alias already",)
    if not best[0]:
        return (fact_text(best[1]),), (_beyond_one_fact(condition),)
    return (fact_text(best[1]),), tuple(best[0])


def _beyond_one_fact(condition: FactCondition) -> str:
    if condition.count is not None:
        return f"fewer than {condition.count.at_least} such facts"
    return (
        "a propagation explains it" if condition.unexplained else "it fits, but not together with the conditions before"
    )


def _wrong(condition: FactCondition | AbsentCondition, fact: Fact, bound: dict[str, Fact]) -> list[str]:
    wrong = [_failed_test(test, fact) for test in condition.tests]
    wrong += [_failed_join(join, fact, bound[join.alias]) for join in condition.joins if join.alias in bound]
    for order in condition.order:
        if order.alias in bound:
            pair = (fact, bound[order.alias])
            answer = before(*(pair if order.relation == "before" else pair[::-1]))
            if answer is not Order.YES:
                certain = "it is not" if answer is Order.NO else "the clocks cannot tell"
                wrong.append(
                    f"{order.relation} {order.alias}: {certain} ({_time(fact)}; {order.alias} {_time(pair[1])})"
                )
    for within in condition.within:
        if within.alias in bound and _gap(fact, bound[within.alias]) > within.microseconds:
            gap = _gap(fact, bound[within.alias]) / SECOND
            wrong.append(f"within {within.microseconds / SECOND:g} s of {within.alias}: it is at least {gap:g} s away")
    return [text for text in wrong if text]


def _failed_test(test: Test, fact: Fact) -> str:
    value = fact.get(test.field)
    if _passes(test, value):
        return ""
    return f"{test_text(test)}: it is {value_text(value)}"


def _passes(test: Test, value: Any) -> bool:
    if test.operator == "known":
        return (value is not None) is test.value
    if value is None:
        return False
    return COMPARISONS[test.operator](value, test.value)


def _failed_join(join: Join, fact: Fact, other: Fact) -> str:
    mine = fact.id if join.field == "id" else fact.get(join.field)
    theirs = other.id if join.other == "id" else other.get(join.other)
    if mine is not None and theirs is not None and (mine == theirs) is (join.operator == "=="):
        return ""
    return f"{join_text(join)}: it is {value_text(mine)}, {join.alias}.{join.other} is {value_text(theirs)}"


def _spans(one: Fact, other: Fact) -> tuple[Span, Span]:
    return (one.local, other.local) if one.clock == other.clock else (one.onset, other.onset)


def _gap(one: Fact, other: Fact) -> int:
    """Microseconds that certainly lie between two onsets; 0 where they may coincide."""
    first, second = _spans(one, other)
    gaps = [0]
    for ends, starts in ((first.latest, second.earliest), (second.latest, first.earliest)):
        if ends is not None and starts is not None:
            gaps.append(starts - ends)
    return max(gaps)


def _time(fact: Fact) -> str:
    span = fact.onset
    if not span.known:
        return "no time"
    ends = ["?" if end is None else f"{end / SECOND:.3f}" for end in (span.earliest, span.latest)]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _present(
    condition: AbsentCondition,
    bindings: Sequence[dict[str, Fact]],
    candidates: Sequence[Fact],
    facts: Sequence[Fact],
    vocabulary: Vocabulary,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    for bound in bindings:
        for fact in candidates:
            if not any(fact is other for other in bound.values()) and not _wrong(condition, fact, bound):
                return (fact_text(fact),), ("it is there",)
    wanted = vocabulary[condition.kind].absence
    covering = [fact for fact in facts if fact.kind == COVERAGE_KIND and fact.get("class") == wanted]
    if not covering:
        return (), (f"nothing covers it: no source of class {wanted} was read, so silence proves nothing",)
    where = (
        "on that host" if any(j.field == "host" and j.operator == "==" for j in condition.joins) else "on every host"
    )
    return tuple(map(fact_text, covering[:_MOST_NEAR])), (
        f"no source of class {wanted} covers {condition.anchor} at that time {where}",
    )


def render_trial(trial: Trial) -> list[str]:
    """The match table as lines of text."""
    marks = {"holds": "✓", "fails": "✗", "not_reached": "·"}
    lines = [f"{trial.rule_id}: {'fires' if trial.fires else 'does not fire'}"]
    for attempt in trial.attempts:
        lines.append(f"  {marks[attempt.status]} {attempt.number} {attempt.condition}")
        lines += [f"      {fact}" for fact in attempt.facts]
        lines += [f"      nearest: {fact}" for fact in attempt.near]
        lines += [f"      {why}" for why in attempt.why]
    return lines
