"""Running the examples in rule files, and what a failing one says."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from engine.authored.problem import render_all
from engine.facts.model import SECOND, Fact, Order, Span, before
from engine.inference import infer
from engine.rules.examples import EPOCH, facts_of, run_examples
from engine.rules.pack import load_packs

SMALL = Path(__file__).resolve().parent / "pack"


def fact(**given: Any) -> Fact:
    return facts_of([given], load_packs(builtin=SMALL).vocabulary)[0]


def pair(first: Mapping[str, Any], second: Mapping[str, Any]) -> Order:
    facts = facts_of([first, second], load_packs(builtin=SMALL).vocabulary)
    return before(facts[0], facts[1])


def at(seconds: float) -> int:
    return EPOCH + round(seconds * SECOND)


def test_all_examples_of_the_small_pack_hold() -> None:
    run = run_examples(builtin=SMALL, infer=infer)
    assert (run.files, run.examples, run.problems) == (5, 13, [])


def test_select_by_name_or_id() -> None:
    assert run_examples(builtin=SMALL, infer=infer, select="ended before").examples == 1
    assert run_examples(builtin=SMALL, infer=infer, select="nic.link-down/").examples == 2
    assert run_examples([SMALL / "propagation"], builtin=SMALL, infer=infer).examples == 4


def test_notation_of_facts() -> None:
    kill = fact(kind="host.oom_kill", at=3, host="n1", rank=4, pid=42)
    assert (kill.host, kill.rank, kill.ranks, dict(kill.fields)) == ("n1", 4, (4,), {"pid": 42})
    assert kill.onset == kill.local == Span(at(3), at(3))
    assert kill.sequence is None
    assert fact(kind="host.oom_kill", at=[-1, 2.5]).onset == Span(at(-1), at(2.5))
    assert fact(kind="host.oom_kill", at="unknown").onset == Span()
    assert fact(kind="host.oom_kill").onset == Span()
    assert fact(kind="host.swap", ratio=1).fields["ratio"] == 1.0
    assert fact(kind="host.oom_kill", scope="other_run").scope == "other_run"
    covered = fact(kind="coverage.source", **{"class": "kernel_log", "from": -5, "to": 5})
    assert covered.onset == Span(at(-5), at(5))


def test_clocks_and_order_in_a_file() -> None:
    kill = {"kind": "host.oom_kill"}
    assert pair({**kill, "at": 0, "host": "n1"}, {**kill, "at": 1, "host": "n2"}) is Order.YES
    assert pair({**kill, "at": [0, 2], "host": "n1"}, {**kill, "at": 1, "host": "n2"}) is Order.CANNOT_TELL
    assert pair({**kill, "file": "a", "line": 3}, {**kill, "file": "a", "line": 4}) is Order.YES
    assert pair({**kill, "line": 3}, {**kill, "line": 4}) is Order.CANNOT_TELL


def test_file_with_errors_fails_before_its_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack = broken(tmp_path, "evidence/nic/link-down.yaml", "strength: strong", "strength: huge")
    assert [p.code for p in run_examples(builtin=pack, infer=infer).problems] == ["FF204"]
    assert run_examples([pack / "propagation"], builtin=pack, infer=infer).problems == []


def test_refusal_of_inference_is_a_problem() -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise ValueError("too many patterns")

    problems = run_examples([SMALL / "propagation"], builtin=SMALL, infer=refuse).problems
    assert [(problem.code, problem.reason) for problem in problems] == [("FF244", "too many patterns")] * 2


def broken(folder: Path, name: str, old: str, new: str) -> Path:
    pack = folder / "pack"
    shutil.copytree(SMALL, pack)
    text = (pack / name).read_text(encoding="utf-8")
    assert old in text
    (pack / name).write_text(text.replace(old, new, 1), encoding="utf-8")
    return pack


def failures(pack: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(pack)
    return render_all(run_examples(builtin=pack, infer=infer).problems)


def test_missing_rule_shows_the_condition_that_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack = broken(tmp_path, "evidence/host/oom-kill.yaml", "rank: 2, signal: 9}", "rank: 2, signal: 15}")
    assert (
        failures(pack, monkeypatch)
        == """\
✘ FF243 example "killed, then ended": missing kernel-killed-rank
  --> evidence/host/oom-kill.yaml:47:13   (example 1)
   47 |     expect: [kernel-killed-rank]
      |             ^
  note:   host.oom-kill/kernel-killed-rank: does not fire
  note:     ✓ 1 kill: host.oom_kill, extent = memcg, process none of sshd, slurmd
  note:         host.oom_kill host=n1 extent=memcg pid=42 process=python (fact-1:1)
  note:     ✗ 2 exit: job.process_exit, signal = 9, host = kill.host, after kill, within 120 s of kill
  note:         nearest: job.process_exit host=n1 rank=2 signal=15 (fact-2:1)
  note:         signal = 9: it is 15
  note:     · 3 no job.cancelled around kill, before kill

1 error in 1 file
"""
    )


def test_unexpected_rule_shows_what_matched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack = broken(tmp_path, "evidence/nic/link-down.yaml", "expect: [port-down-before-timeout]", "expect: []")
    found = failures(pack, monkeypatch)
    assert '✘ FF243 example "down, then the time-out": unexpected port-down-before-timeout' in found
    assert "✓ 2 timeout: comm.collective_timeout, after down" in found


def test_failing_propagation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack = broken(
        tmp_path, "propagation/kill-ends-process.yaml", "at: 3, host: n1, signal: 9", "at: 300, host: n1, signal: 9"
    )
    found = failures(pack, monkeypatch)
    assert "missing host.oom_kill > job.process_exit" in found
    assert "within 120 s of cause: it is at least 300 s away" in found


def test_silence_without_coverage_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pack = broken(tmp_path, "evidence/host/oom-kill.yaml", "class: scheduler", "class: job_log")
    found = failures(pack, monkeypatch)
    assert "✗ 3 no job.cancelled around kill, before kill" in found
    assert "nothing covers it: no source of class scheduler was read, so silence proves nothing" in found
