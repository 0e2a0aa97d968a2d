"""What adapters see of the beginning of a file."""

from __future__ import annotations

from pathlib import Path

from facts_adapters.adapter import Adapter, Head, Verdict
from facts_adapters.discovery import Registry
from facts_adapters.look import ALIKE, HEAD_BYTES, condensed, printed
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


def test_of_a_binary_file_the_printed_words_count_each_once_and_not_whole_lists() -> None:
    ranks = b"[" + b", ".join(str(rank).encode() for rank in range(9_000)) + b"]"
    raw = b"\x80\x02X\x00record_id\x00ab\x00record_id\x01profiling_name\xff" + ranks
    words = printed(raw).split(b"\0")
    assert words[:3] == [b"", b"record_id", b"profiling_name"]
    assert words[3] == ranks[:1_000]
    assert len(words) == 4


def test_a_magic_number_stays_at_the_beginning() -> None:
    assert printed(b"LPKSHHRH\x00\x01").startswith(b"LPKSHHRH")
    assert not printed(b"\x00LPKSHHRH").startswith(b"LPKSHHRH")
