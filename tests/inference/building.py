"""A small vocabulary, and facts and rules in few words."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from typing import Any

import pytest

from engine.facts.model import SECOND, Fact, Scalar, Source, Span
from engine.facts.vocabulary import FieldSpec, KindSpec, Vocabulary
from engine.inference import Inference, infer
from engine.rules.model import Condition, Count, Emission, FactCondition, Join, Precedes, Rule, Test, Within

needs_durable = pytest.mark.skipif(find_spec("durable_rules_engine") is None, reason="durable_rules is not installed")


def spec(kind: str, nature: str = "fault", absence: str | None = None, **fields: str) -> KindSpec:
    types = {name: FieldSpec(wanted) for name, wanted in fields.items()}  # type: ignore[arg-type]
    return KindSpec(kind, kind.partition(".")[0], nature, "", "", types, absence)  # type: ignore[arg-type]


VOCABULARY = Vocabulary(
    {
        one.kind: one
        for one in (
            spec("host.oom_kill", absence="kernel_log", process="str", pid="int", share="float", fatal="bool"),
            spec("host.hung_task", absence="kernel_log", process="str", pid="int"),
            spec("job.process_exit", absence="job_log", signal="int", pid="int"),
            spec("job.cancelled", absence="scheduler"),
            spec("comm.collective_timeout", "symptom", work="int"),
            spec("coverage.source", "coverage", **{"class": "str"}),
            spec("causal.explained", "derived", effect="str", cause="str", rule="str"),
            spec("causal.chain", "derived", start="str", end="str", steps="int", share="float"),
            spec("causal.covered", "derived", absence="job_log", note="str"),
        )
    }
)


def fact(
    fact_id: str,
    kind: str,
    at: float | tuple[float | None, float | None] | None = None,
    *,
    clock: str | None = None,
    wide: float = 0,
    path: str = "",
    line: int = 1,
    ordered: bool = False,
    scope: Any = "incident",
    ranks: tuple[int, ...] = (),
    **values: Scalar,
) -> Fact:
    """A fact at some seconds; ``wide`` seconds of doubt come on top of its UTC time, not of its local one."""
    ends = at if isinstance(at, tuple) else (at, at)
    local = Span(*(None if end is None else round(end * SECOND) for end in ends))
    around = round(wide * SECOND)
    onset = Span(
        None if local.earliest is None else local.earliest - around,
        None if local.latest is None else local.latest + around,
    )
    subject = {name: values.pop(name) for name in ("job", "host", "rank", "device", "port", "peer") if name in values}
    return Fact(
        fact_id, kind, values, Source(path or f"{fact_id}.log", line), onset=onset, local=local,
        clock=str(subject.get("host", "")) if clock is None else clock, sequence=line if ordered else None, scope=scope,
        ranks=ranks, **subject,  # type: ignore[arg-type]
    )  # fmt: skip


def coverage(
    fact_id: str, source: str, start: float | None, end: float | None, scope: Any = "incident", **values: Any
) -> Fact:
    values["class"] = source
    return fact(fact_id, "coverage.source", (start, end), scope=scope, **values)


def want(
    kind: str,
    alias: str = "a",
    *tests: Test,
    same: dict[str, str] | None = None,
    differ: dict[str, str] | None = None,
    before: Iterable[str] = (),
    after: Iterable[str] = (),
    within: dict[str, float] | None = None,
    count: Count | None = None,
    unexplained: bool = False,
) -> FactCondition:
    """``same={"host": "a.host"}``, ``within={"a": seconds}``."""
    joins = joined(same, differ)
    order = tuple(Precedes("before", a) for a in before) + tuple(Precedes("after", a) for a in after)
    near = tuple(Within(a, round(s * SECOND)) for a, s in (within or {}).items())
    return FactCondition(kind, alias, tests, joins, order, near, unexplained, count)


def joined(same: dict[str, str] | None = None, differ: dict[str, str] | None = None) -> tuple[Join, ...]:
    joins = [Join(name, "==", *other.split(".")) for name, other in (same or {}).items()]
    joins += [Join(name, "!=", *other.split(".")) for name, other in (differ or {}).items()]
    return tuple(joins)


def rule(*when: Condition, rule_id: str = "r", emits: Emission | None = None) -> Rule:
    return Rule(rule_id, when, emits)


def explains(rule_id: str, *when: Condition) -> Rule:
    """A propagation from ``cause`` to ``effect``."""
    copies = (("effect", "effect", "id"), ("cause", "cause", "id"))
    return Rule(rule_id, when, Emission("causal.explained", (("rule", rule_id),), copies))


def run(rules: Rule | list[Rule], *facts: Fact) -> Inference:
    """On both backends."""
    return infer(rules if isinstance(rules, list) else [rules], facts, VOCABULARY, "both")


def fired(rules: Rule | list[Rule], *facts: Fact) -> list[str]:
    """The firings as ``a=f1 b=f2``."""
    found = run(rules, *facts)
    return [" ".join(f"{alias}={name}" for alias, name in firing.bindings) for firing in found.firings]
