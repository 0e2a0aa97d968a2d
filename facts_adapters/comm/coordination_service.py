"""Lists of tasks that JAX's coordination service (tsl) prints: those without heartbeat, those that missed a barrier."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engine.facts.model import Observation
from facts_adapters.adapter import Context, Sample
from facts_adapters.comm.desync_report import MOST_RANKS
from facts_adapters.text.blocks import Block, BlockReader

_TASK = re.compile(r"/job:[\w-]+/(?:replica:\d+/)?task:(?P<rank>\d+)")
_UNHEALTHY = "unhealthy (stopped sending heartbeats)"
_LATE = "Some timed out task names:"


def begins(message: str) -> bool:
    """True for the line after which the tasks are listed."""
    return message.rstrip().endswith((_UNHEALTHY + ":", _LATE)) or _LATE in message


def continues(_so_far: Sequence[str], message: str) -> bool:
    """True while each line is one task."""
    return _TASK.fullmatch(message.strip()) is not None


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``comm.heartbeat_lost`` or ``comm.barrier_missing`` of each listed task; a task's number is its rank."""
    late = _LATE in block.lines[0].text
    tasks = [(line.number, match) for line in block.lines[1:] if (match := _TASK.search(line.text))]
    if late:
        after = block.lines[0].text.split(_LATE, 1)[1]
        tasks += [(block.lines[0].number, match) for match in _TASK.finditer(after)]
    for number, match in tasks[:MOST_RANKS]:
        if late:
            yield Observation("comm.barrier_missing", block.source(number), {}, rank=int(match["rank"]))
        else:
            fields = {"status": "lost", "informer": "coordination service"}
            yield Observation("comm.heartbeat_lost", block.source(number), {**fields}, rank=int(match["rank"]))


BLOCK = BlockReader(
    name="coordination_service",
    literals=(_UNHEALTHY, _LATE),
    begins=begins,
    continues=continues,
    read=read,
    emits=("comm.heartbeat_lost", "comm.barrier_missing"),
    samples=(
        Sample(
            "absl::Status: UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats):\n"
            "/job:jax_worker/replica:0/task:3\n/job:jax_worker/replica:0/task:10\nThe tasks have crashed.\n",
            (("comm.heartbeat_lost", {"rank": 3, "status": "lost"}), ("comm.heartbeat_lost", {"rank": 10})),
        ),
        Sample(
            "The first task at the barrier: /job:jax_worker/replica:0/task:13. Some timed out task names:\n"
            "/job:jax_worker/replica:0/task:6\n\nRPC: /tensorflow.CoordinationService/Barrier\n",
            (("comm.barrier_missing", {"rank": 6}),),
        ),
        Sample("All tasks are healthy:\n/job:jax_worker/replica:0/task:3\n", ()),
    ),
)
