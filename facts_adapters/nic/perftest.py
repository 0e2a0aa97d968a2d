"""perftest programs (``ib_write_bw``, ``ib_send_bw`` ...): bandwidth between two hosts, with device, GID index, MTU."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from engine.facts.model import Observation
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.nic import _ports
from facts_adapters.quoting import quote

_TITLE = re.compile(r"^\s+(?P<test>(?:RDMA_(?:Write|Read)|Send|Atomic_\S+|RawEth)\s.*?(?:BW|Latency) Test)")
_DEVICE = re.compile(r"Device\s+: (?P<device>\S+)")
_MTU = re.compile(r"Mtu\s+: (?P<mtu>\d+)")
_GID = re.compile(r"GID index\s+: (?P<index>\d+)")
_COLUMNS = re.compile(r"#bytes\s+#iterations\s+BW peak\[(?P<unit>Gb|MB|MiB)/sec\]\s+BW average")
_ROW = re.compile(r"^\s*(?P<size>\d+)\s+\d+\s+(?P<peak>[\d.]+)\s+(?P<average>[\d.]+)\s+[\d.]+")
_TO_GBPS = {"Gb": 1.0, "MB": 8e-3, "MiB": 8 * 1.048576e-3}


def _sniff(head: Head) -> Verdict:
    return _ports.found(head, re.compile(_TITLE.pattern, re.MULTILINE), "perftest", 0.95)


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation]:
    del context
    for begin, block in _ports.blocks(_ports.lines(file), _TITLE):
        yield from _run(file, begin["test"], block)


def _run(file: EvidenceFile, test: str, block: list[Line]) -> Iterator[Observation]:
    text = "\n".join(line.text for line in block)
    device, mtu, gid, columns = (pattern.search(text) for pattern in (_DEVICE, _MTU, _GID, _COLUMNS))
    if not columns:
        return
    best: tuple[Line, float] | None = None
    for line in block:
        row = _ROW.match(line.text)
        average = _ports.decimal(row["average"]) if row else None
        if average is not None and (best is None or average > best[1]):
            best = (line, average)
    if best:
        fields: _ports.Fields = {
            "gbps": round(best[1] * _TO_GBPS[columns["unit"]], 2),
            "tool": re.sub(r"\s+", " ", test),
            "gid_index": int(gid["index"]) if gid else None,
            "mtu": int(mtu["mtu"]) if mtu else None,
        }
        name = device["device"] if device else None
        yield _ports.observe("nic.bandwidth", quote(file, best[0]), fields, host=file.host, device=name)


ADAPTER = Adapter(
    name="perftest",
    branch="nic",
    emits=("nic.bandwidth",),
    coverage=None,
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            "---------------------------------------------------------------------------------------\n"
            "                    RDMA_Write BW Test\n Dual-port       : OFF\t\tDevice         : mlx5_0\n"
            " Mtu             : 4096[B]\n GID index       : 3\n"
            " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
            " 65536      5000             390.11             388.02                   0.740088\n",
            (("nic.bandwidth", {"gbps": 388.02, "gid_index": 3, "mtu": 4096, "device": "mlx5_0"}),),
        ),
        Sample("                    RDMA_Write BW Test\n Completion with error at client\n", ()),
    ),
)
