"""Binary journals: the entries that journalctl prints, and nothing but a warning for damage."""

from __future__ import annotations

import contextlib
import json
import lzma
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
import zstandard

from facts_adapters.host import _journal
from facts_adapters.host._journal import DamagedJournalError, Journal
from facts_adapters.host.journal_file import ADAPTER, made
from facts_adapters.reader import read_bundle

GOOD = ADAPTER.samples[0].text.encode()
WANTED = frozenset((b"MESSAGE", b"_HOSTNAME", b"_TRANSPORT"))
MESSAGES = [b"nfs: server 10.6.0.31 not responding, still trying", b"nfs: server 10.6.0.31 OK"]


def test_signatures_see_the_entries(tmp_path: Path) -> None:
    (tmp_path / "system.journal").write_bytes(GOOD)
    result = read_bundle(tmp_path)
    found = [record for record in result.observations if record.kind.startswith("host.")]
    assert [(o.kind, o.source.line, o.host) for o in found] == [
        ("host.storage_not_responding", 1, "n01"),
        ("host.storage_recovered", 2, "n01"),
    ]
    assert [o.when.earliest for o in found if o.when] == [0x00064D1122334401, 0x00064D1122334402]
    assert not result.warnings


def test_a_host_folder_names_the_host(tmp_path: Path) -> None:
    path = tmp_path / "hosts" / "gpu-b07" / "system.journal"
    path.parent.mkdir(parents=True)
    path.write_bytes(GOOD)
    assert {o.host for o in read_bundle(tmp_path).observations} == {"gpu-b07"}


def test_entries_are_those_of_journalctl(tmp_path: Path) -> None:
    program = shutil.which("journalctl")
    if program is None:
        pytest.skip("journalctl is not installed")
    path = tmp_path / "system.journal"
    path.write_bytes(GOOD)
    shown = subprocess.run(
        [program, "--file", str(path), "-o", "json"], capture_output=True, check=True, timeout=60
    ).stdout
    theirs = [json.loads(line) for line in shown.splitlines()]
    ours = list(Journal(GOOD, WANTED).entries())
    assert [entry.fields["MESSAGE"].decode() for entry in ours] == [record["MESSAGE"] for record in theirs]
    assert [str(entry.realtime) for entry in ours] == [record["__REALTIME_TIMESTAMP"] for record in theirs]
    assert [entry.boot for entry in ours] == [record["_BOOT_ID"] for record in theirs]


def test_compressed_values() -> None:
    text = b"MESSAGE=" + b"x" * 5_000
    for flags, packed in ((1, lzma.compress(text)), (4, zstandard.ZstdCompressor().compress(text))):
        data = bytearray(GOOD + bytes(512 + len(packed)))
        place = len(GOOD)
        struct.pack_into("<BB6xQ", data, place, 1, flags, 64 + len(packed))
        data[place + 64 : place + 64 + len(packed)] = packed
        entry = GOOD.index(MESSAGES[0]) // 256 * 256 + 256
        assert data[entry] == 3
        struct.pack_into("<Q", data, entry + 64, place)
        first = next(Journal(bytes(data), WANTED).entries())
        assert first.fields["MESSAGE"] == b"x" * 5_000


def test_compact_files() -> None:
    data = made(("first", "second"), compact=True).encode()
    entries = list(Journal(data, WANTED).entries())
    assert [entry.fields for entry in entries] == [
        {"MESSAGE": text, "_TRANSPORT": b"kernel", "_HOSTNAME": b"n01"} for text in (b"first", b"second")
    ]


def test_lz4_is_counted() -> None:
    data = bytearray(GOOD)
    data[GOOD.index(MESSAGES[0]) // 256 * 256 + 1] = 2
    journal = Journal(bytes(data), WANTED)
    assert "MESSAGE" not in next(journal.entries()).fields
    assert journal.left_out == 1


@pytest.mark.parametrize("length", [8, 100, 207, 300, 1000, len(GOOD) - 300])
def test_a_cut_journal_warns_and_gives_what_is_there(length: int, tmp_path: Path) -> None:
    (tmp_path / "system.journal").write_bytes(GOOD[:length])
    result = read_bundle(tmp_path)
    (warning,) = result.warnings
    assert "the journal is damaged" in warning.reason


def test_wrong_bytes_never_raise_anything_else() -> None:
    for place in range(8, len(GOOD)):
        for value in (0, 1, 0x7F, 0xFF):
            data = bytearray(GOOD)
            data[place] = value
            with contextlib.suppress(DamagedJournalError):
                assert len(list(Journal(bytes(data), WANTED).entries())) <= 2


def test_chains_that_turn_back_end(monkeypatch: pytest.MonkeyPatch) -> None:
    data = bytearray(GOOD)
    (array,) = struct.unpack_from("<Q", data, 176)
    struct.pack_into("<Q", data, array + 16, array)
    with pytest.raises(DamagedJournalError, match="out of order"):
        list(Journal(bytes(data), WANTED).entries())
    monkeypatch.setattr(_journal, "MOST_ENTRIES", 1)
    with pytest.raises(DamagedJournalError, match="more than the 1"):
        list(Journal(GOOD, WANTED).entries())
