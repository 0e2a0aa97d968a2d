"""Timers and straggler reports of Megatron-LM (v2.5 .. core 0.16): ranks that take far longer than others.

Waiting times (send, receive, synchronisation) differ between ranks by design and are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Context, Sample
from facts_adapters.text.blocks import Block, BlockLine, BlockReader

_HEAD = re.compile(r"\(min, max\) time across ranks \(ms\):")
_TIMER = re.compile(r"\s+(?P<name>[a-z][\w-]*) ?\.*: \((?P<least>[\d.]+), (?P<most>[\d.]+)\)")
_STRAGGLER = re.compile(
    r"MnRtt/Rnk: (?P<least>[\d.]+)ms/\d+ *\| *MxRtt/Rnk: (?P<most>[\d.]+)ms/(?P<rank>\d+)",
)
_WORK = frozenset(("forward-compute", "backward-compute", "optimizer", "optimizer-inner-step", "forward-backward"))
_DATA = "batch-generator"
SLOW_RATIO = 3.0
SLOW_MS = 5_000.0
"""A timer counts where its largest value is this many milliseconds and SLOW_RATIO times the smallest."""

STRAGGLER_RATIO = 2.0


def begins(message: str) -> bool:
    """True for the head of the timers and for the straggler line."""
    return bool(_HEAD.search(message) or _STRAGGLER.search(message))


def continues(so_far: Sequence[str], message: str) -> bool:
    """True for the timers below their head."""
    return bool(_HEAD.search(so_far[0])) and bool(_TIMER.match(message))


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``job.rank_slow`` for work, ``job.data_wait`` for the batch generator."""
    straggler = _STRAGGLER.search(block.lines[0].text)
    if straggler:
        least, most = float(straggler["least"]), float(straggler["most"])
        if most >= STRAGGLER_RATIO * least > 0:
            fields = _slow("round trip", least, most) | {"ranks": straggler["rank"]}
            source = block.source(block.lines[0].number)
            yield Observation("job.rank_slow", source, fields, rank=int(straggler["rank"]))
        return
    for line in block.lines[1:]:
        yield from _timer(block, line)


def _timer(block: Block, line: BlockLine) -> Iterator[Observation]:
    match = _TIMER.match(line.text)
    if not match:
        return
    try:
        least, most = float(match["least"]), float(match["most"])
    except ValueError:
        return
    if most < SLOW_MS or most < SLOW_RATIO * least:
        return
    if match["name"] in _WORK:
        yield Observation("job.rank_slow", block.source(line.number), _slow(match["name"], least, most))
    elif match["name"] == _DATA:
        fields: dict[str, Scalar] = {"what": "slow_fetch", "seconds": int(most / 1000), "text": line.text.strip()}
        yield Observation("job.data_wait", block.source(line.number), fields)


def _slow(metric: str, least: float, most: float) -> dict[str, Scalar]:
    found: dict[str, Scalar] = {"metric": metric, "value": most, "reference": least}
    if least > 0:
        found["ratio"] = round(most / least, 1)
    return found


BLOCK = BlockReader(
    name="megatron_timers",
    literals=("time across ranks (ms)", "MnRtt/Rnk"),
    begins=begins,
    continues=continues,
    read=read,
    emits=("job.rank_slow", "job.data_wait"),
    samples=(
        Sample(
            "(min, max) time across ranks (ms):\n"
            "    forward-backward ...............................: (812.10, 9120.44)\n"
            "    batch-generator ................................: (1.20, 61200.44)\n"
            "    forward-recv ...................................: (1.20, 61200.44)\n",
            (
                ("job.rank_slow", {"metric": "forward-backward", "value": 9120.44, "reference": 812.1, "ratio": 11.2}),
                ("job.data_wait", {"what": "slow_fetch", "seconds": 61}),
            ),
        ),
        Sample(
            "[2026-01-01 10:00:00] | MnRtt/Rnk: 812.10ms/3 | MxRtt/Rnk: 2412.44ms/9 | MnPwr/Rnk: 400.0W/1 | x\n",
            (("job.rank_slow", {"metric": "round trip", "rank": 9, "ranks": "9"}),),
        ),
        Sample(
            "(min, max) time across ranks (ms):\n"
            "    forward-backward ...............................: (812.10, 830.44)\n"
            "    optimizer ......................................: (20.10, 99.44)\n"
            "[2026-01-01 10:00:00] | MnRtt/Rnk: 812.10ms/3 | MxRtt/Rnk: 842.44ms/9 | MnPwr/Rnk: 400.0W/1 | x\n"
        ),
    ),
)
