"""``ibstat``: state, rate, firmware and addresses of the ports of every RDMA device (infiniband-diags ``ibstat.c``)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from engine.facts.model import Observation
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.nic import _ports
from facts_adapters.quoting import quote

_DEVICE = re.compile(r"^\s*CA '(?P<device>[^']+)'")
_PORT = re.compile(r"^\s*Port (?P<port>\d+):\s*$")
_PAIR = re.compile(r"^\s*(?P<name>[A-Z][A-Za-z ]+?):\s*(?P<value>.+?)\s*$")
_ZERO = re.compile(r"0x0+$")


def _sniff(head: Head) -> Verdict:
    return _ports.found(head, re.compile(r"^\s*CA '[^']+'\s*$", re.MULTILINE), "ibstat", 1.0)


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation]:
    when = _ports.snapshot(file, context)
    for begin, block in _ports.blocks(_ports.lines(file), _DEVICE):
        device = begin["device"]
        common, ports = _ports.pairs_by_port(device, block[1:], _PORT, _PAIR)
        for observation in (*_device(file, device, common), *_all_ports(file, device, ports)):
            observation.when = when
            yield observation


def _device(file: EvidenceFile, device: str, pairs: _ports.Pairs) -> Iterator[Observation]:
    model, firmware, guid = pairs.get("CA type"), pairs.get("Firmware version"), pairs.get("Node GUID")
    if firmware:
        fields: _ports.Fields = {"version": firmware[1], "board": model[1] if model else None}
        yield _ports.observe("nic.firmware", quote(file, firmware[0]), fields, host=file.host, device=device)
    if model:
        yield _ports.observe("nic.hca_type", quote(file, model[0]), {"model": model[1]}, host=file.host, device=device)
    if guid and _ZERO.match(guid[1]):
        fields = {"what": "guid", "text": f"Node GUID: {guid[1]}"}
        yield _ports.observe("nic.address_missing", quote(file, guid[0]), fields, host=file.host, device=device)
    elif guid:
        yield from _ports.names(quote(file, guid[0]), {"guid": guid[1]}, host=file.host, device=device)


def _all_ports(file: EvidenceFile, device: str, ports: list[tuple[str, _ports.Pairs]]) -> Iterator[Observation]:
    for port, pairs in ports:
        if "State" not in pairs:
            continue
        line, state = pairs["State"]
        layer = pairs.get("Link layer", (line, ""))[1]
        logical = _ports.port_state(state.replace("Initializing", "Init"))
        rate = _ports.number(pairs["Rate"][1]) if "Rate" in pairs else None
        fields: _ports.Fields = {
            "state": logical,
            "physical": _ports.physical_state(pairs.get("Physical state", (line, ""))[1]),
            "rate_gbps": rate,
            "layer": layer if layer in ("InfiniBand", "Ethernet") else None,
            "sm_lid": _ports.number(pairs["SM lid"][1]) if "SM lid" in pairs and layer == "InfiniBand" else None,
            "lid": _ports.number(pairs["Base lid"][1]) if "Base lid" in pairs and layer == "InfiniBand" else None,
        }
        where = quote(file, line)
        yield _ports.observe("nic.port_state", where, fields, host=file.host, device=device, port=port)
        if logical == "active" and rate:
            yield _ports.observe("nic.rate", where, {"rate_gbps": rate}, host=file.host, device=device, port=port)
        guid = pairs.get("Port GUID")
        if guid and _ZERO.match(guid[1]):
            fields = {"what": "guid", "text": f"Port GUID: {guid[1]}"}
            yield _ports.observe(
                "nic.address_missing", quote(file, guid[0]), fields, host=file.host, device=device, port=port
            )
        elif guid and layer == "InfiniBand":
            where = quote(file, guid[0])
            yield from _ports.names(where, {"port_guid": guid[1]}, host=file.host, device=device, port=port)


_TEXT = (
    "CA 'mlx5_0'\n\tCA type: MT4129\n\tNumber of ports: 1\n"
    "\tFirmware version: 28.39.1002\n\tNode GUID: 0x1070fd0300a1\n"
    "\tPort 1:\n\t\tState: {state}\n\t\tPhysical state: {physical}\n\t\tRate: 400\n\t\tBase lid: 5\n\t\tSM lid: {sm}\n"
    "\t\tPort GUID: 0x1070fd0300a1\n\t\tLink layer: InfiniBand\n"
)

ADAPTER = Adapter(
    name="ibstat",
    branch="nic",
    emits=("nic.port_state", "nic.rate", "nic.firmware", "nic.hca_type", "nic.address_missing", "identity.port"),
    coverage=None,
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            _TEXT.format(state="Initializing", physical="LinkUp", sm=0),
            (
                ("nic.firmware", {"version": "28.39.1002", "board": "MT4129", "device": "mlx5_0"}),
                ("nic.hca_type", {"model": "MT4129"}),
                ("identity.port", {"guid": "0x1070fd0300a1", "device": "mlx5_0"}),
                ("identity.port", {"port_guid": "0x1070fd0300a1", "port": "mlx5_0:1"}),
                ("nic.port_state", {"state": "init", "physical": "linkup", "sm_lid": 0, "rate_gbps": 400}),
            ),
        ),
        Sample("CA certificate 'mlx5_0' expired\n", ()),
    ),
)
