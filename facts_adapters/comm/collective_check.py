"""The comparison of calls before each collective (``TORCH_DISTRIBUTED_DEBUG=DETAIL``, torch 1.13 to 2.9).

Every rank gathers the fingerprints of all ranks of the group, and prints its own beside that of the first rank, in the
order of ranks, whose is another. The lengths of the fingerprints are compared first. Where those differ, what is
printed of the other rank is made from a single number: no tensors, number 0 and an operation that nobody issued.
Source: ``torch/csrc/distributed/c10d/ProcessGroupWrapper.cpp``, ``verify`` and ``deserialize_fingerprint``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Context, Sample
from facts_adapters.text.blocks import Block, BlockReader

_ONE = (
    r"Rank (?P<{0}rank>\d{{1,7}}) is running collective: CollectiveFingerPrint\(SequenceNumber=(?P<{0}seq>\d{{1,18}})"
    r"(?:, )?OpType=(?P<{0}op>\w+?)"
    r"(?:, TensorShape=\[(?P<{0}shape>[\d, ]*)\], TensorDtypes=(?P<{0}type>\w+).*?)?\)+"
)
_MISMATCH = re.compile(
    "Detected mismatch between collectives on ranks\\. "
    + _ONE.format("")
    + ", but "
    + _ONE.format("other_")
    + r"(?!\))"
)


def begins(message: str) -> bool:
    """True for a line with both calls."""
    return _MISMATCH.search(message) is not None


def one_line(_so_far: Sequence[str], _message: str) -> bool:
    """Both calls stand on one line."""
    return False


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``comm.collective_check`` of the rank that wrote the line, with what it calls itself in the group."""
    match = _MISMATCH.search(block.lines[0].text)
    if match is None:
        return
    fields: dict[str, Scalar] = {
        "own_rank": int(match["rank"]),
        "seq": int(match["seq"]),
        "op": _words(match, ""),
        "other_rank": int(match["other_rank"]),
    }
    if match["other_shape"] is not None or int(match["other_seq"]):
        fields |= {"other_seq": int(match["other_seq"]), "other_op": _words(match, "other_")}
    yield Observation("comm.collective_check", block.source(block.lines[0].number), fields)


def _words(match: re.Match[str], whose: str) -> str:
    """A call as ``operation shape type``, the shape without blanks."""
    if match[f"{whose}shape"] is None:
        return match[f"{whose}op"]
    shape = match[f"{whose}shape"].replace(", ", "x") or "scalar"
    return f"{match[f'{whose}op']} {shape} {match[f'{whose}type']}"


_PRINT = (
    "CollectiveFingerPrint(SequenceNumber={}, OpType={}, TensorShape=[{}], TensorDtypes=Float, TensorDeviceTypes="
    "TensorOptions(dtype=float (default), device=cuda, layout=Strided (default), requires_grad=false (default), "
    "pinned_memory=false (default), memory_format=(nullopt)))"
)
_LINE = (
    "RuntimeError: Detected mismatch between collectives on ranks. Rank {} is running collective: {}, but Rank {} is "
    "running collective: {}.Collectives differ in the following aspects: \t Op type: ALLREDUCEvs BROADCAST\n"
)

BLOCK = BlockReader(
    name="collective_check",
    literals=("Detected mismatch between collectives on ranks",),
    begins=begins,
    continues=one_line,
    read=read,
    emits=("comm.collective_check",),
    samples=(
        Sample(
            "[rank2]: "
            + _LINE.format(2, _PRINT.format(7, "ALLREDUCE", "16, 4"), 5, _PRINT.format(7, "BROADCAST", "8")),
            (
                (
                    "comm.collective_check",
                    {
                        "rank": 2,
                        "own_rank": 2,
                        "seq": 7,
                        "op": "ALLREDUCE 16x4 Float",
                        "other_rank": 5,
                        "other_seq": 7,
                        "other_op": "BROADCAST 8 Float",
                    },
                ),
            ),
        ),
        Sample(
            _LINE.format(
                0,
                "CollectiveFingerPrint(SequenceNumber=3OpType=BARRIER)",
                1,
                "CollectiveFingerPrint(SequenceNumber=4OpType=BARRIER)",
            ),
            (
                (
                    "comm.collective_check",
                    {"own_rank": 0, "seq": 3, "op": "BARRIER", "other_seq": 4, "other_op": "BARRIER"},
                ),
            ),
        ),
        Sample(
            _LINE.format(
                1, _PRINT.format(101, "ALLGATHER", "1"), 7, "CollectiveFingerPrint(SequenceNumber=0OpType=REDUCE)"
            ),
            (("comm.collective_check", {"own_rank": 1, "seq": 101, "other_rank": 7}),),
        ),
        Sample(
            "[rank6]: " + _LINE.format(2, _PRINT.format(7, "ALLREDUCE", "4"), 3, _PRINT.format(7, "BROADCAST", "8")),
            (("comm.collective_check", {"rank": 6, "own_rank": 2, "other_rank": 3}),),
        ),
        Sample(
            "RuntimeError: Detected mismatch between collectives on ranks. Rank 3 is running collective: "
            "CollectiveFingerPrint(SequenceNumber=12, OpType=ALLGATHER, TensorShape=[2\n"
        ),
    ),
)
