"""Addresses and states of IP interfaces: ``ip addr``, ``ip -br addr``, ``ip -j addr``, ``ifconfig`` (net-tools 2).

A container that shows only the loopback interface has no network.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Iterator

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.host._statement import state

_LINK = re.compile(r"\d+: (?P<interface>[^:@\s]{1,32})(?:@\S{1,32})?: <(?P<flags>[^>]*)>(?:.* mtu (?P<mtu>\d{1,18}))?")
_ADDRESS = re.compile(r"\s+inet6? (?P<address>[0-9a-fA-F.:]+)(?:/\d+)?")
_BRIEF = re.compile(r"(?P<interface>[\w.:@-]{1,48}) +(?P<state>UP|DOWN|UNKNOWN|LOWERLAYERDOWN|DORMANT)\b(?P<rest>.*)")
_IFCONFIG = re.compile(r"(?P<interface>[\w.-]{1,32}): flags=\d+<(?P<flags>[^>]*)>(?:.* mtu (?P<mtu>\d{1,18}))?")
_SHARE = 3


def sniff(head: Head) -> Verdict:
    """The first lines of each tool."""
    addressed = "inet" in head.text and _ADDRESS.search(head.text)
    if addressed and re.search(r"^\d+: [^:\s]+: <[A-Z_,]+>", head.text, re.M):
        return Verdict(0.9, "ip addr")
    if sum(bool(_BRIEF.match(line)) for line in head.lines[:40]) and re.search(r"\d+/\d+", head.text):
        return Verdict(0.8, "ip -br addr")
    if head.text.lstrip().startswith("[") and '"addr_info"' in head.text:
        return Verdict(0.95, "ip -j addr")
    shown = "flags=" in head.text and any(_IFCONFIG.match(line) for line in head.lines)
    return Verdict(0.9, "ifconfig") if shown else Verdict(0.0, "no interfaces")


def read(file: EvidenceFile, context: Context) -> Iterator[Observation]:
    """``host.interface_address``, ``host.interface_state`` and ``host.no_network`` where there is only loopback."""
    lines = list(file.lines())
    text = "\n".join(line.text for line in lines)
    if text.lstrip().startswith("["):
        found = _json(file, lines, text, context)
    else:
        found = [item for line in lines for item in _line(file, line)]
    names = _Names()
    for item in found:
        if item.kind == "interface":
            names.current = str(item.fields["interface"])
            names.seen.append(names.current)
            item.kind = "host.interface_state"
        else:
            item.fields.setdefault("interface", names.current)
        if item.fields.get("interface"):
            yield item
    if lines and names.seen and set(names.seen) <= {"lo"}:
        yield state(file, lines[0], "host.no_network", {"text": "only the loopback interface exists"})


class _Names:
    """The interface that following address lines belong to, and all seen so far."""

    def __init__(self) -> None:
        self.current = ""
        self.seen: list[str] = []


def _line(file: EvidenceFile, line: Line) -> Iterator[Observation]:
    link = _LINK.match(line.text) or _IFCONFIG.match(line.text)
    brief = _BRIEF.match(line.text)
    if link:
        flags = link["flags"].split(",")
        fields: dict[str, Scalar] = {"interface": link["interface"], "up": "UP" in flags}
        if link["mtu"]:
            fields["mtu"] = int(link["mtu"])
        yield state(file, line, "interface", fields)
    elif brief:
        name = brief["interface"].partition("@")[0]
        yield state(file, line, "interface", {"interface": name, "up": brief["state"] in ("UP", "UNKNOWN")})
        for word in brief["rest"].split():
            yield from _address(file, line, word.partition("/")[0])
    else:
        found = _ADDRESS.match(line.text)
        if found:
            yield from _address(file, line, found["address"])


def _address(file: EvidenceFile, line: Line, text: str) -> Iterator[Observation]:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return
    scope = "host" if address.is_loopback else "link" if address.is_link_local else "global"
    fields: dict[str, Scalar] = {"address": str(address), "family": f"ipv{address.version}", "scope": scope}
    yield state(file, line, "host.interface_address", fields)


def _json(file: EvidenceFile, lines: list[Line], text: str, context: Context) -> list[Observation]:
    try:
        entries = json.loads(text)
    except ValueError:
        context.warn(file.path, 1, "this JSON cannot be read")
        return []
    found: list[Observation] = []
    for entry in entries if isinstance(entries, list) else []:
        if not isinstance(entry, dict) or not isinstance(entry.get("ifname"), str):
            continue
        line = next((item for item in lines if f'"{entry["ifname"]}"' in item.text), lines[0])
        flags = entry.get("flags") or []
        fields: dict[str, Scalar] = {"interface": entry["ifname"], "up": "UP" in flags}
        if isinstance(entry.get("mtu"), int):
            fields["mtu"] = entry["mtu"]
        found.append(state(file, line, "interface", fields))
        for info in entry.get("addr_info") or []:
            if isinstance(info, dict) and isinstance(info.get("local"), str):
                found.extend(_address(file, line, info["local"]))
    return found


_IP = """\
1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000
    inet 127.0.0.1/8 scope host lo
3: eth0@if41: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP group default
    inet 10.42.6.118/24 scope global eth0
    inet6 fe80::5c8d:e2ff:fe17:90b4/64 scope link
"""
_SHORT = """\
lo               UNKNOWN        127.0.0.1/8 ::1/128
eth0             UP             10.61.24.107/20 fe80::5c8d:e2ff:fe17:90b4/64
docker0          DOWN           172.17.0.1/16
"""
_LOOPBACK = """\
1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue qlen 1
    inet 127.0.0.1/8 scope host lo
    inet6 ::1/128 scope host
"""
_JSON = '[{"ifname":"eth0","flags":["UP","LOWER_UP"],"mtu":9000,"addr_info":[{"family":"inet","local":"10.0.0.3"}]}]\n'

ADAPTER = Adapter(
    name="ip_addr",
    branch="host",
    emits=("host.interface_address", "host.interface_state", "host.no_network"),
    coverage=None,
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            _IP,
            (
                ("host.interface_state", {"interface": "eth0", "up": True, "mtu": 1500}),
                ("host.interface_address", {"interface": "eth0", "address": "10.42.6.118", "family": "ipv4"}),
            ),
        ),
        Sample(
            _SHORT,
            (
                ("host.interface_address", {"interface": "eth0", "address": "10.61.24.107", "scope": "global"}),
                ("host.interface_state", {"interface": "docker0", "up": False}),
            ),
        ),
        Sample(_LOOPBACK, (("host.no_network", {}),)),
        Sample(_JSON, (("host.interface_address", {"interface": "eth0", "address": "10.0.0.3"}),)),
        Sample("eth0 UP\n"),
    ),
)
