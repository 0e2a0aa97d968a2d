"""``lsmod`` of a GPU host with RDMA: says where the peer-memory module is not loaded.

Newer stacks do without that module (DMA-BUF), so its absence alone only states that it is not listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.facts.model import Observation, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict

_ROW = re.compile(r"^(?P<name>[a-z][a-z0-9_]*) +\d+ +\d+(?: [a-z][\w,-]*)?$")
_PEER = frozenset({"nvidia_peermem", "nv_peer_mem", "nvidia_fs"})


def sniff(head: Head) -> Verdict:
    """Mostly rows of name, size and use count, with the GPU driver and RDMA among them."""
    lines = [line.rstrip() for line in head.lines[:400] if line.strip()]
    names = [match["name"] for line in lines if (match := _ROW.match(line))]
    if len(names) >= 3 and len(names) >= 0.7 * len(lines) and {"nvidia", "ib_core"} <= set(names):
        return Verdict(0.9, "list of kernel modules")
    return Verdict(0.0, "no list of kernel modules")


def read(file: EvidenceFile, _context: Context) -> Iterator[Observation]:
    """``comm.gdr_state`` where no peer-memory module is in the list."""
    names: set[str] = set()
    driver: Source | None = None
    for line in file.lines():
        match = _ROW.match(line.text.rstrip())
        if match:
            names.add(match["name"])
            if match["name"] == "nvidia":
                driver = Source(file.path, line.number, line.text[:2000])
    if driver and not names & _PEER:
        yield Observation("comm.gdr_state", driver, {"enabled": False, "reason": "module not listed"})


ADAPTER = Adapter(
    name="kernel_modules",
    branch="comm",
    emits=("comm.gdr_state",),
    coverage=None,
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            "Module                  Size  Used by\nnvidia_uvm           1527808  8\nmlx5_ib               466944  0\n"
            "ib_core               462848  3 rdma_cm,ib_uverbs,mlx5_ib\nnvidia         56664064  1240 nvidia_uvm\n",
            (("comm.gdr_state", {"enabled": False, "reason": "module not listed"}),),
            path="lsmod.txt",
        ),
        Sample(
            "Module                  Size  Used by\nnvidia_peermem         16384  0\nmlx5_ib               466944  0\n"
            "ib_core               462848  3 nvidia_peermem,ib_uverbs\nnvidia       56664064  3 nvidia_uvm\n",
            path="lsmod.txt",
        ),
    ),
)
