"""``ibnetdiscover`` in both forms: who is cabled to whom in an InfiniBand fabric.

The topology file has a block for each node (``Switch 65 "S-…" # "MF0;leaf1…"``, then ``[7] "H-…"[1] # "n1 mlx5_0"``);
``ibnetdiscover -p`` prints one line for each port (rdma-core infiniband-diags ibnetdiscover.c).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from engine.facts.model import Observation, Scalar, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.quoting import quote
from facts_adapters.switch._tables import lines
from facts_adapters.switch.ibqueryerrors import node_name

_NODE = re.compile(r'^(?P<type>Switch|Ca|Rt)\s+\d+\s+"[SHR]-[0-9a-f]+"\s*#\s*"(?P<name>[^"]+)"')
_PORT = re.compile(
    r'^\[(?P<port>\d{1,3})\](?:\[[^\]]*\])?(?:\([0-9a-fx]+\))?\s+"(?P<type>[SHR])-[0-9a-f]+"\[(?P<peer_port>\d{1,3})\]'
    r'(?:\[[^\]]*\])?(?:\([0-9a-fx]+\))?\s*#\s*"(?P<peer>[^"]+)"'
)
_LIST = re.compile(
    r"^(?P<type>SW|CA|RT)\s+\d+\s+(?P<port>\d+)\s+0x[0-9a-f]+\s+(?P<width>\S+)\s+(?P<speed>\S+)\s+-\s+"
    r"(?P<peer_type>SW|CA|RT)\s+\d+\s+(?P<peer_port>\d+)\s+0x[0-9a-f]+\s+\(\s*'(?P<name>[^']+)'\s+-\s+'(?P<peer>[^']+)'\s*\)"
)

End = tuple[str, str, bool]
"""(node description, port, whether it is a switch)."""


def _sniff(head: Head) -> Verdict:
    if any(_LIST.match(line) for line in head.lines):
        return Verdict(0.95, "ibnetdiscover -p")
    if '"S-' in head.text and any(_NODE.match(line) for line in head.lines):
        return Verdict(0.95, "topology of ibnetdiscover")
    return Verdict(0.0, "")


def _read(file: EvidenceFile, _context: Context) -> Iterable[Observation]:
    node: tuple[str, bool] | None = None
    for line in lines(file):
        head, port, row = _NODE.match(line.text), _PORT.match(line.text), _LIST.match(line.text)
        if head:
            node = (head["name"], head["type"] == "Switch")
        elif not line.text.strip():
            node = None
        elif row:
            near, far = (
                (row["name"], row["port"], row["type"] == "SW"),
                (row["peer"], row["peer_port"], row["peer_type"] == "SW"),
            )
            yield from link(near, far, quote(file, line))
        elif port and node:
            yield from link(
                (node[0], port["port"], node[1]),
                (port["peer"], port["peer_port"], port["type"] == "S"),
                quote(file, line),
            )


def link(near: End, far: End, where: Source) -> Iterator[Observation]:
    """A link between switches, or between a switch and the NIC of a host, seen from its near end."""
    (near_name, near_device, _), (far_name, far_device, _) = node_name(near[0]), node_name(far[0])
    if near[2] and far[2]:
        fields: dict[str, Scalar] = {"peer_port": far[1], "origin": "seen"}
        yield Observation("switch.trunk", where, fields, host=near_name, port=near[1], peer=far_name)
    elif near[2] or far[2]:
        host, device = (far_name, far_device) if near[2] else (near_name, near_device)
        leaf, leaf_port = (near_name, near[1]) if near[2] else (far_name, far[1])
        fields = {"switch": leaf, "switch_port": leaf_port, "origin": "seen"}
        yield Observation("switch.attached", where, fields, host=host, device=device)


ADAPTER = Adapter(
    name="ibnetdiscover",
    branch="switch",
    emits=("switch.attached", "switch.trunk"),
    coverage=None,
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            "vendid=0x2c9\ndevid=0xd2f2\nsysimgguid=0xb83fd20300a1\nswitchguid=0xb83fd20300a1(b83fd20300a1)\n"
            'Switch\t65 "S-b83fd20300a1"\t\t# "MF0;leaf1:MQM9700/U1" enhanced port 0 lid 2 lmc 0\n'
            '[7]\t"H-946dae0300d2"[1](946dae0300d2) \t\t# "n1 mlx5_0" lid 40 4xNDR\n'
            '[33]\t"S-b83fd2030099"[9]\t\t# "MF0;spine1:MQM9700/U1" lid 9 4xNDR\n',
            (
                ("switch.attached", {"host": "n1", "device": "mlx5_0", "switch": "leaf1", "switch_port": "7"}),
                ("switch.trunk", {"host": "leaf1", "port": "33", "peer": "spine1", "peer_port": "9"}),
            ),
        ),
        Sample(
            "CA    40  1 0x946dae0300d2 4x NDR - SW     2  7 0xb83fd20300a1 ( 'n1 mlx5_0' - 'MF0;leaf1:MQM9700/U1' )\n"
            "SW     2 37 0xb83fd20300a1 4x ???                                    'MF0;leaf1:MQM9700/U1'\n",
            (("switch.attached", {"host": "n1", "device": "mlx5_0", "switch": "leaf1", "switch_port": "7"}),),
        ),
        Sample("SW     2 37 0xb83fd20300a1 4x ???                                    'MF0;leaf1:MQM9700/U1'\n", ()),
    ),
)
