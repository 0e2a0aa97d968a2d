"""Events of torchrun's agent, one JSON object on a line (torch 1.9 .. 2.9).

Written by the logger ``torchelastic`` where an event handler is configured
(``torch/distributed/elastic/events/api.py``). The agent calls a worker ``FAILED`` where that worker failed by itself
and ``TERMINATED`` where the agent ended it. Times in these events are 0 in most versions and are not read. Events of
the rendezvous carry their text in ``message`` and are read like any JSON log line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Context, Sample
from facts_adapters.job._exceptions import stated_exception
from facts_adapters.text.blocks import Block, BlockReader

_AGENT = '"name": "torchelastic.'
_LONGEST = 200_000
"""Characters of an event that are parsed."""

_HOST = re.compile(r"[A-Za-z0-9][\w.-]{0,252}")


def begins(message: str) -> bool:
    """True for a line that holds an event."""
    return _AGENT in message


def continues(_so_far: Sequence[str], _message: str) -> bool:
    """An event is one line."""
    return False


def read(block: Block, context: Context) -> Iterator[Observation]:
    """``job.process_exit``, ``job.exception`` or ``job.child_terminated``."""
    line = block.lines[0]
    start = line.text.find("{")
    try:
        event = json.JSONDecoder().raw_decode(line.text[start : start + _LONGEST])[0]
    except (ValueError, RecursionError):
        context.warn(block.path, line.number, "an event of torchrun's agent is cut or no JSON")
        return
    if isinstance(event, dict):
        yield from _worker(block, event)


def _worker(block: Block, event: dict[str, Any]) -> Iterator[Observation]:
    data = event.get("metadata")
    if event.get("source") != "WORKER" or not isinstance(data, dict):
        return
    host, rank = _host(data.get("hostname")) or block.host, _number(data.get("global_rank"))
    source = block.source(block.lines[0].number)
    fields: dict[str, Scalar] = {"reporter": "torchrun"}
    pid = _number(data.get("worker_id"))
    if pid is not None:
        fields["pid"] = pid
    if data.get("state") == "FAILED":
        yield Observation("job.process_exit", source, fields, host=host, rank=rank)
        said = stated_exception(_error(data.get("raw_error")))
        if said:
            yield Observation(said[0], source, said[1], host=host, rank=rank)
    elif data.get("state") == "TERMINATED":
        yield Observation("job.child_terminated", source, fields, host=host, rank=rank)


def _error(raw: Any) -> str:
    """The text in ``raw_error``: JSON of the worker's error file, or a plain text."""
    if not isinstance(raw, str):
        return ""
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError):
        return raw
    while isinstance(content, dict):
        content = content.get("message", "")
    return content if isinstance(content, str) else ""


def _number(value: Any) -> int | None:
    if isinstance(value, str) and value.isdecimal() and len(value) <= 10:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _host(value: Any) -> str | None:
    return value if isinstance(value, str) and _HOST.fullmatch(value) else None


BLOCK = BlockReader(
    name="torchelastic_events",
    literals=(_AGENT,),
    begins=begins,
    continues=continues,
    read=read,
    emits=("job.process_exit", "job.exception", "job.child_terminated"),
    samples=(
        Sample(
            'INFO:torchelastic:{"name": "torchelastic.worker.status.FAILED", "source": "WORKER", "timestamp": 0, '
            '"metadata": {"run_id": "4308", "global_rank": 9, "group_rank": 1, "worker_id": "11094", "role": "default",'
            ' "hostname": "gpu12", "state": "FAILED", "total_run_time": 35, "rdzv_backend": "c10d", "raw_error": '
            '"{\\"message\\": {\\"message\\": \\"ValueError: boom\\", \\"extraInfo\\": {\\"timestamp\\": '
            '\\"1796045613\\"}}}", "agent_restarts": 0}}\n',
            (
                ("job.process_exit", {"rank": 9, "host": "gpu12", "pid": 11094, "reporter": "torchrun"}),
                ("job.exception", {"error": "ValueError", "message": "boom", "rank": 9}),
            ),
        ),
        Sample(
            '{"name": "torchelastic.worker.status.TERMINATED", "source": "WORKER", "timestamp": 0, "metadata": '
            '{"run_id": "4308", "global_rank": 8, "group_rank": 1, "worker_id": "11093", "role": "default", '
            '"hostname": "gpu12", "state": "TERMINATED", "total_run_time": 35, "raw_error": null}}\n',
            (("job.child_terminated", {"rank": 8, "pid": 11093}),),
        ),
        Sample(
            '{"name": "torchelastic.worker.status.SUCCEEDED", "source": "WORKER", "timestamp": 0, "metadata": '
            '{"global_rank": 8, "state": "SUCCEEDED", "worker_id": "11093", "raw_error": null}}\n'
            '{"name": "torchelastic.agent.status.FAILED", "source": "AGENT", "timestamp": 0, "metadata": '
            '{"state": "FAILED", "raw_error": "Traceback"}}\n'
        ),
    ),
)
