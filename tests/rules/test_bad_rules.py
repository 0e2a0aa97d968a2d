"""Every mistake that a rule author can make has a message that points at it."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path

import pytest

from engine.authored.codes import CODES
from engine.authored.problem import render_all
from engine.rules.lint import lint

FOLDER = Path(__file__).resolve().parents[1] / "bad_rules"
SMALL = Path(__file__).resolve().parent / "pack"
CASES = sorted(path for path in FOLDER.iterdir() if path.suffix == ".yaml" or path.is_dir())
TODAY = dt.date(2027, 1, 1)

TESTED_ELSEWHERE = {
    "FF243",  # come from running examples: test_examples.py
    *(code for code in CODES if code >= "FF410"),  # come from the readers of signatures and incident.yaml
}


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_message(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    emitted = {"host.oom_kill"} if case.name.startswith("FF305") else None
    found = render_all(lint([case], emitted=emitted, today=TODAY, builtin=SMALL))
    golden = case.with_suffix(".err")
    if os.environ.get("UPDATE_GOLDENS"):
        golden.write_text(found, encoding="utf-8", newline="\n")
    assert found == golden.read_text(encoding="utf-8")
    assert case.name[:5] in found


def test_every_code_has_a_case() -> None:
    assert {case.name[:5] for case in CASES} == CODES.keys() - TESTED_ELSEWHERE


def test_no_golden_is_left_over() -> None:
    assert {path.stem for path in FOLDER.glob("*.err")} == {case.stem for case in CASES}
