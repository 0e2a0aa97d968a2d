"""The state that accelerate prints of each process (``AcceleratorState.__repr__``, accelerate 0.5 .. 1.x).

Scripts log it on every process right behind the creation of the process group: a rank without it never came that far.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Context, Sample
from facts_adapters.text.blocks import Block, BlockReader

_HEAD = re.compile(r"(?:^|[\s-])Distributed environment: (?:DistributedType\.)?(?P<kind>[A-Z_]+)")
_PAIR = re.compile(
    r"\s*(?P<key>Num processes|Process index|Local process index|Device|Mixed precision type): ?(?P<value>\S*)"
)
_MOST_LINES = 8


def begins(message: str) -> bool:
    """True for the first line of the state."""
    return bool(_HEAD.search(message))


def continues(so_far: Sequence[str], message: str) -> bool:
    """True for the pairs below it."""
    return len(so_far) < _MOST_LINES and bool(_PAIR.match(message))


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``job.phase_mark`` of the rank, with the number of processes."""
    head = _HEAD.search(block.lines[0].text)
    pairs = {match["key"]: match["value"] for line in block.lines if (match := _PAIR.match(line.text))}
    index, number = pairs.get("Process index", ""), pairs.get("Num processes", "")
    if not head or head["kind"] == "NO" or not index.isdecimal() or len(index) > 6:
        return
    fields: dict[str, Scalar] = {"phase": "startup", "what": "init_process_group"}
    if number.isdecimal() and len(number) <= 7:
        fields["total"] = int(number)
    yield Observation("job.phase_mark", block.source(block.lines[0].number), fields, rank=int(index))


BLOCK = BlockReader(
    name="accelerate_state",
    literals=("Distributed environment: ",),
    begins=begins,
    continues=continues,
    read=read,
    emits=("job.phase_mark",),
    samples=(
        Sample(
            "05/26/2026 21:13:04 - INFO - __main__ - Distributed environment: DistributedType.MULTI_GPU  "
            "Backend: nccl\n"
            "Num processes: 32\nProcess index: 13\nLocal process index: 5\nDevice: cuda:5\n\n"
            "Mixed precision type: bf16\n",
            (("job.phase_mark", {"phase": "startup", "rank": 13, "total": 32}),),
        ),
        Sample("Distributed environment: NO\nNum processes: 1\nProcess index: 0\nDevice: cuda\n"),
    ),
)
