"""``ibqueryerrors [-r]`` and ``iblinkinfo [-l]``: counters of all ports of an InfiniBand fabric and who is behind them.

Ports of switches (``MF0;name:…`` or a node queried by GUID) are switch counters, the others those of a host's NIC. The
link grammar ``==( … )==>`` names the neighbour (infiniband-diags). Only counters above their threshold, by default 0,
are printed, so that an error counter missing from a port's line stands at zero.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from engine.facts.model import CounterSample, Observation, Reading, Scalar
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.quoting import quote
from facts_adapters.switch._tables import lines

_NODE = re.compile(r'^Errors for (?:(?P<guid>0x[0-9a-f]+) )?"(?P<name>[^"]+)"')
_PORT = re.compile(r"^\s+GUID (?P<guid>0x[0-9a-f]+) port (?P<port>\w+): (?P<rest>.*)")
_COUNTER = re.compile(r"\[(?P<name>\w+) == (?P<value>\d+)(?: \([^)]*\))?\]")
_LINK = re.compile(
    r"\b(?P<lid>\d{1,7})\s{1,20}(?P<port>\d{1,5})\[[^\]]{0,20}\]\s{0,9}==\(\s{0,9}(?P<link>[^)]{0,80})\)==>\s+(?:(?P<peer_guid>0x[0-9a-f]+)\s+)?(?P<peer_lid>\d+)\s+(?P<peer_port>\d+)"
    r'\[.*?\]\s*"(?P<peer>[^"]*)"\s*\((?P<note>[^)]*)\)'
)
_SECTION = re.compile(r"^(?P<what>CA|Switch): (?:0x[0-9a-f]+ )?(?P<name>.+?):?\s*$")
_ERRORS = (
    "SymbolErrorCounter",
    "LinkErrorRecoveryCounter",
    "LinkDownedCounter",
    "PortRcvErrors",
    "PortRcvRemotePhysicalErrors",
    "PortXmitDiscards",
    "LocalLinkIntegrityErrors",
    "ExcessiveBufferOverrunErrors",
)
_COULD = re.compile(r"Could be (?P<what>[^,)]+)")


def node_name(description: str) -> tuple[str, str | None, bool]:
    """(name, device, whether it is a switch) of a node description: ``n1 mlx5_0``, ``MF0;leaf1:MQM9700/U1``."""
    switch = re.match(r"(?:\w+;)(?P<name>[^:;]+)", description)
    if switch:
        return switch["name"], None, True
    words = description.split()
    device = next((word for word in words[1:] if re.match(r"(?:mlx\d_\d+|HCA-\d+|ibp\w+|mlx5_\w+)$", word)), None)
    return (words[0] if words else description), device, False


def _sniff(head: Head) -> Verdict:
    if "Errors for " in head.text and re.search(r'^Errors for (?:0x[0-9a-f]+ )?"', head.text, re.MULTILINE):
        return Verdict(1.0, "ibqueryerrors")
    linked = any("==(" in line and ")==>" in line for line in head.lines)
    return Verdict(0.95, "iblinkinfo") if linked else Verdict(0.0, "")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation | CounterSample]:
    when = context.snapshot_time(file.path)
    node: tuple[str, str | None, bool] | None = None
    for line in lines(file):
        head, section = _NODE.match(line.text), _SECTION.match(line.text)
        port, link = _PORT.match(line.text), _LINK.search(line.text)
        if head:
            node = node_name(head["name"])
            node = (node[0], node[1], node[2] or bool(head["guid"]))
        elif section:
            name = node_name(section["name"])
            node = (name[0], name[1], section["what"] == "Switch")
        if port and node and port["port"] != "ALL":
            if not node[2] and node[1]:
                yield Observation(
                    "identity.port", quote(file, line), {"guid": port["guid"]}, host=node[0], device=node[1]
                )
            yield from _samples(file, line, node, port, when)
        if link and node:
            yield from _link(file, line, node, link, when)


def _samples(
    file: EvidenceFile, line: Line, node: tuple[str, str | None, bool], port: re.Match[str], when: Reading | None
) -> Iterator[CounterSample]:
    name, device, switch = node
    device = device or (None if switch else port["guid"])  # a description such as the model's name tells no device
    values = dict.fromkeys(_ERRORS, 0)
    values.update((match["name"], int(match["value"])) for match in _COUNTER.finditer(port["rest"]))
    for counter, value in values.items():
        yield CounterSample(
            source=quote(file, line),
            family="ibquery" if switch else "ibquery_host",
            counter=counter,
            value=value,
            host=name,
            device=None if switch else device,
            port=port["port"] if switch or not device else f"{device}:{port['port']}",
            group=file.group,
            when=when,
            adapter="ibqueryerrors",
        )


def _link(
    file: EvidenceFile, line: Line, node: tuple[str, str | None, bool], link: re.Match[str], when: Reading | None
) -> Iterator[Observation]:
    name, device, switch = node
    peer, peer_device, peer_switch = node_name(link["peer"])
    where = quote(file, line)
    if switch and peer_switch:
        fields: dict[str, Scalar] = {"peer_port": link["peer_port"], "origin": "seen"}
        yield Observation("switch.trunk", where, fields, host=name, port=link["port"], peer=peer, when=when)
    elif peer_switch or switch:
        host, nic = (name, device) if peer_switch else (peer, peer_device)
        leaf, leaf_port = (peer, link["peer_port"]) if peer_switch else (name, link["port"])
        fields = {"switch": leaf, "switch_port": leaf_port, "origin": "seen"}
        yield Observation("switch.attached", where, fields, host=host, device=nic, when=when)
        if nic and switch and link["peer_guid"]:
            names: dict[str, Scalar] = {"guid": link["peer_guid"], "lid": int(link["peer_lid"])}
            yield Observation("identity.port", where, names, host=host, device=nic, port=f"{nic}:{link['peer_port']}")
    could = _COULD.search(link["note"])
    if could:
        kind = "width" if re.search(r"\dX", could["what"]) else "speed"
        fields = {"problem": kind, "value": link["link"].strip(), "expected": could["what"].strip()}
        yield Observation("nic.link_degraded", where, fields, host=name, device=device, port=link["port"], when=when)


ADAPTER = Adapter(
    name="ibqueryerrors",
    branch="switch",
    emits=(
        "switch.counter_rise",
        "switch.counter_value",
        "nic.counter_rise",
        "nic.counter_value",
        "switch.attached",
        "switch.trunk",
        "nic.link_degraded",
        "identity.port",
    ),
    coverage="switch_counters",
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            'Errors for "n1 mlx5_0"\n   GUID 0x946dae03 port 1: [SymbolErrorCounter == 15] [PortXmitWait == 15]\n'
            "         Link info:     40    1[  ] ==( 4X       106.25 Gbps Active/  LinkUp)==>  "
            "0xb83fd203      2    7[  ] "
            '"MF0;leaf1:MQM9700/U1" ( )\n',
            (
                ("counter", {"family": "ibquery_host", "counter": "SymbolErrorCounter", "value": 15, "host": "n1"}),
                ("switch.attached", {"host": "n1", "device": "mlx5_0", "switch": "leaf1", "switch_port": "7"}),
                ("identity.port", {"host": "n1", "device": "mlx5_0", "guid": "0x946dae03"}),
            ),
        ),
        Sample(
            'Errors for 0xb83fd203 "MF0;leaf1:MQM9700/U1"\n   GUID 0xb83fd203 port 33: [LinkDownedCounter == 12]\n'
            "         Link info:      2   33[  ] ==( 2X       106.25 Gbps Active/  LinkUp)==>  "
            "0xb83fd299      9    1[  ] "
            '"MF0;spine1:MQM9700/U1" ( Could be 4X )\n',
            (
                ("counter", {"family": "ibquery", "counter": "LinkDownedCounter", "value": 12, "port": "33"}),
                ("switch.trunk", {"host": "leaf1", "port": "33", "peer": "spine1", "peer_port": "1"}),
                ("nic.link_degraded", {"problem": "width", "expected": "4X"}),
            ),
        ),
        Sample("## Summary: 2 nodes checked, 0 bad nodes found\n", ()),
    ),
)
