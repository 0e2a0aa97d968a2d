"""Which verdicts rest on rules that no other incident exercises."""

from __future__ import annotations

import shutil
from pathlib import Path

from benchmarks.leave_one_out import LeftOut, figures, leave_one_out, table
from tests.incidents.investigating import BUNDLES, investigation


def seen(folder: Path) -> dict[str, LeftOut]:
    return {item.judged.name: item for item in leave_one_out([folder], investigation())}


def copies(target: Path, *names: str) -> Path:
    for name in names:
        source = name.removesuffix("-again")
        shutil.copytree(BUNDLES / source, target / name)
    return target


def test_an_incident_that_nothing_resembles_stands_alone(tmp_path: Path) -> None:
    found = seen(copies(tmp_path, "shm-full-in-pod", "link-flap-before-retries"))
    alone = found["shm-full-in-pod"]
    assert alone.judged.cause == "host.shared-memory"
    assert alone.alone
    assert alone.judged.carrying <= alone.own
    assert alone.cause != "host.shared-memory"
    assert alone.changed


def test_an_incident_that_another_resembles_does_not(tmp_path: Path) -> None:
    found = seen(copies(tmp_path, "shm-full-in-pod", "shm-full-in-pod-again"))
    for item in found.values():
        assert not item.own
        assert not item.alone
        assert not item.changed


def test_the_table_names_rules_and_figures(tmp_path: Path) -> None:
    items = leave_one_out([copies(tmp_path, "shm-full-in-pod", "link-flap-before-retries")], investigation())
    text = "\n".join(table(items))
    assert "    only here: host.shared-memory/" in text
    assert "incidents 2, of which a cause is named 2" in figures(items)
    assert "verdicts that rest only on rules that no other incident exercises: 2" in figures(items)
