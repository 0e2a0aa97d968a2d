"""The YAML dialect and the positions of what it holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from engine.authored import loader
from engine.authored.document import DEEPEST, Document, InvalidDocument, load_document, parse_document
from engine.authored.loader import PythonLoader

Parsers = [pytest.param(PythonLoader, id="python")]
if yaml.__with_libyaml__:
    Parsers.append(pytest.param(loader.FastLoader, id="libyaml"))


@pytest.fixture(params=Parsers, autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test runs on both parsers."""
    monkeypatch.setattr(loader, "Loader", request.param)


def refused(text: str) -> list[tuple[str, int, int]]:
    with pytest.raises(InvalidDocument) as caught:
        parse_document(text, "file.yaml")
    return [(problem.code, problem.line, problem.column) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("true", True),
        ("false", False),
        ("True", "True"),
        ("no", "no"),
        ("on", "on"),
        ("null", None),
        ("~", None),
        ("", None),
        ("0", 0),
        ("42", 42),
        ("-3", -3),
        ("+5", 5),
        ("010", "010"),
        ("0x1f", "0x1f"),
        ("0b1", "0b1"),
        ("1_000", "1_000"),
        ("1e3", 1000.0),
        ("1.5", 1.5),
        (".5", 0.5),
        ("2.30", 2.3),
        ("1e999", "1e999"),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("10:30", "10:30"),
        ("2024-05-01", "2024-05-01"),
        ("2024-05-01 10:00:00", "2024-05-01 10:00:00"),
        ("9" * 30, "9" * 30),
        ("'true'", "true"),
        ('"12"', "12"),
        ("内存", "内存"),
    ],
)
def test_words(word: str, value: Any) -> None:
    found = parse_document(f"key: {word}", "file.yaml").value["key"]
    assert found == value
    assert type(found) is type(value)


def test_keys_are_text() -> None:
    assert parse_document("on: 1\n12: 2\ntrue: 3\nnull: 4\n", "f").value == {"on": 1, "12": 2, "true": 3, "null": 4}


def test_nothing_is_none() -> None:
    assert parse_document("", "f").value is None
    assert parse_document("# only a comment\n", "f").value is None


POSITIONS = """\
name: value
中文键: {deep: [1, two, {x: y}]}
list:
  - first
  -   second
text: |
  block
"""


def position(document: Document, *path: str | int, key: bool = False) -> tuple[int, int]:
    return document.position(path, key=key)


def test_positions() -> None:
    document = parse_document(POSITIONS, "f")
    assert position(document) == (1, 1)
    assert position(document, "name") == (1, 7)
    assert position(document, "name", key=True) == (1, 1)
    assert position(document, "中文键", "deep", 2, "x") == (2, 26)
    assert position(document, "中文键", "deep", key=True) == (2, 7)
    assert position(document, "list", 0) == (4, 5)
    assert position(document, "list", 1) == (5, 7)
    assert position(document, "text") == (6, 7)


def test_position_of_what_is_not_there_is_the_parent() -> None:
    document = parse_document(POSITIONS, "f")
    assert position(document, "list", 7) == position(document, "list")
    assert position(document, "missing", "too") == (1, 1)


def test_positions_after_unusual_line_ends() -> None:
    document = parse_document("a: 1\r\nb: 2\rc: 3\r\n", "f")
    assert position(document, "c") == (3, 4)
    assert document.problem("FF203", ("c",), "x").snippet == "c: 3"


def test_problem_underlines_the_scalar() -> None:
    problem = parse_document("a: 'some text'", "f").problem("FF203", ("a",), "x")
    assert (problem.column, problem.length) == (4, 11)


def test_problem_at_a_part_of_a_folded_text() -> None:
    document = parse_document("a: >-\n  one\n  {two} three\n", "f")
    problem = document.problem("FF230", ("a",), "x", part="{two}")
    assert (problem.line, problem.column, problem.length) == (3, 3, 5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\na: 2\na: 3", [("FF103", 2, 1), ("FF103", 3, 1)]),
        ("a: {b: 1, b: 2}", [("FF103", 1, 11)]),
        ("a: &x 1\nb: *x", [("FF104", 1, 4), ("FF104", 2, 4)]),
        ("a: &x [*x]", [("FF104", 1, 4), ("FF104", 1, 8)]),
        ("a: !!python/object:os.system 1", [("FF104", 1, 4)]),
        ("? [a]\n: b", [("FF104", 1, 3)]),
        ("a: [1", [("FF101", 1, 6)]),
        ("a: b: c", [("FF101", 1, 5)]),
        ("a:\n\t- b", [("FF102", 2, 1)]),
        ("a: 1\n--- \nb: 2", [("FF101", 2, 1)]),
        ("a: \x00", [("FF101", 1, 4)]),
    ],
)
def test_refused(text: str, expected: list[tuple[str, int, int]]) -> None:
    found = refused(text)
    assert [code for code, _, _ in found] == [code for code, _, _ in expected]
    if text != "a: [1":  # the two parsers differ in where the missing bracket is missed
        assert found == expected


def test_ampersand_and_star_in_text_are_no_anchors() -> None:
    text = 'a: "x &y *z"\nb: R&D - *really* &c\n'
    assert parse_document(text, "f").value == {"a": "x &y *z", "b": "R&D - *really* &c"}


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_deep_nesting_is_refused(opening: str) -> None:
    assert refused(opening * 100_000)[0][0] == "FF101"
    assert refused("- " * (DEEPEST + 1) + "a")[0][0] == "FF101"


def test_unreadable_files(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"a: \xe9")
    for name in ("latin.yaml", "missing.yaml", ""):
        with pytest.raises(InvalidDocument) as caught:
            load_document(tmp_path / name)
        assert caught.value.problems[0].code == "FF100"


def test_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "bom.yaml"
    path.write_bytes("﻿a: 内".encode())
    assert load_document(path).value == {"a": "内"}
