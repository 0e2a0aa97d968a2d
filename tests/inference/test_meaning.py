"""What rules mean, on both backends: one test for each sentence of engine/inference/reference.py."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.facts.model import Fact
from engine.inference import Engine
from engine.rules.model import AbsentCondition, AnyCondition, Count, Emission, Precedes, Test, Within
from tests.inference.building import VOCABULARY, coverage, explains, fact, fired, joined, rule, run, want

OOM = "host.oom_kill"
HUNG = "host.hung_task"
EXIT = "job.process_exit"
TIMEOUT = "comm.collective_timeout"
CANCELLED = "job.cancelled"


def test_only_facts_of_the_incident_take_part() -> None:
    facts = [fact("f1", OOM), fact("f2", OOM, scope="other_run"), fact("f3", OOM, scope="outside_window")]
    assert fired(rule(want(OOM)), *facts) == ["a=f1"]


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        (Test("pid", "==", 7), "f7"),
        (Test("pid", "!=", 7), "f8"),
        (Test("pid", "<", 8), "f7"),
        (Test("pid", "<=", 8), "f7 f8"),
        (Test("pid", ">", 7), "f8"),
        (Test("pid", ">=", 7), "f7 f8"),
        (Test("pid", "in", (1, 7)), "f7"),
        (Test("pid", "not_in", (1, 7)), "f8"),
        (Test("pid", "known", True), "f7 f8"),
        (Test("pid", "known", False), "f0"),
        (Test("share", "<", 0.5), "f7"),
        (Test("share", ">=", 1), "f8"),
        (Test("fatal", "==", False), "f8"),
        (Test("host", "!=", "n1"), "f8"),
    ],
)
def test_tests_compare_with_constants_and_a_missing_field_passes_only_known_false(test: Test, expected: str) -> None:
    facts = [
        fact("f0", OOM),
        fact("f7", OOM, host="n1", pid=7, share=0.25, fatal=True),
        fact("f8", OOM, host="n2", pid=8, share=1.5, fatal=False),
    ]
    assert " ".join(fired(rule(want(OOM, "a", test)), *facts)) == " ".join(f"a={name}" for name in expected.split())


def test_joins_compare_fields_and_a_missing_side_fails() -> None:
    kills = [fact("k1", OOM, host="n1", pid=1), fact("k2", OOM, pid=2)]
    exits = [fact("e1", EXIT, host="n1"), fact("e2", EXIT, host="n2"), fact("e3", EXIT)]
    assert fired(rule(want(OOM), want(EXIT, "b", same={"host": "a.host"})), *kills, *exits) == ["a=k1 b=e1"]
    assert fired(rule(want(OOM), want(EXIT, "b", differ={"host": "a.host"})), *kills, *exits) == ["a=k1 b=e2"]


def test_a_join_can_name_the_id_of_a_fact() -> None:
    facts = [fact("k1", OOM), fact("x", "causal.explained", effect="k1", cause="?")]
    assert fired(rule(want(OOM), want("causal.explained", "b", same={"effect": "a.id"})), *facts) == ["a=k1 b=x"]


def test_aliases_stand_for_different_facts() -> None:
    two = rule(want(TIMEOUT), want(TIMEOUT, "b"))
    assert fired(two, fact("t1", TIMEOUT)) == []
    assert fired(two, fact("t1", TIMEOUT), fact("t2", TIMEOUT)) == ["a=t1 b=t2", "a=t2 b=t1"]


class TestOrder:
    """Only a certain order counts."""

    RULE = rule(want(OOM), want(EXIT, "b", after=["a"]))

    def test_one_clock_decides_by_its_own_readings(self) -> None:
        facts = [fact("k", OOM, 0, host="n1", wide=60), fact("e", EXIT, 1, host="n1", wide=60)]
        assert fired(self.RULE, *facts) == ["a=k b=e"]

    def test_two_clocks_decide_by_utc(self) -> None:
        sure = [fact("k", OOM, 0, host="n1", wide=1), fact("e", EXIT, 3, host="n2", wide=1)]
        unsure = [fact("k", OOM, 0, host="n1", wide=2), fact("e", EXIT, 3, host="n2", wide=2)]
        assert fired(self.RULE, *sure) == ["a=k b=e"]
        assert fired(self.RULE, *unsure) == []

    def test_equal_times_are_no_order(self) -> None:
        assert fired(self.RULE, fact("k", OOM, 1, host="n1"), fact("e", EXIT, 1, host="n1")) == []

    def test_the_order_in_a_file_is_certain_whatever_the_clock(self) -> None:
        facts = [fact("k", OOM, path="a.log", line=3), fact("e", EXIT, path="a.log", line=5, ordered=True)]
        assert fired(self.RULE, *facts) == ["a=k b=e"]
        late = [fact("k", OOM, path="a.log", line=3), fact("e", EXIT, path="a.log", line=5)]
        assert fired(self.RULE, *late) == []

    def test_lines_that_contradict_their_one_clock_are_not_believed(self) -> None:
        facts = [
            fact("e", EXIT, 0, host="n1", path="a.log", line=3, ordered=True),
            fact("k", OOM, 9, host="n1", path="a.log", line=2),
        ]
        assert fired(self.RULE, *facts) == []
        assert fired(rule(want(OOM), want(EXIT, "b", before=["a"])), *facts) == ["a=k b=e"]

    def test_lines_that_contradict_two_clocks_are_no_order(self) -> None:
        facts = [
            fact("e", EXIT, 0, host="n1", path="a.log", line=3, ordered=True),
            fact("k", OOM, 9, host="n2", path="a.log", line=2),
        ]
        assert fired(self.RULE, *facts) == []
        assert fired(rule(want(OOM), want(EXIT, "b", before=["a"])), *facts) == []
        agreeing = [facts[0], fact("k", OOM, 9, host="n2", path="a.log", line=4)]
        assert fired(rule(want(OOM), want(EXIT, "b", before=["a"])), *agreeing) == ["a=k b=e"]

    def test_open_ends_are_no_order(self) -> None:
        facts = [fact("k", OOM, (0, None), host="n1"), fact("e", EXIT, (5, None), host="n1")]
        assert fired(self.RULE, *facts) == []
        facts = [fact("k", OOM, (None, 0), host="n1"), fact("e", EXIT, (5, None), host="n1")]
        assert fired(self.RULE, *facts) == ["a=k b=e"]

    def test_before_is_the_mirror_of_after(self) -> None:
        facts = [fact("k", OOM, 0, host="n1"), fact("e", EXIT, 1, host="n1")]
        assert fired(rule(want(EXIT), want(OOM, "b", before=["a"])), *facts) == ["a=e b=k"]
        assert fired(rule(want(OOM), want(EXIT, "b", before=["a"])), *facts) == []


@pytest.mark.parametrize(
    ("second", "near"),
    [
        (fact("e", EXIT, 10, host="n1"), True),
        (fact("e", EXIT, -10, host="n1"), True),
        (fact("e", EXIT, 10.000001, host="n1"), False),
        (fact("e", EXIT, (11, None), host="n1"), False),
        (fact("e", EXIT, (None, 20), host="n1"), True),
        (fact("e", EXIT, host="n1"), True),
        (fact("e", EXIT, 12, host="n2", wide=2), True),
        (fact("e", EXIT, 13, host="n2", wide=2), False),
    ],
)
def test_within_fails_only_where_the_distance_is_certain(second: Fact, near: bool) -> None:
    pair = rule(want(OOM), want(EXIT, "b", within={"a": 10}))
    assert fired(pair, fact("k", OOM, 0, host="n1"), second) == ["a=k b=e"] * near


class TestRanks:
    """An episode of several ranks joins by any of them and remains one fact."""

    SAME = rule(want(EXIT), want(TIMEOUT, "b", same={"rank": "a.rank"}))
    OTHERS = rule(want(EXIT), want(TIMEOUT, "b", differ={"rank": "a.rank"}))
    MANY = fact("t", TIMEOUT, ranks=(1, 2, 3))

    @pytest.mark.parametrize(("rank", "found"), [(2, ["a=e b=t"]), (4, [])])
    def test_it_shares_a_rank(self, rank: int, found: list[str]) -> None:
        assert fired(self.SAME, fact("e", EXIT, rank=rank), self.MANY) == found

    def test_two_episodes_share_a_rank(self) -> None:
        assert fired(self.SAME, fact("e", EXIT, ranks=(0, 3, 4)), self.MANY) == ["a=e b=t"]
        assert fired(self.SAME, fact("e", EXIT, ranks=(0, 4, 5)), self.MANY) == []

    def test_a_fact_without_any_rank_shares_none(self) -> None:
        assert fired(self.SAME, fact("e", EXIT), self.MANY) == []
        assert fired(self.OTHERS, fact("e", EXIT), self.MANY) == []

    def test_one_of_its_ranks_differs(self) -> None:
        assert fired(self.OTHERS, fact("e", EXIT, rank=1), self.MANY) == ["a=e b=t"]
        assert fired(self.OTHERS, fact("e", EXIT, rank=1), fact("t", TIMEOUT, rank=1)) == []

    def test_the_same_rank_counts_in_all_joins(self) -> None:
        both = rule(want(EXIT), want(OOM, "b"), want(TIMEOUT, "c", same={"rank": "a.rank"}, differ={"rank": "b.rank"}))
        exit_ = fact("e", EXIT, rank=1)
        assert fired(both, exit_, fact("k", OOM, rank=2), self.MANY) == ["a=e b=k c=t"]
        assert fired(both, exit_, fact("k", OOM, rank=1), self.MANY) == []
        chain = rule(want(EXIT), want(TIMEOUT, "b", same={"rank": "a.rank"}), want(OOM, "c", same={"rank": "b.rank"}))
        assert fired(chain, exit_, self.MANY, fact("k", OOM, rank=2)) == []
        assert fired(chain, exit_, self.MANY, fact("k", OOM, rank=1)) == ["a=e b=t c=k"]

    def test_three_ranks_differ_from_two(self) -> None:
        both = joined(None, {"rank": "a.rank"}) + joined(None, {"rank": "b.rank"})
        third = rule(want(EXIT), want(OOM, "b"), replace(want(TIMEOUT, "c"), joins=both))
        facts = (fact("e", EXIT, rank=1), fact("k", OOM, rank=2))
        assert fired(third, *facts, self.MANY) == ["a=e b=k c=t"]
        assert fired(third, *facts, fact("t", TIMEOUT, ranks=(1, 2))) == []

    def test_it_is_not_two_facts(self) -> None:
        two = rule(want(TIMEOUT), want(TIMEOUT, "b", differ={"rank": "a.rank"}))
        assert fired(two, self.MANY) == []
        assert fired(two, self.MANY, fact("u", TIMEOUT, rank=1)) == ["a=t b=u", "a=u b=t"]

    def test_a_test_of_its_rank_finds_none(self) -> None:
        known = Test("rank", "known", True)
        same = rule(want(EXIT), want(TIMEOUT, "b", known, same={"rank": "a.rank"}))
        assert fired(same, fact("e", EXIT, rank=2), self.MANY) == []

    def test_it_counts_once_and_in_distinct_ranks_for_each(self) -> None:
        assert fired(rule(want(TIMEOUT, count=Count(2))), self.MANY) == []
        assert fired(rule(want(TIMEOUT, count=Count(3, ("rank",)))), self.MANY) == ["a=t"]
        assert fired(rule(want(TIMEOUT, count=Count(4, ("rank",)))), self.MANY) == []

    def test_what_is_absent_of_one_of_its_ranks(self) -> None:
        cover = coverage("c", "job_log", 0, 10, host="n1")
        wait = fact("t", TIMEOUT, 5, host="n1", ranks=(1, 2, 3))
        alive = rule(want(TIMEOUT), AbsentCondition(EXIT, "a", joins=joined({"host": "a.host", "rank": "a.rank"})))
        gone = [fact(f"e{rank}", EXIT, 4, host="n1", rank=rank) for rank in (1, 2, 3)]
        assert fired(alive, wait, cover, *gone[:2]) == ["a=t"]
        assert fired(alive, wait, cover, *gone) == []
        assert fired(alive, wait, cover, fact("e", EXIT, 4, host="n1", ranks=(1, 2, 3))) == []
        alone = rule(want(TIMEOUT), AbsentCondition(EXIT, "a", joins=joined({"host": "a.host"}, {"rank": "a.rank"})))
        assert fired(alone, wait, cover, gone[2]) == ["a=t"]
        assert fired(alone, wait, cover, *gone[1:]) == []

    def test_a_thousand_ranks_that_differ_are_no_million_pairs(self) -> None:
        facts = [
            fact(name, kind, ranks=tuple(range(1024)))
            for name, kind in (("e", EXIT), ("t", TIMEOUT), ("u", TIMEOUT), ("v", TIMEOUT))
        ]
        found = run([self.OTHERS, replace(self.SAME, id="s")], *facts)
        assert len(found.firings) == 6
        assert not found.note


class TestCount:
    """A counted alias stands for several facts."""

    THREE = (
        fact("t1", TIMEOUT, 1, host="n1", rank=1),
        fact("t2", TIMEOUT, 2, host="n1", rank=2),
        fact("t3", TIMEOUT, 3, host="n2", rank=3),
    )

    def test_enough_facts(self) -> None:
        assert fired(rule(want(TIMEOUT, "t", count=Count(3))), *self.THREE) == ["t=t1"]
        assert fired(rule(want(TIMEOUT, "t", count=Count(4))), *self.THREE) == []

    def test_the_facts_differ_in_each_distinct_field(self) -> None:
        assert fired(rule(want(TIMEOUT, "t", count=Count(2, ("host",)))), *self.THREE) == ["t=t1"]
        assert fired(rule(want(TIMEOUT, "t", count=Count(3, ("host",)))), *self.THREE) == []
        assert fired(rule(want(TIMEOUT, "t", count=Count(2, ("host", "rank")))), *self.THREE) == ["t=t1"]

    def test_two_distinct_fields_are_a_matching_not_two_counts(self) -> None:
        star = [fact(f"a{n}", TIMEOUT, host="n0", rank=n) for n in range(1, 9)]
        star += [fact(f"b{n}", TIMEOUT, host=f"n{n}", rank=0) for n in range(1, 9)]
        assert fired(rule(want(TIMEOUT, "t", count=Count(2, ("host", "rank")))), *star) == ["t=a1"]
        assert fired(rule(want(TIMEOUT, "t", count=Count(3, ("host", "rank")))), *star) == []

    def test_a_fact_without_a_distinct_field_does_not_count(self) -> None:
        assert fired(rule(want(TIMEOUT, "t", count=Count(2, ("host",)))), self.THREE[0], fact("t9", TIMEOUT)) == []

    def test_one_firing_names_all_counted_facts_the_earliest_first(self) -> None:
        (firing,) = run(rule(want(TIMEOUT, "t", count=Count(2))), *reversed(self.THREE)).firings
        assert firing.bindings == (("t", "t1"),)
        assert firing.others == (("t", "t2"), ("t", "t3"))
        assert firing.facts("t") == ("t1", "t2", "t3")

    def test_conditions_that_name_the_alias_hold_for_every_counted_fact(self) -> None:
        kill = fact("k", OOM, 1.5, host="n1")
        early = rule(want(TIMEOUT, "t", count=Count(2)), want(OOM, "b", before=["t"], within={"t": 60}))
        (firing,) = run(early, kill, *[self._on_clock(one) for one in self.THREE]).firings
        assert firing.facts("t") == ("t2", "t3")
        assert firing.bindings == (("b", "k"), ("t", "t2"))

    def test_absence_that_names_the_alias_decides_which_facts_count(self) -> None:
        covered = [coverage("c1", "kernel_log", 0, 9, host="n1"), coverage("c2", "kernel_log", 0, 9, host="n2")]
        no_kill = AbsentCondition(OOM, "t", joins=joined({"host": "t.host"}))
        counted = rule(want(TIMEOUT, "t", count=Count(2)), no_kill)
        assert fired(counted, *self.THREE, *covered) == ["t=t1"]
        assert fired(counted, *self.THREE, *covered, fact("k", OOM, 5, host="n1")) == []
        assert run(counted, *self.THREE, *covered).firings[0].coverage == ("c1", "c2")

    def test_plain_facts_are_not_counted(self) -> None:
        others = rule(want(TIMEOUT), want(TIMEOUT, "t", count=Count(2)))
        assert [f.facts("t") for f in run(others, *self.THREE).firings] == [("t2", "t3"), ("t1", "t3"), ("t1", "t2")]

    @staticmethod
    def _on_clock(one: Fact) -> Fact:
        return fact(one.id, one.kind, (one.local.earliest or 0) / 1e6, clock="n1", host=one.host or "")


class TestAbsent:
    """Absence needs coverage of the anchor's onset."""

    RULE = rule(want(EXIT), AbsentCondition(OOM, "a", joins=joined({"host": "a.host"})))
    EXITED = fact("e", EXIT, 5, host="n1")
    COVERED = coverage("c", "kernel_log", 0, 10, host="n1")

    def test_holds_where_nothing_passes_and_the_time_is_covered(self) -> None:
        (firing,) = run(self.RULE, self.EXITED, self.COVERED).firings
        assert (firing.bindings, firing.coverage) == ((("a", "e"),), ("c",))

    def test_a_fact_that_passes_prevents_it(self) -> None:
        assert fired(self.RULE, self.EXITED, self.COVERED, fact("k", OOM, host="n1")) == []
        assert fired(self.RULE, self.EXITED, self.COVERED, fact("k", OOM, host="n2")) == ["a=e"]

    @pytest.mark.parametrize(
        "covering",
        [
            coverage("c", "job_log", 0, 10, host="n1"),
            coverage("c", "kernel_log", 0, 10, host="n2"),
            coverage("c", "kernel_log", 0, 10, clock="n1"),
            coverage("c", "kernel_log", 6, 10, host="n1"),
            coverage("c", "kernel_log", 0, None, host="n1"),
            coverage("c", "kernel_log", 0, 10, host="n1", scope="other_boot"),
        ],
        ids=["other class", "other host", "unknown host", "too late", "open end", "other boot"],
    )
    def test_without_coverage_it_is_not_known(self, covering: Fact) -> None:
        assert fired(self.RULE, self.EXITED, covering) == []

    def test_an_unknown_time_is_never_covered(self) -> None:
        for at in (None, (None, 5.0), (5.0, None)):
            assert fired(self.RULE, fact("e", EXIT, at, host="n1"), self.COVERED) == []

    def test_across_clocks_utc_decides(self) -> None:
        elsewhere = rule(want(EXIT), AbsentCondition(OOM, "a", joins=joined({"host": "a.host"})))
        other = coverage("c", "kernel_log", 0, 10, host="n2")
        other = replace(other, clock="n1")
        assert fired(elsewhere, fact("e", EXIT, 5, host="n2", wide=4), other) == ["a=e"]
        assert fired(elsewhere, fact("e", EXIT, 5, host="n2", wide=6), other) == []

    NOWHERE = rule(want(EXIT), AbsentCondition(OOM, "a"))

    def test_nowhere_is_known_only_where_every_host_is_covered(self) -> None:
        other = coverage("d", "kernel_log", 0, 10, host="n2")
        assert fired(self.NOWHERE, self.EXITED, self.COVERED) == ["a=e"]
        seen_there = fact("t", TIMEOUT, 2, host="n2")
        assert fired(self.NOWHERE, self.EXITED, self.COVERED, seen_there) == []
        (firing,) = run(self.NOWHERE, self.EXITED, self.COVERED, seen_there, other).firings
        assert firing.coverage == ("c", "d")
        late = coverage("d", "kernel_log", 6, 10, host="n2")
        assert fired(self.NOWHERE, self.EXITED, self.COVERED, seen_there, late) == []

    def test_a_host_of_the_incident_of_which_there_is_no_file_is_not_covered(self) -> None:
        for backend in ("durable", "reference"):
            with Engine([self.NOWHERE], VOCABULARY, backend) as engine:
                facts = (self.EXITED, self.COVERED)
                assert len(engine.run(facts, ["n1"]).firings) == 1
                assert engine.run(facts, ["n1", "n2"]).firings == ()

    def test_a_switch_or_another_run_is_no_host_of_the_incident(self) -> None:
        switch = coverage("s", "switch_log", 0, 10, host="leaf1")
        before = fact("t", TIMEOUT, 2, host="n7", scope="other_run")
        assert fired(self.NOWHERE, self.EXITED, self.COVERED, switch, before) == ["a=e"]

    def test_one_scheduler_speaks_of_all_hosts(self) -> None:
        none = rule(want(OOM), AbsentCondition(CANCELLED, "a"))
        covered = coverage("c", "scheduler", 0, 10, clock="n1")
        assert fired(none, fact("k1", OOM, 5, host="n1"), fact("k2", OOM, host="n2"), covered) == ["a=k1"]

    def test_a_counted_alias_can_be_the_anchor_of_what_is_nowhere(self) -> None:
        several = rule(want(EXIT, count=Count(2)), AbsentCondition(OOM, "a"))
        exits = [fact(f"e{n}", EXIT, n, host="n1") for n in (5, 6, 11)]
        (firing,) = run(several, *exits, self.COVERED).firings
        assert set(firing.facts("a")) == {"e5", "e6"}
        assert fired(several, *exits[1:], self.COVERED) == []

    def test_an_alias_without_the_host_cannot_be_covered(self) -> None:
        assert fired(self.RULE, fact("e", EXIT, 5, clock="n1"), self.COVERED) == []

    def test_tests_and_orders_narrow_what_is_absent(self) -> None:
        earlier = AbsentCondition(
            OOM, "a", (Test("pid", ">", 5),), (), (Precedes("before", "a"),), (Within("a", 2_000_000),)
        )
        narrow = rule(want(EXIT), earlier)
        for at, pid, holds in ((4, 9, False), (4, 1, True), (6, 9, True), (2, 9, True)):
            assert fired(narrow, self.EXITED, self.COVERED, fact("k", OOM, at, host="n1", pid=pid)) == ["a=e"] * holds

    def test_a_bound_fact_does_not_prevent_the_absence_of_others(self) -> None:
        alone = rule(want(OOM), AbsentCondition(OOM, "a", joins=joined({"host": "a.host"})))
        kill = fact("k1", OOM, 5, host="n1")
        assert fired(alone, kill, self.COVERED) == ["a=k1"]
        assert fired(alone, kill, fact("k2", OOM, 6, host="n1"), self.COVERED) == []

    def test_two_absences_can_share_their_coverage(self) -> None:
        neither = rule(want(EXIT), AbsentCondition(OOM, "a"), AbsentCondition(HUNG, "a"))
        assert fired(neither, self.EXITED, self.COVERED) == ["a=e"]
        assert fired(neither, self.EXITED, self.COVERED, fact("h", HUNG)) == []

    def test_what_rules_derive_needs_no_coverage(self) -> None:
        chain = rule(want(OOM), rule_id="d", emits=Emission("causal.chain", (("steps", 1),)))
        none = rule(want(EXIT), AbsentCondition("causal.chain", "a"))
        assert fired([chain, none], fact("e", EXIT)) == ["a=e"]
        assert fired([chain, none], fact("e", EXIT), fact("k", OOM)) == ["a=k"]

    def test_a_derived_kind_with_a_class_of_coverage_needs_it(self) -> None:
        none = rule(want(EXIT), AbsentCondition("causal.covered", "a"))
        assert fired(none, self.EXITED) == []
        assert fired(none, self.EXITED, coverage("c", "job_log", 0, 9, host="n1")) == ["a=e"]


class TestAny:
    """One branch is enough."""

    RULE = rule(
        want(EXIT),
        AnyCondition(
            (
                (want(OOM, "b", same={"host": "a.host"}), AbsentCondition(HUNG, "b")),
                (want(TIMEOUT, "b", count=Count(2)),),
            )
        ),
    )

    def test_either_branch_makes_it_hold_once(self) -> None:
        exited, killed = fact("e", EXIT, 5, host="n1"), fact("k", OOM, 5, host="n1")
        timeouts = [fact("t1", TIMEOUT), fact("t2", TIMEOUT)]
        covering = coverage("c", "kernel_log", 0, 9, host="n1")
        assert run(self.RULE, exited).firings == ()
        assert run(self.RULE, exited, killed).firings == ()
        assert run(self.RULE, exited, timeouts[0]).firings == ()
        (firing,) = run(self.RULE, exited, killed, covering, *timeouts).firings
        assert firing.bindings == (("a", "e"),)
        assert firing.others == (("b", "k"), ("b", "t1"), ("b", "t2"))
        assert firing.coverage == ("c",)

    def test_its_facts_differ_from_those_outside(self) -> None:
        other = rule(want(TIMEOUT), AnyCondition(((want(TIMEOUT, "b"),), (want(OOM, "b"),))))
        assert fired(other, fact("t1", TIMEOUT)) == []
        assert fired(other, fact("t1", TIMEOUT), fact("t2", TIMEOUT)) == ["a=t1", "a=t2"]

    def test_a_later_alias_may_have_the_name_of_one_inside(self) -> None:
        reused = rule(
            want(EXIT), AnyCondition(((want(OOM, "b"), want(HUNG, "c", same={"pid": "b.pid"})),)), want(TIMEOUT, "b")
        )
        facts = [fact("e", EXIT), fact("k", OOM, pid=4), fact("h", HUNG, pid=4), fact("t", TIMEOUT)]
        (firing,) = run(reused, *facts).firings
        assert firing.bindings == (("a", "e"), ("b", "t"))
        assert firing.others == (("b#2", "k"), ("c", "h"))

    def test_it_can_be_all_that_a_rule_asks(self) -> None:
        (firing,) = run(rule(AnyCondition(((want(OOM),), (want(EXIT),)))), fact("k", OOM), fact("e", EXIT)).firings
        assert (firing.bindings, firing.others) == ((), (("a", "e"), ("a", "k")))


class TestChaining:
    """What is derived is a fact for the rules after."""

    DEATH = explains("death", want(OOM, "cause"), want(EXIT, "effect", same={"host": "cause.host"}, after=["cause"]))
    FACTS = (fact("k", OOM, 0, host="n1"), fact("e", EXIT, 1, host="n1"), fact("e2", EXIT, 1, host="n2"))

    def test_derived_facts_say_what_they_follow_from(self) -> None:
        (derived,) = run(self.DEATH, *self.FACTS).derived
        assert derived.id == "causal.explained(cause='k', effect='e', rule='death')"
        assert (derived.kind, dict(derived.fields)) == (
            "causal.explained",
            {"cause": "k", "effect": "e", "rule": "death"},
        )
        assert (derived.rule_id, derived.sources) == ("death", ("k", "e"))

    def test_unexplained_facts_are_those_without_an_explanation(self) -> None:
        assert fired([self.DEATH, rule(want(EXIT, unexplained=True), rule_id="z")], *self.FACTS) == [
            "cause=k effect=e",
            "a=e2",
        ]

    def test_a_given_explanation_counts_as_well(self) -> None:
        given = fact("x", "causal.explained", effect="e2")
        assert fired([self.DEATH, rule(want(EXIT, unexplained=True), rule_id="z")], *self.FACTS, given) == [
            "cause=k effect=e"
        ]

    def test_steps_follow_one_another_and_end_in_given_facts(self) -> None:
        step = Emission("causal.chain", (), (("start", "a", "cause"), ("end", "a", "effect")))
        further = Emission("causal.chain", (), (("start", "a", "start"), ("end", "b", "effect")))
        rules = [
            rule(want("causal.explained"), rule_id="first", emits=step),
            rule(
                want("causal.chain"),
                want("causal.explained", "b", same={"cause": "a.end"}),
                rule_id="next",
                emits=further,
            ),
        ]
        links = [fact(f"x{n}", "causal.explained", cause=f"f{n}", effect=f"f{(n + 1) % 4}") for n in range(4)]
        found = run(rules, *links)
        assert len(found.derived) == 16
        known = {link.id for link in links}
        for derived in found.derived:
            assert set(derived.sources) <= known
            known.add(derived.id)

    def test_the_shortest_derivation_is_the_one_told(self) -> None:
        emits = Emission("causal.chain", (("steps", 1),))
        late = rule(want("causal.covered"), rule_id="a", emits=emits)
        early = rule(want(OOM), rule_id="b", emits=emits)
        between = rule(want(OOM), rule_id="c", emits=Emission("causal.covered", (("note", "x"),)))
        derived = run([late, early, between], fact("k", OOM)).derived
        assert [(one.kind, one.rule_id) for one in derived] == [("causal.chain", "b"), ("causal.covered", "c")]

    def test_values_of_derived_facts_have_the_type_of_their_field(self) -> None:
        rules = [
            rule(want(OOM), rule_id=f"r{n}", emits=Emission("causal.chain", (("share", share),)))
            for n, share in enumerate((3, 3.0, 0.0, -0.0))
        ]
        assert [one.id for one in run(rules, fact("k", OOM)).derived] == [
            "causal.chain(share=3.0)",
            "causal.chain(share=0.0)",
        ]

    def test_a_missing_value_is_not_copied(self) -> None:
        copied = rule(want(OOM), emits=Emission("causal.chain", (), (("steps", "a", "pid"), ("host", "a", "host"))))
        assert [dict(one.fields) for one in run(copied, fact("k", OOM, host="n1")).derived] == [{"host": "n1"}]


def test_rules_of_one_id_are_alternatives() -> None:
    either = [
        rule(want(OOM), rule_id="same"),
        rule(want(EXIT), rule_id="same"),
        rule(want(OOM, "a", Test("pid", "==", 1)), rule_id="same"),
    ]
    assert fired(either, fact("k", OOM, 1, pid=1), fact("e", EXIT, 2)) == ["a=k", "a=e"]
