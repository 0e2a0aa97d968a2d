"""The finder that pins the four names, by itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import firstfault


def test_other_names_are_left_to_the_others(tmp_path: Path) -> None:
    finder = firstfault._OwnSources(tmp_path)
    assert finder.find_spec("json") is None
    assert finder.find_spec("engine.facts") is None


def test_incomplete_installation_is_said_and_not_papered_over(tmp_path: Path) -> None:
    with pytest.raises(ModuleNotFoundError, match="not installed completely: no 'engine'"):
        firstfault._OwnSources(tmp_path).find_spec("engine")


def test_namesake_from_elsewhere_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    stranger = ModuleType("knowledge")
    stranger.__file__ = "/opt/trainer/knowledge.py"
    monkeypatch.setitem(sys.modules, "knowledge", stranger)
    with pytest.raises(ImportError, match=r"'knowledge'.*/opt/trainer/knowledge\.py"):
        firstfault._refuse_strangers(firstfault._source_root())


def test_start_loads_nothing_heavy() -> None:
    """``--help`` answers at once: what only some commands need is imported by them."""
    code = "import sys, firstfault, cli; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(firstfault.__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    heavy = {"durable_rules_engine", "graphviz", "http", "jinja2", "multiprocessing", "rich", "yaml", "zstandard"}
    assert not heavy & set(done.stdout.split())
