"""``ethtool -S``: counters of an interface as its driver names them, and ``-S --groups`` with names for all.

The family follows from the names: mlx5, bnxt_en, ice, ena or ionic. On mlx5 the mere presence of ``rx_prioN_pause``
says that PFC is on for priority N, and of ``rx_global_pause`` that global pause is (mlx5 ``en_stats.c``). Their absence
says that it is off only where nobody filtered the output: with its heading, or with ``rx_pause_ctrl_phy``, which is
always there. Counters of single rings carry the ring as their queue.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from engine.facts.model import CounterSample, Observation, Reading
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.nic import _ports
from facts_adapters.quoting import quote

_HEADER = re.compile(r"^(?:NIC statistics|Standard stats for (?P<netdev>[\w.@-]{1,32})):")
_ENTRY = re.compile(r"^\s*(?:\[(?P<ring>\d{1,4})\]: )?(?P<name>[A-Za-z][\w.\[\]-]*): (?P<value>\d{1,20})\s*$")
_COMMAND = re.compile(r"ethtool\s+-S\s+(?P<netdev>[\w.@-]+)|==>\s*(?:ethtool_\S*_)?(?P<file>[\w.-]+)\s*<==")
_OWN_KEY = re.compile(
    r"[rt]x_(?:discards|crc_errors|symbol_err|pcs_symbol_err|corrected_bits|pause_ctrl)_phy$|link_down_events_phy$"
    r"|[rt]x_prio[0-7]_(?:pause|discards|buf_discard|cong_discard)|tx_pause_storm_\w+$|outbound_pci_\w+$"
    r"|[rt]x_pfc_ena_frames_pri[0-7]$|pfc_pri[0-7]_[rt]x_duration_us$|\w+_allowance_exceeded$"
)
_PAUSE_KEY = re.compile(r"rx_prio([0-7])_pause$")
_KEYS = (
    ("ethtool_mlx5", re.compile(r"rx_vport_|_phy$|rx_prio\d_|outbound_pci|rx_steer_missed")),
    ("ethtool_bnxt", re.compile(r"pfc_ena_frames|continuous_pause_events|rx_ucast_packets\b|_cos\d$|rx_stat_discard")),
    ("ethtool_ice", re.compile(r"\.nic$")),
    ("ethtool_intel", re.compile(r"rx_no_dma_resources|rx_no_buffer_count|rx_csum_offload_errors")),
    ("ethtool_ena", re.compile(r"allowance_exceeded|ena_admin|wd_expired")),
    ("ethtool_ionic", re.compile(r"frames_[rt]x_\w+|[rt]x_pripause_\d_1us_count")),
    ("ethtool_standard", re.compile(r"eth-(?:mac|phy|ctrl)-[A-Z]")),
)


def _sniff(head: Head) -> Verdict:
    entries = sum(1 for line in head.lines[:200] if _ENTRY.match(line))
    if any(_HEADER.match(line.strip()) for line in head.lines[:200]) and entries:
        return Verdict(1.0, "NIC statistics of ethtool -S")
    if "ethtool" in head.path and entries > 3:
        return Verdict(0.8, "counters in a file named after ethtool")
    named = sum(1 for line in head.lines[:400] if (match := _ENTRY.match(line)) and _OWN_KEY.match(match["name"]))
    return Verdict(0.7, f"{named} counters that only ethtool -S prints") if named else Verdict(0.0, "")


@dataclass
class _Block:
    """The counters of one run of the command."""

    netdev: str | None
    when: Reading | None
    whole: bool = False
    """It has its heading, so nobody filtered the output."""
    entries: list[tuple[Line, re.Match[str]]] = field(default_factory=list)


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation | CounterSample]:
    unnamed = False
    for block in _blocks(file, context):
        if block.netdev is None and block.when is None and unnamed:
            context.warn(file.path, block.entries[0][0].number, "whose counters these are is not told; left out")
            continue
        unnamed = unnamed or block.netdev is None
        yield from _statistics(file, block)


def _blocks(file: EvidenceFile, context: Context) -> Iterator[_Block]:
    block = _Block(_ports.netdev_of_path(file.path), _ports.snapshot(file, context))
    for line in _ports.lines(file):
        entry = _ENTRY.match(line.text)
        if entry:
            block.entries.append((line, entry))
            continue
        command, header = _COMMAND.search(line.text), _HEADER.match(line.text.strip())
        title = _ports.heading(line.text)
        stamp = None if command or title else context.reading(line.text)
        if block.entries and (command or stamp or header or title):
            yield block
            block = _Block(block.netdev, block.when)
        if header:
            block.netdev, block.whole = header["netdev"] or block.netdev, True
        if command or title:
            block.netdev = title or (command["netdev"] or command["file"] if command else None)
        block.when = stamp or block.when
    if block.entries:
        yield block


def _statistics(file: EvidenceFile, block: _Block) -> Iterator[Observation | CounterSample]:
    names = [entry["name"] for _, entry in block.entries]
    family = _family(names)
    if not family:
        return
    for line, entry in block.entries:
        yield CounterSample(
            source=quote(file, line),
            family=family,
            counter=entry["name"],
            value=int(entry["value"]),
            host=file.host,
            device=block.netdev,
            queue=int(entry["ring"]) if entry["ring"] else None,
            group=file.group,
            when=block.when,
            adapter="ethtool_statistics",
        )
    if family == "ethtool_mlx5":
        named = [(line, entry["name"]) for line, entry in block.entries]
        yield from _settings(file, block.netdev, named, block.whole or "rx_pause_ctrl_phy" in names)


def _family(names: list[str]) -> str | None:
    counts = {family: sum(1 for name in names if pattern.search(name)) for family, pattern in _KEYS}
    best = max(counts, key=lambda family: counts[family], default=None)
    return best if best and counts[best] else None


def _settings(
    file: EvidenceFile, netdev: str | None, entries: list[tuple[Line, str]], whole: bool
) -> Iterator[Observation]:
    """PFC and global pause from the presence of their counters; nothing where the port shows no priorities (a VF)."""
    if not any(name.startswith("rx_prio0_") for _, name in entries):
        return
    marks = [(line, int(match[1])) for line, name in entries if (match := _PAUSE_KEY.match(name))]
    if not marks and not whole:
        return
    line = marks[0][0] if marks else entries[0][0]
    enabled = ",".join(str(priority) for _, priority in marks) or "none"
    yield _ports.observe(
        "nic.pfc_config",
        quote(file, line),
        {"enabled": enabled, "priority": marks[0][1] if len(marks) == 1 else None, "netdev": netdev},
        host=file.host,
        device=netdev,
    )
    for line, name in entries:
        if name == "rx_global_pause":
            yield _ports.observe(
                "nic.global_pause",
                quote(file, line),
                {"rx": True, "tx": True, "netdev": netdev},
                host=file.host,
                device=netdev,
            )


ADAPTER = Adapter(
    name="ethtool_statistics",
    branch="nic",
    emits=("nic.counter_rise", "nic.counter_activity", "nic.counter_value", "nic.pfc_config", "nic.global_pause"),
    coverage="nic_counters",
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            "NIC statistics:\n     rx_vport_rdma_unicast_packets: 9\n     rx_prio0_bytes: 0\n     rx_prio3_pause: 17\n"
            "     link_down_events_phy: 1\n",
            (
                (
                    "counter",
                    {"family": "ethtool_mlx5", "counter": "link_down_events_phy", "value": 1, "device": "eth2"},
                ),
                ("nic.pfc_config", {"enabled": "3", "priority": 3, "netdev": "eth2"}),
            ),
            "n1/ethtool_S_eth2.txt",
        ),
        Sample(
            "$ ethtool -S eth2 | grep -E 'discards|crc'\n     rx_discards_phy: 213441\n     rx_crc_errors_phy: 0\n",
            (("counter", {"family": "ethtool_mlx5", "counter": "rx_discards_phy", "value": 213441, "device": "eth2"}),),
        ),
        Sample(
            "NIC statistics:\n     rx_prio0_bytes: 7\n     rx_prio0_discards: 0\n     rx_pause_ctrl_phy: 0\n",
            (("nic.pfc_config", {"enabled": "none", "netdev": "eth2"}),),
            "n1/ethtool_-S_eth2",
        ),
        Sample(
            "Standard stats for eth4:\neth-mac-FrameCheckSequenceErrors: 9\neth-phy-SymbolErrorDuringCarrier: 2\n"
            "rx-rmon-etherStatsPkts64to64Octets: 4\n",
            (
                (
                    "counter",
                    {"family": "ethtool_standard", "counter": "eth-mac-FrameCheckSequenceErrors", "device": "eth4"},
                ),
            ),
        ),
        Sample(
            "NIC statistics:\n     frames_rx_bad_fcs: 7\n     rx_pripause_3_1us_count: 88\n",
            (("counter", {"family": "ethtool_ionic", "counter": "rx_pripause_3_1us_count", "value": 88}),),
        ),
        Sample(
            "NIC statistics:\n     [0]: rx_discards: 3\n     [1]: rx_discards: 9\n     rx_stat_discard: 12\n",
            (
                ("counter", {"family": "ethtool_bnxt", "counter": "rx_discards", "value": 9, "queue": 1}),
                ("counter", {"counter": "rx_stat_discard", "value": 12}),
            ),
        ),
        Sample(
            "=== eth2 ===\nNIC statistics:\n     rx_discards_phy: 3\n"
            "=== eth3 ===\nNIC statistics:\n     rx_discards_phy: 9\n",
            (
                ("counter", {"counter": "rx_discards_phy", "value": 3, "device": "eth2"}),
                ("counter", {"counter": "rx_discards_phy", "value": 9, "device": "eth3"}),
            ),
        ),
        Sample("NIC statistics:\n     rx_packets: 12\n", (), "n1/ethtool_S_dummy0.txt"),
    ),
)
