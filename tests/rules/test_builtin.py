"""The knowledge that ships is valid, proved by its examples, and understood by both backends."""

from __future__ import annotations

import pytest

from engine.authored.problem import render_all
from engine.inference import Engine, infer
from engine.rules.examples import run_examples
from engine.rules.lint import lint
from engine.rules.pack import compile_rules, load_packs


def test_no_errors() -> None:
    errors = [problem for problem in lint() if problem.level == "error"]
    assert not errors, render_all(errors)


def test_examples() -> None:
    problems = run_examples(infer=infer).problems
    assert not problems, render_all(problems)


@pytest.mark.parametrize("backend", ["reference", "durable"])
def test_rules_are_understood(backend: str) -> None:
    pack = load_packs()
    with Engine(compile_rules(pack), pack.vocabulary, backend=backend) as engine:  # type: ignore[arg-type]
        assert engine.run(()).firings == ()
