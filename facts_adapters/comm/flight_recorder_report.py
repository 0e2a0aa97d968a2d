"""What PyTorch's Flight Recorder analyzer (``torchfrtrace``, ``fr_trace``) prints about collectives.

The analyzer takes the lowest rank for the truth. Where it calls most ranks culprits, that rank is the odd one, so no
culprit is named then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Context, Sample
from facts_adapters.comm.desync_report import MOST_RANKS, ranks_of
from facts_adapters.text.blocks import Block, BlockReader

_SEQ = re.compile(r"(?:[Cc]ollective sequence number:|joining collective, sequence number:|^Collective) (?P<seq>\d+)")
_CULPRIT = re.compile(
    r"Culprit rank (?P<rank>\d+); Error type: (?P<type>[A-Z_]+)"
    r"(?:, Expected (?P<what>[\w ]+?): '(?P<expected>[^']*)' does not match found [\w ]+: '(?P<found>[^']*)')?"
)
_MISSING = re.compile(r"missing ranks: \{(?P<ranks>[\d, ]+)\}")
_EXPECTED = re.compile(r"expected ranks: \{(?P<ranks>[\d, ]+)\}|world size: (?P<size>\d+)")
_NO_DUMP = re.compile(r"(?:Missing dump files from ranks \{|missed FR dumps from ranks \()(?P<ranks>[\d, ]+)[})]")
_GROUP = re.compile(r"group info: (?P<pg>[^:\s]+)")
_OPERATION = re.compile(r"^collective: (?P<op>\S+)")
_ASPECTS = {
    "COLLECTIVE_TYPE_MISMATCH": "operation",
    "SIZE_OR_SYNTAX_MISMATCH": "shape",
    "COLLECTIVE_DTYPE_MISMATCH": "dtype",
}
_GOES_ON = re.compile(
    r"(?:internal record id|group info|collective|input sizes|output sizes|world size|expected ranks|missing ranks|"
    r"joined ranks|collective state|error msg|collective stack trace|\s|$)"
)


def begins(message: str) -> bool:
    """True for the line that opens one finding, and for the line about missing dumps."""
    return _SEQ.search(message) is not None or _NO_DUMP.search(message) is not None


def continues(so_far: Sequence[str], message: str) -> bool:
    """True for the indented or ``key: value`` lines of the finding."""
    return bool(_GOES_ON.match(message)) and not (_SEQ.search(message) and len(so_far) > 1) and len(so_far) < 60


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``comm.operation_mismatch`` per culprit, ``comm.rank_behind`` per missing rank, ``comm.dump_missing``."""
    text = block.text
    seq, group, operation = _SEQ.search(text), _GROUP.search(text), _OPERATION.search(text)
    common: dict[str, Scalar] = {}
    if seq:
        common["seq"] = int(seq["seq"])
    if group:
        common["pg"] = group["pg"]
    culprits = [(line.number, match) for line in block.lines for match in _CULPRIT.finditer(line.text)]
    yield from _culprits(block, culprits, common, _size(text))
    for line in block.lines:
        missing = _MISSING.search(line.text)
        for rank in ranks_of(missing["ranks"]) if missing else ():
            fields: dict[str, Scalar] = {**common, "how": "never_entered"}
            operation_line = next((m for part in block.lines if (m := _OPERATION.search(part.text))), operation)
            if operation_line:
                fields["op"] = operation_line["op"]
            yield Observation("comm.rank_behind", block.source(line.number), fields, rank=rank)
        absent = _NO_DUMP.search(line.text)
        for rank in ranks_of(absent["ranks"]) if absent else ():
            yield Observation("comm.dump_missing", block.source(line.number), {}, rank=rank)


def _size(text: str) -> int | None:
    match = _EXPECTED.search(text)
    if match is None:
        return None
    return int(match["size"]) if match["size"] else len(match["ranks"].split(","))


def _culprits(
    block: Block, culprits: Sequence[tuple[int, re.Match[str]]], common: dict[str, Scalar], size: int | None
) -> Iterator[Observation]:
    ranks = {int(match["rank"]) for _, match in culprits}
    trusted = len(ranks) <= MOST_RANKS and (size is None or 2 * len(ranks) <= size)
    done: set[tuple[int, str]] = set()
    for number, match in culprits:
        aspect = _ASPECTS.get(match["type"])
        key = (int(match["rank"]) if trusted else -1, match["type"])
        if aspect is None or key in done:
            continue
        done.add(key)
        fields: dict[str, Scalar] = {**common, "aspect": aspect}
        for name in ("expected", "found"):
            if match[name]:
                fields[name] = match[name][:200]
        yield Observation(
            "comm.operation_mismatch", block.source(number), fields, rank=int(match["rank"]) if trusted else None
        )


_FINDING = """\
Collective sequence number: 39 has errors
internal record id: 38
group info: 0:default_pg
collective: nccl:all_reduce
input sizes: [[1025]]
world size: 16
expected ranks: {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
collective state: scheduled
error msg: Culprit rank 9; Error type: SIZE_OR_SYNTAX_MISMATCH, Expected input sizes: '[[1025]]' does not match found \
input sizes: '[[262144]]', Culprit rank 3; Error type: COLLECTIVE_TYPE_MISMATCH, Expected collective type: \
'all_reduce' does not match found collective type: 'all_gather'
"""

BLOCK = BlockReader(
    name="flight_recorder_report",
    literals=(
        "ollective sequence number:",
        "joining collective, sequence number",
        "at entry",
        "dump files from ranks",
        "missed FR dumps",
    ),
    begins=begins,
    continues=continues,
    read=read,
    emits=("comm.operation_mismatch", "comm.rank_behind", "comm.dump_missing"),
    samples=(
        Sample(
            _FINDING,
            (
                (
                    "comm.operation_mismatch",
                    {"rank": 9, "aspect": "shape", "found": "[[262144]]", "seq": 39, "pg": "0"},
                ),
                ("comm.operation_mismatch", {"rank": 3, "aspect": "operation", "found": "all_gather"}),
            ),
        ),
        Sample(
            "Not all ranks joining collective, sequence number: 12\ngroup info: 0:default_pg\n"
            "collective: nccl:all_gather\nmissing ranks: {5, 7}\n",
            (
                ("comm.rank_behind", {"rank": 5, "seq": 12, "how": "never_entered", "op": "nccl:all_gather"}),
                ("comm.rank_behind", {"rank": 7}),
            ),
        ),
        Sample("Missing dump files from ranks {3}\n", (("comm.dump_missing", {"rank": 3}),)),
        Sample("Collective sequence number unknown\nNo errors found for this collective entry.\n", ()),
    ),
)
