"""``ip [-s] [-d] -j link`` and its text form: MTU, carrier and error counters of network interfaces."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from engine.facts.model import CounterSample, Observation, Reading, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.nic import _ports
from facts_adapters.quoting import quote

_JSON = re.compile(r'"ifname"\s*:\s*"[^"]+"\s*,\s*(?:"link[^}]{0,80}?,\s*)?"flags"\s*:')
_TEXT = re.compile(r"^(?:\d+: )(?P<netdev>[A-Za-z][\w.@-]*?)(?:@[\w.-]+)?: <(?P<flags>[A-Z_,-]*)>.* mtu (?P<mtu>\d+)")
_DIRECTION = re.compile(r"^\s+(?P<side>RX|TX)(?: errors)?:\s+(?P<names>[a-z].*)$")
_SHORT = {
    "bytes": "bytes",
    "packets": "packets",
    "errors": "errors",
    "dropped": "dropped",
    "overrun": "over_errors",
    "missed": "missed_errors",
    "carrier": "carrier_errors",
    "crc": "crc_errors",
    "frame": "frame_errors",
    "fifo": "fifo_errors",
    "length": "length_errors",
    "transns": "carrier_changes",
}
_LONGEST = 8 << 20


def _sniff(head: Head) -> Verdict:
    if _JSON.search(head.text):
        return Verdict(0.95, "JSON of ip link")
    return _ports.found(head, re.compile(_TEXT.pattern, re.MULTILINE), "ip link")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation | CounterSample]:
    when = _ports.snapshot(file, context)
    lines = list(_ports.lines(file))
    if any(_TEXT.match(line.text) for line in lines[:500]):
        for begin, block in _ports.blocks(lines, _TEXT):
            yield from _text(file, begin, block, when)
        return
    with file.open() as stream:
        raw = stream.read(_LONGEST).decode("utf-8", "replace")
    rows = _ports.json_rows(raw, lambda number, reason: context.warn(file.path, number, reason))
    for run in _runs(rows):
        when = run[0].stamp(context) or when
        named = [row for row in run if isinstance(row.entry.get("ifname"), str)]
        times = Counter(row.entry["ifname"] for row in named)
        for row in named:
            netdev = row.entry["ifname"]
            if times[netdev] > 1:
                context.warn(file.path, row.line, f"{netdev} is listed twice; left out")
            else:
                source = Source(file.path, row.line, f"ifname {netdev}")
                yield from _json(file, row.entry, source, when)


def _runs(rows: list[_ports.Row]) -> list[list[_ports.Row]]:
    """The rows of each run of the command."""
    runs: list[list[_ports.Row]] = []
    for row in rows:
        if row.begins or not runs:
            runs.append([])
        runs[-1].append(row)
    return runs


def _json(
    file: EvidenceFile, entry: dict[str, Any], source: Source, when: Reading | None
) -> Iterator[Observation | CounterSample]:
    netdev = str(entry["ifname"])
    flags = [str(flag) for flag in entry.get("flags", [])]
    mtu = entry.get("mtu")
    yield from _state(file, netdev, flags, mtu if isinstance(mtu, int) else None, source, when)
    stats = entry.get("stats64") or entry.get("stats") or {}
    if _ports.is_virtual(netdev):
        return
    for side in ("rx", "tx"):
        for name, value in (stats.get(side) or {}).items():
            if isinstance(value, int):
                counter = name if name.startswith("carrier_changes") else f"{side}_{name}"
                yield _sample(file, netdev, counter, value, source, when)


def _text(
    file: EvidenceFile, begin: re.Match[str], block: list[Line], when: Reading | None
) -> Iterator[Observation | CounterSample]:
    netdev = begin["netdev"]
    yield from _state(file, netdev, begin["flags"].split(","), int(begin["mtu"]), quote(file, block[0]), when)
    for title, values in pairwise(block) if not _ports.is_virtual(netdev) else ():
        match = _DIRECTION.match(title.text)
        if not match:
            continue
        for name, text in zip(match["names"].split(), values.text.split(), strict=False):
            if name in _SHORT and text.isdecimal():
                counter = _SHORT[name]
                if counter != "carrier_changes":
                    counter = f"{match['side'].lower()}_{counter}"
                yield _sample(file, netdev, counter, int(text), quote(file, values), when)


def _state(
    file: EvidenceFile, netdev: str, flags: list[str], mtu: int | None, source: Source, when: Reading | None
) -> Iterator[Observation]:
    role = _ports.role_of(netdev)
    if mtu and role == "data":
        fields: _ports.Fields = {"netdev": netdev, "mtu": mtu, "role": role}
        yield _ports.observe("nic.mtu", source, fields, host=file.host, device=netdev, when=when)
    if "LOWER_UP" not in flags and "LOOPBACK" not in flags and role == "data":
        fields = {"netdev": netdev, "admin_up": "UP" in flags, "carrier": False, "role": role}
        yield _ports.observe("nic.interface_down", source, fields, host=file.host, device=netdev, when=when)


def _sample(
    file: EvidenceFile, netdev: str, counter: str, value: int, source: Source, when: Reading | None
) -> CounterSample:
    return CounterSample(
        source=source,
        family="ip_link",
        counter=counter,
        value=value,
        host=file.host,
        device=netdev,
        group=file.group,
        when=when,
        adapter="ip_link",
    )


ADAPTER = Adapter(
    name="ip_link",
    branch="nic",
    emits=("nic.mtu", "nic.interface_down", "nic.counter_rise", "nic.counter_activity", "nic.counter_value"),
    coverage="nic_counters",
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            '[{"ifindex":2,"ifname":"eth2","flags":["BROADCAST","UP","LOWER_UP"],"mtu":9000,'
            '"stats64":{"rx":{"bytes":5,"crc_errors":2},"tx":{"carrier_changes":4}}}]',
            (
                ("nic.mtu", {"netdev": "eth2", "mtu": 9000, "role": "data"}),
                ("counter", {"family": "ip_link", "counter": "rx_crc_errors", "value": 2, "device": "eth2"}),
                ("counter", {"counter": "carrier_changes", "value": 4}),
            ),
        ),
        Sample(
            'Tue May 12 10:00:00 UTC 2026\n[{"ifname":"eth2","flags":["LOWER_UP"],"stats64":{"rx":{"errors":1}}}]\n'
            'Tue May 12 10:01:00 UTC 2026\n[{"ifname":"eth2","flags":["LOWER_UP"],"stats64":{"rx":{"errors":9}}}]\n',
            (
                ("counter", {"counter": "rx_errors", "value": 1}),
                ("counter", {"counter": "rx_errors", "value": 9, "device": "eth2"}),
            ),
        ),
        Sample(
            "3: eth3: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 4200 qdisc mq state DOWN mode DEFAULT\n"
            "    RX: bytes  packets  errors  dropped overrun mcast\n"
            "    10         1        3       0       0       0\n",
            (
                ("nic.mtu", {"netdev": "eth3", "mtu": 4200}),
                ("nic.interface_down", {"netdev": "eth3", "admin_up": True, "carrier": False}),
                ("counter", {"counter": "rx_errors", "value": 3}),
            ),
        ),
        Sample(
            "7: ens1f0np0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP mode DEFAULT qlen 1000\n"
            "    RX:  bytes packets errors dropped  missed   mcast\n"
            "          2234    1234      2       0      31     100\n"
            "    RX errors: length    crc   frame    fifo overrun\n"
            "                    0      2       0       0       0\n"
            "    TX:  bytes packets errors dropped carrier collsns\n"
            "         22341    9999      0       0       0       0\n"
            "    TX errors: aborted   fifo  window heartbt transns\n"
            "                     0      0       0       0       4\n",
            (
                ("counter", {"counter": "rx_missed_errors", "value": 31, "device": "ens1f0np0"}),
                ("counter", {"counter": "rx_crc_errors", "value": 2}),
                ("counter", {"counter": "carrier_changes", "value": 4}),
            ),
        ),
        Sample(
            '[{"ifindex":9,"ifname":"veth77","flags":["BROADCAST","UP","LOWER_UP"],"mtu":1500,'
            '"stats64":{"rx":{"errors":5},"tx":{"carrier_changes":4}}}]',
        ),
        Sample('[{"ifname":"eth2","flags":[],"link":"b"},{"ifname":"eth2","flags":[],"link":"c"}]'),
        Sample("1: lo: 127.0.0.1 is local\n", ()),
    ),
)
