"""Every ``$ firstfault …`` line of the README, the tutorial and the how-to pages runs as it stands."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

import cli
from engine.rules.pack import Pack
from tests.docs.pages import ROOT, Command, File, command, steps

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("[!a]*/*.md")), ROOT / "docs" / "tutorial.md"]


@pytest.fixture(scope="module", autouse=True)
def loaded_once() -> Iterator[None]:
    """Equal knowledge is loaded once, in this process, whichever commands use it."""
    investigations: dict[object, cli.Investigation] = {}
    packs: dict[object, Pack] = {}
    investigation, load = cli.Investigation, cli.load_knowledge

    def investigate(extra: Sequence[Path], backend: str) -> cli.Investigation:
        key = (backend, content(extra))
        if key not in investigations:
            investigations[key] = investigation(extra, backend)
        return investigations[key]

    def load_knowledge(extra: Sequence[Path]) -> Pack:
        key = content(extra)
        if key not in packs:
            packs[key] = load(extra)
        return packs[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cli, "Investigation", investigate)
        patch.setattr(cli, "load_knowledge", load_knowledge)
        patch.setattr(os, "cpu_count", lambda: 1)
        yield


def content(packs: Sequence[Path]) -> object:
    """All that the files of packs say."""
    files = [file for pack in packs for file in sorted(pack.rglob("*")) if file.is_file()]
    return tuple((str(file), file.read_bytes()) for file in files)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    for step in steps(page):
        if isinstance(step, File):
            target = tmp_path / step.path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(step.text, encoding="utf-8")
        else:
            run(step)


def run(step: Command) -> None:
    """Run one command; whoever is asked answers that they have to go."""
    result = CliRunner().invoke(cli.main, list(step.arguments), input="q\n", env={"NO_COLOR": "1"})
    report = f"{step.line}\nends with {result.exit_code}, expected {step.exit_code}\n{result.output[-2000:]}"
    assert result.exit_code == step.exit_code, report


def test_there_is_something_to_run() -> None:
    assert sum(isinstance(step, Command) for page in PAGES for step in steps(page)) > 20


def test_exit_codes_are_read() -> None:
    assert command("$ firstfault rules lint 'a b'   # finds it, exit 1") == Command(
        "$ firstfault rules lint 'a b'   # finds it, exit 1", ("rules", "lint", "a b"), 1
    )
