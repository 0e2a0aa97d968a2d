"""``ethtool``, ``ethtool -i`` and ``ethtool -a`` of an interface: speed, link, firmware, global pause."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from engine.facts.model import Observation
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.nic import _ports
from facts_adapters.quoting import quote

_BEGINS = re.compile(
    r"^(?:(?P<settings>Settings) for (?P<a>\S+?):|(?P<pause>Pause) parameters for (?P<b>\S+?):|(?P<driver>driver): \S+)"
)
_PAIR = re.compile(r"^\s*(?P<name>[A-Za-z][\w /()-]*?)\s*:\s*(?P<value>.*?)\s*$")
_FIRMWARE = re.compile(r"^(?P<version>[\w.-]+)(?: \((?P<board>[\w.-]+)\))?")
_SPEED = re.compile(r"^(\d+)Mb/s")
_COMMAND = re.compile(r"ethtool\s+(?:-\w+\s+)?(?P<netdev>[a-z][\w.-]+)\s*$")
_DRIVERS = ("mlx5_core", "mlx4_en", "mlx4_core", "bnxt_en", "ice", "hns3", "ionic")
"""Drivers of NICs that carry RDMA; IPoIB adds ``[ib_ipoib]``."""
Pairs = dict[str, tuple[Line, str]]


def _sniff(head: Head) -> Verdict:
    hits = [line for line in head.lines[:400] if _BEGINS.match(line)]
    driver = any(line.startswith("firmware-version:") for line in head.lines[:400])
    if any(not line.startswith("driver") for line in hits) or (hits and driver):
        return Verdict(0.95, "settings of a network interface")
    return Verdict(0.0, "")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation]:
    del context
    named: str | None = None
    lines = list(_ports.lines(file))
    commands: dict[int, str] = {}
    for line in lines:
        command, title = _COMMAND.search(line.text), _ports.heading(line.text)
        if command or title:
            commands[line.number] = title or (command["netdev"] if command else "")
    for begin, block in _ports.blocks(lines, _BEGINS):
        for number in range(block[0].number - 1, max(block[0].number - 4, 0), -1):
            named = commands.get(number, named)
        netdev = begin["a"] or begin["b"] or named or _ports.netdev_of_path(file.path)
        pairs: Pairs = {}
        for line in block:
            pair = _PAIR.match(line.text)
            if pair:
                pairs.setdefault(pair["name"].lower(), (line, pair["value"]))
        name = "settings" if begin["settings"] else "pause" if begin["pause"] else "driver"
        yield from _READERS[name](file, netdev, pairs)


def _link(file: EvidenceFile, netdev: str | None, pairs: Pairs) -> Iterator[Observation]:
    speed = pairs.get("speed")
    match = _SPEED.match(speed[1]) if speed else None
    if speed and match and int(match[1]) >= 1000:
        rate = round(int(match[1]) / 1000)
        fields: _ports.Fields = {"netdev": netdev, "rate_gbps": rate}
        yield _ports.observe("nic.rate", quote(file, speed[0]), fields, host=file.host, device=netdev)
    link = pairs.get("link detected")
    if link and link[1].startswith("no") and netdev:
        reason = link[1][2:].strip(" ()") or None
        yield _ports.observe(
            "nic.interface_down",
            quote(file, link[0]),
            {"netdev": netdev, "carrier": False, "role": _ports.role_of(netdev), "reason": reason},
            host=file.host,
            device=netdev,
        )


def _pause(file: EvidenceFile, netdev: str | None, pairs: Pairs) -> Iterator[Observation]:
    rx, tx = pairs.get("rx"), pairs.get("tx")
    if rx and tx:
        fields: _ports.Fields = {"rx": rx[1] == "on", "tx": tx[1] == "on", "netdev": netdev}
        yield _ports.observe("nic.global_pause", quote(file, rx[0]), fields, host=file.host, device=netdev)


def _driver(file: EvidenceFile, netdev: str | None, pairs: Pairs) -> Iterator[Observation]:
    firmware, bus = pairs.get("firmware-version"), pairs.get("bus-info")
    match = _FIRMWARE.match(firmware[1]) if firmware else None
    driver = pairs.get("driver")
    if firmware and match and driver and driver[1].partition("[")[0] in _DRIVERS:
        yield _ports.observe(
            "nic.firmware",
            quote(file, firmware[0]),
            {"version": match["version"], "board": match["board"]},
            host=file.host,
            device=netdev,
        )
    if bus and netdev and driver and not driver[1].endswith("_rep"):
        # a representor of a virtual function reports the address of the physical one
        yield from _ports.names(quote(file, bus[0]), {"netdev": netdev, "bdf": bus[1]}, host=file.host)


_READERS: dict[str, Callable[[EvidenceFile, str | None, Pairs], Iterator[Observation]]] = {
    "settings": _link,
    "pause": _pause,
    "driver": _driver,
}

ADAPTER = Adapter(
    name="ethtool_settings",
    branch="nic",
    emits=("nic.rate", "nic.interface_down", "nic.global_pause", "nic.firmware", "identity.port"),
    coverage=None,
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            "Settings for eth2:\n\tSpeed: 400000Mb/s\n\tDuplex: Full\n\tLink detected: yes\n",
            (("nic.rate", {"netdev": "eth2", "rate_gbps": 400}),),
        ),
        Sample(
            "Settings for eth3:\n\tSpeed: Unknown!\n\tLink detected: no (No cable)\n",
            (("nic.interface_down", {"netdev": "eth3", "reason": "No cable", "role": "data"}),),
        ),
        Sample(
            "Pause parameters for eth2:\nAutonegotiate:\toff\nRX:\t\ton\nTX:\t\ton\n",
            (("nic.global_pause", {"rx": True, "tx": True, "netdev": "eth2"}),),
        ),
        Sample(
            "driver: mlx5_core\nversion: 24.01-0.3.3\n"
            "firmware-version: 28.41.1188 (MT_0000000838)\nbus-info: 0000:12:00.0\n",
            (
                ("nic.firmware", {"version": "28.41.1188", "board": "MT_0000000838", "device": "eth2"}),
                ("identity.port", {"netdev": "eth2", "bdf": "0000:12:00.0"}),
            ),
            "n1/ethtool_-i_eth2",
        ),
        Sample(
            "driver: bnxt_en\nversion: 6.1.0\nfirmware-version: 230.0.157.0/pkg 230.1.116.0\n",
            (("nic.firmware", {"version": "230.0.157.0", "device": "ens2f0"}),),
            "n1/ethtool_-i_ens2f0",
        ),
        Sample(
            "[ens1f1np1]\ndriver: mlx5_core\nfirmware-version: 28.39.4082 (MT_0000000838)\n",
            (("nic.firmware", {"version": "28.39.4082", "device": "ens1f1np1"}),),
        ),
        Sample("Settings for eno2:\n\tSpeed: 100Mb/s\n\tLink detected: yes\n"),
        Sample("driver: storage\nversion: 1\n", ()),
    ),
)
