"""What durable_rules is given. The numbers D1 to D30 are those of the defects in docs/adr/inference.md."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.facts.model import Fact, Scalar
from engine.facts.vocabulary import FieldSpec, KindSpec, Vocabulary
from engine.inference import Engine, infer, problems
from engine.inference.aliases import told_apart
from engine.inference.checks import refused
from engine.inference.compile import compile_rules
from engine.inference.encoding import Codes, HashCollision, Schema, Writers, check_hashes, fnv, rules_text
from engine.inference.items import admit
from engine.inference.silence import Places, Silence
from engine.rules.model import AbsentCondition, AnyCondition, Rule, Test
from tests.inference.building import VOCABULARY, coverage, fact, fired, joined, rule, run, want
from tests.inference.generate import Generator

durable = pytest.importorskip("engine.inference.durable")

OOM = "host.oom_kill"
EXIT = "job.process_exit"
PATTERNS = "fact", "none", "coverage"


def encoded(rules: list[Rule], vocabulary: Vocabulary) -> tuple[Schema, list[dict[str, Any]]]:
    """The rules as durable_rules gets them."""
    schema = Schema(vocabulary)
    plans = compile_rules([told_apart(one) for one in rules], vocabulary)
    flat = [conjunction for plan in plans for conjunction in plan.conjunctions]
    return schema, [json.loads(json.dumps(schema.conjunction(one))) for one in flat]


def random_rules() -> Iterator[tuple[Schema, list[dict[str, Any]]]]:
    for seed in range(1, 300):
        generator = Generator(seed)
        rules = [generator.rule(f"r{number}") for number in range(4)]
        if not problems(rules, generator.vocabulary):
            yield encoded(rules, generator.vocabulary)


def terms(pattern: dict[str, Any]) -> list[dict[str, Any]]:
    """The alias's terms, one or those of the ``$and``."""
    (condition,) = pattern.values()
    found: list[dict[str, Any]] = condition.get("$and", [condition])
    return found


def compares(term: dict[str, Any]) -> bool:
    """Whether a term looks at another fact."""
    ((name, right),) = term.items()
    if name.startswith("$"):
        ((_, right),) = right.items()
    return isinstance(right, dict)


def test_d1_every_pattern_with_a_comparison_ends_with_the_sentinel() -> None:
    seen = 0
    for _, rules in random_rules():
        for one in rules:
            first = next(iter(one["all"][0]))
            assert not any(compares(term) for term in terms(one["all"][0]))
            for pattern in one["all"][1:]:
                if any(compares(term) for term in terms(pattern)):
                    assert terms(pattern)[-1] == {"z": {first: "z"}}
                    seen += 1
    assert seen > 1000


def test_d2_d3_d4_d8_d17_d18_d30_conditions_are_flat_and_use_few_operators() -> None:
    name = re.compile(r"p\d+|k|z")
    for _, rules in random_rules():
        for one in rules:
            assert one.keys() == {"all"}
            aliases = [alias for pattern in one["all"] for alias in pattern]
            assert len({*aliases}) == len(aliases)
            positive = [alias for alias in aliases if re.fullmatch(r"a\d+", alias)]
            assert aliases[: len(positive)] == positive  # D6: what must be there comes before what must not
            assert positive
            assert all(re.fullmatch(r"n\d+\$not", alias) for alias in aliases[len(positive) :])
            for pattern in one["all"]:
                kind, *others = terms(pattern)
                assert list(kind) == ["k"]  # D19: a positive test of the kind comes first
                for term in others:
                    check_term(term, name, {*positive})


def check_term(term: dict[str, Any], name: re.Pattern[str], aliases: set[str]) -> None:
    ((key, right),) = term.items()
    if key.startswith("$"):
        assert key in {"$neq", "$lt", "$lte", "$gt", "$gte"}
        ((key, right),) = right.items()
    assert name.fullmatch(key)
    if isinstance(right, dict) and "$add" in right:
        assert right["$add"].keys() == {"$l", "$r"}
        assert type(right["$add"]["$r"]) is int
        right = right["$add"]["$l"]
    if isinstance(right, dict):
        ((alias, other),) = right.items()
        assert alias in aliases
        assert name.fullmatch(other)
    else:
        assert type(right) is int  # D12 to D16, D23: nothing but whole numbers
        assert -(2**63) < right < 2**63


def test_d2_alternatives_keep_every_test_that_follows() -> None:
    either = rule(
        want(OOM),
        *[AnyCondition(((want(OOM, "b", same={"host": "a.host"}),), (want(EXIT, "b", same={"host": "a.host"}),)))],
    )
    assert fired(either, fact("k", OOM, host="n1"), fact("e", EXIT, host="n2")) == []
    assert fired(either, fact("k", OOM, host="n1"), fact("e", EXIT, host="n1")) == ["a=k"]


def test_d5_what_prevents_a_match_is_sent_before_everything_else() -> None:
    sent: list[str] = []
    original = durable.core.assert_fact

    class Core:
        def __getattr__(self, name: str) -> Any:
            return getattr(original.__self__, name)

        @staticmethod
        def assert_fact(handle: int, text: str) -> Any:
            sent.append(json.loads(text)["id"])
            return original(handle, text)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(durable, "core", Core())
        none = rule(want(EXIT), AbsentCondition(OOM, "a", joins=joined({"host": "a.host"})), want(OOM, "b"))
        facts = [
            coverage("c", "kernel_log", 0, 9, host="n1"),
            fact("e", EXIT, 5, host="n1"),
            fact("k", OOM, 6, host="n1"),
        ]
        infer([none], facts, VOCABULARY)
    assert sent[0] == "boot"
    assert sorted(sent[1:]) == ["c0", "f1", "f2", "n2"]
    assert sent[1] == "n2"


def test_d7_d9_d10_d28_d29_only_harmless_calls_of_the_core_are_made() -> None:
    tree = ast.parse(Path(durable.__file__).read_text())
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "core"
    }
    assert used - {"__file__"} == {
        "assert_fact", "complete_and_start_action", "create_ruleset", "delete_ruleset", "delete_state", "error",
        "start_action_for_state",
    }  # fmt: skip


def test_d11_d12_d21_d22_facts_are_whole_numbers_under_our_own_ids() -> None:
    pattern = re.compile(r'\{"id":"[fncem]\d+","k":\d+,"z":1(,"p\d+":-?\d{1,19})*\}')
    for seed in range(1, 100):
        generator = Generator(seed)
        case = generator.case(4, 14, 1)
        if problems(case.rules, case.vocabulary):
            continue
        schema, _ = encoded(case.rules, case.vocabulary)
        fields = {
            spec.kind: {name: spec.type_of(name) for name in ("host", "rank", "peer", *spec.fields)}
            for spec in case.vocabulary.kinds.values()
        }
        items, _ = admit(case.incidents[0], fields)  # type: ignore[arg-type]
        writers = Writers(schema, frozenset(), Silence(Places(case.incidents[0]), items))
        for item in items:
            for _, text in writers.texts(item):
                assert pattern.fullmatch(text)
                assert all(abs(value) < 2**63 for value in json.loads(text).values() if isinstance(value, int))


LARGE = [
    0,
    1,
    -1,
    2**53,
    2**53 + 1,
    2**62 - 1,
    2**62,
    2**63 - 1,
    2**63,
    2**63 + 1,
    2**64 - 1,
    2**64,
    -(2**62),
    -(2**63),
    -(2**63) - 1,
]


class TestValues:
    """Values keep what they are, whatever the C core makes of numbers and strings."""

    @pytest.mark.parametrize("value", LARGE)
    def test_d12_large_integers_are_equal_to_themselves_only(self, value: int) -> None:
        pair = rule(want(OOM), want(EXIT, "b", same={"pid": "a.pid"}))
        others = [fact(f"e{n}", EXIT, pid=other) for n, other in enumerate(LARGE)]
        assert fired(pair, fact("k", OOM, pid=value), *others) == [f"a=k b=e{LARGE.index(value)}"]

    @pytest.mark.parametrize("limit", [-(2**62) + 1, -1, 0, 2**53, 2**62 - 1])
    def test_d12_large_integers_are_in_order(self, limit: int) -> None:
        facts = [fact(f"k{n:02}", OOM, pid=value) for n, value in enumerate(LARGE)]
        for operator, holds in (("<", int.__lt__), ("<=", int.__le__), (">", int.__gt__), (">=", int.__ge__)):
            expected = [f"a=k{n:02}" for n, value in enumerate(LARGE) if holds(value, limit)]
            assert fired(rule(want(OOM, "a", Test("pid", operator, limit))), *facts) == expected  # type: ignore[arg-type]

    def test_d13_a_whole_number_in_a_float_field_equals_the_float(self) -> None:
        pair = rule(want(OOM), want(OOM, "b", Test("pid", "==", 2), same={"share": "a.share"}))
        assert fired(pair, fact("k1", OOM, share=1), fact("k2", OOM, share=1.0, pid=2)) == ["a=k1 b=k2"]

    def test_d14_zero_has_one_sign(self) -> None:
        pair = rule(want(OOM), want(OOM, "b", Test("pid", "==", 2), same={"share": "a.share"}))
        assert fired(pair, fact("k1", OOM, share=0.0), fact("k2", OOM, share=-0.0, pid=2)) == ["a=k1 b=k2"]

    FLOATS = (
        float("-inf"),
        -1e300,
        -2.5,
        -1e-05,
        -5e-324,
        0.0,
        5e-324,
        1e-05,
        0.1,
        0.1 + 2**-56,
        0.3,
        2.0,
        1e16,
        float("inf"),
    )

    def test_d11_d14_floats_are_exact_and_in_order(self) -> None:
        numbers = [Codes().number(value) for value in self.FLOATS]
        assert numbers == sorted({*numbers})
        for limit in self.FLOATS[1:-1]:
            for operator in ("<", "<=", "==", "!=", ">=", ">"):
                expected = [
                    f"a=k{n:02}"
                    for n, v in enumerate(self.FLOATS)
                    if eval(f"{v} {operator} {limit}", {"inf": float("inf")})
                ]
                facts = [fact(f"k{n:02}", OOM, share=value) for n, value in enumerate(self.FLOATS)]
                assert fired(rule(want(OOM, "a", Test("share", operator, limit))), *facts) == expected

    def test_d15_nothing_is_converted(self) -> None:
        five = rule(want(OOM, "a", Test("process", "==", "5")))
        assert fired(
            five, fact("k1", OOM, process=5), fact("k2", OOM, process="5"), fact("k3", OOM, process="5.0")
        ) == ["a=k2"]
        true = rule(want(OOM, "a", Test("fatal", "==", True)))
        assert fired(true, fact("k1", OOM, fatal=1), fact("k2", OOM, fatal="true"), fact("k3", OOM, fatal=True)) == [
            "a=k3"
        ]

    def test_d16_missing_values_are_no_errors(self) -> None:
        every = rule(
            want(OOM, "a", Test("share", "known", False)),
            want(EXIT, "b", same={"pid": "a.pid"}, differ={"signal": "a.pid"}, after=["a"]),
        )
        assert fired(every, fact("k", OOM), fact("e", EXIT), fact("k2", OOM, pid=1), fact("e2", EXIT, pid=1)) == []

    STRINGS = (
        "",
        " ",
        "a",
        "A",
        "a ",
        "abc",
        "abc ",
        "1",
        "true",
        "null",
        "主机",
        'q"',
        "b\\",
        "n\n",
        "\0",
        "é",
        "e\u0301",
        "\ud800",
        "😀",
        "{",
        "costarring",
        "liquid",
        "x" * 4097,
        "x" * 65536,
        "x" * 65537,
        "x" * 65536 + "abc",
    )

    def test_d20_d22_d23_strings_are_equal_to_themselves_only(self) -> None:
        facts = [fact(f"k{n:02}", OOM, process=value) for n, value in enumerate(self.STRINGS)]
        pair = rule(want(OOM), want(EXIT, "b", same={"host": "a.process"}))
        others = [fact(f"e{n:02}", EXIT, host=value, clock="") for n, value in enumerate(self.STRINGS)]
        assert fired(pair, *facts, *others) == [f"a=k{n:02} b=e{n:02}" for n in range(len(self.STRINGS))]
        for n, value in enumerate(self.STRINGS):
            assert fired(rule(want(OOM, "a", Test("process", "==", value))), *facts) == [f"a=k{n:02}"]

    def test_d20_ids_with_equal_hashes_are_two_facts(self) -> None:
        assert fnv("costarring") == fnv("liquid")
        assert len(run(rule(want(OOM)), fact("costarring", OOM), fact("liquid", OOM)).firings) == 2

    def test_d18_ids_can_be_joined(self) -> None:
        facts = [fact(f"k{n:02}", OOM) for n in range(50)]
        links = [fact(f"x{n:02}", "causal.explained", effect=f"k{n:02}") for n in range(50)]
        pair = rule(want("causal.explained"), want(OOM, "b", same={"id": "a.effect"}))
        assert fired(pair, *facts, *links) == [f"a=x{n:02} b=k{n:02}" for n in range(50)]

    def test_d19_the_state_of_the_core_itself_is_no_fact(self) -> None:
        assert fired(rule(want(OOM, "a", Test("pid", "known", False)))) == []


class TestHashes:
    def test_d20_equal_hashes_of_names_are_found(self) -> None:
        with pytest.raises(HashCollision, match="costarring and liquid have the same hash"):
            check_hashes(["a", "costarring", "b", "liquid"])
        check_hashes(["a", "a"])

    def test_d20_our_names_have_none(self) -> None:
        slots = [f"a{n}" for n in range(20)] + [f"n{n}" for n in range(80)]
        check_hashes([*slots, "k", "z", "id", "sid", "$s", "m", "$forward", *(f"p{n}" for n in range(260))])

    def test_d20_ids_of_facts_have_none(self) -> None:
        check_hashes(["boot", "sid-0", *(f"{letter}{n}" for letter in "fncem" for n in range(30_000))])

    def test_a_collision_leaves_the_incident_to_the_reference(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(durable, "names_used", lambda *_: ["costarring", "liquid"])
        found = infer([rule(want(OOM))], [fact("k", OOM)], VOCABULARY)
        assert (found.backend, len(found.firings)) == ("reference", 1)
        assert found.note == "durable_rules did not decide this incident: costarring and liquid have the same hash"


class TestLimits:
    """Rules that together go over a limit of the C core are spread over several rulesets."""

    FACTS = (fact("k", OOM, 1, host="n1", pid=7, process="p0"), fact("e", EXIT, 2, host="n1", pid=7))

    def check(self, rules: list[Rule], expected: int, most: int = 60) -> None:
        with Engine(rules, VOCABULARY, "both") as engine:
            found = engine.run(self.FACTS)
            assert engine._durable
            (compiled,) = engine._durable.kept
            for ruleset in (ruleset for layer in compiled.layers for ruleset in layer.rulesets):
                assert max(ruleset.patterns.values()) <= most
                assert len(ruleset.patterns) <= durable.MOST_KINDS
        assert (found.backend, found.note) == ("both", "")
        assert len(found.firings) == expected

    def test_d24_many_patterns_of_one_kind(self) -> None:
        self.check([rule(want(OOM), want(EXIT, "b", same={"pid": "a.pid"}), rule_id=f"r{n}") for n in range(300)], 300)

    def test_d24_many_different_tests_of_one_kind(self) -> None:
        self.check([rule(want(OOM, "a", Test("pid", "<", n)), rule_id=f"r{n}") for n in range(400)], 392)

    def test_d25_many_equal_rules(self) -> None:
        equal = [rule(want(OOM), rule_id=f"r{n}") for n in range(300)]
        self.check([*equal, rule(want(OOM, "a", Test("pid", "==", 8)), rule_id="other")], 300)

    def test_d26_many_values_of_one_field(self) -> None:
        self.check([rule(want(OOM, "a", Test("process", "==", f"p{n}")), rule_id=f"r{n}") for n in range(700)], 1)

    def test_d26_many_kinds(self) -> None:
        kinds = {f"host.k{n}": KindSpec(f"host.k{n}", "host", "fault", "", "") for n in range(700)}
        rules = [rule(want(kind), rule_id=kind) for kind in kinds]
        facts = [Fact(f"f{n}", kind, {}, self.FACTS[0].source) for n, kind in enumerate(kinds)]
        found = infer(rules, facts, Vocabulary(kinds), "both")
        assert (found.backend, len(found.firings)) == ("both", 700)

    def test_d27_fourteen_facts(self) -> None:
        chain = rule(
            want(OOM, "a0"),
            *[want(OOM, f"a{n}", Test("pid", "==", n), same={"host": f"a{n - 1}.host"}) for n in range(1, 14)],
        )
        facts = [fact(f"k{n:02}", OOM, host="n1", pid=n) for n in range(14)]
        (firing,) = infer([chain], facts, VOCABULARY, "both").firings
        assert [name for _, name in firing.bindings] == [one.id for one in facts]

    def test_d27_one_absence_with_many_alternatives(self) -> None:
        order = tuple(want(OOM, before=[f"a{n}"]).order[0] for n in range(2))
        none = rule(
            *[want(OOM, f"a{n}", Test("pid", "==", n)) for n in range(2)], AbsentCondition(EXIT, "a0", order=order)
        )
        kills = [fact(f"k{n}", OOM, 5 + n, host="n1", pid=n) for n in range(2)]
        cover = coverage("c", "job_log", 0, 9, host="n1")
        assert fired(none, *kills, cover, fact("e", EXIT, 6, host="n1")) == ["a0=k0 a1=k1"]
        assert fired(none, *kills, cover, fact("e", EXIT, 4, host="n1")) == []

    def test_d27_more_properties_than_a_fact_can_have(self) -> None:
        wide = KindSpec("host.wide", "host", "fault", "", "", {f"x{n}": FieldSpec("int") for n in range(300)})
        rules = [rule(want("host.wide", "a", Test(f"x{n}", "==", 1)), rule_id=f"r{n:03}") for n in range(300)]
        found = infer(rules, [Fact("f", "host.wide", {"x7": 1}, self.FACTS[0].source)], Vocabulary({"host.wide": wide}))
        assert (found.backend, [one.rule_id for one in found.firings]) == ("reference", ["r007"])
        assert found.note.startswith("durable_rules cannot hold these rules (rules look at 300 properties of host.wide")

    def test_d27_many_comparisons_of_one_pattern(self) -> None:
        fields = {f"x{n}": FieldSpec("int") for n in range(24)}
        kinds = {kind: KindSpec(kind, "host", "fault", "", "", fields) for kind in ("host.a", "host.b")}
        same = rule(want("host.a"), want("host.b", "b", same={name: f"a.{name}" for name in fields}))
        values: dict[str, Scalar] = dict.fromkeys(fields, 5)
        one, other = (
            Fact("f1", "host.a", values, self.FACTS[0].source),
            Fact("f2", "host.b", values, self.FACTS[0].source),
        )
        assert len(infer([same], [one, other], Vocabulary(kinds), "both").firings) == 1
        odd = replace(other, fields={**values, "x23": 6})
        assert infer([same], [one, odd], Vocabulary(kinds), "both").firings == ()


def test_rules_are_ascii_json_of_known_size() -> None:
    schema, rules = encoded([rule(want(OOM, "a", Test("process", "==", "主机" * 40_000)))], VOCABULARY)
    text = rules_text(dict(enumerate(rules)))
    assert text.isascii()
    assert len(text) < 200
    assert schema.kinds == {("fact", OOM): 1}


def test_the_generator_makes_valid_rules() -> None:
    for seed in range(1, 100):
        generator = Generator(seed)
        assert not refused([generator.rule("r")], generator.vocabulary)
