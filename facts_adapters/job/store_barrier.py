"""The store based barrier of ``init_process_group`` (torch 1.8 .. 2.9): how many workers counted themselves in.

Fewer than the world size: not every rank joined. More: keys of an earlier attempt are still in the store.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engine.facts.model import SECOND, Observation, Scalar
from facts_adapters.adapter import Context, Sample
from facts_adapters.text.blocks import Block, BlockReader

_TIMED_OUT = re.compile(
    r"Timed out initializing process group in store based barrier on rank:? (?P<rank>\d+), for key: \S+ "
    r"\(world_size=(?P<expected>\d+), (?:worker_count|num_workers_joined)=(?P<joined>\d+)"
    r"(?:, timeout=(?:(?P<days>\d+) days?, )?(?P<h>\d+):(?P<m>\d\d):(?P<s>\d\d))?"
)


def begins(message: str) -> bool:
    """True for the time-out of the barrier."""
    return bool(_TIMED_OUT.search(message))


def continues(_so_far: Sequence[str], _message: str) -> bool:
    """The record is one line."""
    return False


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``job.rendezvous_incomplete`` or ``job.rendezvous_stale``; onset is the start of the wait."""
    match = _TIMED_OUT.search(block.lines[0].text)
    if not match:
        return
    joined, expected = int(match["joined"]), int(match["expected"])
    fields: dict[str, Scalar] = {"joined": joined, "expected": expected}
    kind = "job.rendezvous_incomplete"
    if joined > expected:
        kind, fields["reason"] = "job.rendezvous_stale", "too_many_joined"
    elif joined == expected:
        return
    waited = None
    if match["h"]:
        waited = int(match["days"] or 0) * 86_400 + int(match["h"]) * 3_600 + int(match["m"]) * 60 + int(match["s"])
    lag = (waited * SECOND, (waited + 10) * SECOND) if waited is not None else None
    yield Observation(kind, block.source(block.lines[0].number), fields, rank=int(match["rank"]), lag=lag)


BLOCK = BlockReader(
    name="store_based_barrier",
    literals=("store based barrier",),
    begins=begins,
    continues=continues,
    read=read,
    emits=("job.rendezvous_incomplete", "job.rendezvous_stale"),
    samples=(
        Sample(
            "RuntimeError: Timed out initializing process group in store based barrier on rank: 0, for key: "
            "store_based_barrier_key:1 (world_size=32, worker_count=40, timeout=0:30:00)\n",
            (("job.rendezvous_stale", {"joined": 40, "expected": 32, "reason": "too_many_joined", "rank": 0}),),
        ),
        Sample(
            "torch.distributed.DistStoreError: Timed out initializing process group in store based barrier on rank 3, "
            "for key: store_based_barrier_key:1 (world_size=8, num_workers_joined=6, timeout=0:10:00 error=None)\n",
            (("job.rendezvous_incomplete", {"joined": 6, "expected": 8, "rank": 3}),),
        ),
        Sample(
            "Waiting in store based barrier to initialize process group for rank: 3, key: store_based_barrier_key:1 "
            "(world_size=8, worker_count=6, timeout=0:30:00)\n"
        ),
    ),
)
