"""NCCL Inspector (profiler plugin, NCCL 2.28 to 2.30): JSON lines of collectives that a rank has completed.

One file per process, ``<host>-pid<pid>.log``. Only what has ended is written, so the last number of a communicator and
operation is how far the rank came. Durations are not compared: a short one on one rank and a long one on the others
means that the one arrived late, which the numbers of all ranks together show better. ``coll_sn`` counts each operation
by itself. Newer versions state header and metadata once, in a record of their own that holds for the lines after it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from engine.facts.model import Observation, Reading, Scalar, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.documents import mapping

MOST_GROUPS = 10_000
"""Communicators and operations that are kept apart in one file."""

_NAME = re.compile(r"[\w.:-]{1,80}")


@dataclass(slots=True)
class _Last:
    """The last completed operation of one communicator."""

    seq: int
    source: Source
    when: Reading | None
    host: str | None
    rank: int | None
    nranks: int


def sniff(head: Head) -> Verdict:
    """Names of the plugin's fields."""
    if '"coll_perf"' in head.text and '"coll_sn"' in head.text:
        return Verdict(0.95, "records of NCCL Inspector")
    return Verdict(0.0, "no records of NCCL Inspector")


def read(file: EvidenceFile, context: Context) -> Iterator[Observation]:
    """``comm.work_status`` of each communicator and operation: the last number that is completed."""
    last: dict[tuple[str, str], _Last] = {}
    shared: dict[str, object] = {}
    bad = 0
    for line in file.lines():
        if '"coll_perf"' not in line.text and '"header"' not in line.text:
            continue
        try:
            record = json.loads(line.text)
        except (ValueError, RecursionError):
            bad += 1
            if bad <= 3:
                context.warn(file.path, line.number, "not a whole record of NCCL Inspector")
            continue
        if isinstance(record, dict):
            shared |= {key: record[key] for key in ("header", "metadata") if isinstance(record.get(key), dict)}
            _note(last, record, shared, Source(file.path, line.number, line.text[:500]))
    largest = max((item.nranks for item in last.values()), default=0)
    for (communicator, operation), item in sorted(last.items()):
        fields: dict[str, Scalar] = {"pg": f"{communicator} {operation}".strip(), "last_completed": item.seq}
        rank = item.rank if item.nranks == largest else None
        yield Observation("comm.work_status", item.source, fields, host=item.host, rank=rank, when=item.when)


def _note(
    last: dict[tuple[str, str], _Last], record: Mapping[str, object], shared: Mapping[str, object], source: Source
) -> None:
    """Keep the record where it is the last of its communicator and operation."""
    performance, header, metadata = (
        mapping(record.get("coll_perf")),
        mapping(shared.get("header")),
        mapping(shared.get("metadata")),
    )
    seq, operation = _number(performance.get("coll_sn")), performance.get("coll")
    if seq is None or not isinstance(operation, str) or not _NAME.fullmatch(operation):
        return
    key = (str(header.get("id", ""))[:80], operation)
    known = last.get(key)
    if (known is None and len(last) >= MOST_GROUPS) or (known is not None and known.seq > seq):
        return
    host = metadata.get("hostname")
    stamp = _number(metadata.get("dump_timestamp_us"))
    when = Reading(stamp, stamp, basis="utc") if stamp is not None and 0 < stamp < 2**53 else None
    last[key] = _Last(
        seq=seq,
        source=source,
        when=when,
        host=host if isinstance(host, str) and _NAME.fullmatch(host) else None,
        rank=_number(header.get("rank")),
        nranks=_number(header.get("n_ranks")) or 0,
    )


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None


def _record(seq: int, *, operation: str = "AllReduce", alone: bool = False) -> str:
    """One line as the plugin writes it; ``alone`` without what a line before it stated."""
    stated = (
        '"header": {"id": "0x7f8c49", "rank": 5, "n_ranks": 16, "nnodes": 2}, "metadata": '
        '{"inspector_output_format_version": "v4.0", "git_rev": "", "rec_mechanism": "profiler_plugin", '
        '"dump_timestamp_us": 1772617230000000, "hostname": "gpu-b07", "pid": 4411}, '
    )
    performance = f'"coll": "{operation}", "coll_sn": {seq}, "coll_msg_size_bytes": 1048576, "coll_exec_time_us": 310'
    return f'{{{"" if alone else stated}"coll_perf": {{{performance}, "coll_busbw_gbs": 6.4}}}}\n'


ADAPTER = Adapter(
    name="nccl_inspector",
    branch="comm",
    emits=("comm.work_status",),
    coverage=None,
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            _record(1406) + _record(1407) + _record(12, operation="AllGather", alone=True),
            (
                (
                    "comm.work_status",
                    {"rank": 5, "host": "gpu-b07", "pg": "0x7f8c49 AllReduce", "last_completed": 1407},
                ),
                ("comm.work_status", {"pg": "0x7f8c49 AllGather", "last_completed": 12}),
            ),
            path="gpu-b07-pid4411.log",
        ),
        Sample(
            '{"header": {"id": "0x7f8c49"}, "coll_perf": {"coll": "AllReduce", "coll_sn": null}}\n', (), path="a.log"
        ),
    ),
)
