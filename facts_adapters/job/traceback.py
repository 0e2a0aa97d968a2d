"""Python tracebacks in logs (CPython's ``traceback`` format, with chains): ``job.exception`` for genuine failures.

An exception that only says that a peer, a store or a child went away yields nothing; so does one whose line a signature
reads already. The table is ``knowledge/builtin/profiles/exceptions.yaml``.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.facts.model import Observation
from facts_adapters.adapter import Context, Sample
from facts_adapters.job._exceptions import fields_of, telling
from facts_adapters.text.blocks import (
    TRACEBACK,
    Block,
    BlockReader,
    PythonException,
    exceptions,
    traceback_begins,
    traceback_continues,
)

_DIRECT_CAUSE = "direct cause of the following exception"


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """One ``job.exception`` at the line of the telling exception."""
    errors = exceptions(block)
    found = telling(errors, [_caused(block, error) for error in errors])
    if found:
        error, row = found
        yield Observation(row.kind or "", block.source(error.line), fields_of(error, row))


def _caused(block: Block, error: PythonException) -> bool:
    """Whether the marker line behind ``error`` says that it caused the next one."""
    following = (line.text for line in block.lines if line.number > error.line)
    for text in following:
        if TRACEBACK in text:
            return False
        if _DIRECT_CAUSE in text:
            return True
    return False


BLOCK = BlockReader(
    name="traceback",
    literals=(TRACEBACK,),
    begins=traceback_begins,
    continues=traceback_continues,
    read=read,
    emits=("job.exception",),
    samples=(
        Sample(
            "[rank2]: Traceback (most recent call last):\n"
            '[rank2]:   File "/mnt/code/train.py", line 83, in <module>\n'
            "[rank2]:     main()\n"
            '[rank2]:   File "/mnt/code/lr.py", line 23, in get_lr\n'
            "[rank2]:     return self.table[step]\n"
            "[rank2]: KeyError: 4700\n",
            (
                (
                    "job.exception",
                    {
                        "error": "KeyError",
                        "message": "4700",
                        "class": "application",
                        "location": "/mnt/code/lr.py:23",
                        "rank": 2,
                    },
                ),
            ),
        ),
        Sample(
            "Traceback (most recent call last):\n"
            '  File "/opt/train/train.py", line 3, in <module>\n'
            "    import apex\n"
            "ModuleNotFoundError: No module named 'apex'\n",
            (("job.exception", {"error": "ModuleNotFoundError", "class": "import"}),),
        ),
        Sample(
            "Traceback (most recent call last):\n\n"
            '> File "/opt/train/train.py", line 212, in <module>\n'
            "    main()\n"
            "    └ <function main at 0x7f0c2a7fc700>\n\n"
            '  File "/opt/train/train.py", line 150, in main\n'
            "    x = torch.cat(xs, 1)\n"
            "        │     └ <built-in method cat>\n\n"
            "ValueError: bad batch\n",
            (("job.exception", {"error": "ValueError", "location": "/opt/train/train.py:150"}),),
        ),
        Sample(
            "[rank0]: Traceback (most recent call last):\n"
            '[rank0]:   File "/opt/train/exc.py", line 7, in main\n'
            "[rank0]:     dist.all_reduce(torch.ones(4))\n"
            "[rank0]: RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] "
            "Connection closed by peer [127.0.0.1]:45185\n",
        ),
        Sample(
            "Traceback (most recent call last):\n"
            '  File "/opt/venv/bin/torchrun", line 8, in <module>\n'
            "    sys.exit(main())\n"
            "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n",
        ),
    ),
)
