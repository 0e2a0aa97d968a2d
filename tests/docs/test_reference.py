"""The generated parts of the documentation are what would be generated now."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine.report.reference import Command, LineExample, Option, Reader, pages
from engine.rules.pack import load_packs
from scripts import reference
from tests.docs.pages import headings

NAMES = ("adapters.md", "causes.md", "cli.md", "propagation.md", "vocabulary.md")


@pytest.fixture(scope="module")
def generated() -> dict[Path, str]:
    return reference.generated()


@pytest.mark.parametrize("name", NAMES)
def test_page_is_up_to_date(name: str, generated: dict[Path, str]) -> None:
    path = reference.REFERENCE / name
    if reference.current(path) != generated[path]:
        pytest.fail(f"docs/reference/{name} is stale: run `make docs`", pytrace=False)


def test_readme_shows_what_the_program_prints() -> None:
    text = reference.README.read_text(encoding="utf-8")
    assert reference.SAMPLE.search(text), "the README has lost the block that `make docs` fills"
    if not reference.same(text, reference.readme()):
        pytest.fail("the sample in README.md is stale: run `make docs`", pytrace=False)


def test_all_pages_are_tested(generated: dict[Path, str]) -> None:
    assert sorted(path.name for path in generated) == sorted(NAMES)


def test_generating_twice_gives_the_same_bytes(generated: dict[Path, str]) -> None:
    assert reference.generated() == generated


def test_every_definition_has_a_heading(generated: dict[Path, str]) -> None:
    pack = load_packs()
    wanted = {"causes.md": pack.leaves, "propagation.md": pack.propagation, "vocabulary.md": pack.vocabulary.kinds}
    for name, ids in wanted.items():
        assert set(ids) <= set(re.findall(r"^### (\S+)$", generated[reference.REFERENCE / name], re.MULTILINE))


@pytest.mark.parametrize("name", NAMES)
def test_no_two_headings_are_alike(name: str) -> None:
    found = headings(reference.REFERENCE / name)
    assert len(found) == len(set(found)), sorted({heading for heading in found if found.count(heading) > 1})


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (
            "x\nfirstfault 0.1.0 · engine a · knowledge b (1)\n",
            "x\nfirstfault 0.2.0 · engine c · knowledge d (2)\n",
            True,
        ),
        ("x\nfirstfault 0.1.0 · engine a\na note\n```\n", "x\nfirstfault 0.1.0 · engine b\n```\n", True),
        ("x\nfirstfault 0.1.0 · engine a\n", "y\nfirstfault 0.1.0 · engine a\n", False),
    ],
)
def test_versions_make_no_difference(one: str, other: str, alike: bool) -> None:
    assert reference.same(one, other) is alike


def test_what_would_break_a_table_is_escaped() -> None:
    page = pages(
        load_packs(),
        [
            Reader(
                "odd",
                "signatures",
                "job",
                ("job.exception",),
                (LineExample("pipe", "job.exception", "a | b `c` <d>"),),
                about="reads `a|b` and <c>",
            )
        ],
        [Command("firstfault", "", "one\n\ntwo *three*", (Option("--a x|y", "p | q"),))],
    )
    assert "| `pipe` | [job.exception](vocabulary.md#jobexception) | ``a \\| b `c` <d>`` |" in page["adapters.md"]
    assert "reads `a|b` and &lt;c>" in page["adapters.md"]
    assert "two \\*three\\*" in page["cli.md"]
    assert "| `--a x\\|y` | p \\| q |" in page["cli.md"]
