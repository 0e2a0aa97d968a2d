"""``mlnx_qos``, ``dcb pfc show``, ``dcb app show``, ECN files of an interface: PFC, trust and DSCP at the host.

``dcb`` prints code points by name unless told otherwise (iproute2 ``dcb_app.c``, ``rt_dsfield``): ``CS3``, ``AF31``.

Of the 64 code points only those that carry RDMA in practice (class selectors, AF, EF) and those that deviate from
``dscp / 8`` become facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from engine.facts.model import Observation, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.nic import _ports
from facts_adapters.quoting import quote

_TRUST = re.compile(r"Priority trust state:\s*(?P<trust>dscp|pcp)")
_MAP = re.compile(r"prio:(?P<priority>[0-7]) dscp:(?P<codes>[\d,.]+)")
_PFC = re.compile(r"enabled((?:\s+[01]){8})\s*$")
_DCB = re.compile(r"prio-pfc((?:\s+[0-7]:(?:on|off))+)")
_APP = re.compile(
    r"^[ \t]{0,8}dscp-prio(?P<map>(?:[ \t]{1,8}(?:\d{1,2}|CS[0-7]|AF[1-4][1-3]|EF|VA|LE):[0-7]){1,64})[ \t]*$"
)
_NAMED = re.compile(r"mlnx_qos\s.{0,100}?-i\s+(?P<netdev>[\w.@-]+)|dcb\s+(?:pfc|app)\s+show\s+dev\s+(?P<dcb>[\w.@-]+)")
_ECN = re.compile(
    r"/sys/class/net/(?P<netdev>[\w.@-]+)/ecn/roce_(?P<side>np|rp)/enable/(?P<priority>[0-7])[:= ]\s*(?P<on>[01])\s*$"
)
_COMMON = {0, *range(8, 57, 8), 10, 12, 14, 18, 20, 22, 25, 26, 27, 28, 30, 34, 36, 38, 46}


@dataclass
class _Settings:
    """What one run of the tool says of one interface."""

    netdev: str | None
    host: str | None = None
    trust: tuple[Line, str] | None = None
    enabled: tuple[Line, list[int]] | None = None
    codes: dict[int, tuple[Line, int]] = field(default_factory=dict)


def _sniff(head: Head) -> Verdict:
    for pattern, why in (
        (_TRUST, "mlnx_qos"),
        (_DCB, "dcb pfc"),
        (_APP, "dcb app"),
        (_ECN, "ECN of an interface"),
    ):
        if re.search(pattern.pattern, head.text, re.MULTILINE):
            return Verdict(0.95, why)
    return _ports.found(head, re.compile(r"^PFC configuration:", re.MULTILINE), "mlnx_qos")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation]:
    del context
    host = file.host
    settings = _Settings(_ports.netdev_of_path(file.path), host)
    for line in _ports.lines(file):
        host = host or _ports.prompt_host(line.text)
        named, ecn = _NAMED.search(line.text), _ECN.search(line.text)
        trust, pfc, dcb = _TRUST.search(line.text), _PFC.search(line.text), _DCB.search(line.text)
        asked = (named["netdev"] or named["dcb"]) if named else None
        if (named and asked != settings.netdev) or (trust and settings.trust):
            yield from _facts(file, settings)
            settings = _Settings(asked, host)
        if trust:
            settings.trust = (line, trust["trust"])
        for entry in _MAP.finditer(line.text):
            for code in _codes(entry["codes"]):
                settings.codes[code] = (line, int(entry["priority"]))
        app = _APP.match(line.text)
        for word in app["map"].split() if app else ():
            name, _, priority = word.partition(":")
            settings.codes[_code_point(name)] = (line, int(priority))
        if pfc and settings.enabled is None:
            settings.enabled = (line, [i for i, flag in enumerate(pfc[1].split()) if flag == "1"])
        elif dcb:
            settings.enabled = (line, [int(item[0]) for item in dcb[1].split() if item.endswith(":on")])
        if ecn:
            yield _ecn(file, line, ecn)
    yield from _facts(file, settings)


def _codes(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part.isdecimal() and int(part) < 64]


def _code_point(text: str) -> int:
    """The number of a code point that may stand there by name (RFC 2474, 2597, 3246, 5865, 8622)."""
    if text.isdecimal():
        return int(text)
    if text.startswith("CS"):
        return 8 * int(text[2])
    return 8 * int(text[2]) + 2 * int(text[3]) if text.startswith("AF") else {"EF": 46, "VA": 44, "LE": 1}[text]


def _ecn(file: EvidenceFile, line: Line, match: re.Match[str]) -> Observation:
    fields: _ports.Fields = {
        "priority": int(match["priority"]),
        "enabled": match["on"] == "1",
        "side": match["side"],
        "netdev": match["netdev"],
    }
    return _ports.observe("nic.ecn_config", quote(file, line), fields, host=file.host, device=match["netdev"])


def _facts(file: EvidenceFile, settings: _Settings) -> Iterator[Observation]:
    netdev = settings.netdev

    def fact(kind: str, where: Source, fields: _ports.Fields) -> Observation:
        return _ports.observe(kind, where, {**fields, "netdev": netdev}, host=settings.host, device=netdev)

    if settings.trust:
        line, trust = settings.trust
        yield fact("nic.qos_trust", quote(file, line), {"trust": trust})
    if not settings.enabled:
        return
    line, enabled = settings.enabled
    text = ",".join(map(str, enabled)) or "none"
    single = enabled[0] if len(enabled) == 1 else None
    yield fact("nic.pfc_config", quote(file, line), {"enabled": text, "priority": single})
    if settings.trust and settings.trust[1] != "dscp":
        return
    for code, (place, priority) in sorted(settings.codes.items()):
        if code in _COMMON or priority != code // 8:
            fields: _ports.Fields = {"dscp": code, "priority": priority, "protected": priority in enabled}
            yield fact("nic.dscp_priority", quote(file, place), fields)


ADAPTER = Adapter(
    name="mlnx_qos",
    branch="nic",
    emits=("nic.pfc_config", "nic.qos_trust", "nic.dscp_priority", "nic.ecn_config"),
    coverage=None,
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            "DCBX mode: OS controlled\nPriority trust state: dscp\ndscp2prio mapping:\n\tprio:3 dscp:26,\n"
            "PFC configuration:\n\tpriority    0   1   2   3   4   5   6   7\n"
            "\tenabled     0   0   0   1   0   0   0   0   \n",
            (
                ("nic.qos_trust", {"trust": "dscp", "netdev": "eth2"}),
                ("nic.pfc_config", {"enabled": "3", "priority": 3, "netdev": "eth2"}),
                ("nic.dscp_priority", {"dscp": 26, "priority": 3, "protected": True}),
            ),
            "n1/mlnx_qos_eth2.txt",
        ),
        Sample(
            "$ dcb pfc show dev eth4\npfc-cap 8 macsec-bypass off delay 0\nprio-pfc 0:off 1:off 2:off 3:off 4:off\n",
            (("nic.pfc_config", {"enabled": "none", "netdev": "eth4"}),),
        ),
        Sample(
            "$ dcb pfc show dev eth2\nprio-pfc 0:off 1:off 2:off 3:on 4:off\n$ dcb app show dev eth2\n"
            "dscp-prio 0:0 AF31:3 CS6:6 30:5\n",
            (
                ("nic.pfc_config", {"enabled": "3", "netdev": "eth2"}),
                ("nic.dscp_priority", {"dscp": 26, "priority": 3, "protected": True}),
                ("nic.dscp_priority", {"dscp": 30, "priority": 5, "protected": False, "netdev": "eth2"}),
            ),
        ),
        Sample("dscp-prio AF31:3 CS6:6\n"),
        Sample(
            "/sys/class/net/eth2/ecn/roce_np/enable/3:1\n",
            (("nic.ecn_config", {"priority": 3, "enabled": True, "side": "np", "netdev": "eth2"}),),
        ),
        Sample("priority queue enabled 1\n", ()),
    ),
)
