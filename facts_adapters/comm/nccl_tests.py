"""nccl-tests and rccl-tests (2.0 to 2.19): the table of bandwidths and wrong values, as text and as JSON (``-J``).

Bandwidth itself is no fault: what a site should reach is not in the output. Two things are: a size whose bus bandwidth
falls far below that of a smaller one (transfers stalled or fell back), and an average that the run itself calls
``FAILED`` because it misses ``NCCL_TESTS_MIN_BW``. ``#wrong`` counts elements that arrived with a wrong value; the
column ``error`` of old versions is a rounding difference and says nothing. Formats: ``src/common.cu``, ``src/util.cu``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from engine.facts.model import Observation, Scalar, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.quoting import line_at
from facts_adapters.text.blocks import Block, BlockReader

LARGEST = 16 << 20
"""Bytes of a JSON report that are read."""

LEAST_SIZE = 1 << 20
"""Bytes below which latency rules and bandwidth is not compared."""

COLLAPSED = 3.0
"""A size is slow where a smaller one reached this many times its bus bandwidth."""

LONGEST_TABLE = 1_500
MOST_TOLD = 16
"""Slow sizes of one table that are told."""

_HEADER = re.compile(r"#?\s*size\s+count\s+type\s.*\btime\s+algbw\s+busbw\b")
_ROW = re.compile(r"\s*\d{1,18}\s+\d{1,18}\s+[a-z]\w{1,15}\s+\S")
_NUMBER = re.compile(r"-?\d{1,18}(?:\.\d{0,12})?(?:e[+-]?\d{1,3})?")
_RIGHT = re.compile(r"# ?Out of bounds values\s+: 0 OK")
_WRONG = re.compile(r"# ?Out of bounds values\s+: (?P<count>\d{1,18}) FAILED")
_AVERAGE = re.compile(r"# ?Avg bus bandwidth\s+: (?P<average>\d{1,12}(?:\.\d{1,12})?(?:e[+-]?\d{1,3})?) FAILED")
_END = re.compile(r"# ?Avg bus bandwidth\s+: ")
_RESULT = re.compile(r"\"out_of_place\":")
_OTHER = re.compile(r"\bNCCL (?:INFO|WARN|TRACE)\b")


@dataclass(frozen=True, slots=True)
class Row:
    """One size of a table: bytes, bus bandwidths in GB/s (out of place, in place) and elements with wrong values."""

    source: Source
    size: int
    bandwidths: tuple[float, ...]
    wrong: int

    @property
    def least(self) -> float | None:
        """The lower of the bus bandwidths, ``None`` where the row has none."""
        return min((value for value in self.bandwidths if math.isfinite(value) and value >= 0), default=None)


def begins(message: str) -> bool:
    """True for the heading of the columns."""
    return bool(_HEADER.match(message))


def continues(so_far: Sequence[str], message: str) -> bool:
    """True for rows, comment lines and lines of the library between them, up to the average."""
    if len(so_far) >= LONGEST_TABLE or _END.match(so_far[-1]) or begins(message):
        return False
    return message.lstrip().startswith("#") or bool(_ROW.match(message) or _OTHER.search(message))


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``comm.bus_bandwidth``, ``comm.wrong_result`` and ``comm.slow_transport`` of one table."""
    names = block.lines[0].text.replace("# wrong", "#wrong").lstrip("# ").split()
    rows = [
        _row(names, line.text.split(), block.source(line.number)) for line in block.lines[1:] if _ROW.match(line.text)
    ]
    yield from judged(rows, any(_RIGHT.match(line.text) for line in block.lines[1:]))
    for line in block.lines[1:]:
        wrong, average = _WRONG.match(line.text), _AVERAGE.match(line.text)
        if wrong and not any(row.wrong for row in rows):
            yield Observation("comm.wrong_result", block.source(line.number), {"count": int(wrong["count"])})
        if average:
            yield _missed(block.source(line.number), float(average["average"]))


def _row(names: Sequence[str], values: Sequence[str], source: Source) -> Row:
    pairs = list(zip(names, values, strict=False))
    bandwidths = tuple(float(value) for name, value in pairs if name == "busbw" and _NUMBER.fullmatch(value))
    wrong = sum(int(value) for name, value in pairs if name == "#wrong" and re.fullmatch(r"\d{1,18}", value))
    return Row(source, int(values[0]), bandwidths, wrong)


def judged(rows: Sequence[Row], correct: bool = False) -> Iterator[Observation]:
    """What the rows of one table say, from the smallest size to the largest.

    ``correct`` tells that the run ended and found no wrong value.
    """
    best, told = 0.0, 0
    yield from _reached(rows, correct)
    for row in sorted(rows, key=lambda item: item.size):
        if row.wrong:
            yield Observation("comm.wrong_result", row.source, {"count": row.wrong, "size": row.size})
        if row.size < LEAST_SIZE or row.least is None:
            continue
        if best > COLLAPSED * row.least and told < MOST_TOLD:
            told += 1
            fields: dict[str, Scalar] = {
                "measured": f"{row.least:g} GB/s at {row.size} bytes",
                "expected": f"{best:g} GB/s as at a smaller size",
            }
            yield Observation("comm.slow_transport", row.source, fields)
        best = max(best, row.least)


def _reached(rows: Sequence[Row], correct: bool) -> Iterator[Observation]:
    """The bus bandwidth at the largest size, which is the measure that people compare."""
    measured = [row for row in rows if row.least is not None]
    if measured:
        row = max(measured, key=lambda item: item.size)
        fields: dict[str, Scalar] = {"gbytes_per_s": row.least or 0.0, "size": row.size}
        if correct:
            fields["correct"] = True
        yield Observation("comm.bus_bandwidth", row.source, fields)


def _missed(source: Source, average: float) -> Observation:
    fields: dict[str, Scalar] = {"measured": f"{average:g} GB/s on average", "expected": "the minimum set for the run"}
    return Observation("comm.slow_transport", source, fields)


def sniff(head: Head) -> Verdict:
    """The keys of the report that ``-J`` writes."""
    if '"out_of_place"' in head.text and '"bus_bw"' in head.text and head.text.lstrip().startswith("{"):
        return Verdict(0.95, "nccl-tests -J")
    return Verdict(0.0, "no JSON report of nccl-tests")


def read_json(file: EvidenceFile, context: Context) -> Iterator[Observation]:
    """The same facts from the JSON report."""
    with file.open() as stream:
        data = stream.read(LARGEST + 1)
    text = data.decode("utf-8", "replace")
    try:
        report = json.loads(text) if len(data) <= LARGEST else None
    except (ValueError, RecursionError) as error:
        context.warn(file.path, 1, f"not a whole report: {str(error)[:120]}")
        return
    if not isinstance(report, dict):
        context.warn(file.path, 1, "no report, or one that is too long")
        return
    results = [item for item in _list(report.get("results")) if isinstance(item, dict)][:LONGEST_TABLE]
    lines = _lines(text, len(results))
    yield from judged([_json_row(file.path, line, item) for line, item in zip(lines, results, strict=True)])
    average = report.get("average_bus_bandwidth")
    if isinstance(average, dict) and average.get("okay") is False and _float(average.get("bandwidth")) is not None:
        number = line_at(text, text.find('"average_bus_bandwidth"'))
        source = Source(file.path, number, '"average_bus_bandwidth"')
        yield _missed(source, _float(average.get("bandwidth")) or 0.0)


def _lines(text: str, count: int) -> list[int]:
    """The lines on which the results stand, in their order; where they cannot be told apart, the first line."""
    lines, line, place = [], 1, 0
    for match in _RESULT.finditer(text):
        line += text.count("\n", place, match.start())
        place = match.start()
        lines.append(line)
    return lines if len(lines) == count else [1] * count


def _json_row(path: str, line: int, item: Mapping[str, object]) -> Row:
    size = item.get("size")
    number = size if isinstance(size, int) and not isinstance(size, bool) and 0 <= size < 2**63 else 0
    halves = [half for name in ("out_of_place", "in_place") if isinstance(half := item.get(name), dict)]
    bandwidths = [value for half in halves if (value := _float(half.get("bus_bw"))) is not None]
    wrong = [int(value) for half in halves if (value := _float(half.get("nwrong"))) is not None and value > 0]
    return Row(Source(path, line, f'"size": {number}'), number, tuple(bandwidths), sum(wrong))


def _float(value: object) -> float | None:
    """A finite number; ``nan`` is written as text."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 2**63:
        return float(value)
    return None


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


_TABLE = (
    "# nThread 1 nGpus 1 minBytes 8388608 maxBytes 33554432 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1\n"
    "#                                                              out-of-place                       in-place\n"
    "#       size         count      type   redop    root"
    "     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
    "     8388608       2097152     float     sum      -1"
    "    120.0   69.90  131.07      0    121.0   69.33  129.99      0\n"
    "n1:70:77 [0] NCCL INFO Channel 00/0 : 7[7] -> 8[0] [send] via P2P/IPC\n"
    "    16777216       4194304     float     sum      -1    {0}      0    201.9   83.09  155.80      {1}\n"
    "# Out of bounds values : {1} {2}\n# Avg bus bandwidth    : {3}\n#\n"
)

BLOCK = BlockReader(
    name="nccl_tests",
    literals=("algbw",),
    begins=begins,
    continues=continues,
    read=read,
    emits=("comm.bus_bandwidth", "comm.slow_transport", "comm.wrong_result"),
    samples=(
        Sample(
            _TABLE.format("9200.0   1.82    3.42", 12, "FAILED", "105.1"),
            (
                ("comm.slow_transport", {"measured": "3.42 GB/s at 16777216 bytes"}),
                ("comm.wrong_result", {"count": 12, "size": 16777216}),
            ),
            path="all_reduce.log",
        ),
        Sample(
            _TABLE.format(" 200.0   83.88  157.28", 0, "OK", "35.0 FAILED"),
            (
                ("comm.slow_transport", {"measured": "35 GB/s on average"}),
                ("comm.bus_bandwidth", {"gbytes_per_s": 155.8, "size": 16777216}),
            ),
            path="all_reduce.log",
        ),
        Sample(_TABLE.partition("     8388608")[0] + "n1: Test NCCL failure all_reduce.cu:44 'x'\n", (), path="a.log"),
    ),
)

_REPORT = (
    '{"version": "2.17.6", "results": [\n{"size": 8388608, "count": 2097152, "type": "float", "redop": "sum", '
    '"root": "-1",\n"out_of_place": {"time": 120.0, "alg_bw": 69.9, "bus_bw": 131.07, "nwrong": %d},\n'
    '"in_place": {"time": 121.0, "alg_bw": 69.3, "bus_bw": 129.9, "nwrong": "nan"}}],\n'
    '"out_of_bounds": {"count": %d, "okay": true},\n'
    '"average_bus_bandwidth": {"bandwidth": 130.5, "okay": true}, "errors": 0}\n'
)

ADAPTER = Adapter(
    name="nccl_tests_json",
    branch="comm",
    emits=("comm.bus_bandwidth", "comm.slow_transport", "comm.wrong_result"),
    coverage=None,
    sniff=sniff,
    read=read_json,
    samples=(
        Sample(_REPORT % (4, 4), (("comm.wrong_result", {"count": 4, "size": 8388608}),), path="result.json"),
        Sample('{"out_of_place": 1, "bus_bw": 2, "results": [3]}\n', (), path="result.json"),
    ),
)
