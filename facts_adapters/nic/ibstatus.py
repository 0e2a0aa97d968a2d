"""``ibstatus`` and files ``state``, ``phys_state`` of ``/sys/class/infiniband``: state and rate of RDMA ports."""

from __future__ import annotations

import re
from collections.abc import Iterable

from engine.facts.model import Observation
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.nic import _ports
from facts_adapters.quoting import quote

_BEGINS = re.compile(r"^Infiniband device '(?P<device>[^']+)' port (?P<port>\d+) status:")
_PAIR = re.compile(r"^\s*(?P<name>default gid|base lid|sm lid|state|phys state|rate|link_layer):\s*(?P<value>.+?)\s*$")


def _sniff(head: Head) -> Verdict:
    return _ports.found(head, re.compile(_BEGINS.pattern, re.MULTILINE), "ibstatus", 1.0)


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation]:
    when = _ports.snapshot(file, context)
    for begin, block in _ports.blocks(_ports.lines(file), _BEGINS):
        device, port = begin["device"], f"{begin['device']}:{begin['port']}"
        pairs: dict[str, tuple[Line, str]] = {}
        for line in block:
            pair = _PAIR.match(line.text)
            if pair:
                pairs[pair["name"]] = (line, pair["value"])
        if "state" not in pairs:
            continue
        where = quote(file, pairs["state"][0])
        layer = pairs.get("link_layer", (block[0], ""))[1]
        infiniband = layer == "InfiniBand"
        state = _ports.port_state(pairs["state"][1])
        rate = _ports.number(pairs["rate"][1]) if "rate" in pairs else None
        fields: _ports.Fields = {
            "state": state,
            "physical": _ports.physical_state(pairs.get("phys state", (block[0], ""))[1]),
            "rate_gbps": rate,
            "layer": layer if layer in ("InfiniBand", "Ethernet") else None,
            "sm_lid": _ports.hexadecimal(pairs["sm lid"][1]) if infiniband and "sm lid" in pairs else None,
            "lid": _ports.hexadecimal(pairs["base lid"][1]) if infiniband and "base lid" in pairs else None,
        }
        yield _ports.observe("nic.port_state", where, fields, host=file.host, device=device, port=port, when=when)
        gid = pairs.get("default gid")
        if gid and infiniband:  # the lower half of an InfiniBand GID is the port's GUID
            guid = {"port_guid": gid[1][-19:]}
            yield from _ports.names(quote(file, gid[0]), guid, host=file.host, device=device, port=port)
        if state == "active" and rate:
            yield _ports.observe(
                "nic.rate", where, {"rate_gbps": rate}, host=file.host, device=device, port=port, when=when
            )


ADAPTER = Adapter(
    name="ibstatus",
    branch="nic",
    emits=("nic.port_state", "nic.rate", "identity.port"),
    coverage=None,
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            "Infiniband device 'mlx5_1' port 1 status:\n\tdefault gid:\t fe80:0000:0000:0000:1070:fd03:00a1:b2c4\n"
            "\tbase lid:\t 0x0\n\tsm lid:\t\t 0x0\n\tstate:\t\t 1: DOWN\n\tphys state:\t 2: Polling\n"
            "\trate:\t\t 10 Gb/sec (4X SDR)\n\tlink_layer:\t InfiniBand\n",
            (
                ("nic.port_state", {"state": "down", "physical": "polling", "sm_lid": 0, "port": "mlx5_1:1"}),
                ("identity.port", {"port_guid": "1070:fd03:00a1:b2c4", "port": "mlx5_1:1"}),
            ),
        ),
        Sample("Fatal error:  device '*': sys files not found (/sys/class/infiniband/*/ports)\n", ()),
    ),
)
