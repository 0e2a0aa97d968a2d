"""The C++ stack of PyTorch's watchdog where an excerpt has lost the line that says what happened.

Raised in ``checkTimeout``: the rank gave up waiting for a collective. A stack whose heading is there is left alone,
because the line before it says more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.facts.model import Observation
from facts_adapters.adapter import Context, Sample
from facts_adapters.text.blocks import Block, BlockReader

_HEADING = "Exception raised from "
_FIRST = "frame #0: c10::Error::Error("
_TIMED_OUT = "WorkNCCL::checkTimeout("


def begins(message: str) -> bool:
    """True for the heading of a stack and for its first frame."""
    return message.startswith((_HEADING, _FIRST))


def continues(_so_far: Sequence[str], message: str) -> bool:
    """True for the frames."""
    return message.startswith(("frame #", "<omitting python frames>"))


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``comm.collective_timeout`` without operation or number, for a stack without heading."""
    headless = block.lines[0].text.startswith(_FIRST)
    if headless and len(block.lines) > 1 and _TIMED_OUT in block.lines[1].text:
        yield Observation("comm.collective_timeout", block.source(block.lines[1].number), {"backend": "nccl"})


_FRAMES = (
    "frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x96 (0x14f2c31a6d52 in libc10.so)\n"
    "frame #1: c10d::ProcessGroupNCCL::WorkNCCL::checkTimeout(std::optional<long>) + 0x1d2 (0x15 in libtorch.so)\n"
    "frame #2: c10d::ProcessGroupNCCL::watchdogHandler() + 0x233 (0x14f2c466b1c7 in libtorch_cuda.so)\n"
)

BLOCK = BlockReader(
    name="watchdog_stack",
    literals=(_HEADING, _FIRST),
    begins=begins,
    continues=continues,
    read=read,
    emits=("comm.collective_timeout",),
    samples=(
        Sample(_FRAMES, (("comm.collective_timeout", {"backend": "nccl"}),)),
        Sample(
            "Exception raised from checkForNCCLErrorsInternal at ../c10d/ProcessGroupNCCL.cpp:2063 (most recent call "
            "first):\n" + _FRAMES,
            (),
        ),
    ),
)
