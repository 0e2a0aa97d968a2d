"""Which names belong to one port and to one GPU, learnt from what the files of the bundle state.

Every host has a table of its own, for ``mlx5_0`` and ``eth2`` exist on each; GUIDs, LIDs and UUIDs are known to all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from engine.facts.identity import forms
from engine.facts.identity.hosts import HOST_KIND
from engine.facts.identity.links import Links
from engine.facts.model import CounterSample, Observation, Scalar, Source

PORT_KIND = "identity.port"
GPU_KIND = "identity.gpu"
IDENTITY_KINDS = (PORT_KIND, GPU_KIND, HOST_KIND)
"""Kinds that only state names; they are read here and do not become facts."""

STATES_NETDEV = ("nic.port_state", "nic.gid", "nic.gid_table", PORT_KIND)
"""Kinds that name the netdev of the port that they are about."""

_TEACH = ("identity.", "nic.", "switch.attached")
_NAME_PORTS = ("nic.", "comm.")

Host = str | None
Named = tuple[Host, str]
"""A name on a host."""

Rank = tuple[str | None, int]
"""A rank of a job."""

FIRST_MULTICAST_LID = 0xC000
"""From here on LIDs name multicast groups."""


@dataclass(frozen=True, slots=True)
class Port:
    """A port of a NIC by its canonical name, with the line that states it; ``port`` where the number is known."""

    host: Host
    device: str
    port: str | None
    source: Source


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU by its PCI device, with the line that states it."""

    host: Host
    slot: str
    source: Source


class PortTable:
    """Netdevs, PCI functions, GUIDs and LIDs of the ports of RDMA devices."""

    def __init__(self) -> None:
        self._ports: dict[Named, set[str]] = defaultdict(set)
        self._netdev: Links[Named, tuple[str, str]] = Links()
        self._planned: Links[Named, Named] = Links()
        self._function_netdev: Links[Named, Named] = Links()
        self._function_device: Links[Named, Named] = Links()
        self._node_guid: Links[str, Named] = Links()
        self._port_guid: Links[str, tuple[Host, str, str]] = Links()
        self._lid: Links[int, tuple[Host, str, str]] = Links()
        self._hca_guid: Links[Named, str] = Links()
        self._bond: Links[Named, Named] = Links()

    def learn(self, item: Observation) -> None:
        """Take in what one observation states about names."""
        fields, host = item.fields, item.host
        if item.kind in STATES_NETDEV:
            self._port(item, host, fields)
        elif item.kind == "switch.attached":
            netdev = _text(fields, "netdev")
            if item.device and netdev and item.device != netdev:
                self._planned.add((host, netdev), (host, item.device), item.source)
        elif item.kind == "nic.bond_event" and item.device:
            slave = _text(fields, "slave")
            if slave:
                self._bond.add((host, slave), (host, item.device), item.source)

    def exists(self, host: Host, device: str | None, port: str | None) -> None:
        """Note that a line speaks of a port ``device:number`` of an RDMA device."""
        split = forms.rdma_port(port) if port else None
        if split and split[0] == device:
            self._ports[host, device].add(split[1])

    def _port(self, item: Observation, host: Host, fields: Mapping[str, Scalar]) -> None:
        netdev, function = _text(fields, "netdev"), forms.function(_text(fields, "bdf") or "")
        device, port = _device_and_port(item)
        if device and not forms.has_kernel_name(device):
            node = forms.guid(_text(fields, "guid") or "")
            if node:
                self._hca_guid.add((host, device), node, item.source)
            return
        if netdev:
            self._named_netdev(item, (host, netdev), function)
        if device is None or device == netdev:
            return
        if function:
            self._function_device.add((host, function), (host, device), item.source)
        if netdev and port is None:
            self._planned.add((host, netdev), (host, device), item.source)
        if netdev and port:
            self._netdev.add((host, netdev), (device, port), item.source)
        self._addresses(item, host, device, port)

    def _named_netdev(self, item: Observation, netdev: Named, function: str | None) -> None:
        bond = _text(item.fields, "bond") if item.kind == PORT_KIND else None
        if function:
            self._function_netdev.add((netdev[0], function), netdev, item.source)
        if bond:
            self._bond.add(netdev, (netdev[0], bond), item.source)

    def _addresses(self, item: Observation, host: Host, device: str, port: str | None) -> None:
        self._ports[host, device].update((port,) if port else ())
        node, guid = (forms.guid(_text(item.fields, name) or "") for name in ("guid", "port_guid"))
        for known in {node, guid if port is None else None} - {None}:
            self._node_guid.add(str(known), (host, device), item.source)
        if port is None:
            return
        if guid:
            self._port_guid.add(guid, (host, device, port), item.source)
        lid = item.fields.get("lid")
        if isinstance(lid, int) and 0 < lid < FIRST_MULTICAST_LID:
            self._lid.add(lid, (host, device, port), item.source)

    def is_rdma(self, host: Host, device: str) -> bool:
        """Whether a device is known as an RDMA device of the host."""
        return (host, device) in self._ports

    def of_device(self, host: Host, device: str) -> Port | None:
        """The port that a netdev, a GUID or a LID belongs to; ``None`` where nothing certain is known."""
        if self.is_rdma(host, device):
            return None
        guid = forms.guid(device)
        if guid:
            return self.of_guid(guid)
        lid = forms.lid(device)
        if lid is not None:
            found = self._lid.only(lid)
            return Port(*found, self._lid.source(lid, found)) if found else None
        if not forms.has_kernel_name(device):
            known = self._hca_guid.pair((host, device))
            port = self.of_guid(known) if known else None
            return port if port and port.host == host else None
        return self._of_netdev(host, device)

    def of_guid(self, guid: str) -> Port | None:
        """The port of a port GUID or the device of a node GUID; often one number is both, then they must agree."""
        port, node = self._port_guid.only(guid), self._node_guid.only(guid)
        if (guid in self._port_guid and port is None) or (guid in self._node_guid and node is None):
            return None
        if port is not None:
            agreed = node is None or node == port[:2]
            return Port(*port, self._port_guid.source(guid, port)) if agreed else None
        return Port(*node, self._single(node), self._node_guid.source(guid, node)) if node else None

    def of_function(self, host: Host, text: str) -> Port | None:
        """The NIC behind a PCI function: its RDMA device, else its netdev."""
        function = forms.function(text)
        if function is None:
            return None
        device = self._function_device.pair((host, function))
        if device is not None:
            return Port(host, device[1], self._single(device), self._function_device.source((host, function), device))
        netdev = self._function_netdev.pair((host, function))
        if netdev is None or (host, function) in self._function_device:
            return None
        source = self._function_netdev.source((host, function), netdev)
        return self._of_netdev(*netdev) or Port(host, netdev[1], None, source)

    def _of_netdev(self, host: Host, netdev: str) -> Port | None:
        name = (host, netdev)
        if name in self._netdev:
            found = self._netdev.only(name)
            if found is None or self._is_part_of_bond(name, found):
                return None
            return Port(host, *found, self._netdev.source(name, found))
        return self._by_function(name) or self._by_plan(name)

    def _is_part_of_bond(self, member: Named, port: tuple[str, str]) -> bool:
        """Whether the port is that of the whole bond: the bond, or another member, is stated for it as well.

        The driver names the device of a bond ``mlx5_bond_0``; some tools print the active member as its netdev.
        """
        if "bond" in port[0] and "bond" not in member[1] and not self._bond.back(member):
            return True
        bond = self._bond.only(member)
        if bond is None:
            return member in self._bond
        others = {bond, *self._bond.back(bond)} - {member}
        return any(self._netdev.has(other, port) for other in others)

    def _by_function(self, netdev: Named) -> Port | None:
        """One netdev and one RDMA device on one function are one port; switch devices with many netdevs are not."""
        functions = self._function_netdev.back(netdev)
        if len(functions) != 1:
            return None
        function = next(iter(functions))
        device = self._function_device.pair(function)
        if device is None or self._function_netdev.pair(function) is None:
            return None
        return Port(netdev[0], device[1], self._single(device), self._function_device.source(function, device))

    def _by_plan(self, netdev: Named) -> Port | None:
        device = self._planned.pair(netdev)
        if device is None or netdev in self._bond:
            return None
        return Port(netdev[0], device[1], self._single(device), self._planned.source(netdev, device))

    def _single(self, device: Named) -> str | None:
        """The port of a device of which exactly one is known."""
        ports = self._ports.get(device, set())
        return next(iter(ports)) if len(ports) == 1 else None


def _device_and_port(item: Observation) -> tuple[str | None, str | None]:
    """RDMA device and ``device:port`` of a statement, whatever way the port is written."""
    device, port = item.device, item.port
    split = forms.rdma_port(port) if port else None
    if split:
        return split
    return device, f"{device}:{int(port)}" if device and port and port.isdecimal() else None


class GpuTable:
    """PCI devices, UUIDs, indexes and ranks of GPUs."""

    def __init__(self) -> None:
        self._slots: set[Named] = set()
        self._uuid: Links[str, Named] = Links()
        self._index: Links[tuple[Host, int], Named] = Links()
        self._index_uuid: Links[tuple[Host, int], str] = Links()
        self._rank: Links[Rank, Named] = Links()
        self._cuda: Links[Rank, int] = Links()

    def learn(self, item: Observation) -> None:
        """Take in what one ``identity.gpu`` states."""
        fields, host = item.fields, item.host
        text = _text(fields, "bdf")
        bus = _text(fields, "bus_id")
        slot = forms.slot(text) if text else forms.slot_of_bus_id(bus) if bus else None
        uuid = forms.uuid(_text(fields, "uuid") or "")
        index, cuda = fields.get("index"), fields.get("cuda_index")
        if slot:
            self._slots.add((host, slot))
        if slot and uuid:
            self._uuid.add(uuid, (host, slot), item.source)
        if isinstance(index, int):
            if slot:
                self._index.add((host, index), (host, slot), item.source)
            if uuid:
                self._index_uuid.add((host, index), uuid, item.source)
        if item.rank is not None:
            rank = (item.job, item.rank)
            if slot:
                self._rank.add(rank, (host, slot), item.source)
            if isinstance(cuda, int):
                self._cuda.add(rank, cuda, item.source)

    def is_slot(self, host: Host, slot: str) -> bool:
        """Whether a GPU is known at this PCI device of the host."""
        return (host, slot) in self._slots

    def of_name(self, host: Host, text: str) -> Gpu | None:
        """The GPU of a UUID or of an index as the driver counts; a PCI address needs no table."""
        uuid = forms.uuid(text)
        if uuid:
            return self._of_uuid(uuid)
        index = forms.index(text)
        return None if index is None else self._of_index((host, index))

    def of_rank(self, rank: Rank, cuda_index: int | None = None) -> Gpu | None:
        """The GPU of a rank; with the process's own number of the device only where that is the rank's."""
        found = self._rank.only(rank)
        if found is None or (cuda_index is not None and self._cuda.only(rank) != cuda_index):
            return None
        return Gpu(*found, self._rank.source(rank, found))

    def rank_of(self, host: Host, slot: str) -> Rank | None:
        """The rank that alone runs on a GPU."""
        ranks = self._rank.back((host, slot))
        rank = next(iter(ranks)) if len(ranks) == 1 else None
        return rank if rank is not None and self._rank.only(rank) is not None else None

    def rank_source(self, rank: Rank, host: Host, slot: str) -> Source:
        """The line that states the GPU of a rank."""
        return self._rank.source(rank, (host, slot))

    def _of_uuid(self, uuid: str) -> Gpu | None:
        found = self._uuid.pair(uuid)
        return Gpu(*found, self._uuid.source(uuid, found)) if found else None

    def _of_index(self, name: tuple[Host, int]) -> Gpu | None:
        found = self._index.pair(name)
        if found:
            return Gpu(*found, self._index.source(name, found))
        uuid = self._index_uuid.pair(name) if name not in self._index else None
        gpu = self._of_uuid(uuid) if uuid else None
        return gpu if gpu and gpu.host == name[0] else None


@dataclass(frozen=True, slots=True)
class Tables:
    """All that the bundle states about names of devices."""

    ports: PortTable
    gpus: GpuTable

    @classmethod
    def learn(cls, items: Iterable[Observation], samples: Iterable[CounterSample] = ()) -> Tables:
        """Learn from all that was read, in any order; what is marked as another run's teaches nothing."""
        ports, gpus = PortTable(), GpuTable()
        for item in items:
            if item.run:
                continue
            if item.kind == GPU_KIND:
                gpus.learn(item)
            elif item.kind.startswith(_TEACH):
                ports.learn(item)
            if item.port is not None and item.kind.startswith(_NAME_PORTS):
                ports.exists(item.host, item.device, item.port)
        for host, device, port in {(sample.host, sample.device, sample.port) for sample in samples}:
            ports.exists(host, device, port)
        return cls(ports, gpus)


def _text(fields: Mapping[str, Scalar], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) and value else None
