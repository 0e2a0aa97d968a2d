"""Only rules that can hold are compiled, and leaving the others out changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine.facts.vocabulary import Vocabulary
from engine.inference import Engine, InvalidRules
from engine.inference.aliases import told_apart
from engine.inference.compile import check_size, compile_rules
from engine.inference.selection import MOST_SELECTIONS, Layers, Possible, Selections
from engine.inference.strata import asked_by, stratify
from engine.rules.model import AbsentCondition, AnyCondition, Count, Emission, Rule
from tests.inference.building import VOCABULARY, explains, fact, needs_durable, rule, want
from tests.inference.generate import Generator

OOM, EXIT, CLOSED = "host.oom_kill", "job.process_exit", "comm.peer_closed"


class Compiled:
    """Stands for compiled rules; remembers their ids and whether it was closed."""

    def __init__(self, layers: Layers) -> None:
        self.ids = {rule.id for rules in layers for rule in rules}
        self.closed = False

    def close(self) -> None:
        self.closed = True


def selections(rules: Sequence[Rule]) -> tuple[Selections[Compiled], list[Compiled]]:
    layers = stratify(rules)
    made: list[Compiled] = []

    def compiled(chosen: Layers) -> Compiled:
        made.append(Compiled(chosen))
        return made[-1]

    return Selections(layers, Possible(layers, [[asked_by(one) for one in layer] for layer in layers]), compiled), made


def possible(rules: Sequence[Rule], *kinds: str) -> set[str]:
    return selections(rules)[0].get(kinds).ids


def test_a_rule_needs_every_kind_that_it_asks_for() -> None:
    rules = [
        rule(want(OOM), want(EXIT, "b"), rule_id="pair"),
        rule(want(OOM), want(EXIT, "b", count=Count(2)), rule_id="counted"),
        rule(want(OOM), AnyCondition(((want(EXIT, "b"),), (want(CLOSED, "b"),))), rule_id="any"),
        rule(want(OOM), AbsentCondition(EXIT, "a"), rule_id="absent"),
    ]
    assert possible(rules) == set()
    assert possible(rules, OOM) == {"any", "absent"}
    assert possible(rules, EXIT, CLOSED) == set()
    assert possible(rules, OOM, EXIT) == {"pair", "counted", "any", "absent"}


def test_what_possible_rules_derive_is_possible_too() -> None:
    rules = [
        rule(want(OOM), rule_id="first", emits=Emission("causal.chain")),
        rule(want("causal.chain"), rule_id="second", emits=Emission("causal.covered")),
        rule(want("causal.covered"), want(EXIT, "b"), rule_id="third"),
    ]
    assert possible(rules, EXIT) == set()
    assert possible(rules, OOM) == {"first", "second"}
    assert possible(rules, OOM, EXIT) == {"first", "second", "third"}


def test_selections_are_compiled_once_and_closed() -> None:
    kinds = ["host.oom_kill", "job.process_exit", "comm.peer_closed"]
    singles = [rule(want(kind), rule_id=kind) for kind in kinds]
    cache, made = selections(singles)
    both = cache.get([OOM, EXIT])
    assert cache.get([OOM]) is both, "a wider selection serves as well"
    assert cache.get([EXIT, OOM, "x.y"]) is both
    assert cache.get([CLOSED]) is not both
    assert len(made) == 2
    cache.close()
    assert all(one.closed for one in made)
    assert not list(cache.kept)


def test_after_a_few_selections_all_rules_are_compiled_once() -> None:
    letters = [f"x.{n}" for n in range(MOST_SELECTIONS + 2)]
    cache, made = selections([rule(want(kind), rule_id=kind) for kind in letters])
    for kind in letters[:MOST_SELECTIONS]:
        assert cache.get([kind]).ids == {kind}
    everything = cache.get([letters[MOST_SELECTIONS]])
    assert everything.ids == {*letters}
    assert [one.closed for one in made] == [True] * MOST_SELECTIONS + [False]
    assert all(cache.get([kind]) is everything for kind in letters)
    assert list(cache.kept) == [everything]


@needs_durable
def test_an_engine_over_many_incidents_agrees_with_fresh_ones() -> None:
    rules = [
        rule(want(OOM), rule_id="kill"),
        rule(want(EXIT), rule_id="exit"),
        rule(want(OOM), want(EXIT, "b", same={"host": "a.host"}), rule_id="pair"),
        explains("because", want(OOM, "cause"), want(EXIT, "effect", same={"host": "cause.host"})),
        rule(want(EXIT, "a", unexplained=True), rule_id="unexplained"),
    ]
    incidents: list[list[Any]] = [
        [fact("k", OOM, 0, host="n1")],
        [fact("e", EXIT, 1, host="n1")],
        [],
        [fact("k", OOM, 0, host="n1"), fact("e", EXIT, 1, host="n1")],
    ]
    with Engine(rules, VOCABULARY, "both") as engine:
        for facts in incidents * 2:
            with Engine(rules, VOCABULARY, "reference") as fresh:
                expected = fresh.run(facts)
            found = engine.run(facts)
            assert (found.backend, found.note) == ("both", "")
            assert (found.firings, found.derived) == (expected.firings, expected.derived)


def refusals(check: Callable[[Sequence[Rule], Vocabulary], object], made: Rule, vocabulary: Vocabulary) -> object:
    try:
        check([made], vocabulary)
    except InvalidRules as error:
        return error.refusals
    return None


def test_the_check_of_size_finds_what_compiling_finds() -> None:
    for seed in range(400):
        generator = Generator(seed)
        made = told_apart(generator.rule("r"))
        found = refusals(check_size, made, generator.vocabulary)
        assert found == refusals(compile_rules, made, generator.vocabulary), seed
