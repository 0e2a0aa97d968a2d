"""NCCL's library state report (RAS) as JSON: ``ncclras -f json``, NCCL 2.28.7 to 2.30, and RCCL, which writes the same.

A file may hold one report or a row of them, as a monitor collects them; the last one counts, and a communicator whose
operation counts still moved between the last two is at work. 2.28.7 to 2.28.9 leave out a comma wherever a rank is
missing, which is just when the report matters; it is put back. Field names: ``src/ras/client_support.cc``.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from engine.facts.collectives import Condition, GroupState, compact
from engine.facts.model import Observation, Reading, Scalar, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Record, Sample, Verdict
from facts_adapters.comm.state_report import MOST_RANKS
from facts_adapters.documents import mapping, mappings
from facts_adapters.text.lines import decode

LARGEST = 64 << 20
"""Bytes of a file that are read; a longer one is refused."""

MOST_COMMUNICATORS = 20_000
MOST_BEHIND = 64
"""Ranks of one communicator that are named as behind."""

_BEGINS = re.compile(r"\{\s*\"nccl_version\"")
_COMMA_LEFT_OUT = re.compile(r"(\"nvml_dev\": ?-?\d{1,9})(\s+\"status\")")
_ENTRY = re.compile(r"\"rank\":")
_RESULTS = {
    1: "unhandled_cuda",
    2: "system",
    3: "internal",
    4: "invalid_argument",
    5: "invalid_usage",
    6: "remote",
}
_IN_PROGRESS = 7

Process = tuple[str, int, int]
"""Address, process id and device of one rank's process."""


@dataclass(slots=True)
class _Report:
    """One report: its plain data, where it stands in the text and the communicators by hash."""

    data: Mapping[str, object]
    place: int
    end: int
    communicators: dict[str, Mapping[str, object]] = field(default_factory=dict)


def sniff(head: Head) -> Verdict:
    """The first keys of the report."""
    if '"nccl_version"' in head.text and '"communicators_count"' in head.text and _BEGINS.search(head.text):
        return Verdict(0.95, "ncclras -f json")
    return Verdict(0.0, "no JSON of the library state report")


def read(file: EvidenceFile, context: Context) -> Iterator[Record]:
    """Ranks that are missing, dead, in error, still starting or behind, of the last report in the file.

    What every rank launched in each communicator that stands still goes to the comparison of all ranks.
    """
    with file.open() as stream:
        data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        context.warn(file.path, 1, f"the report is longer than {LARGEST >> 20} MB and was left out")
        return
    text = _COMMA_LEFT_OUT.sub(r"\1,\2", decode(data))
    reports = _reports(file.path, text, context)
    if reports:
        before = reports[-2].communicators if len(reports) > 1 else {}
        yield from _Reader(file.path, text, reports[-1], before, context).facts()


def _reports(path: str, text: str, context: Context) -> list[_Report]:
    """The last two reports that can be read."""
    decoder = json.JSONDecoder()
    found: list[_Report] = []
    end = 0
    for match in _BEGINS.finditer(text):
        if match.start() < end:
            continue
        try:
            value, end = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError) as error:
            context.warn(path, text.count("\n", 0, match.start()) + 1, f"not a whole report: {str(error)[:120]}")
            continue
        report = _Report(value, match.start(), end)
        for item in mappings(value.get("communicators"))[:MOST_COMMUNICATORS]:
            report.communicators[f"{item.get('hash')} {item.get('secondary_hash')}"[:200]] = item
        found = [*found[-1:], report]
    return found


class _Reader:
    """Reads one report."""

    def __init__(
        self,
        path: str,
        text: str,
        report: _Report,
        before: Mapping[str, Mapping[str, object]],
        context: Context,
    ) -> None:
        self.path = path
        self.text = text
        self.report = report
        self.before = before
        self.when: Reading | None = context.reading(str(report.data.get("timestamp", ""))[:40])
        self.ends = [match.start() for match in re.finditer("\n", text)]
        self.places = self._places()
        self.world = _world(list(report.communicators.values()))
        self.told: set[tuple[str, Process]] = set()

    def facts(self) -> Iterator[Record]:
        version = self.report.data.get("nccl_version")
        if isinstance(version, str) and re.fullmatch(r"\d+\.\d+\.\d+[\w.+-]{0,40}", version):
            fields: dict[str, Scalar] = {"component": "nccl", "version": version}
            yield Observation("comm.version", self._source(self.report.place), fields, when=self.when)
        for key, communicator in self.report.communicators.items():
            yield from self._missing(communicator)
            yield from self._states(communicator)
            yield from self._behind(key, communicator)
            yield from self._launched(key, communicator)

    def _launched(self, key: str, communicator: Mapping[str, object]) -> Iterator[GroupState]:
        """The state of each rank whose number in the job is known; counts are of launches, only of collectives."""
        size, earlier = _number(communicator.get("size")), self.before.get(key)
        if size < 2 or (earlier is not None and _counts(communicator) != _counts(earlier)):
            return
        present, missing = mappings(communicator.get("ranks")), mappings(communicator.get("missing_ranks"))
        known = {self.world[process] for item in (*present, *missing) if (process := _process(item)) in self.world}
        members = compact(known) if len(known) == size else ""
        for item in present:
            rank, counts = self.world.get(_process(item)), mapping(item.get("collective_counts"))
            if rank is not None and counts:
                source = self._source(self._at(item))
                launched = sum(_number(count) for count in counts.values())
                yield GroupState(source, key, rank, members=members, origin="library", last_enqueued=launched)
        for item in missing[:MOST_RANKS]:
            rank = self.world.get(_process(item))
            if rank is not None:
                dead = mapping(item.get("status")).get("considered_dead") is True
                condition: Condition = "dead" if dead else "unresponsive"
                yield GroupState(self._source(self._at(item)), rank=rank, origin="library", condition=condition)

    def _missing(self, communicator: Mapping[str, object]) -> Iterator[Observation]:
        for item in mappings(communicator.get("missing_ranks")):
            status = mapping(item.get("status"))
            fields: dict[str, Scalar] = {"how": "no_report", "pg": _name(communicator)}
            yield from self._tell("comm.rank_behind", item, fields)
            if status.get("considered_dead") is True and self._first("dead", item):
                dead: dict[str, Scalar] = {"status": "lost", "informer": "ras"}
                source = self._source(self._at(item))
                yield Observation("comm.heartbeat_lost", source, dead, peer=_process(item)[0] or None, when=self.when)

    def _states(self, communicator: Mapping[str, object]) -> Iterator[Observation]:
        for item in mappings(communicator.get("ranks")):
            status = mapping(item.get("status"))
            for name in ("init_state", "async_error"):
                code = _number(status.get(name))
                if code == _IN_PROGRESS and name == "init_state":
                    fields: dict[str, Scalar] = {
                        "nranks": _number(communicator.get("size")),
                        "started": 1,
                        "completed": 0,
                    }
                    yield from self._tell("comm.init_incomplete", item, fields)
                elif code not in (0, _IN_PROGRESS):
                    detail = f"{name} {code}"
                    fields = {"class": _RESULTS.get(code, "other"), "detail": detail}
                    yield from self._tell("comm.library_error", item, fields)
            if status.get("abort_flag") is True:
                yield from self._tell("comm.abort", item, {"text": "abort_flag is set"})

    def _behind(self, key: str, communicator: Mapping[str, object]) -> Iterator[Observation]:
        """Ranks that launched least where more than half launched more, in a communicator that stands still."""
        ranks = mappings(communicator.get("ranks"))
        earlier = self.before.get(key)
        if earlier is not None and _counts(communicator) != _counts(earlier):
            return
        behind: dict[int, tuple[str, int]] = {}
        tallies = [mapping(item.get("collective_counts")) for item in ranks]
        for operation in sorted({name for tally in tallies for name in tally}):
            counts = [_number(tally.get(operation)) for tally in tallies]
            usual, votes = max(Counter(counts).items(), key=lambda pair: (pair[1], pair[0]))
            fewest = min(counts)
            if len(counts) > votes > len(counts) // 2:
                for index, count in enumerate(counts):
                    if count == fewest < usual:
                        behind.setdefault(index, (operation, count + 1))
        for index, (operation, seq) in sorted(behind.items())[:MOST_BEHIND]:
            fields: dict[str, Scalar] = {"how": "fewer_operations", "op": operation[:40], "seq": seq}
            yield from self._tell("comm.rank_behind", ranks[index], {**fields, "pg": _name(communicator)})

    def _tell(self, kind: str, item: Mapping[str, object], fields: dict[str, Scalar]) -> Iterator[Observation]:
        """The fact of one rank's process, once in the report."""
        if not self._first(f"{kind} {fields.get('how', '')}", item):
            return
        process = _process(item)
        source = self._source(self._at(item))
        yield Observation(kind, source, fields, host=process[0] or None, rank=self.world.get(process), when=self.when)

    def _first(self, what: str, item: Mapping[str, object]) -> bool:
        key = (what, _process(item))
        known = key in self.told
        self.told.add(key)
        return not known

    def _places(self) -> dict[int, int]:
        """Where the entry of each rank stands: they come in the order of the data."""
        items = [
            item
            for communicator in self.report.communicators.values()
            for name in ("ranks", "missing_ranks")
            for item in mappings(communicator.get(name))
        ]
        places = [match.start() for match in _ENTRY.finditer(self.text, self.report.place, self.report.end)]
        return dict(zip(map(id, items), places, strict=True)) if len(items) == len(places) else {}

    def _at(self, item: Mapping[str, object]) -> int:
        return self.places.get(id(item), self.report.place)

    def _source(self, place: int) -> Source:
        number = bisect_right(self.ends, place)
        begin = self.ends[number - 1] + 1 if number else 0
        finish = self.ends[number] if number < len(self.ends) else len(self.text)
        return Source(self.path, number + 1, self.text[begin : min(finish, begin + 500)].strip())


def _world(communicators: Sequence[Mapping[str, object]]) -> dict[Process, int]:
    """Global ranks by process, where one communicator holds every process that is seen anywhere; else nothing."""
    largest = max((_number(item.get("size")) for item in communicators), default=0)
    ranks: dict[Process, int] = {}
    everyone: set[Process] = set()
    for communicator in communicators:
        whole = _number(communicator.get("size")) == largest
        for name in ("ranks", "missing_ranks"):
            for item in mappings(communicator.get(name)):
                process = _process(item)
                everyone.add(process)
                if whole and ranks.setdefault(process, _number(item.get("rank"))) != _number(item.get("rank")):
                    return {}
    return ranks if len(set(ranks.values())) == len(ranks) == len(everyone) else {}


def _counts(communicator: Mapping[str, object]) -> list[tuple[int, str, int]]:
    return [
        (_number(item.get("rank")), name, _number(count))
        for item in mappings(communicator.get("ranks"))
        for name, count in mapping(item.get("collective_counts")).items()
    ]


def _process(item: Mapping[str, object]) -> Process:
    host = item.get("host")
    return (str(host)[:64] if isinstance(host, str) else "", _number(item.get("pid")), _number(item.get("cuda_dev")))


def _name(communicator: Mapping[str, object]) -> str:
    return str(communicator.get("hash", ""))[:64]


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else 0


def _sample(counts: Sequence[int], missing: str = "", error: int = 0) -> str:
    """A report on as many ranks as there are counts, laid out as ``ncclras`` does."""
    ranks = ",\n".join(
        f'{{"rank": {rank}, "host": "10.4.0.{1 + rank // 2}", "pid": {700 + rank}, "cuda_dev": {rank % 2}, '
        f'"nvml_dev": 0,\n'
        f'"status": {{"init_state": 0, "async_error": {error if rank == 1 else 0}, "finalize_called": false, '
        f'"destroy_flag": false, "abort_flag": false}},\n'
        f'"collective_counts": {{"Broadcast": 1, "AllReduce": {count}}}}}'
        for rank, count in enumerate(counts)
    )
    size = len(counts) + missing.count('"rank"')
    return (
        '{\n"nccl_version": "2.28.7", "cuda_runtime_version": 13000, "cuda_driver_version": 13000,\n'
        '"timestamp": "2026-03-09 10:20:30", "communicators_count": 1,\n"communicators": [{"hash": "0xa1", '
        f'"secondary_hash": "0xb:0xc", "size": {size}, "ranks_count": {len(counts)}, "missing_ranks_count": 0,\n'
        f'"ranks": [{ranks}],\n"missing_ranks": [{missing}]}}],\n'
        '"ras": {"collection_time_sec": 0.001, "timeouts_count": 0}\n}\n'
    )


_DEAD = (
    '{"rank": 3, "host": "10.4.0.2", "pid": 703, "cuda_dev": 1, "nvml_dev": 1\n'
    '"status": {"unresponsive": true, "considered_dead": true}}'
)

ADAPTER = Adapter(
    name="ncclras_json",
    branch="comm",
    emits=(
        "comm.abort",
        "comm.heartbeat_lost",
        "comm.init_incomplete",
        "comm.library_error",
        "comm.rank_behind",
        "comm.version",
    ),
    coverage="comm_state",
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            _sample((9, 9, 9), _DEAD),
            (
                ("comm.version", {"component": "nccl", "version": "2.28.7"}),
                ("comm.rank_behind", {"how": "no_report", "rank": 3, "host": "10.4.0.2", "pg": "0xa1"}),
                ("comm.heartbeat_lost", {"status": "lost", "peer": "10.4.0.2"}),
                ("group_state", {"rank": 3, "condition": "dead"}),
            ),
            path="ras.json",
        ),
        Sample(
            _sample((9, 9, 8, 9), error=6),
            (
                ("comm.rank_behind", {"how": "fewer_operations", "rank": 2, "op": "AllReduce", "seq": 9}),
                ("comm.library_error", {"rank": 1, "class": "remote"}),
                ("group_state", {"rank": 2, "group": "0xa1 0xb:0xc", "last_enqueued": 9, "members": "0-3"}),
            ),
            path="ras.json",
        ),
        Sample('{"nccl_version": "2.28.7", "ranks": 2}\n', (), path="versions.json"),
    ),
)
