"""The message of the NVIDIA driver about a lost GPU that goes over three lines of the kernel log (NVRM, 390 .. 580).

It gives the address, then the identity of the card, then that it has ``fallen off the bus``.
The last line alone is told by a signature; only here is the GPU known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engine.facts.model import Observation
from facts_adapters.adapter import Context, Sample
from facts_adapters.text.blocks import Block, BlockReader

_FIRST = re.compile(r"NVRM: The NVIDIA GPU (?P<gpu>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])")
_LOST = "fallen off the bus"
_LONGEST = 4


def begins(message: str) -> bool:
    """True for the line with the address."""
    return _FIRST.search(message) is not None


def continues(so_far: Sequence[str], message: str) -> bool:
    """True for the lines of the same message, up to the one that says it."""
    return len(so_far) < _LONGEST and _LOST not in so_far[-1] and "NVRM: " in message and not begins(message)


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``host.gpu_lost`` with the GPU."""
    first = _FIRST.search(block.lines[0].text)
    last = block.lines[-1]
    if first and _LOST in last.text:
        fields = {"gpu": first["gpu"].lower(), "text": _LOST}
        yield Observation("host.gpu_lost", block.source(last.number), fields)


_MESSAGE = """\
[ 8121.5] NVRM: The NVIDIA GPU 0000:18:00.0
[ 8121.5] NVRM: (PCI ID: 10de:2330) installed in this system has
[ 8121.5] NVRM: fallen off the bus and is not responding to commands.
"""
_OTHER = """\
[   12.5] NVRM: The NVIDIA GPU 0000:18:00.0 (PCI ID: 10de:2330)
[   12.5] NVRM: installed in this system is not supported by the
[   12.5] NVRM: NVIDIA 470.82.01 driver release.
"""

BLOCK = BlockReader(
    name="nvidia_kernel_lost",
    literals=("NVRM: The NVIDIA GPU ",),
    begins=begins,
    continues=continues,
    read=read,
    emits=("host.gpu_lost",),
    samples=(Sample(_MESSAGE, (("host.gpu_lost", {"gpu": "0000:18:00.0"}),)), Sample(_OTHER)),
)
