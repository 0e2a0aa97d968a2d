"""The answer of ``ulimit -l`` (``-n``, ``-u``, ``-s``) on the line below the command that asked.

bash prints kB for ``-l`` and ``-s`` and a count for ``-n`` and ``-u``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Context, Sample
from facts_adapters.text.blocks import Block, BlockReader

_ASKED = re.compile(r"\s*(?:\S{0,80}[$#>]|\+) ?ulimit (?:-[SH] ?)?-S?(?P<which>[lnus])\s*(?:#.*|\)?)$")
_ANSWER = re.compile(r"\s*(?P<value>unlimited|\d{1,18})\s*$")
_NAMES = {"l": "memlock_kb", "n": "nofile", "u": "nproc", "s": "stack_kb"}


def begins(message: str) -> bool:
    """True for the command at a prompt."""
    return _ASKED.match(message) is not None


def continues(so_far: Sequence[str], message: str) -> bool:
    """The answer is the next line."""
    return len(so_far) == 1 and _ANSWER.match(message) is not None


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``host.limit`` of the limit that was asked for; -1 is unlimited."""
    asked = _ASKED.match(block.lines[0].text)
    answer = _ANSWER.match(block.lines[1].text) if len(block.lines) > 1 else None
    if asked is None or answer is None:
        return
    value = -1 if answer["value"] == "unlimited" else int(answer["value"])
    fields: dict[str, Scalar] = {"name": _NAMES[asked["which"]], "value": value}
    yield Observation("host.limit", block.source(block.lines[1].number), fields)


BLOCK = BlockReader(
    name="ulimit_single",
    literals=("ulimit -",),
    begins=begins,
    continues=continues,
    read=read,
    emits=("host.limit",),
    samples=(
        Sample(
            "$ ulimit -l           # inside the container\nunlimited\n",
            (("host.limit", {"name": "memlock_kb", "value": -1}),),
        ),
        Sample("root@n1:/# ulimit -n\n1024\n", (("host.limit", {"name": "nofile", "value": 1024}),)),
        Sample("Please raise ulimit -l\nunlimited\n"),
        Sample("$ ulimit -l\nbash: ulimit: permission denied\n"),
    ),
)
