"""Lists of tasks that JAX's coordination service (tsl) prints: those without heartbeat, those that missed a barrier.

A barrier of the start, at which tasks register (``PjRT_Client_Connect``, ``[Init]Wait_for_all_tasks_to_register``),
tells who did not join. jaxlib to 0.4.2x heads its list ``Barrier_id: ... Timed out task names:``; later ones say
``Id:``, count who came, and list ``Some timed out task names:`` in the line of the first task.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engine.facts.model import Observation
from facts_adapters.adapter import Context, Sample
from facts_adapters.comm.desync_report import MOST_RANKS
from facts_adapters.text.blocks import Block, BlockLine, BlockReader

_TASK = re.compile(r"/job:[\w-]+/(?:replica:\d+/)?task:(?P<rank>\d+)")
_UNHEALTHY = "unhealthy (stopped sending heartbeats)"
_LATE = "imed out task names:"
_BARRIER = "Barrier timed out."
_START = re.compile(
    r"\b(?:Barrier_id|Id): "
    r"(?P<barrier>PjRT_Client_Connect|(?:\[Init\])?[Ww]ait_?[Ff]or_?[Aa]ll_?[Tt]asks\w*|\[Init\]\w+)"
)
_BETWEEN = ("# of tasks that reached the barrier", "The first task at the barrier:")
_BETWEEN_LINES = 4
"""Lines between the head of the message of a barrier and its list."""


def begins(message: str) -> bool:
    """True for the head of a message that lists tasks, or the line after which they are listed."""
    return message.rstrip().endswith(_UNHEALTHY + ":") or _LATE in message or _BARRIER in message


def continues(so_far: Sequence[str], message: str) -> bool:
    """True while each line is one task, or one of those that stand before the list of a barrier."""
    if _TASK.fullmatch(message.strip()):
        return _listed(so_far)
    return not _listed(so_far) and len(so_far) < _BETWEEN_LINES and message.strip().startswith(_BETWEEN)


def _listed(lines: Sequence[str]) -> bool:
    """Whether the list has begun."""
    return any(_LATE in line or _UNHEALTHY in line for line in lines)


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """A fact for each listed task; a task's number is its rank.

    ``comm.heartbeat_lost``, ``comm.barrier_missing``, or ``job.rendezvous_incomplete`` at a barrier of the start.
    """
    head = next((line for line in block.lines if _LATE in line.text), None)
    start = next((match["barrier"] for line in block.lines if (match := _START.search(line.text))), None)
    for number, rank in _tasks(block, head)[:MOST_RANKS]:
        if head is None:
            fields = {"status": "lost", "informer": "coordination service"}
            yield Observation("comm.heartbeat_lost", block.source(number), {**fields}, rank=rank)
        elif start is None:
            yield Observation("comm.barrier_missing", block.source(number), {}, rank=rank)
        else:
            fields = {"missing": f"did not reach {start}"}
            yield Observation("job.rendezvous_incomplete", block.source(head.number), {**fields}, rank=rank)


def _tasks(block: Block, head: BlockLine | None) -> list[tuple[int, int]]:
    """Line and number of each listed task; of the first task at a barrier nothing is said."""
    first = head.number if head is not None else block.lines[0].number
    found = [
        (line.number, int(match["rank"]))
        for line in block.lines
        if line.number > first and (match := _TASK.search(line.text))
    ]
    if head is not None:
        found += [(first, int(match["rank"])) for match in _TASK.finditer(head.text.split(_LATE, 1)[1])]
    return found


BLOCK = BlockReader(
    name="coordination_service",
    literals=(_UNHEALTHY, _LATE, _BARRIER),
    begins=begins,
    continues=continues,
    read=read,
    emits=("comm.heartbeat_lost", "comm.barrier_missing", "job.rendezvous_incomplete"),
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
        Sample(
            "XlaRuntimeError: Barrier timed out. Barrier_id: PjRT_Client_Connect. Timed out task names:\n"
            "/job:jax_worker/replica:0/task:1\n/job:jax_worker/replica:0/task:2\n\nAdditional GRPC error information\n",
            (
                ("job.rendezvous_incomplete", {"rank": 1, "missing": "did not reach PjRT_Client_Connect"}),
                ("job.rendezvous_incomplete", {"rank": 2}),
            ),
        ),
        Sample(
            "XlaRuntimeError: Barrier timed out. Id: [Init]Wait_for_all_tasks_to_register::0. This usually\n"
            "# of tasks that reached the barrier: 1/3.\n"
            "The first task at the barrier: /job:jax_worker/replica:0/task:0. Some timed out task names:\n"
            "/job:jax_worker/replica:0/task:1\n/job:jax_worker/replica:0/task:2\n",
            (("job.rendezvous_incomplete", {"rank": 1}), ("job.rendezvous_incomplete", {"rank": 2})),
        ),
        Sample(
            "XlaRuntimeError: Barrier timed out. Barrier_id: broadcast_sync0. Timed out task names:\n"
            "/job:jax_worker/replica:0/task:3\n",
            (("comm.barrier_missing", {"rank": 3}),),
        ),
        Sample("All tasks are healthy:\n/job:jax_worker/replica:0/task:3\n", ()),
    ),
)
