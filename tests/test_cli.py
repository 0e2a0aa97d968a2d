"""The command line: exit codes, and one clear message for what a user gets wrong."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cli import main

DEMO = Path(__file__).parents[1] / "examples" / "oom-kill-behind-timeouts"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def overlay(tmp_path: Path) -> Path:
    root = tmp_path / "site"
    (root / "signatures").mkdir(parents=True)
    (root / "pack.yaml").write_text("schema: 1\nname: site\nversion: 1.0.0\n")
    return root


def test_a_clear_cause_meets_fail_on_and_strict() -> None:
    assert run("diagnose", DEMO, "--format", "json", "--fail-on", "cause_found").exit_code == 1
    assert run("diagnose", DEMO, "--format", "json", "--strict").exit_code == 0


def test_strict_tells_that_nothing_was_understood(tmp_path: Path) -> None:
    (tmp_path / "notes.log").write_text("wibble wobble\n")
    result = run("diagnose", tmp_path, "--format", "jsonl", "--strict")
    report = json.loads(result.stdout)
    assert result.exit_code == 4
    assert report["verdict"]["outcome"] == "insufficient_evidence"
    assert report["verdict"]["owner"] is None
    assert "Nothing in the evidence was understood" in report["verdict"]["summary"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("diagnose", "no-such-folder"), "no-such-folder"),
        (("diagnose", DEMO, "--answer", "x"), "is not NAME=VALUE"),
        (("diagnose", DEMO, "--adapter", "dmseg=*.log"), "dmseg"),
        (("diagnose", DEMO, DEMO, "--format", "json"), "takes one bundle"),
        (("rules", "show", "host.oom-kil"), "host.oom-kill"),
        (("explain", DEMO, "host.oom-kil"), "host.oom-kill"),
    ],
)
def test_usage_errors_name_what_is_wrong(arguments: tuple[str | Path, ...], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_nothing_is_overwritten_unasked(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_text("mine")
    for command in (("diagnose", DEMO, "-o", target), ("package", DEMO, "-o", target)):
        result = run(*command)
        assert result.exit_code == 2
        assert "--force overwrites it" in result.stderr
    assert target.read_text() == "mine"


def test_lint_reads_the_signatures_of_an_overlay(overlay: Path) -> None:
    (overlay / "signatures" / "s.yaml").write_text(
        "schema: 1\nkind: signatures\nsource: site\nsignatures:\n"
        "  - {id: site.a, pattern: 'foo', emits: no.kind, samples: ['foo']}\n"
    )
    result = run("rules", "lint", overlay)
    assert result.exit_code == 1
    assert "no fact kind 'no.kind'" in result.output


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_in_a_pack_is_not_waited_for(overlay: Path) -> None:
    os.mkfifo(overlay / "rule.yaml")
    assert run("rules", "lint", overlay).exit_code == 0


def test_an_invalid_pack_ends_with_its_problems(overlay: Path) -> None:
    (overlay / "rule.yaml").write_text("schema: 1\nkind: evidnce\n")
    result = run("diagnose", DEMO, "--pack", overlay)
    assert result.exit_code == 3
    assert "rule.yaml:2" in result.stderr
    assert "Traceback" not in result.output
