"""Stacks by CPython's ``faulthandler``: ``dump_traceback``, ``dump_traceback_later``, fatal signals (3.8 .. 3.13)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engine.facts.model import Observation
from facts_adapters.adapter import Context, Sample
from facts_adapters.job._stacks import StackFrame, Thread, observe
from facts_adapters.text.blocks import Block, BlockReader

_HEAD = re.compile(
    r"(?P<current>Current thread|Thread) 0x(?P<id>[0-9a-f]+)(?: \[(?P<name>[^\]]*)\])? \(most recent call first\):"
)
_FRAME = re.compile(r'\s+File "(?P<file>[^"]*)", line (?P<line>\d+)(?: in (?P<function>\S.*))?')


def begins(message: str) -> bool:
    """True for the head of one thread."""
    return bool(_HEAD.search(message))


def continues(_so_far: Sequence[str], message: str) -> bool:
    """True for the thread's frames."""
    return bool(_FRAME.match(message)) or message.strip() in ("<no Python frame>", "...")


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``job.python_stack`` of the main thread, or of another one that is busy with files or data.

    ``dump_traceback_later`` marks no thread as current; only the main one begins in a module.
    """
    head = _HEAD.search(block.lines[0].text)
    frames = tuple(
        StackFrame(match["function"] or "?", match["file"], int(match["line"]), line.number)
        for line in block.lines[1:]
        if (match := _FRAME.match(line.text))
    )
    if not head or not frames:
        return
    main = head["current"] == "Current thread" or frames[-1].function == "<module>"
    name = head["name"] or ("current thread" if main else f"thread 0x{head['id']}")
    found = observe(Thread(name, frames, block.source(block.lines[0].number), None, True, main))
    if found:
        yield found


BLOCK = BlockReader(
    name="faulthandler",
    literals=("(most recent call first):",),
    begins=begins,
    continues=continues,
    read=read,
    emits=("job.python_stack",),
    samples=(
        Sample(
            "Timeout (0:10:00)!\n[rank3]: Thread 0x00007f0c2a7fc700 (most recent call first):\n"
            '[rank3]:   File "/usr/lib/python3.11/threading.py", line 324 in wait\n'
            "[rank3]: Current thread 0x00007f0c2b000740 (most recent call first):\n"
            '[rank3]:   File "/opt/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", '
            "line 4635 in barrier\n"
            '[rank3]:   File "/opt/train/train.py", line 88 in main\n',
            (("job.python_stack", {"where": "collective", "rank": 3}),),
        ),
        Sample(
            "Timeout (0:30:00)!\nThread 0x00007f0c2a7fc700 (most recent call first):\n"
            '  File "/usr/lib/python3.10/threading.py", line 1016 in _bootstrap\n'
            "\nThread 0x00007f0c2b000740 (most recent call first):\n"
            '  File "/usr/lib/python3.10/logging/__init__.py", line 927 in acquire\n'
            '  File "/opt/train/train.py", line 88 in <module>\n',
            (("job.python_stack", {"where": "lock"}),),
        ),
        Sample(
            "Exception raised from recvBytes at /pytorch/torch/csrc/distributed/c10d/Utils.hpp:697 (most recent "
            "call first):\n"
        ),
    ),
)
