"""Rules that inference refuses, and what it says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.inference import Engine, InvalidRules, problems
from engine.rules.model import AbsentCondition, AnyCondition, Count, Emission, Join, Rule, Test
from tests.inference.building import VOCABULARY, explains, joined, needs_durable, rule, want

OOM = "host.oom_kill"
EXIT = "job.process_exit"
PAIR = rule(want(OOM), want(EXIT, "b", same={"host": "a.host"}))

CASES: list[tuple[Rule | list[Rule], str]] = [
    (rule(), "it asks for no fact at all"),
    (rule(AbsentCondition(OOM, "a")), "unknown alias a"),
    (rule(want("host.unheard_of")), "unknown kind host.unheard_of"),
    (rule(want(OOM), want(EXIT)), "the alias a is bound twice"),
    (rule(want(OOM, "a", Test("speed", "==", 1))), "host.oom_kill has no field speed"),
    (rule(want(OOM, "a", Test("pid", "==", "1"))), "host.oom_kill.pid is int, not '1'"),
    (rule(want(OOM, "a", Test("pid", "==", True))), "host.oom_kill.pid is int, not True"),
    (rule(want(OOM, "a", Test("fatal", "==", 1))), "host.oom_kill.fatal is bool, not 1"),
    (rule(want(OOM, "a", Test("pid", "==", 1.0))), "host.oom_kill.pid is int, not 1.0"),
    (rule(want(OOM, "a", Test("pid", "==", 2**62))), "host.oom_kill.pid: 4611686018427387904 is too large a number"),
    (rule(want(OOM, "a", Test("share", "<", float("inf")))), "host.oom_kill.share: inf is no number to compare with"),
    (rule(want(OOM, "a", Test("process", "<", "b"))), "host.oom_kill.process: < does not order values of type str"),
    (rule(want(OOM, "a", Test("fatal", ">=", True))), "host.oom_kill.fatal: >= does not order values of type bool"),
    (rule(want(OOM, "a", Test("pid", "in", ()))), "host.oom_kill.pid: in needs a list of values"),
    (rule(want(OOM, "a", Test("pid", "in", 1))), "host.oom_kill.pid: in needs a list of values"),
    (rule(want(OOM, "a", Test("pid", "in", (1, "2")))), "host.oom_kill.pid is int, not '2'"),
    (rule(want(OOM, "a", Test("pid", "known", 1))), "host.oom_kill.pid: known is true or false"),
    (rule(want(OOM, "a", Test("pid", "~", 1))), "host.oom_kill.pid: unknown operator ~"),  # type: ignore[arg-type]
    (rule(want(OOM), want(EXIT, "b", same={"host": "c.host"})), "unknown alias c"),
    (rule(want(OOM), want(EXIT, "b", before=["c"])), "unknown alias c"),
    (rule(want(OOM), want(EXIT, "b", within={"c": 1})), "unknown alias c"),
    (rule(want(OOM), want(EXIT, "b", within={"a": -1})), "within -1000000 microseconds is no distance"),
    (rule(want(OOM), want(EXIT, "b", same={"pid": "a.speed"})), "host.oom_kill has no field speed"),
    (rule(want(OOM), want(EXIT, "b", same={"speed": "a.pid"})), "job.process_exit has no field speed"),
    (
        rule(want(OOM), want(EXIT, "b", same={"pid": "a.share"})),
        "job.process_exit.pid (int) cannot be compared with a.share (float)",
    ),
    (
        rule(want(OOM), want(EXIT, "b", same={"pid": "a.id"})),
        "job.process_exit.pid (int) cannot be compared with a.id (str)",
    ),
    (
        rule(want(OOM), replace(want(EXIT, "b"), joins=(Join("pid", "<", "a", "pid"),))),  # type: ignore[arg-type]
        "job.process_exit.pid: a join is == or !=",
    ),
    (rule(want(OOM, count=Count(0))), "a count of at least 0 always holds"),
    (rule(want(OOM, count=Count(2, ("speed",)))), "host.oom_kill has no field speed"),
    (
        rule(want(OOM, count=Count(2, ("host", "pid", "process")))),
        "facts can be counted as distinct in at most two fields",
    ),
    (
        rule(want(OOM, count=Count(2)), want(EXIT, "b", before=["a"], count=Count(2))),
        "the counted b names a, which stands for several facts",
    ),
    (
        rule(want(OOM, count=Count(2)), AnyCondition(((want(EXIT, "b", before=["a"]),),))),
        "a condition inside any names a, which stands for several facts",
    ),
    (
        rule(
            want(OOM, count=Count(2)),
            want(OOM, "b", count=Count(2)),
            AbsentCondition(EXIT, "a", joins=joined({"pid": "b.pid"})),
        ),
        "an absence names a and b, which both stand for several facts",
    ),
    (
        rule(want(OOM), AbsentCondition("comm.collective_timeout", "a")),
        "the absence of comm.collective_timeout can never be shown: the vocabulary gives it no class of coverage",
    ),
    (rule(want(OOM), AnyCondition(())), "any without branches never holds"),
    (rule(want(OOM), AnyCondition(((),))), "an empty branch of any always holds"),
    (rule(want(OOM), AnyCondition(((AnyCondition(()),),))), "any inside any"),  # type: ignore[arg-type]
    (rule(want(OOM), AnyCondition(((want(EXIT, "b"),),)), want(EXIT, "c", same={"pid": "b.pid"})), "unknown alias b"),
    (rule(want(OOM), emits=Emission("causal.unheard_of")), "unknown kind causal.unheard_of"),
    (rule(want(OOM), emits=Emission(EXIT)), "it derives job.process_exit, which is not of nature derived"),
    (rule(want(OOM), emits=Emission("causal.chain", (("speed", 1),))), "causal.chain has no field speed"),
    (rule(want(OOM), emits=Emission("causal.chain", (("steps", "1"),))), "causal.chain.steps is int, not '1'"),
    (
        rule(want(OOM), emits=Emission("causal.chain", (("steps", 1), ("steps", 2)))),
        "it sets a field of causal.chain twice",
    ),
    (
        rule(want(OOM), emits=Emission("causal.chain", (), (("steps", "a", "share"),))),
        "it cannot copy a.share to causal.chain.steps: not fields of one type",
    ),
    (
        rule(want(OOM, count=Count(2)), emits=Emission("causal.chain", (), (("steps", "a", "pid"),))),
        "it copies from a, which is not the alias of one fact",
    ),
    (
        rule(want("causal.chain"), emits=Emission("causal.chain", (), (("start", "a", "id"),))),
        "it copies the id of a, a derived fact: that could go on for ever",
    ),
    (
        [
            rule(want(OOM), AbsentCondition("causal.chain", "a"), rule_id="x", emits=Emission("causal.covered")),
            rule(want("causal.covered"), rule_id="y", emits=Emission("causal.chain")),
        ],
        "y derives causal.chain from what follows from it (x -> y); such rules have no meaning",
    ),
    (
        [explains("p", want(OOM, "cause", unexplained=True), want(EXIT, "effect"))],
        "p derives causal.explained from what follows from it (p); such rules have no meaning",
    ),
]

TOO_LARGE: list[tuple[Rule | list[Rule], str]] = [
    (rule(*[want(OOM, f"a{n}") for n in range(15)]), "it takes 15 facts at once; 14 are possible"),
    (
        rule(*[want(OOM, f"a{n}", before=[f"a{n - 1}"][:n]) for n in range(7)]),
        "it stands for more than 256 combinations; split it",
    ),
    (
        rule(
            *[want(OOM, f"a{n}") for n in range(3)],
            AbsentCondition(EXIT, "a0", order=tuple(want(OOM, before=[f"a{n}"]).order[0] for n in range(3))),
        ),
        "an absence stands for 125 alternatives; 48 are possible",
    ),
    (
        rule(
            *[want(OOM, f"a{n}") for n in range(13)],
            replace(
                want(OOM, "b"), joins=tuple(Join(name, "!=", f"a{n}", name) for n in range(13) for name in ("host",))
            ),
        ),
        "a condition makes over 24 comparisons, more than are possible",
    ),
]
"""For the C core; the reference alone could evaluate them, so an engine without the core takes them."""


@pytest.mark.parametrize(
    ("rules", "reason"),
    [*CASES, *(pytest.param(*case, marks=needs_durable) for case in TOO_LARGE)],
    ids=[reason for _, reason in CASES + TOO_LARGE],
)
def test_rules_without_an_exact_meaning_are_refused(rules: Rule | list[Rule], reason: str) -> None:
    given = rules if isinstance(rules, list) else [rules]
    assert any(refusal.reason.endswith(reason) for refusal in problems(given, VOCABULARY))
    with pytest.raises(InvalidRules) as raised:
        Engine(given, VOCABULARY)
    assert reason in str(raised.value)


def test_all_reasons_are_given_at_once() -> None:
    bad = [rule(want(OOM, "a", Test("pid", "==", "1")), want("x.y", "b"), rule_id="one"), rule(rule_id="two")]
    assert [str(refusal) for refusal in problems(bad, VOCABULARY)] == [
        "one: host.oom_kill.pid is int, not '1'",
        "one: unknown kind x.y",
        "two: it asks for no fact at all",
    ]


def test_good_rules_have_no_problems() -> None:
    assert problems([PAIR, explains("p", want(OOM, "cause"), want(EXIT, "effect"))], VOCABULARY) == ()
