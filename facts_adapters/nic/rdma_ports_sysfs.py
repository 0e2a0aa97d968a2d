"""State and identity of RDMA devices in ``/sys/class/infiniband``: a tree of files, or a listing ``path:value``.

``ports/P/state`` is ``4: ACTIVE``, ``phys_state`` ``5: LinkUp``, ``rate`` ``400 Gb/sec (4X NDR)`` (Linux
``drivers/infiniband/core/sysfs.c``, ``Documentation/ABI/stable/sysfs-class-infiniband``). A port that is down shows the
rate of its slowest mode, so a rate counts only where the state of the port is known, or where it is no such mode.
Amazon's driver states ACTIVE and LinkUp whatever the link does (``efa_verbs.c``): its states are left out.
"""

from __future__ import annotations

import ipaddress
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from engine.facts.model import Observation, Reading, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.nic import _ports
from facts_adapters.quoting import quote

_PORT = "state|phys_state|rate|link_layer|lid|sm_lid"
_DEVICE = "fw_ver|hca_type|board_id|node_guid"
_NAMED = re.compile(
    r"(?:^|/)(?P<device>[A-Za-z][\w-]{0,31})/(?:ports/(?P<port>\d{1,3})/(?:(?P<name>"
    + _PORT
    + r")|gids/(?P<index>\d{1,4}))"
    r"|(?P<own>" + _DEVICE + r"))$"
)
_OTHER = re.compile(r"(?:^|/)sys/class/infiniband/[^/]{1,40}/|/ports/\d{1,3}/(?:gid_attrs|pkeys|gids)/")
_LISTED = re.compile(r"\s{0,8}(?:(?P<host>[\w.-]{1,64}): ?)?(?P<path>[\w./-]{3,200}?):\s{0,4}(?P<value>\S.{0,60}?)\s*$")
_SLOW_GBPS = 40
"""Rate in Gb/s up to which it may be that of a port that is down."""
_VALUES = {
    "state": re.compile(r"\d: [A-Z_]+$"),
    "phys_state": re.compile(r"\d: [A-Za-z <>]+$"),
    "rate": re.compile(r"[\d.]+ Gb/sec"),
    "link_layer": re.compile(r"InfiniBand$|Ethernet$"),
    "lid": re.compile(r"0x[0-9a-f]{1,8}$"),
    "sm_lid": re.compile(r"0x[0-9a-f]{1,8}$"),
    "fw_ver": re.compile(r"\d[\w.-]{2,30}$"),
    "hca_type": re.compile(r"[\w.-]{2,40}$"),
    "board_id": re.compile(r"[\w.-]{2,40}$"),
    "node_guid": re.compile(r"[0-9a-f]{4}(?::[0-9a-f]{4}){3}$"),
    "gids": re.compile(r"[0-9a-f]{4}(?::[0-9a-f]{4}){7}$"),
}
Values = dict[str, tuple[Source, str]]


def _sniff(head: Head) -> Verdict:
    named = _NAMED.search(head.path)
    if named and ("infiniband" in head.path or named["port"]):
        plain = len(head.text) < 200 and _VALUES[_name(named)].match(head.text.strip())
        return Verdict(1.0 if plain else 0.0, "path of a file of an RDMA device")
    if _OTHER.search(head.path) and len(head.text) < 4096:
        return Verdict(0.6, "path below /sys/class/infiniband")
    hits = sum(1 for line in head.lines[:60] if "/" in line and _listed(line))
    return Verdict(0.95 if hits else 0.0, f"{hits} lines name files of RDMA devices")


def _name(named: re.Match[str]) -> str:
    return str(named["name"] or named["own"] or "gids")


def _listed(text: str) -> tuple[re.Match[str], re.Match[str]] | None:
    line = _LISTED.match(text)
    named = _NAMED.search(line["path"]) if line else None
    if not line or not named or named["index"] or not _VALUES[_name(named)].match(line["value"]):
        return None
    return line, named


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation]:
    when = _ports.snapshot(file, context)
    named = _NAMED.search(file.path)
    if named or _OTHER.search(file.path):
        if named:
            for line in _ports.lines(file):
                yield from _single(named, line.text.strip(), quote(file, line), file.host, when)
                return
        return
    found: dict[tuple[str | None, str, str | None], Values] = defaultdict(dict)
    for line in _ports.lines(file):
        listed = _listed(line.text) if "/" in line.text else None
        if listed:
            said, what = listed
            whose = (said["host"] or file.host, what["device"], what["port"])
            found[whose].setdefault(_name(what), (quote(file, line), said["value"]))
    for (host, device, port), values in found.items():
        yield from (
            _port(host, device, f"{device}:{port}", values, when) if port else _device(host, device, values, when)
        )


def _single(
    named: re.Match[str], value: str, source: Source, host: str | None, when: Reading | None
) -> Iterator[Observation]:
    """What one file of a tree says by itself."""
    name, device = _name(named), named["device"]
    if not _VALUES[name].match(value):
        return
    if name == "gids":
        address = ipaddress.IPv6Address(value)
        if int(address):
            kind = "ipv4" if address.ipv4_mapped else "link_local" if address.is_link_local else "ipv6"
            fields: _ports.Fields = {"index": int(named["index"]), "gid": value, "class": kind}
            port = f"{device}:{named['port']}"
            yield _ports.observe("nic.gid", source, fields, host=host, device=device, port=port, when=when)
    elif named["own"]:
        yield from _device(host, device, {name: (source, value)}, when)
    else:
        yield from _port(host, device, f"{device}:{named['port']}", {name: (source, value)}, when)


def _port(host: str | None, device: str, port: str, values: Values, when: Reading | None) -> Iterator[Observation]:
    def text(name: str) -> str:
        return values[name][1] if name in values else ""

    if device.startswith(("efa", "rdmap")):
        return
    infiniband = text("link_layer") == "InfiniBand"
    rate = _ports.number(text("rate"))
    active = _ports.port_state(text("state")) == "active"
    if "state" in values or "phys_state" in values:
        fields: _ports.Fields = {
            "state": _ports.port_state(text("state")) if "state" in values else None,
            "physical": _ports.physical_state(text("phys_state")) if "phys_state" in values else None,
            "rate_gbps": rate if "state" in values else None,
            "layer": text("link_layer") or None,
            "sm_lid": _ports.hexadecimal(text("sm_lid")) if infiniband and "sm_lid" in values else None,
            "lid": _ports.hexadecimal(text("lid")) if infiniband and "lid" in values else None,
        }
        source = (values.get("state") or values["phys_state"])[0]
        yield _ports.observe("nic.port_state", source, fields, host=host, device=device, port=port, when=when)
    if rate and (active or ("state" not in values and rate > _SLOW_GBPS)):
        fields = {"rate_gbps": rate}
        yield _ports.observe("nic.rate", values["rate"][0], fields, host=host, device=device, port=port, when=when)


def _device(host: str | None, device: str, values: Values, when: Reading | None) -> Iterator[Observation]:
    board = values["board_id"][1] if "board_id" in values else None
    facts: list[tuple[str, str, _ports.Fields]] = []
    if "fw_ver" in values:
        facts.append(("nic.firmware", "fw_ver", {"version": values["fw_ver"][1], "board": board}))
    if "hca_type" in values:
        facts.append(("nic.hca_type", "hca_type", {"model": values["hca_type"][1]}))
    if "node_guid" in values and not values["node_guid"][1].replace(":", "").strip("0"):
        text = f"node_guid: {values['node_guid'][1]}"
        facts.append(("nic.address_missing", "node_guid", {"what": "guid", "text": text}))
    for kind, name, fields in facts:
        yield _ports.observe(kind, values[name][0], fields, host=host, device=device, when=when)


_BASE = "/sys/class/infiniband/mlx5_1"

ADAPTER = Adapter(
    name="rdma_ports_sysfs",
    branch="nic",
    emits=("nic.port_state", "nic.rate", "nic.firmware", "nic.hca_type", "nic.gid", "nic.address_missing"),
    coverage=None,
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            f"{_BASE}/ports/1/state:1: DOWN\n{_BASE}/ports/1/phys_state:3: Disabled\n"
            f"{_BASE}/ports/1/rate:40 Gb/sec (4X QDR)\n{_BASE}/fw_ver:28.39.4082\n{_BASE}/board_id:MT_0000000838\n",
            (
                ("nic.port_state", {"state": "down", "physical": "disabled", "rate_gbps": 40, "port": "mlx5_1:1"}),
                ("nic.firmware", {"version": "28.39.4082", "board": "MT_0000000838", "device": "mlx5_1"}),
            ),
        ),
        Sample(
            "n3: /sys/class/infiniband/mlx5_0/ports/1/state:4: ACTIVE\n"
            "n3: /sys/class/infiniband/mlx5_0/ports/1/rate:400 Gb/sec (4X NDR)\n",
            (
                ("nic.port_state", {"state": "active", "host": "n3"}),
                ("nic.rate", {"rate_gbps": 400, "host": "n3", "device": "mlx5_0"}),
            ),
        ),
        Sample("2: INIT\n", (("nic.port_state", {"state": "init"}),), "n1/sys/class/infiniband/mlx5_0/ports/1/state"),
        Sample("2: Polling\n", (("nic.port_state", {"physical": "polling"}),), "n1/mlx5_0/ports/1/phys_state"),
        Sample("200 Gb/sec (4X HDR)\n", (("nic.rate", {"rate_gbps": 200}),), "n1/mlx5_0/ports/1/rate"),
        Sample(
            "0000:0000:0000:0000:0000:ffff:0a01:0203\n",
            (("nic.gid", {"index": 3, "class": "ipv4", "port": "mlx5_0:1"}),),
            "n1/sys/class/infiniband/mlx5_0/ports/1/gids/3",
        ),
        Sample("0000:0000:0000:0000\n", (("nic.address_missing", {"what": "guid"}),), "n1/infiniband/mlx5_4/node_guid"),
        Sample("0000:0000:0000:0000:0000:0000:0000:0000\n", (), "n1/sys/class/infiniband/mlx5_0/ports/1/gids/7"),
        Sample("10 Gb/sec (4X SDR)\n", (), "n1/mlx5_0/ports/1/rate"),
        Sample("4: ACTIVE\n", (), "n1/sys/class/infiniband/rdmap79s0/ports/1/state"),
        Sample("4: ACTIVE\n", (), "n1/notes/state"),
        Sample("/opt/app/v1/ports/1/state:running fine\n"),
    ),
)
