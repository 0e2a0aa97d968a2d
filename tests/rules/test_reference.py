"""The reference of the rule format agrees with the code, and its examples are valid."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from engine.authored.codes import CODES
from engine.authored.document import parse_document
from engine.rules import reader, reader_conditions, reader_examples, reader_tests
from engine.rules.lint import lint
from engine.rules.pack import load_packs

DOCS = Path(__file__).resolve().parents[2] / "docs"
REFERENCE = DOCS / "reference" / "rule-format.md"
HOW_TO = DOCS / "how-to" / "add-a-rule.md"
SMALL = Path(__file__).resolve().parent / "pack"
BEGIN = "<!-- codes: generated, see tests/rules/test_reference.py -->\n"
END = "<!-- end of codes -->\n"


def blocks(page: Path) -> list[str]:
    return re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def table() -> str:
    rows = ["| code | name | what it means | what to do | |", "|---|---|---|---|---|"]
    for code in CODES.values():
        mark = "can be ignored" if code.ignorable else ""
        meaning, remedy = (text.replace("|", "\\|") for text in (code.meaning, code.remedy))
        rows.append(f"| {code.code} | {code.name} | {meaning} | {remedy} | {mark} |")
    return "\n".join(rows) + "\n"


def test_codes_are_listed() -> None:
    text = REFERENCE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    expected = f"{before}{BEGIN}\n{table()}\n{END}{after}"
    if os.environ.get("UPDATE_GOLDENS"):
        REFERENCE.write_text(expected, encoding="utf-8", newline="\n")
        text = expected
    assert text == expected


def test_every_key_is_mentioned() -> None:
    text = REFERENCE.read_text(encoding="utf-8")
    keys = {*reader_conditions.FACT_KEYS, *reader_conditions.ABSENT_KEYS, *reader_tests.KEYS, *reader_examples.NOTATION}
    words = {*keys, *reader.PHASES, *reader.EFFECTS, *reader.STRENGTHS, *reader.SUSPECT_FIELDS, *reader.KINDS}
    assert {word for word in words if word not in text} == set()


@pytest.mark.parametrize("page", [REFERENCE, HOW_TO], ids=lambda page: page.stem)
def test_yaml_blocks_are_valid(page: Path, tmp_path: Path) -> None:
    vocabulary = load_packs(builtin=SMALL).vocabulary
    for number, block in enumerate(blocks(page)):
        value = parse_document(block, f"{page.name} block {number + 1}").value
        for kind in re.findall(r"\b(?:fact|kind|absent): ([a-z]+\.[a-z_]+)", block):
            assert kind in vocabulary, f"{page.name} shows the kind {kind}, which the small pack of the tests lacks"
        if isinstance(value, dict) and value.get("kind") in ("cause", "evidence"):
            file = tmp_path / f"{number}.yaml"
            file.write_text(block, encoding="utf-8")
            assert lint([file], builtin=SMALL) == []
