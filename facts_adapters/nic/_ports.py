"""What names of files, ports and states say: netdevs in file names, port numbers, states of RDMA ports, sizes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from engine.facts.model import Observation, Reading, Scalar, Source
from facts_adapters.adapter import Context, EvidenceFile, Head, Line, Verdict

Fields = Mapping[str, Scalar | None]
"""Fields of an observation; those that are ``None`` are left out."""

Pairs = dict[str, tuple[Line, str]]
"""``name: value`` lines by name, each with its line."""

LONGEST_LINE = 1_000
"""Characters of a line beyond which it is no line of these tools."""

_FILE_NETDEV = re.compile(
    r"(?:ethtool|mlnx_qos|mlnxqos|show_gids|ip|cat|qos|dcb|devlink)(?:[_.-]+-?[a-zA-Z]{1,6})*?[_.-]+"
    r"(?P<netdev>(?:e(?:th|np?|ns|no)|ib|roce|bond|net|rdma|hsn|slot|rail|gpu|mlx)\w*?)(?:\.(?:txt|log|out))?$"
)
_STATE = re.compile(r"(?:PORT_)?(ACTIVE|DOWN|INIT|ARMED)", re.IGNORECASE)
_PHYSICAL = {
    "linkup": "linkup",
    "polling": "polling",
    "disabled": "disabled",
    "portconfigurationtraining": "training",
    "training": "training",
    "linkerrorrecovery": "recovery",
    "sleep": "sleep",
    "phytest": "test",
}
_MANAGEMENT = re.compile(r"eno\d$|enx|mgmt|usb|idrac|docker|veth|cali|lxc|virbr|lo$|cni|flannel|br-|tunl|vxlan")
_VIRTUAL = re.compile(
    r"docker|veth|cali|lxc|virbr|lo$|cni|flannel|br-|tunl|vxlan|cilium|dummy|ifb\d|kube-|nodelocal|ovs-|sit\d|gre|erspan"
    r"|ip6tnl|tun\d|tap|wg\d|tailscale|antrea|genev|nerdctl|podman|weave"
)
_RDMA_DEVICE = re.compile(
    r"(?:^|[/_.=-])(?P<device>(?:mlx[45]_(?:bond_)?\d+|bnxt_re\d+|irdma\d+|efa_\d+|rdmap\d+s\d+\w*|rocep\d+s\w+|ibp\d+s\w+"
    r"|hns_\d+|ionic_\d+|hfi1_\d+))(?=$|[/_.:=-])"
)


def netdev_of_path(path: str) -> str | None:
    """The netdev that the file name of a saved command names: ``ethtool_-S_eth2``, ``mlnx_qos_ens1f0np0.txt``."""
    match = _FILE_NETDEV.search(path.rpartition("/")[2])
    return match["netdev"] if match else None


def role_of(netdev: str) -> str:
    """``management`` for onboard, virtual and container interfaces, ``data`` for the others."""
    return "management" if _MANAGEMENT.match(netdev) else "data"


def is_virtual(netdev: str) -> bool:
    """Whether an interface is one of containers, bridges or tunnels: its counters tell nothing of a NIC."""
    return _VIRTUAL.match(netdev) is not None


def rdma_of_path(path: str) -> str | None:
    """The RDMA device that the name of a file, or else of a folder, holds: ``mlxlink_mlx5_3.txt``, ``mlx5_0/out``."""
    found = _RDMA_DEVICE.findall(path)
    return str(found[-1]) if found else None


_HEADING = re.compile(
    r"^[\s=#*<>\[\]-]{0,20}(?:(?:interface|iface|dev|device|netdev|nic|port)[\s:=]{1,3})?"
    r"(?P<name>mlx[45]_(?:bond_)?\d{1,3}|bnxt_re\d{1,3}|(?:e(?:th|n[opsx])|bond|roce|rdma|hsn)\w{0,20}\d\w{0,20}"
    r"|ib(?:\d{1,2}|[ps]\w{1,20}))[\s=#*<>\[\]:-]{0,20}$",
    re.IGNORECASE,
)


def heading(text: str) -> str | None:
    """The interface or device that a line of nothing else names, as loops of scripts print it: ``=== eth2 ===``.

    Names that hosts have as well (``gpu03``) are none.
    """
    match = _HEADING.match(text) if len(text) <= 80 else None
    return match["name"] if match else None


def port_state(text: str) -> str:
    """``active``, ``down``, ``init``, ``armed`` or ``unknown`` of any tool's word for the logical state."""
    match = _STATE.search(text)
    if not match:
        return "unknown"
    return match[1].lower()


def physical_state(text: str) -> str:
    """The physical state of a port in the vocabulary's words."""
    word = re.sub(r"[^a-z]", "", text.lower().replace("phys_state", ""))
    for name, value in _PHYSICAL.items():
        if name in word:
            return value
    return "unknown"


def number(text: str) -> int | None:
    """The first whole number of a text, thousands separators and units left out; ``None`` where there is none."""
    match = re.search(r"\d[\d,]*", text)
    return int(match[0].replace(",", "")) if match else None


def hexadecimal(text: str) -> int | None:
    """A number such as ``0x1f``; ``None`` for anything else."""
    match = re.fullmatch(r"\s*(?:0x)?([0-9a-fA-F]{1,16})\s*", text)
    return int(match[1], 16) if match else None


def decimal(text: str) -> float | None:
    """A plain decimal number, possibly negative; ``None`` for anything else."""
    return float(text) if re.fullmatch(r"-?\d{1,15}(?:\.\d{1,15})?", text) else None


def observe(
    kind: str,
    where: Source,
    fields: Fields,
    *,
    host: str | None = None,
    device: str | None = None,
    port: str | None = None,
    when: Reading | None = None,
) -> Observation:
    """An observation whose unknown fields are left out."""
    known = {name: value for name, value in fields.items() if value is not None}
    return Observation(kind, where, known, host=host, device=device, port=port, when=when)


def names(
    where: Source, fields: Fields, *, host: str | None, device: str | None = None, port: str | None = None
) -> Iterator[Observation]:
    """The names that a line states for one port; nothing where it states only one."""
    known = {name: value for name, value in fields.items() if value is not None}
    if known and (device or len(known) > 1):
        yield Observation("identity.port", where, known, host=host, device=device, port=port)


def snapshot(file: EvidenceFile, context: Context) -> Reading | None:
    """The time of the snapshot folder that the file lies in."""
    return context.snapshot_time(file.path)


_PROMPT = re.compile(r"\[?(?:[\w.-]+@)?(?P<host>[A-Za-z][\w.-]*)(?:[: ][^$#\]]{0,60})?\]?[#$] ?\w")


def prompt_host(text: str) -> str | None:
    """The host that a shell prompt at the beginning of a line names."""
    match = _PROMPT.match(text)
    return match["host"] if match else None


def found(head: Head, pattern: re.Pattern[str], why: str, score: float = 0.9) -> Verdict:
    """A verdict of ``score`` where the pattern occurs in a line of the file's head."""
    hit = any(len(line) <= LONGEST_LINE and pattern.search(line) for line in head.lines)
    return Verdict(score, why) if hit else Verdict(0.0, "")


def lines(file: EvidenceFile) -> Iterator[Line]:
    """The lines of a file that are not longer than any line these tools print."""
    return (line for line in file.lines() if len(line.text) <= LONGEST_LINE)


def blocks(found: Iterable[Line], begins: re.Pattern[str]) -> Iterable[tuple[re.Match[str], list[Line]]]:
    """The runs of lines that each begin with a match of ``begins``, with that match."""
    current: tuple[re.Match[str], list[Line]] | None = None
    for line in found:
        match = begins.search(line.text)
        if match:
            if current:
                yield current
            current = (match, [line])
        elif current:
            current[1].append(line)
    if current:
        yield current


def pairs_by_port(
    device: str, block: Iterable[Line], port: re.Pattern[str], pair: re.Pattern[str]
) -> tuple[Pairs, list[tuple[str, Pairs]]]:
    """The ``name: value`` lines of one device: those above its ports, then (port, pairs) of each.

    ``port`` has a group ``port``; ``pair`` has ``name`` and ``value``. Of a name that comes twice the first counts.
    """
    common: Pairs = {}
    pairs = common
    ports: list[tuple[str, Pairs]] = []
    for line in block:
        head, said = port.match(line.text), pair.match(line.text)
        if head:
            pairs = {}
            ports.append((f"{device}:{head['port']}", pairs))
        elif said:
            pairs.setdefault(said["name"], (line, said["value"]))
    return common, ports


@dataclass(frozen=True, slots=True)
class Row:
    """An object of a JSON array, the line it begins in, and the text between the object before it and this one."""

    entry: dict[str, Any]
    line: int
    gap: str

    @property
    def begins(self) -> bool:
        """Whether another array begins here: the output of another run of the command."""
        return "[" in self.gap or "," not in self.gap

    def stamp(self, context: Context) -> Reading | None:
        """The time that stands between two outputs."""
        words = (line.strip(" ,[]") for line in self.gap.splitlines())
        return next((found for word in words if word and (found := context.reading(word[:100]))), None)


def json_rows(text: str, warn: Callable[[int, str], None]) -> list[Row]:
    """The objects of JSON arrays, or single objects; of a cut or damaged file those before the damage."""
    decoder = json.JSONDecoder()
    rows: list[Row] = []
    place = line = 0
    while (start := text.find("{", place)) >= 0:
        gap = text[place:start]
        line += gap.count("\n")
        try:
            entry, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            warn(line + 1, f"not JSON from here on: {error}")
            break
        rows.append(Row(entry, line + 1, gap))
        line, place = line + text.count("\n", start, end), end
    return rows
