"""The last line of a Python traceback whose head is missing, as excerpts and condensed logs have it.

Classes that say what went wrong by themselves (``KeyError`` ...) count as they stand; of the general ones
(``RuntimeError``, ``OSError`` ...) only texts that ``knowledge/builtin/profiles/exceptions.yaml`` knows. Where the
traceback is there, :mod:`facts_adapters.job.traceback` states the same and both become one fact.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engine.facts.model import Observation
from facts_adapters.adapter import Context, Sample
from facts_adapters.job._exceptions import classify, default, fields_of
from facts_adapters.text.blocks import Block, BlockReader, PythonException

_LINE = re.compile(
    r"(?P<name>(?:[A-Za-z_]\w*\.)*(?P<short>[A-Z]\w*(?:Error|Exception|Failure|NotFound|MissingMandatoryValue)))"
    r"(?:: (?P<message>\S.*)|:?\s*)$"
)
_GENERAL = re.compile(r"RuntimeError|OSError|IOError|Exception|SystemError|Error|InternalError|[A-Z]\w*Failure")
_KERNEL = re.compile(r"(?:Lustre|LNet)Error: \d")
"""Kernel modules whose messages begin like an exception."""

_FATAL = re.compile(r"(?:assert|Assertion)Error|AssertionError")


def begins(message: str) -> bool:
    """True for an exception line at the beginning of a message."""
    return bool(_LINE.match(message)) and not _KERNEL.match(message)


def continues(_so_far: Sequence[str], _message: str) -> bool:
    """The record is one line."""
    return False


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``job.exception`` where the line alone tells a genuine failure."""
    line = block.lines[0]
    match = _LINE.match(line.text)
    if not match:
        return
    message = match["message"] or ""
    row = classify(match["name"], message)
    if row.kind is None or (row is default() and (_GENERAL.fullmatch(match["short"]) or not _tells(match))):
        return
    error = PythonException(match["name"], message, line.number, line.number, line.number)
    yield Observation(row.kind, block.source(line.number), fields_of(error, row))


def _tells(match: re.Match[str]) -> bool:
    """Whether there is a text, or the class is one that often has none."""
    return bool(match["message"]) or bool(_FATAL.fullmatch(match["short"]))


BLOCK = BlockReader(
    name="exception_line",
    literals=("Error", "Exception", "MissingMandatoryValue", "NotFound"),
    begins=begins,
    continues=continues,
    read=read,
    emits=("job.exception",),
    samples=(
        Sample(
            "[rank3]: ValueError: could not broadcast input array from shape (3,4) into shape (4,4)\n",
            (("job.exception", {"error": "ValueError", "class": "application", "rank": 3}),),
        ),
        Sample(
            "ModuleNotFoundError: No module named 'flash_attn'\n",
            (("job.exception", {"error": "ModuleNotFoundError", "class": "import"}),),
        ),
        Sample(
            "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must "
            "use the 'spawn' start method\n",
            (("job.exception", {"error": "RuntimeError", "class": "configuration"}),),
        ),
        Sample(
            "RuntimeError: something happened\n"
            "ValueError: Error initializing torch.distributed using env:// rendezvous: environment variable RANK "
            "expected, but not set\n"
            "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:219\n"
            "INFO retry after ValueError: bad sample\n"
            "LustreError: 21877:0:(file.c:3644:ll_inode_revalidate_fini()) fs: revalidate FID [0x2:0x1:0x0] error: "
            "rc = -108\n",
        ),
    ),
)
