"""NCCL's library state report (RAS, ``ncclras -f json``, 2.28.7 to 2.30): what each rank launched in each communicator.

Written by ``src/ras/client_support.cc``. Counts are of launches, and only of collectives. 2.28.7 to 2.28.9 leave
out a comma exactly where ranks are missing, which is repaired. A rank is one of its communicator; the largest one
tells the rank in the job of each process, so that ranks of smaller ones are known too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from engine.facts.collectives import GroupState, compact
from engine.facts.model import Observation, Scalar, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Record, Sample, Verdict
from facts_adapters.comm.state_report import MOST_RANKS

LARGEST = 64 << 20
MOST_COMMUNICATORS = 20_000

_NO_COMMA = re.compile(r'("nvml_dev": -?\d+)(\s+"status")')

Process = tuple[str, int, int]
"""Host, process and device of a rank, by which it is known in every communicator."""


def sniff(head: Head) -> Verdict:
    """Communicators with their ranks."""
    if '"communicators"' in head.text and ('"collective_counts"' in head.text or '"communicators_count"' in head.text):
        return Verdict(0.95, "communicators of NCCL RAS")
    return Verdict(0.0, "no NCCL RAS report")


def read(file: EvidenceFile, context: Context) -> Iterator[Record]:
    """The state of each rank in each communicator; ``comm.heartbeat_lost`` and ``comm.rank_behind`` of missing ones."""
    with file.open() as stream:
        data = stream.read(LARGEST + 1)
    source = Source(file.path, 1)
    if len(data) > LARGEST:
        context.warn(file.path, 1, f"the report is longer than {LARGEST >> 20} MB and was left out")
        return
    try:
        report: object = json.loads(_NO_COMMA.sub(r"\1,\2", data.decode("utf-8", "replace")))
    except (ValueError, RecursionError) as error:
        context.warn(file.path, 1, f"not a readable RAS report: {type(error).__name__}: {str(error)[:200]}")
        return
    communicators = [item for item in _listed(report, "communicators")[:MOST_COMMUNICATORS] if _size(item) > 1]
    ranks = _job_ranks(communicators)
    for item in communicators:
        yield from _communicator(item, ranks, source)


def _listed(value: object, name: str) -> list[Mapping[str, object]]:
    found = value.get(name) if isinstance(value, dict) else None
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _number(item: Mapping[str, object], name: str) -> int:
    value = item.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 40 else -1


def _size(communicator: Mapping[str, object]) -> int:
    return _number(communicator, "size")


def _process(rank: Mapping[str, object]) -> Process:
    return str(rank.get("host", ""))[:200], _number(rank, "pid"), _number(rank, "cuda_dev")


def _job_ranks(communicators: list[Mapping[str, object]]) -> dict[Process, int]:
    """Rank in the job of each process: as the largest communicators number it, where they agree."""
    largest = max(map(_size, communicators), default=0)
    found: dict[Process, set[int]] = {}
    for item in communicators:
        if _size(item) == largest:
            for rank in (*_listed(item, "ranks"), *_listed(item, "missing_ranks")):
                found.setdefault(_process(rank), set()).add(_number(rank, "rank"))
    return {process: min(ranks) for process, ranks in found.items() if len(ranks) == 1 and min(ranks) >= 0}


def _communicator(item: Mapping[str, object], ranks: Mapping[Process, int], source: Source) -> Iterator[Record]:
    name = f"{str(item.get('hash', ''))[:40]} {str(item.get('secondary_hash', ''))[:40]}".strip()
    present, missing = _listed(item, "ranks"), _listed(item, "missing_ranks")
    known = {ranks[process] for rank in (*present, *missing) if (process := _process(rank)) in ranks}
    members = compact(known) if len(known) == _size(item) else ""
    for rank in present:
        number = ranks.get(_process(rank))
        counts = rank.get("collective_counts")
        if number is not None and isinstance(counts, dict):
            launched = sum(_number(counts, str(operation)) for operation in counts)
            yield GroupState(source, name, number, members=members, origin="library", last_enqueued=launched)
    for rank in missing[:MOST_RANKS]:
        yield from _missing(rank, ranks.get(_process(rank)), source)


def _missing(rank: Mapping[str, object], number: int | None, source: Source) -> Iterator[Record]:
    status = rank.get("status")
    dead = isinstance(status, dict) and status.get("considered_dead") is True
    if dead:
        fields: dict[str, Scalar] = {"status": "lost", "informer": "ras"}
        yield Observation("comm.heartbeat_lost", source, fields, rank=number, peer=_process(rank)[0] or None)
    if number is not None:
        yield Observation("comm.rank_behind", source, {"how": "no_report"}, rank=number)
        yield GroupState(source, rank=number, origin="library", condition="dead" if dead else "unresponsive")


def _rank(number: int, count: int) -> str:
    return (
        f'{{"rank": {number}, "host": "10.0.0.{number // 2}", "pid": {40 + number}, "cuda_dev": {number % 2}, '
        f'"nvml_dev": {number % 2}, "status": {{"init_state": 0, "async_error": 0}}, '
        f'"collective_counts": {{"Broadcast": 2, "AllReduce": {count}}}}}'
    )


def _example(counts: tuple[int, ...], missing: str = "", size: int = 4) -> str:
    ranks = ", ".join(_rank(number, count) for number, count in enumerate(counts))
    return (
        '{"nccl_version": "2.28.7", "timestamp": "2025-11-30 13:33:17", "communicators_count": 1, "communicators": '
        f'[{{"hash": "0xcf26", "secondary_hash": "0x1", "size": {size}, "ranks_count": {len(counts)}, '
        f'"missing_ranks_count": {int(bool(missing))}, "ranks": [{ranks}], "missing_ranks": [{missing}]}}], '
        '"ras": {"collection_time_sec": 0.1, "timeouts_count": 0}}'
    )


_DEAD = (
    '{"rank": 3, "host": "10.0.0.1", "pid": 43, "cuda_dev": 1, "nvml_dev": 1 '
    '"status": {"unresponsive": true, "considered_dead": true}}'
)

ADAPTER = Adapter(
    name="ras_json",
    branch="comm",
    emits=("comm.heartbeat_lost", "comm.rank_behind"),
    coverage="comm_state",
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            _example((7, 7, 6, 7)),
            (
                ("group_state", {"rank": 2, "group": "0xcf26 0x1", "last_enqueued": 8, "members": "0-3"}),
                ("group_state", {"rank": 3, "last_enqueued": 9}),
            ),
            path="ras.json",
        ),
        Sample(
            _example((7, 7, 7), _DEAD),
            (
                ("comm.heartbeat_lost", {"rank": 3, "peer": "10.0.0.1", "status": "lost"}),
                ("comm.rank_behind", {"rank": 3, "how": "no_report"}),
                ("group_state", {"rank": 3, "condition": "dead"}),
            ),
            path="ras.json",
        ),
        Sample('{"communicators": 4, "ranks": [1, 2], "collective": "counts"}', (), path="ras.json"),
    ),
)
