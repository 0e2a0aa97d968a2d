"""Default traffic class of RDMA devices: ``/sys/class/infiniband/*/tc/*/traffic_class`` and ``cma_roce_tos``."""

from __future__ import annotations

import re
from collections.abc import Iterable

from engine.facts.model import Observation
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.nic import _ports
from facts_adapters.quoting import quote

_VALUE = re.compile(
    r"(?:/sys/class/infiniband/(?P<device>[\w-]+)/tc/\d+/traffic_class:)?\s*(?:Global )?tclass[=:]\s*(?P<value>\d+)"
)
_COMMAND = re.compile(r"(?:cat\s+/sys/class/infiniband/(?P<a>[^/\s]+)/tc/|cma_roce_tos\s+.*?-d\s+(?P<b>[\w-]+))")
_PATH = re.compile(r"(?P<device>[A-Za-z][\w-]*)/tc/\d+/traffic_class$|cma_roce_tos\S*?_(?P<file>mlx\d_\d+)")
_NUMBER = re.compile(r"^\s*(?P<value>\d{1,3})\s*$")


def _sniff(head: Head) -> Verdict:
    if _PATH.search(head.path) or "cma_roce_tos" in head.text:
        return Verdict(0.9, "traffic class of an RDMA device")
    if "tclass" not in head.text and "traffic_class" not in head.text:
        return Verdict(0.0, "")
    return _ports.found(head, re.compile(r"tclass[=:]\s*\d+|/tc/\d+/traffic_class"), "traffic class of an RDMA device")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation]:
    del context
    path = _PATH.search(file.path)
    device = (path["device"] or path["file"]) if path else None
    asked = path is not None
    host = file.host
    for line in _ports.lines(file):
        host = host or _ports.prompt_host(line.text)
        command = _COMMAND.search(line.text)
        value = _VALUE.search(line.text) if "tclass" in line.text else None
        number = _NUMBER.match(line.text) if asked else None
        if command:
            device, asked = command["a"] or command["b"], True
        elif value or number:
            match = value or number
            assert match
            name = (value["device"] if value else None) or device
            tos = int(match["value"])
            if tos <= 255:
                name = None if name and not re.fullmatch(r"[\w-]+", name) else name
                fields: _ports.Fields = {"value": tos, "dscp": tos >> 2}
                yield _ports.observe("nic.traffic_class", quote(file, line), fields, host=host, device=name)


ADAPTER = Adapter(
    name="traffic_class",
    branch="nic",
    emits=("nic.traffic_class",),
    coverage=None,
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            "/sys/class/infiniband/mlx5_0/tc/1/traffic_class:Global tclass=106\n",
            (("nic.traffic_class", {"value": 106, "dscp": 26, "device": "mlx5_0"}),),
        ),
        Sample("$ cma_roce_tos -d mlx5_2\n106\n", (("nic.traffic_class", {"value": 106, "device": "mlx5_2"}),)),
        Sample("106\n", ()),
    ),
)
