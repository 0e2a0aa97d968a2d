"""Every shipped rule on both backends: on its own examples, and on incidents made of several of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from engine.facts.model import Fact
from engine.inference import Engine, problems
from engine.rules.examples import facts_of
from engine.rules.loading import Loaded, load
from engine.rules.pack import Pack, compile_rules, pack_of
from engine.rules.reader_examples import read_examples
from knowledge import BUILTIN
from tests.inference.building import needs_durable


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    return load([BUILTIN], examples=True)


@pytest.fixture(scope="module")
def pack(loaded: Loaded) -> Pack:
    return pack_of(loaded)


@pytest.fixture(scope="module")
def examples(loaded: Loaded, pack: Pack) -> list[list[Fact]]:
    documents = [
        *((file.document, [rule.id.rpartition("/")[2] for rule in file.rules]) for file in loaded.evidence.values()),
        *((document, None) for _, document in loaded.propagation.values()),
    ]
    return [
        facts_of(example.facts, pack.vocabulary)
        for document, names in documents
        for example in read_examples(document, pack.vocabulary, names)[0]
    ]


@pytest.fixture(scope="module")
def both(pack: Pack) -> Iterator[Engine]:
    with Engine(compile_rules(pack), pack.vocabulary, "both") as engine:
        yield engine


def test_every_rule_can_be_evaluated(pack: Pack) -> None:
    assert problems(compile_rules(pack), pack.vocabulary) == ()


@needs_durable
def test_backends_agree_on_every_example(both: Engine, pack: Pack, examples: list[list[Fact]]) -> None:
    fired: set[str] = set()
    for facts in examples:
        found = both.run(facts)
        assert found.backend == "both", found.note
        fired |= {firing.rule_id for firing in found.firings}
    rules = {rule.id for rule in compile_rules(pack)}
    assert len(fired) > 0.9 * len(rules), sorted(rules - fired)


@needs_durable
def test_backends_agree_where_much_happens_at_once(both: Engine, examples: list[list[Fact]]) -> None:
    chosen = random.Random(1)
    for _ in range(40):
        facts: list[Fact] = []
        for part in range(chosen.randint(2, 20)):
            facts += [
                replace(
                    fact, id=f"f{len(facts) + place}", source=replace(fact.source, path=f"{part}/{fact.source.path}")
                )
                for place, fact in enumerate(chosen.choice(examples))
            ]
        found = both.run(facts)
        assert found.backend == "both", found.note
