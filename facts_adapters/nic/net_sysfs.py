"""Files of ``/sys/class/net``: counters and state of network interfaces.

One value a file, or a listing ``path:value`` as ``grep -r .`` prints it, or the names alone as ``grep . *`` prints them
inside ``statistics``. Sources: Linux ``net/core/net-sysfs.c``, ``Documentation/ABI/testing/sysfs-class-net``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from engine.facts.model import CounterSample, Observation, Reading, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.nic import _ports
from facts_adapters.quoting import quote

_LINK = "carrier_changes|carrier_up_count|carrier_down_count"
_TREE = re.compile(
    r"(?:^|/)(?:net/)?(?P<netdev>[A-Za-z][\w.@-]{0,31})/(?:statistics/(?P<counter>[rt]x_\w{1,40}|collisions|multicast)|(?P<link>"
    + _LINK
    + r"))$"
)
_SETTING = re.compile(r"(?:^|/)net/(?P<netdev>[A-Za-z][\w.@-]{0,31})/(?P<name>operstate|mtu|speed)$")
_ECN = re.compile(r"(?:^|/)net/(?P<netdev>[A-Za-z][\w.@-]{0,31})/ecn/roce_(?P<side>np|rp)/enable/(?P<priority>[0-7])$")
_OTHER = re.compile(r"(?:^|/)sys/(?:class|devices/virtual)/net/[^/]{1,40}/")
_LISTED = re.compile(
    r"\s{0,8}(?:(?P<host>[\w.-]{1,64}): ?)?(?P<path>[\w.@/-]{3,200}?):\s{0,4}(?P<value>-?[\w.]{1,24})\s*$"
)
_BARE = re.compile(
    r"(?P<name>(?:rx|tx)_(?:bytes|packets|errors|dropped|fifo_errors|crc_errors|frame_errors|length_errors|missed_errors"
    r"|over_errors|nohandler|compressed|carrier_errors|aborted_errors|heartbeat_errors|window_errors)|collisions"
    r"|multicast):(?P<value>\d{1,20})$"
)
_LEAST_BARE = 4
"""Lines of bare names that make a listing; fewer may be anything."""


def _sniff(head: Head) -> Verdict:
    if _TREE.search(head.path) or _SETTING.search(head.path) or _ECN.search(head.path):
        plain = re.match(r"-?\w{1,20}\s*$", head.text) is not None
        return Verdict(1.0 if plain else 0.0, "path of a file of a network interface")
    if _OTHER.search(head.path):
        return Verdict(0.6, "path below /sys/class/net")
    listed = sum(1 for line in head.lines[:60] if "/" in line and _listed(line))
    bare = sum(1 for line in head.lines[:60] if _BARE.match(line))
    if listed or bare >= _LEAST_BARE:
        return Verdict(0.95, f"{listed or bare} lines name files of a network interface")
    return Verdict(0.0, "")


def _listed(text: str) -> tuple[re.Match[str], re.Match[str]] | None:
    """The line and what its path names; settings only below a folder ``net``."""
    line = _LISTED.match(text)
    if not line or "/" not in line["path"]:
        return None
    named = _SETTING.search(line["path"]) or (_TREE.search(line["path"]) if line["value"].isdecimal() else None)
    return (line, named) if named else None


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation | CounterSample]:
    when = _ports.snapshot(file, context)
    tree = _TREE.search(file.path) or _SETTING.search(file.path) or _ECN.search(file.path)
    if tree or _OTHER.search(file.path):
        for line in _ports.lines(file):
            if tree:
                yield from _statement(file, tree, line.text.strip(), quote(file, line), file.host, when)
            return
    netdev = _ports.netdev_of_path(file.path)
    for line in _ports.lines(file):
        listed, bare = _listed(line.text) if "/" in line.text else None, _BARE.match(line.text)
        if listed:
            host = listed[0]["host"] or file.host
            yield from _statement(file, listed[1], listed[0]["value"], quote(file, line), host, when)
        elif bare:
            yield from _sample(file, netdev, bare["name"], bare["value"], quote(file, line), file.host, when)
        elif line.text.strip():
            when = context.reading(line.text) or when


def _statement(
    file: EvidenceFile, named: re.Match[str], value: str, source: Source, host: str | None, when: Reading | None
) -> Iterator[Observation | CounterSample]:
    parts = named.groupdict()
    netdev = named["netdev"]
    if parts.get("side"):
        if value in ("0", "1"):
            fields: _ports.Fields = {
                "priority": int(named["priority"]),
                "enabled": value == "1",
                "side": named["side"],
                "netdev": netdev,
            }
            yield _ports.observe("nic.ecn_config", source, fields, host=host, device=netdev, when=when)
    elif parts.get("counter") or parts.get("link"):
        yield from _sample(file, netdev, parts["counter"] or parts["link"], value, source, host, when)
    elif _ports.role_of(netdev) == "data":
        yield from _setting(netdev, parts["name"], value, source, host, when)


def _sample(
    file: EvidenceFile,
    netdev: str | None,
    counter: str,
    value: str,
    source: Source,
    host: str | None,
    when: Reading | None,
) -> Iterator[CounterSample]:
    if value.isdecimal() and not (netdev and _ports.is_virtual(netdev)):
        yield CounterSample(
            source=source,
            family="ip_link",
            counter=counter,
            value=int(value[:20]),
            host=host,
            device=netdev,
            group=file.group,
            when=when,
            adapter="net_sysfs",
        )


def _setting(
    netdev: str, name: str, value: str, source: Source, host: str | None, when: Reading | None
) -> Iterator[Observation]:
    fields: _ports.Fields = {}
    if name == "operstate" and value in ("down", "lowerlayerdown", "notpresent"):
        fields = {"netdev": netdev, "carrier": False, "role": "data", "reason": value}
    elif name == "mtu" and value.isdecimal():
        fields = {"netdev": netdev, "mtu": int(value[:9]), "role": "data"}
    elif name == "speed" and value.isdecimal() and int(value[:9]) >= 1000:
        fields = {"netdev": netdev, "rate_gbps": round(int(value[:9]) / 1000)}
    kind = {"operstate": "nic.interface_down", "mtu": "nic.mtu", "speed": "nic.rate"}[name]
    if fields:
        yield _ports.observe(kind, source, fields, host=host, device=netdev, when=when)


ADAPTER = Adapter(
    name="net_sysfs",
    branch="nic",
    emits=(
        "nic.counter_rise",
        "nic.counter_activity",
        "nic.counter_value",
        "nic.interface_down",
        "nic.ecn_config",
        "nic.mtu",
        "nic.rate",
    ),
    coverage="nic_counters",
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            "17\n",
            (
                (
                    "counter",
                    {"family": "ip_link", "counter": "rx_crc_errors", "value": 17, "device": "eth2", "host": "n1"},
                ),
            ),
            "before/n1/sys/class/net/eth2/statistics/rx_crc_errors",
        ),
        Sample(
            "3\n", (("counter", {"counter": "carrier_down_count", "value": 3}),), "n1/net/ens1f0np0/carrier_down_count"
        ),
        Sample(
            "/sys/class/net/eth2/statistics/rx_missed_errors:12\n/sys/class/net/eth2/carrier_changes:9\n"
            "/sys/class/net/eth3/operstate:down\n/sys/class/net/eth2/mtu:9000\n/sys/class/net/eth2/speed:400000\n"
            "/sys/class/net/eth3/speed:-1\n/sys/class/net/veth1a2b/carrier_changes:2\n",
            (
                ("counter", {"counter": "rx_missed_errors", "value": 12, "device": "eth2"}),
                ("counter", {"counter": "carrier_changes", "value": 9}),
                ("nic.interface_down", {"netdev": "eth3", "reason": "down"}),
                ("nic.mtu", {"netdev": "eth2", "mtu": 9000}),
                ("nic.rate", {"rate_gbps": 400, "device": "eth2"}),
            ),
        ),
        Sample(
            "rx_bytes:8812\nrx_crc_errors:4\nrx_dropped:0\nrx_errors:4\nrx_packets:12\n",
            (("counter", {"counter": "rx_crc_errors", "value": 4, "device": "eth2"}),),
            "n1/cat_eth2.txt",
        ),
        Sample(
            "0\n",
            (("nic.ecn_config", {"priority": 3, "enabled": False, "side": "rp", "netdev": "eth2"}),),
            "n1/sys/class/net/eth2/ecn/roce_rp/enable/3",
        ),
        Sample("up\n", (), "n1/sys/class/net/eth2/operstate"),
        Sample("2\n", (), "n1/sys/class/net/cali77aa/carrier_changes"),
        Sample("rx_errors:4\nrx_dropped:0\n"),
        Sample("/etc/net/readme:12\n/data/statistics/run:8\n"),
    ),
)
