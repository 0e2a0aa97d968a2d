"""Whatever an author writes, the linter answers with problems and never with an exception."""

from __future__ import annotations

import copy
import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from engine.authored.document import load_document
from engine.authored.problem import render_all
from engine.inference import infer
from engine.rules.examples import run_examples
from engine.rules.lint import lint
from engine.rules.pack import InvalidPack, compile_rules, load_packs

SMALL = Path(__file__).resolve().parent / "pack"
FILES = sorted(path for path in SMALL.rglob("*.yaml") if path.name != "pack.yaml")
STRANGE: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 10**17, "", "x", "host.oom_kill", "kill", "kill.host", "{kill.host}", "{", [], [None], [[]],
    ["kill", "kill"], {}, {"a": None}, {"fact": "host.oom_kill"}, {"any": [[], []]}, {"en": "x", "zh": ""}, "unknown",
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in entries:
        found += places(part, (*path, key))
    return found


def mutated(value: Any, dice: random.Random) -> Any:
    value = copy.deepcopy(value)
    path = dice.choice(places(value)[1:])
    parent = value
    for step in path[:-1]:
        parent = parent[step]
    what = dice.randrange(4)
    if what == 0:
        del parent[path[-1]]
    elif what == 1 and isinstance(parent, dict):
        parent[dice.choice(("fact", "absent", "any", "as", "count", "examples", "x"))] = parent.pop(path[-1])
    elif what == 2 and isinstance(parent, list):
        parent.append(copy.deepcopy(parent[path[-1]]))
    else:
        parent[path[-1]] = copy.deepcopy(dice.choice(STRANGE))
    return value


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_never_an_exception(path: Path, seed: int, tmp_path: Path) -> None:
    dice = random.Random(f"{path.stem} {seed}")
    value = load_document(path).value
    for _ in range(dice.randint(1, 3)):
        value = mutated(value, dice)
    (tmp_path / "pack.yaml").write_text('schema: 1\nname: x\nversion: "1"\n', encoding="utf-8")
    file = tmp_path / "file.yaml"
    file.write_text(yaml.safe_dump(value, allow_unicode=True), encoding="utf-8")
    problems = lint([tmp_path], emitted=(), builtin=SMALL)
    assert render_all(problems) is not None
    if any(problem.level == "error" for problem in problems):
        return
    run_examples([tmp_path], builtin=SMALL, infer=infer)
    try:
        pack = load_packs([tmp_path], builtin=SMALL)
    except InvalidPack:
        return  # replacing one file can take away what another one names
    infer(compile_rules(pack), (), pack.vocabulary, backend="reference")
