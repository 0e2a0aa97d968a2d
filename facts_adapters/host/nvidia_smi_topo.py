"""``nvidia-smi topo -m``: how GPUs and NICs of a host are connected (driver 450 .. 580)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Context, Sample
from facts_adapters.text.blocks import Block, BlockReader

_HEAD = re.compile(r"\s+GPU0\s+.*(?:GPU1|NIC0|mlx5_0|CPU Affinity)")
_ROW = re.compile(r"(?P<name>GPU\d+|NIC\d+|mlx\d_\w+)\s+(?P<cells>.*)")
_LINK = re.compile(r"NV\d+|PIX|PXB|PHB|NODE|SYS|X")
_NIC = re.compile(r"NIC\d+|mlx\d_\w+|bnxt_re\d+|hfi1_\d+")
_ORDER = ("NV", "PIX", "PXB", "PHB", "NODE", "SYS")


def begins(message: str) -> bool:
    """True for the header with the columns."""
    return _HEAD.match(message) is not None


def continues(so_far: Sequence[str], message: str) -> bool:
    """True for the rows of the matrix."""
    return len(so_far) < 80 and _ROW.match(message) is not None


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``host.topology`` per GPU: its nearest NIC, and its farthest peer GPU."""
    columns = re.findall(r"GPU\d+|" + _NIC.pattern, block.lines[0].text)
    nearest: list[tuple[int, str, str, str]] = []
    for line in block.lines[1:]:
        row = _ROW.match(line.text)
        if row is None or not row["name"].startswith("GPU"):
            continue
        links = dict(zip(columns, _LINK.findall(row["cells"]), strict=False))
        nics = [(_rank(link), name, link) for name, link in links.items() if _NIC.fullmatch(name)]
        if nics:
            _, nic, link = min(nics)
            nearest.append((line.number, row["name"], nic, link))
        peers = [(_rank(link), link) for name, link in links.items() if name.startswith("GPU") and link != "X"]
        if peers:
            fields: dict[str, Scalar] = {"gpu": row["name"], "to": "gpu", "link": _plain(max(peers)[1])}
            yield Observation("host.topology", block.source(line.number), fields)
    shared = Counter(nic for _, _, nic, _ in nearest)
    for number, gpu, nic, link in nearest:
        fields = {"gpu": gpu, "nic": nic, "to": "nic", "link": _plain(link), "shared_by": shared[nic]}
        yield Observation("host.topology", block.source(number), fields)


def _plain(link: str) -> str:
    return "NV" if link.startswith("NV") else link


def _rank(link: str) -> int:
    plain = _plain(link)
    return _ORDER.index(plain) if plain in _ORDER else len(_ORDER)


_MATRIX = (
    "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\n"
    "GPU0\t X \tNV18\tPIX\t0-63\t0\n"
    "GPU1\tNV18\t X \tSYS\t64-127\t1\n"
    "NIC0\tPIX\tSYS\t X \n\nLegend:\n"
)
_PLAIN = (
    "        GPU0    GPU1    CPU Affinity    NUMA Affinity\n"
    "GPU0     X      NODE    0-63            0\nGPU1    NODE     X      0-63            0\n"
)

BLOCK = BlockReader(
    name="nvidia_smi_topo",
    literals=("GPU0",),
    begins=begins,
    continues=continues,
    read=read,
    emits=("host.topology",),
    samples=(
        Sample(
            _MATRIX,
            (
                ("host.topology", {"gpu": "GPU0", "nic": "NIC0", "to": "nic", "link": "PIX", "shared_by": 2}),
                ("host.topology", {"gpu": "GPU1", "to": "nic", "link": "SYS"}),
                ("host.topology", {"gpu": "GPU0", "to": "gpu", "link": "NV"}),
            ),
        ),
        Sample(_PLAIN, (("host.topology", {"gpu": "GPU0", "to": "gpu", "link": "NODE"}),)),
        Sample("rank 0 uses GPU0 and GPU1\n"),
    ),
)
