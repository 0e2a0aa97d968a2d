"""``ethtool --json``: link, pause, FEC, rings and the statistics that are named alike for all drivers.

An array with an object for each interface: of ``ethtool`` (6.10 and later) ``speed`` in Mb/s and ``link-detected``; of
``-a`` ``rx``, ``tx``; of ``--show-fec`` ``active``; of ``-g`` ``rx``, ``rx-max``; of ``-S --groups`` an object for each
group. Sources: ethtool ``netlink/settings.c``, ``pause.c``, ``fec.c``, ``rings.c``, ``stats.c``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engine.facts.model import CounterSample, Observation, Reading
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.nic import _ports
from facts_adapters.nic.ethtool_parameters import fec_mode, statistic
from facts_adapters.quoting import quote

_MARK = re.compile(
    r'"ifname"\s*:\s*"[\w.@-]{1,32}".{0,4000}?"(?:link-detected|autonegotiate|rx-max|combined-max|rx-checksumming|active'
    r'|rx-usecs|eth-(?:phy|mac|ctrl)|rmon)"\s*:',
    re.DOTALL,
)
_GROUPS = ("eth-phy", "eth-mac", "eth-ctrl")
_LONGEST = 4 << 20


def _sniff(head: Head) -> Verdict:
    if head.text.lstrip()[:1] == "[" and '"ifname"' in head.text[:4096] and _MARK.search(head.text[:16384]):
        return Verdict(0.95, "JSON of ethtool")
    return Verdict(0.0, "")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation | CounterSample]:
    when = _ports.snapshot(file, context)
    with file.open() as stream:
        text = stream.read(_LONGEST).decode("utf-8", "replace")
    for row in _ports.json_rows(text, lambda number, reason: context.warn(file.path, number, reason)):
        when = (row.stamp(context) if row.begins else None) or when
        netdev = row.entry.get("ifname")
        if isinstance(netdev, str) and re.fullmatch(r"[\w.@-]{1,32}", netdev):
            line = Line(row.line, json.dumps(row.entry)[:300])
            for kind, fields in _settings(netdev, row.entry):
                yield _ports.observe(kind, quote(file, line), fields, host=file.host, device=netdev, when=when)
            yield from _counters(file, netdev, row.entry, line, when)


def _settings(netdev: str, entry: Mapping[str, Any]) -> Iterator[tuple[str, _ports.Fields]]:
    speed, active, rx = entry.get("speed"), entry.get("active"), entry.get("rx")
    if isinstance(speed, int) and 0 < speed < 10_000_000:
        yield "nic.rate", {"netdev": netdev, "rate_gbps": round(speed / 1000)}
    if entry.get("link-detected") is False:
        fields: _ports.Fields = {"netdev": netdev, "carrier": False, "role": _ports.role_of(netdev)}
        yield "nic.interface_down", fields
    if isinstance(active, list) and active and all(isinstance(mode, str) for mode in active):
        yield "nic.fec", {"netdev": netdev, "mode": fec_mode(active)[:80]}
    if "autonegotiate" in entry and isinstance(rx, bool) and isinstance(entry.get("tx"), bool):
        yield "nic.global_pause", {"rx": rx, "tx": entry["tx"], "netdev": netdev}
    if isinstance(entry.get("rx-max"), int) and isinstance(rx, int) and not isinstance(rx, bool):
        yield "nic.ring", {"netdev": netdev, "rx": rx, "rx_max": entry["rx-max"]}


def _counters(
    file: EvidenceFile, netdev: str, entry: Mapping[str, Any], line: Line, when: Reading | None
) -> Iterator[CounterSample]:
    named: dict[str, Any] = {}
    for group in _GROUPS:
        named |= {f"{group}-{name}": value for name, value in _object(entry.get(group)).items()}
    for name, value in _object(entry.get("statistics")).items():
        named[name] = value.get("total") if isinstance(value, dict) else value
    for name, value in named.items():
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            yield statistic(file, netdev, name, value, line, when, "ethtool_json")


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


ADAPTER = Adapter(
    name="ethtool_json",
    branch="nic",
    emits=(
        "nic.rate",
        "nic.interface_down",
        "nic.fec",
        "nic.global_pause",
        "nic.ring",
        "nic.counter_rise",
        "nic.counter_activity",
        "nic.counter_value",
    ),
    coverage=None,
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            '[ {"ifname": "eth2","speed": 200000,"duplex": "Full","auto-negotiation": true,"link-detected": true},\n'
            '{"ifname": "eth3","auto-negotiation": false,"link-detected": false} ]',
            (
                ("nic.rate", {"netdev": "eth2", "rate_gbps": 200, "device": "eth2"}),
                ("nic.interface_down", {"netdev": "eth3", "carrier": False, "role": "data"}),
            ),
        ),
        Sample(
            '[ { "ifname": "eth2", "config": [ "Auto" ], "active": [ "RS" ],\n'
            '"statistics": { "corrected_blocks": { "total": 256, "lanes": [250, 6] } } } ]',
            (
                ("nic.fec", {"mode": "rs", "netdev": "eth2"}),
                ("counter", {"family": "ethtool_standard", "counter": "corrected_blocks", "value": 256}),
            ),
        ),
        Sample(
            '[ {"ifname":"eth2","autonegotiate":false,"rx":true,"tx":false,"statistics":{"tx_pause_frames":14}} ]',
            (
                ("nic.global_pause", {"rx": True, "tx": False, "netdev": "eth2"}),
                ("counter", {"counter": "tx_pause_frames", "value": 14, "device": "eth2"}),
            ),
        ),
        Sample('[ {"ifname":"eth2","rx-max":8192,"tx-max":8192,"rx":512,"tx":512} ]', (("nic.ring", {"rx": 512}),)),
        Sample(
            '[ {"ifname":"eth2","eth-phy":{"SymbolErrorDuringCarrier":4},"eth-mac":{"FrameCheckSequenceErrors":2}} ]',
            (
                ("counter", {"counter": "eth-phy-SymbolErrorDuringCarrier", "value": 4}),
                ("counter", {"counter": "eth-mac-FrameCheckSequenceErrors", "value": 2}),
            ),
        ),
        Sample('[ {"ifname":"eth2","rx-checksumming":{"active":true,"fixed":false,"requested":true}} ]'),
        Sample('[{"ifname":"eth2","operstate":"UP","active":"yes"}]'),
    ),
)
