"""The record of a dead Ray actor (``RayActorError``, ``ActorDiedError``; Ray 2.0 .. 2.60): which process, where.

The message of the exception is followed by indented pairs (``class_name``, ``actor_id``, ``pid``, ``name``,
``namespace``, ``ip``) and by the cause in words (``python/ray/exceptions.py``). The causes that name a lost node or a
kill for memory are signatures of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Context, Sample
from facts_adapters.text.blocks import Block, BlockReader

_PAIR = re.compile(r"\s*(?P<key>class_name|actor_id|pid|name|namespace|ip|repr): ?(?P<value>\S.*?)?\s*$")
_FIRST = re.compile(r"\s*(?:class_name|actor_id): \S")
_ADDRESS = re.compile(r"[\w.:-]{1,100}")
_EXIT = re.compile(r"[Ee]xit code:? (?P<code>-?\d{1,3})\b")
_MOST_LINES = 12


def begins(message: str) -> bool:
    """True for the first pair."""
    return bool(_FIRST.match(message))


def continues(so_far: Sequence[str], message: str) -> bool:
    """True for further pairs and for the one line that says why."""
    if len(so_far) >= _MOST_LINES or not _PAIR.match(so_far[-1]):
        return False
    return bool(_PAIR.match(message)) or message.startswith("The actor ")


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``job.process_exit`` of the actor's process."""
    pairs: dict[str, str] = {}
    for line in block.lines:
        pair = _PAIR.match(line.text)
        if pair and pair["value"]:
            pairs.setdefault(pair["key"], pair["value"])
    pid, address = pairs.get("pid", ""), pairs.get("ip", "")
    if not pid.isdecimal() or len(pid) > 10:
        return
    fields: dict[str, Scalar] = {"reporter": "ray", "pid": int(pid)}
    code = _EXIT.search(block.lines[-1].text)
    if code:
        fields["exit_code"] = int(code["code"])
    host = address if _ADDRESS.fullmatch(address) else block.host
    yield Observation("job.process_exit", block.source(block.lines[0].number), fields, host=host)


BLOCK = BlockReader(
    name="ray_actor",
    literals=("class_name: ", "actor_id: "),
    begins=begins,
    continues=continues,
    read=read,
    emits=("job.process_exit",),
    samples=(
        Sample(
            "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n"
            "\tclass_name: RayTrainWorker\n\tactor_id: 5f0d7caa01000000\n\tpid: 892962\n"
            "\tnamespace: 9c1f\n\tip: 10.0.0.3\n"
            "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: "
            "Worker unexpectedly exits with a connection error code 2. End of file.\n",
            (("job.process_exit", {"pid": 892962, "host": "10.0.0.3", "reporter": "ray"}),),
        ),
        Sample("\tclass_name: RayTrainWorker\n\tactor_id: 5f0d7caa01000000\nThe actor has not been started yet.\n"),
        Sample("model:\n  class_name: Llama\n  name: base\n  pid: none\n"),
    ),
)
