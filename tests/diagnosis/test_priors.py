from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.diagnosis.model import Evidence, Hypothesis
from engine.diagnosis.priors import LIMIT, Priors, Shift, patterns_of, read_priors, reorder
from engine.diagnosis.scoring import LIKELY, rank
from engine.diagnosis.verdict import CANDIDATE_SCORE, CLEAR_LEAD, reach_verdict
from engine.facts.model import Fact, Source
from engine.facts.vocabulary import load_vocabulary
from engine.rules.model import Text
from engine.rules.pack import load_packs

PACK = load_packs()
SHIPPED = read_priors(PACK.profiles["priors"])
VOCABULARY = load_vocabulary()
PATTERNS = ("all_at_once", "one_host_first", "one_pair", "at_scale")
PHASES = (None, "startup", "data", "first_sync", "steady", "checkpoint", "recovery")
PRIORS = Priors((Shift("pair", (), "one_pair", {"nic.cabling": 0.4}),), 0.4)


def hypothesis(cause: str, score: float, status: Any = "possible", **given: Any) -> Hypothesis:
    evidence = Evidence("r", "moderate", Text("a", "a"), ("f1",), 2.0)
    return Hypothesis(PACK.leaves[cause], status, score, (evidence,), (), **given)


def ids(items: list[Hypothesis]) -> list[str]:
    return [item.id for item in items]


CLOSE = [hypothesis("switch.congestion", -0.8), hypothesis("nic.cabling", -1.0)]


def test_a_pattern_orders_what_the_evidence_does_not_part() -> None:
    found, notes = reorder(CLOSE, PRIORS, None, ("one_pair",))
    assert ids(found) == ["nic.cabling", "switch.congestion"]
    assert [item.score for item in found] == [-1.0, -0.8]
    assert notes == ("nic.cabling stands before switch.congestion, which the evidence does not part: pair",)


def test_another_pattern_orders_nothing() -> None:
    assert reorder(CLOSE, PRIORS, None, ("at_scale",)) == (CLOSE, ())


def test_evidence_that_parts_them_stays_first() -> None:
    items = [hypothesis("switch.congestion", -0.5), hypothesis("nic.cabling", -1.0)]
    assert ids(reorder(items, PRIORS, None, ("one_pair",))[0]) == ["switch.congestion", "nic.cabling"]


@pytest.mark.parametrize(
    "items",
    [
        [hypothesis("switch.congestion", 0.5, "likely"), hypothesis("nic.cabling", 0.3)],  # another status
        [hypothesis("switch.congestion", 3.0, "confirmed"), hypothesis("nic.cabling", 2.9, "confirmed")],
        [hypothesis("switch.congestion", -1.9), hypothesis("nic.cabling", -2.0)],  # no candidates
        [hypothesis("switch.congestion", -0.8), hypothesis("nic.cabling", -1.0, consequence_of="f9")],
        [hypothesis("switch.congestion", -0.8), replace(hypothesis("nic.cabling", -1.0), support=())],
    ],
)
def test_others_do_not_change_places(items: list[Hypothesis]) -> None:
    assert reorder(items, PRIORS, None, ("one_pair",)) == (items, ())


def test_a_confirmed_cause_silences_the_priors() -> None:
    items = [hypothesis("host.oom-kill", 4.0, "confirmed"), *CLOSE]
    assert reorder(items, PRIORS, None, ("one_pair",)) == (items, ())


def test_the_phase_counts_as_a_pattern_does() -> None:
    priors = Priors((Shift("steady", ("steady",), "", {"nic.cabling": 0.4}),), 0.4)
    assert ids(reorder(CLOSE, priors, "steady", ())[0])[0] == "nic.cabling"
    assert ids(reorder(CLOSE, priors, "startup", ())[0])[0] == "switch.congestion"


def test_shifts_add_up_to_the_bound() -> None:
    shift = Shift("pair", (), "one_pair", {"nic.cabling": 0.3})
    assert Priors((shift, shift, shift), 0.4).of("nic.cabling", None, ("one_pair",))[0] == 0.4


def test_a_profile_cannot_ask_for_more_than_the_limit() -> None:
    assert read_priors({"most": 9.0}).most == LIMIT
    assert 2 * LIMIT < CLEAR_LEAD
    assert read_priors({}) == Priors()


def test_patterns_are_read_from_the_facts() -> None:
    def fact(pattern: str) -> Fact:
        return Fact("f1", "job.failure_pattern", {"pattern": pattern}, Source("log", 1))

    assert patterns_of([fact("one_pair"), fact("one_pair"), fact("at_scale")]) == ("at_scale", "one_pair")


@pytest.mark.parametrize("shift", SHIPPED.shifts, ids=lambda shift: shift.id)
def test_shipped_shifts_name_causes_patterns_and_phases_that_exist(shift: Shift) -> None:
    assert set(shift.causes) <= set(PACK.leaves)
    assert bool(shift.pattern) is not bool(shift.phases)
    assert shift.pattern in ("", *PATTERNS)
    assert set(shift.phases) <= set(PHASES)
    assert all(0 < abs(value) <= SHIPPED.most for value in shift.causes.values())


def test_every_shipped_shift_has_a_source() -> None:
    assert all(entry["source"] for entry in PACK.profiles["priors"]["shifts"])


SCORES = st.lists(
    st.tuples(st.sampled_from(sorted(PACK.leaves)), st.integers(-350, 350), st.booleans(), st.booleans()),
    min_size=1, max_size=6, unique_by=lambda item: item[0],
)  # fmt: skip


@given(SCORES, st.sampled_from(PHASES), st.sets(st.sampled_from(PATTERNS)))
def test_priors_change_no_outcome_and_no_score(drawn: list[Any], phase: str | None, patterns: set[str]) -> None:
    items = rank(
        hypothesis(
            cause,
            score / 100,
            "confirmed" if score > 150 and sure else "likely" if score / 100 >= LIKELY else "possible",
            consequence_of="f9" if explained else None,
        )
        for cause, score, sure, explained in drawn
    )
    found, _ = reorder(items, SHIPPED, phase, sorted(patterns))
    before, after = (reach_verdict(part, [], phase, "platform", VOCABULARY) for part in (items, found))
    assert before.outcome == after.outcome
    assert before.outcome != "cause_found" or before.cause == after.cause
    assert sorted(map(repr, items)) == sorted(map(repr, found))
    assert all(item.score >= CANDIDATE_SCORE for item, old in zip(found, items, strict=True) if item is not old)
