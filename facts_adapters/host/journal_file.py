"""Binary journal files, ``*.journal`` (systemd 187 .. 257), as ``sosreport --all-logs`` and node images hold them.

Their entries go to the reader of log lines in the shape that ``journalctl -o json`` prints, so that every signature
holds for them. The number of a line is that of the entry in the file.
"""

from __future__ import annotations

import json
import mmap
import struct
import tempfile
from collections.abc import Iterator
from typing import BinaryIO, cast

from engine.facts.model import Observation
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.coverage import coverage
from facts_adapters.host._journal import MAGIC, DamagedJournalError, Entry, Journal
from facts_adapters.result import FileReport
from facts_adapters.text.content import Text

_NAME = "journal_file"
_WANTED = ("MESSAGE", "SYSLOG_IDENTIFIER", "_PID", "_HOSTNAME", "_TRANSPORT", "_SOURCE_MONOTONIC_TIMESTAMP")
_FAST_FROM = 2 << 20
_MOST_TEXT = 1 << 30
"""Bytes of JSON that are read of one journal."""


def sniff(head: Head) -> Verdict:
    """The magic number."""
    found = head.text.startswith(MAGIC.decode())
    return Verdict(1.0, "binary journal") if found else Verdict(0.0, "no binary journal")


def read(file: EvidenceFile, context: Context) -> Iterator[Observation]:
    """What the signatures find in the entries, and what the journal covers."""
    from facts_adapters.reader import builtin_reader  # it collects the adapters, of which this is one

    with tempfile.TemporaryFile() as copy, tempfile.TemporaryFile() as text, file.open() as stream:
        while chunk := stream.read(4 << 20):
            copy.write(chunk)
        copy.flush()
        if not copy.tell():
            return
        with mmap.mmap(copy.fileno(), 0, access=mmap.ACCESS_READ) as data:
            _write_lines(data, text, file, context)
        text.flush()
        if not text.tell():
            return
        size = text.tell()
        text.seek(0)
        lines = Text(cast(BinaryIO, text), text.fileno())
        result = builtin_reader().read(file.path, lines, context, fast=size >= _FAST_FROM)
    several = file.host is None or len(result.identity.hosts) > 1
    for observation, writer in zip(result.observations, result.writers, strict=True):
        if several:
            observation.host = observation.host or writer
        yield observation
    report = FileReport(file.path, 0, lines=result.lines)
    for statement in coverage(file.path, report, result, ()):
        statement.adapter = _NAME
        yield statement


def _write_lines(data: mmap.mmap, text: BinaryIO, file: EvidenceFile, context: Context) -> None:
    journal = Journal(data, frozenset(name.encode() for name in _WANTED))
    count = 0
    try:
        for entry in journal.entries():
            count += 1
            text.write(_line(entry))
            if text.tell() > _MOST_TEXT:
                context.warn(file.path, count, "the journal is longer than is read; the rest is left out")
                break
    except DamagedJournalError as error:
        context.warn(file.path, count, f"the journal is damaged ({error}); {count} entries before that are used")
    if journal.left_out:
        context.warn(file.path, 0, f"{journal.left_out} values are compressed in a way that is not read (lz4)")


def _line(entry: Entry) -> bytes:
    record = {
        "__REALTIME_TIMESTAMP": str(entry.realtime),
        "__MONOTONIC_TIMESTAMP": str(entry.monotonic),
        "_BOOT_ID": entry.boot,
    }
    record |= {name: value.decode("utf-8", "replace") for name, value in entry.fields.items()}
    return json.dumps(record).encode() + b"\n"


def made(messages: tuple[str, ...], *, compact: bool = False) -> str:
    """A small journal of kernel messages, for samples; all bytes are ASCII, objects stand at multiples of 256."""
    blocks: list[bytes] = []
    item, front = ("<I", 56) if compact else ("<QQ", 48)

    def put(kind: int, body: bytes) -> int:
        blocks.append((struct.pack("<BB6xQ", kind, 0, 16 + len(body)) + body).ljust(256, b"\0"))
        return 256 * len(blocks)

    shared = [put(1, bytes(front) + text) for text in (b"_TRANSPORT=kernel", b"_HOSTNAME=n01")]
    entries = []
    for number, message in enumerate(messages, start=1):
        items = [put(1, bytes(front) + b"MESSAGE=" + message.encode()), *shared]
        body = struct.pack("<QQQ16sQ", number, 0x00064D1122334400 + number, 0x11223300 + number, b"b" * 16, 0)
        packed = (struct.pack(item, place, *[0] * (not compact)) for place in items)
        entries.append(put(3, body + b"".join(packed)))
    array = put(6, bytes(8) + b"".join(struct.pack(item[:2], entry) for entry in [*entries, 0]))
    fields = (256, 256 * len(blocks), 0, 0, 0, 0, array, len(blocks), len(entries), len(entries), 1, array, 0, 0, 0)
    header = MAGIC + struct.pack("<II8x", 0, 16 * compact) + b"i" * 64 + struct.pack("<15Q", *fields)
    return (header.ljust(256, b"\0") + b"".join(blocks)).decode()


ADAPTER = Adapter(
    name=_NAME,
    branch="host",
    emits=("coverage.source",),
    coverage=None,
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            made(("nfs: server 10.6.0.31 not responding, still trying", "nfs: server 10.6.0.31 OK")),
            (("coverage.source", {"class": "kernel_log", "lines": 2}),),
            path="var/log/journal/0123/system.journal",
        ),
        Sample("LPKSHHRHand nothing more\n", path="system.journal"),
        Sample("the magic number of a journal is LPKSHHRH\n"),
    ),
)
