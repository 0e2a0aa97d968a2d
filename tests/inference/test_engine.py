"""The face of inference: backends, what is refused, what is said, the same result whatever the order."""

from __future__ import annotations

import importlib
import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import pytest

from engine.facts.model import Fact, Scalar
from engine.inference import BackendsDisagree, Engine, InvalidFacts, infer
from engine.inference import reference as reference_module
from engine.rules.model import AbsentCondition, Test
from tests.inference.building import VOCABULARY, coverage, explains, fact, needs_durable, rule, run, want
from tests.inference.generate import Generator

OOM = "host.oom_kill"
EXIT = "job.process_exit"
PAIR = rule(want(OOM), want(EXIT, "b", same={"host": "a.host"}))
FACTS = [fact("k", OOM, 0, host="n1"), fact("e", EXIT, 1, host="n1")]


def durable() -> Any:
    return importlib.import_module("engine.inference.durable")


class TestBackends:
    @needs_durable
    def test_each_says_who_it_is(self) -> None:
        found = {name: infer([PAIR], FACTS, VOCABULARY, name) for name in ("durable", "reference", "both")}
        assert {name: (one.backend, one.note) for name, one in found.items()} == {name: (name, "") for name in found}
        assert [one.version for one in found.values()] == [
            "durable_rules 2.0.28",
            "reference 1",
            "durable_rules 2.0.28, reference 1",
        ]
        assert found["durable"].firings == found["reference"].firings == found["both"].firings

    @needs_durable
    def test_the_version_is_the_installed_one(self) -> None:
        assert f"durable_rules {version('durable_rules')}" == durable().VERSION

    @pytest.fixture
    def _without_durable(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        monkeypatch.delitem(sys.modules, "engine.inference.durable", raising=False)
        monkeypatch.setitem(sys.modules, "durable_rules_engine", None)
        yield
        monkeypatch.undo()

    @pytest.mark.usefixtures("_without_durable")
    @pytest.mark.parametrize("backend", ["durable", "both"])
    def test_the_reference_stands_in_where_durable_rules_is_missing(self, backend: Any) -> None:
        found = infer([PAIR], FACTS, VOCABULARY, backend)
        assert (found.backend, found.version, len(found.firings)) == ("reference", "reference 1", 1)
        assert found.note.startswith("durable_rules cannot be used (")

    @needs_durable
    def test_the_reference_stands_in_where_the_core_reports_an_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        module = durable()

        def refuse(_handle: int, text: str) -> tuple[int, int]:
            if '"boot"' in text:
                raise module.core.error("error code: 303")
            return 2, 0

        with Engine([PAIR], VOCABULARY) as engine:
            monkeypatch.setattr(module.core, "assert_fact", refuse)
            found = engine.run(FACTS)
            assert (found.backend, len(found.firings)) == ("reference", 1)
            assert found.note == "durable_rules did not decide this incident: error code: 303"
            monkeypatch.undo()
            assert engine.run(FACTS).backend == "durable"

    @needs_durable
    def test_a_refused_fact_is_an_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        module = durable()
        original = module.core.assert_fact
        with Engine([PAIR], VOCABULARY) as engine:
            monkeypatch.setattr(
                module.core, "assert_fact", lambda h, t: original(h, t) if "boot" in t else (2, original(h, t)[1])
            )
            assert "was refused with code 2" in engine.run(FACTS).note

    @needs_durable
    def test_large_joins_go_to_the_reference(self) -> None:
        every = rule(want(OOM), want(EXIT, "b", same={"host": "a.host"}, within={"a": 1}))
        facts = [fact(f"{kind}{n}", kind, n, host="n1") for kind in (OOM, EXIT) for n in range(990)]
        found = infer([every], facts, VOCABULARY)
        assert (found.backend, len(found.firings)) == ("reference", 990 + 2 * 989)
        assert "could take more than" in found.note

    def test_a_rule_that_matches_too_often_is_stopped_and_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reference_module, "MOST_MATCHES", 10)
        monkeypatch.setattr("engine.inference.MOST_MATCHES", 10)
        facts = [fact(f"{kind}{n:02}", kind, n) for kind in (OOM, EXIT) for n in range(4)]
        for backend in ("durable", "reference", "both"):
            found = infer([rule(want(OOM), want(EXIT, "b"), rule_id="all")], facts, VOCABULARY, backend)
            assert (found.backend, len(found.firings)) == ("reference", 10)
            assert found.note.endswith("all was stopped, it can be matched in too many ways")

    def test_a_rule_that_is_tried_too_often_is_stopped(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reference_module, "MOST_CHECKS", 10)
        found = infer([rule(want(OOM), want(EXIT, "b", same={"pid": "a.pid"}, before=["a"]))],
                      [fact(f"{kind}{n}", kind, n, pid=1) for kind in (OOM, EXIT) for n in range(9)],
                      VOCABULARY, "reference")  # fmt: skip
        assert found.note == "r was stopped, it can be matched in too many ways"

    @needs_durable
    def test_a_difference_is_described(self, monkeypatch: pytest.MonkeyPatch) -> None:
        original = reference_module.ReferenceSession.matches
        monkeypatch.setattr(reference_module.ReferenceSession, "matches", lambda self: original(self)[:-1])
        with pytest.raises(BackendsDisagree) as raised:
            run([PAIR, rule(want(OOM), rule_id="other")], *FACTS)
        assert str(raised.value) == "durable and reference differ on rule r\n  only durable: a = k, b = e"

    @needs_durable
    def test_different_derivations_are_described(self, monkeypatch: pytest.MonkeyPatch) -> None:
        original = reference_module.ReferenceSession.matches
        monkeypatch.setattr(
            reference_module.ReferenceSession,
            "matches",
            lambda self: [replace(m, concluded=True) for m in original(self)],
        )
        with pytest.raises(
            BackendsDisagree, match=r"derive different facts\n  only durable: causal.explained\(cause='k'"
        ):
            run(explains("p", want(OOM, "cause"), want(EXIT, "effect")), *FACTS)


class TestReuse:
    def test_incidents_do_not_see_one_another(self) -> None:
        covered = coverage("c", "kernel_log", 0, 9, host="n1")
        rules = [PAIR, rule(want(EXIT), AbsentCondition(OOM, "a"), rule_id="s")]
        with Engine(rules, VOCABULARY, "both") as engine:
            first = engine.run(FACTS)
            assert [one.rule_id for one in engine.run([covered, FACTS[1]]).firings] == ["s"]
            assert engine.run([]).firings == ()
            assert engine.run([FACTS[1]]).firings == ()
            assert engine.run(FACTS) == first

    def test_two_engines_live_side_by_side(self) -> None:
        with Engine([PAIR], VOCABULARY) as one, Engine([rule(want(EXIT))], VOCABULARY) as other:
            assert [len(engine.run(FACTS).firings) for engine in (one, other, one)] == [1, 1, 1]

    def test_states_in_which_nothing_fires_can_be_deleted(self) -> None:
        with Engine([PAIR], VOCABULARY) as engine:
            for _ in range(50):
                assert engine.run(FACTS[:1]).firings == ()


@pytest.mark.parametrize("seed", range(1, 21))
def test_the_order_of_facts_and_rules_does_not_matter(seed: int) -> None:
    case = Generator(seed).case(4, 14, 1)
    shuffle = random.Random(seed).shuffle
    for backend in ("durable", "reference"):
        found = infer(case.rules, case.incidents[0], case.vocabulary, backend)
        rules, facts = [*case.rules], [*case.incidents[0]]
        shuffle(rules)
        shuffle(facts)
        assert infer(rules, facts, case.vocabulary, backend) == found


class TestFacts:
    def test_ids_are_unique(self) -> None:
        with pytest.raises(InvalidFacts, match="used more than once: k"):
            run(PAIR, *FACTS, FACTS[0])

    @needs_durable
    @pytest.mark.parametrize("value", ["7", True, 7.0, float("nan")])
    def test_values_of_another_type_are_missing_and_named(self, value: Scalar) -> None:
        found = run(rule(want(OOM, "a", Test("pid", "known", True))), fact("k", OOM, pid=value))
        assert found.firings == ()
        assert found.note == f"k: {OOM}.pid = {value!r} is not a usable int and counts as missing"

    def test_many_such_values_are_summed_up(self) -> None:
        found = run(rule(want(OOM, "a", Test("pid", "known", True))), *[fact(f"k{n}", OOM, pid="x") for n in range(9)])
        assert found.note.endswith("; 4 more values could not be matched")

    def test_whole_numbers_are_floats_where_the_field_is_one(self) -> None:
        share = rule(want(OOM, "a", Test("share", "==", 2)))
        assert len(run(share, fact("k", OOM, share=2), fact("k2", OOM, share=2.0)).firings) == 2
        assert run(share, fact("k", OOM, share=10**400)).note

    def test_ends_of_time_count_as_open(self) -> None:
        after = rule(want(OOM), want(EXIT, "b", after=["a"]))
        far = [fact("k", OOM, -(10.0**13), host="n1"), fact("e", EXIT, 1, host="n1")]
        assert run(after, *far).firings == ()

    def test_a_line_is_a_line(self) -> None:
        with pytest.raises(InvalidFacts, match="not a line number"):
            run(PAIR, fact("k", OOM, line=2**61))


def test_facts_of_unknown_kinds_are_passed_over() -> None:
    stray: list[Fact] = [fact("x", "no.such_kind")]
    assert len(run(PAIR, *FACTS, *stray).firings) == 1
