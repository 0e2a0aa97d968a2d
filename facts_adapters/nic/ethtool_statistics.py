"""``ethtool -S``: counters of a network interface as its driver names them.

The family follows from the names: mlx5, bnxt_en, ice or ena. On mlx5 the mere presence of ``rx_prioN_pause`` says that
PFC is on for priority N, and of ``rx_global_pause`` that global pause is (mlx5 ``en_stats.c``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from engine.facts.model import CounterSample, Observation, Reading
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.nic import _ports
from facts_adapters.quoting import quote

_HEADER = re.compile(r"^NIC statistics:")
_ENTRY = re.compile(r"^\s*(?:\[\d+\]: )?(?P<name>[A-Za-z][\w.\[\]-]*): (?P<value>\d+)\s*$")
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
    ("ethtool_ena", re.compile(r"allowance_exceeded|ena_admin|wd_expired")),
)


def _sniff(head: Head) -> Verdict:
    entries = sum(1 for line in head.lines[:200] if _ENTRY.match(line))
    if any(_HEADER.match(line.strip()) for line in head.lines[:200]) and entries:
        return Verdict(1.0, "NIC statistics of ethtool -S")
    if "ethtool" in head.path and entries > 3:
        return Verdict(0.8, "counters in a file named after ethtool")
    named = sum(1 for line in head.lines[:400] if (match := _ENTRY.match(line)) and _OWN_KEY.match(match["name"]))
    return Verdict(0.7, f"{named} counters that only ethtool -S prints") if named else Verdict(0.0, "")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation | CounterSample]:
    when = _ports.snapshot(file, context)
    netdev = _ports.netdev_of_path(file.path)
    entries: list[tuple[Line, str, int]] = []
    for line in _ports.lines(file):
        entry = _ENTRY.match(line.text)
        if entry:
            entries.append((line, entry["name"], int(entry["value"])))
            continue
        command = _COMMAND.search(line.text)
        stamp = None if command else context.reading(line.text)
        if command or stamp or (_HEADER.match(line.text.strip()) and entries):
            yield from _statistics(file, netdev, entries, when)
            entries = []
        if command:
            netdev = command["netdev"] or command["file"]
        when = stamp or when
    yield from _statistics(file, netdev, entries, when)


def _statistics(
    file: EvidenceFile, netdev: str | None, entries: list[tuple[Line, str, int]], when: Reading | None
) -> Iterator[Observation | CounterSample]:
    names = [name for _, name, _ in entries]
    family = _family(names)
    if not family:
        return
    for line, name, value in entries:
        yield CounterSample(
            source=quote(file, line),
            family=family,
            counter=name,
            value=value,
            host=file.host,
            device=netdev,
            group=file.group,
            when=when,
            adapter="ethtool_statistics",
        )
    if family == "ethtool_mlx5":
        yield from _settings(file, netdev, entries)


def _family(names: list[str]) -> str | None:
    counts = {family: sum(1 for name in names if pattern.search(name)) for family, pattern in _KEYS}
    best = max(counts, key=lambda family: counts[family], default=None)
    return best if best and counts[best] else None


def _settings(file: EvidenceFile, netdev: str | None, entries: list[tuple[Line, str, int]]) -> Iterator[Observation]:
    """PFC and global pause from the presence of their counters; nothing where the port shows no priorities (a VF)."""
    if not any(name.startswith("rx_prio0_") for _, name, _ in entries):
        return
    marks = [(line, int(match[1])) for line, name, _ in entries if (match := _PAUSE_KEY.match(name))]
    line = marks[0][0] if marks else entries[0][0]
    enabled = ",".join(str(priority) for _, priority in marks) or "none"
    yield _ports.observe(
        "nic.pfc_config",
        quote(file, line),
        {"enabled": enabled, "priority": marks[0][1] if len(marks) == 1 else None, "netdev": netdev},
        host=file.host,
        device=netdev,
    )
    for line, name, _ in entries:
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
        Sample("NIC statistics:\n     rx_packets: 12\n", (), "n1/ethtool_S_dummy0.txt"),
    ),
)
