"""``/proc/net/bonding/*``: members of a bond, their state, failures and LACP partner (Linux ``bond_procfs.c``)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from engine.facts.model import CounterSample, Observation
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.nic import _ports
from facts_adapters.quoting import quote

_HEADER = re.compile(r"^Ethernet Channel Bonding Driver:", re.MULTILINE)
_MEMBER = re.compile(r"^Slave Interface: (?P<netdev>\S+)")
_PAIR = re.compile(r"^\s*(?P<name>[A-Za-z][\w ]+?): (?P<value>.*?)\s*$")
_PARTNER = re.compile(r"^\s+system mac address: (?P<mac>[0-9a-f:]{17})|Partner Mac Address: (?P<old>[0-9a-f:]{17})")


def _sniff(head: Head) -> Verdict:
    return _ports.found(head, _HEADER, "bonding state", 1.0)


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation | CounterSample]:
    name = file.path.rpartition("/")[2].removesuffix(".txt")
    bond = name if re.fullmatch(r"bond[\w.-]*", name) else None
    when = _ports.snapshot(file, context)
    lines = list(_ports.lines(file))
    for line in lines:
        if _MEMBER.match(line.text):
            break
        if line.text.strip() == "MII Status: down":
            yield _ports.observe(
                "nic.bond_event", quote(file, line), {"event": "no_active"}, host=file.host, device=bond
            )
    for line in lines:
        partner = _PARTNER.search(line.text)
        if partner and set(partner["mac"] or partner["old"] or "1") <= {"0", ":"} and "Partner" in line.text:
            yield _ports.observe(
                "nic.bond_event", quote(file, line), {"event": "lacp_partner_lost"}, host=file.host, device=bond
            )
    for begin, block in _ports.blocks(lines, _MEMBER):
        pairs = {m["name"]: (line, m["value"]) for line in block if (m := _PAIR.match(line.text))}
        yield from _member(file, bond, begin["netdev"], pairs)
        member: _ports.Fields = {"netdev": begin["netdev"], "bond": bond}
        yield from _ports.names(quote(file, block[0]), member, host=file.host)
        if "Link Failure Count" in pairs and pairs["Link Failure Count"][1].isdecimal():
            line, value = pairs["Link Failure Count"]
            yield CounterSample(
                source=quote(file, line),
                family="bonding",
                counter="link_failure_count",
                value=int(value),
                host=file.host,
                device=begin["netdev"],
                group=file.group,
                when=when,
                adapter="bonding",
            )


def _member(
    file: EvidenceFile, bond: str | None, netdev: str, pairs: dict[str, tuple[Line, str]]
) -> Iterator[Observation]:
    status = pairs.get("MII Status")
    if status and status[1] == "down":
        fields: _ports.Fields = {"event": "slave_down", "slave": netdev}
        yield _ports.observe("nic.bond_event", quote(file, status[0]), fields, host=file.host, device=bond)


ADAPTER = Adapter(
    name="bonding",
    branch="nic",
    emits=("nic.bond_event", "nic.counter_rise", "nic.counter_value", "identity.port"),
    coverage="nic_counters",
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            "Ethernet Channel Bonding Driver: v5.15.0\n\nBonding Mode: IEEE 802.3ad\nMII Status: up\n\n"
            "Slave Interface: eth2\nMII Status: down\nSpeed: Unknown\nLink Failure Count: 3\n",
            (
                ("nic.bond_event", {"event": "slave_down", "slave": "eth2", "device": "bond0"}),
                ("identity.port", {"netdev": "eth2", "bond": "bond0"}),
                ("counter", {"family": "bonding", "counter": "link_failure_count", "value": 3, "device": "eth2"}),
            ),
            "n1/proc/net/bonding/bond0",
        ),
        Sample(
            "Ethernet Channel Bonding Driver: v6.1.0\n\nBonding Mode: IEEE 802.3ad Dynamic link aggregation\n"
            "MII Status: down\n\nActive Aggregator Info:\n\tNumber of ports: 1\n"
            "\tPartner Mac Address: 00:00:00:00:00:00\n\nSlave Interface: eth2\nMII Status: going down\n",
            (
                ("nic.bond_event", {"event": "no_active", "device": "bond1"}),
                ("nic.bond_event", {"event": "lacp_partner_lost"}),
            ),
            "n1/bond1.txt",
        ),
        Sample("Bonding with the driver: v5\n", ()),
    ),
)
