"""What adapters see of the beginning of a file."""

from __future__ import annotations

from pathlib import Path

from facts_adapters.adapter import Adapter, Head, Verdict
from facts_adapters.discovery import Registry
from facts_adapters.look import ALIKE, HEAD_BYTES, condensed
from facts_adapters.reader import read_bundle


def test_of_lines_that_differ_in_numbers_a_few_stand_for_all() -> None:
    raw = b"".join(b"step %d of 90\nloss %d.%d\n" % (n, n, n) for n in range(50)) + b"the end 1\n"
    lines = condensed(raw).split(b"\n")
    assert lines[:4] == [b"step 0 of 90", b"loss 0.0", b"step 1 of 90", b"loss 1.1"]
    assert len(lines) == 2 * ALIKE + 2
    assert lines[-2:] == [b"the end 1", b""]


def test_short_files_are_seen_whole(tmp_path: Path) -> None:
    seen: dict[str, Head] = {}

    def sniff(head: Head) -> Verdict:
        seen[head.path] = head
        return Verdict(0.0, "")

    (tmp_path / "short.log").write_text("step 1\n" * 100, encoding="utf-8")
    (tmp_path / "long.log").write_text("step 1\n" * HEAD_BYTES, encoding="utf-8")
    read_bundle(tmp_path, adapters=Registry((Adapter("all", "job", (), None, sniff, lambda *_: ()),), ()))
    assert len(seen["short.log"].lines) == 100
    assert ALIKE <= len(seen["long.log"].lines) <= ALIKE + 1
