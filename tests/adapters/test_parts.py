"""Fences of an issue and files that one command shows are read apart, with the numbers of their lines in the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.facts.model import Observation
from facts_adapters import parts as parts_module
from facts_adapters.parts import parts, titled
from facts_adapters.reader import read_bundle

OOM = "Out of memory: Killed process 4242 (python) total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB"
LOST = "RuntimeError: CUDA error: device-side assert triggered"


def _read(folder: Path, name: str, text: str) -> list[Observation]:
    (folder / name).write_text(text)
    return [o for o in read_bundle(folder).observations if o.kind != "coverage.source"]


def test_lines_of_fences_keep_their_numbers_and_places() -> None:
    text = "Hang\n\n### hosts/n1/kern.log\n```\na\nb\n```\nand rank 3:\n~~~text\nc\n~~~\nThanks\n"
    found = parts("issue.md", text.encode())
    fences = [(p.path("issue.md"), p.data, p.line(1)) for p in found if not p.prose]
    assert fences == [("hosts/n1/kern.log", b"a\nb\n", 5), ("and_rank_3.txt", b"c\n", 10)]


def test_a_log_that_prints_fences_is_left_whole() -> None:
    assert len(parts("train.log", b"a\n```\nb\n```\n")) == 1


def test_titles() -> None:
    assert titled("**`logs/rank3.log`**:") == "logs/rank3.log"
    assert titled("Rank 3:") == "Rank_3.txt"
    assert titled("After the upgrade of all nodes we see this every night") == ""


def test_host_and_rank_of_a_fence_come_from_its_title(tmp_path: Path) -> None:
    text = f"# hang\nhosts/n7/kern.log\n```\n{OOM}\n```\nlogs/rank3.err\n```\n{LOST}\n```\n"
    found = _read(tmp_path, "issue.md", text)
    assert {(o.source.path, o.source.line, o.host) for o in found if o.kind == "host.oom_kill"} == {
        ("issue.md", 4, "n7")
    }
    assert {o.rank for o in found if o.source.line == 8} == {3}


def test_lines_of_another_fence_have_no_order(tmp_path: Path) -> None:
    found = _read(tmp_path, "issue.md", f"```\n{LOST}\n```\n```\n{OOM}\n```\n")
    assert {o.lag for o in found if o.source.line == 2} == {None}
    assert {o.lag for o in found if o.kind == "host.oom_kill"} == {(0, 1)}


def test_files_shown_by_tail(tmp_path: Path) -> None:
    found = _read(tmp_path, "all.log", f"==> hosts/n1/kern.log <==\nquiet\n\n==> hosts/n2/kern.log <==\n{OOM}\n")
    assert {(o.source.line, o.host) for o in found if o.kind == "host.oom_kill"} == {(5, "n2")}


def test_a_text_that_nobody_understands_is_told(tmp_path: Path) -> None:
    (tmp_path / "strange.txt").write_text("wibble wobble\nwobble wibble\n")
    (tmp_path / "README.md").write_text("What we collected.\n")
    (tmp_path / "empty.txt").write_text("")
    result = read_bundle(tmp_path)
    told = [(w.path, w.reason) for w in result.warnings if "not understood" in w.reason]
    assert told == [("strange.txt", "not understood: 2 lines")]
    assert not [o for o in result.observations if o.source.path == "strange.txt"]


def test_of_very_many_parts_the_last_holds_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts_module, "MOST_PARTS", 4)
    found = parts_module.parts("a.txt", b"".join(b"==> r%d.log <==\nline %d\n" % (i, i) for i in range(9)))
    assert [part.title for part in found] == ["r0.log", "r1.log", ""]
    assert found[-1].data == b"".join(b"line %d\n" % i for i in range(2, 9))
    assert list(found[-1].numbers) == [6, 8, 10, 12, 14, 16, 18]
