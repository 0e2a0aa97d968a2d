"""Give what was read the names of the tables; what a line said is kept in ``as_read``."""

from __future__ import annotations

from collections.abc import Iterable, MutableSet, Sequence
from dataclasses import replace
from functools import lru_cache

from engine.facts.identity import forms
from engine.facts.identity.hosts import other_names
from engine.facts.identity.table import IDENTITY_KINDS, Gpu, Host, Port, Tables
from engine.facts.manifest import Manifest
from engine.facts.model import CounterSample, Observation, Source

PORT_BRANCHES = ("nic.", "comm.", "switch.attached")
"""Beginnings of the kinds whose ``device`` and ``port`` are those of a host's NIC."""

SUBNET_PORTS = ("switch.node_removed", "switch.subnet_event")
"""Kinds of the subnet manager whose ``port`` is a GUID."""

GPU_BRANCHES = ("host.", "job.")
NOTES_KEPT = 20
"""Joined names that the report lists one by one; beyond, it says how many more there are."""


def join_hosts(
    observations: Sequence[Observation], samples: Sequence[CounterSample], manifest: Manifest
) -> tuple[list[CounterSample], list[str]]:
    """Give the observations, in place, and the samples one name for each host; returns the samples and notes."""
    names = other_names(observations, samples, manifest)
    if not names:
        return list(samples), []
    notes: set[str] = set()
    for item in observations:
        if item.host is not None and item.host in names:
            host, source = names[item.host]
            _keep(item, "host", item.host)
            _note(notes, source, item.host, host)
            item.host = host
        if item.peer is not None and item.peer in names:
            _keep(item, "peer", item.peer)
            item.peer = names[item.peer][0]
    renamed = [
        replace(sample, host=names[sample.host][0]) if sample.host and sample.host in names else sample
        for sample in samples
    ]
    return renamed, sorted(notes)


def join_devices(
    observations: Iterable[Observation], samples: Iterable[CounterSample]
) -> tuple[list[Observation], list[CounterSample], list[str]]:
    """Give observations, in place, and samples one name for each port and GPU.

    Returns the observations without those that only state names, the samples and notes on what was joined and why.
    """
    items = list(observations)
    joiner = _Joiner(Tables.learn(items))
    kept = [item for item in items if item.kind not in IDENTITY_KINDS]
    for item in kept:
        joiner.observation(item)
    return kept, [joiner.sample(sample) for sample in samples], joiner.said()


class _Joiner:
    """Looks names up in the tables of one bundle."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._notes: set[str] = set()
        self._device = lru_cache(maxsize=65_536)(tables.ports.of_device)
        self._function = lru_cache(maxsize=65_536)(tables.ports.of_function)

    def said(self) -> list[str]:
        """The notes in order; of many the first and how many more."""
        notes = sorted(self._notes)
        more = len(notes) - NOTES_KEPT
        return [*notes[:NOTES_KEPT], f"{more} more names of ports and GPUs were joined"] if more > 0 else notes

    def observation(self, item: Observation) -> None:
        """Name the NIC or the GPU of one observation."""
        kind = item.kind
        if kind.startswith(PORT_BRANCHES):
            self._normalise(item)
            if item.device is not None:
                self._join_port(item)
            elif "bdf" in item.fields:
                self._join_function(item)
        elif kind in SUBNET_PORTS:
            self._join_guid(item)
        elif kind.startswith(GPU_BRANCHES):
            self._join_gpu(item)

    def sample(self, sample: CounterSample) -> CounterSample:
        """Name the port of one sample; a LID that is a host's makes it a sample of that host."""
        device = sample.device
        if device is None:
            return sample
        split = forms.rdma_port(device)
        if split and sample.port in (None, device):
            return replace(sample, device=split[0], port=split[1])
        found = self._device(sample.host, device)
        if found is None or not _same_number(sample.port, found.port):
            return sample
        _note(self._notes, found.source, device, found.port or found.device, found.host)
        family = "ibquery_host" if sample.family == "ibquery" else sample.family
        port = found.port or (_renumbered(sample.port, found.device))
        return replace(sample, family=family, host=found.host, device=found.device, port=port, as_read=device)

    def _normalise(self, item: Observation) -> None:
        """Bring spellings that need no table to one form."""
        device, port = item.device, item.port
        if device is not None and (":" in device or "/" in device):
            split = forms.rdma_port(device)
            if split and port in (None, device):
                item.device, item.port = split
                return
        if port is not None and device is not None:
            split = forms.rdma_port(port)
            if split and split[0] == device:
                item.port = split[1]
            elif port.isdigit() and self._tables.ports.is_rdma(item.host, device):
                item.port = f"{device}:{int(port)}"
        bdf = item.fields.get("bdf")
        if isinstance(bdf, str):
            item.fields["bdf"] = forms.function(bdf) or bdf

    def _join_port(self, item: Observation) -> None:
        assert item.device is not None
        self._place(item, self._device(item.host, item.device))

    def _join_function(self, item: Observation) -> None:
        self._place(item, self._function(item.host, str(item.fields["bdf"])))

    def _place(self, item: Observation, found: Port | None) -> None:
        if found is None or not _same_number(item.port, found.port):
            return
        spelled = item.device or str(item.fields.get("bdf", ""))
        _note(self._notes, found.source, spelled, found.port or found.device, found.host)
        _keep(item, "device", spelled)
        port = found.port or _renumbered(item.port, found.device)
        item.host, item.device, item.port = found.host, found.device, port

    def _join_guid(self, item: Observation) -> None:
        """The port that the subnet manager names by GUID; where its host has another name there, nothing is joined."""
        guid = forms.guid(item.port) if item.port else None
        found = self._tables.ports.of_guid(guid) if guid else None
        if found is None or item.port is None or (item.host is not None and item.host != found.host):
            return
        _note(self._notes, found.source, item.port, found.port or found.device, found.host)
        _keep(item, "port", item.port)
        item.host, item.device, item.port = found.host, found.device, found.port or item.port

    def _join_gpu(self, item: Observation) -> None:
        text, gpus = item.fields.get("gpu"), self._tables.gpus
        field = "gpu"
        if text is None and item.kind.startswith("host."):
            text, field = item.fields.get("bdf"), "bdf"
        if not isinstance(text, str):
            return
        if field == "bdf":
            self._join_pci(item, text)
            return
        slot = forms.slot(text)
        if slot is not None:
            item.fields["gpu"] = slot
            found: Gpu | None = Gpu(item.host, slot, item.source)
        elif item.kind.startswith("job."):
            number = forms.index(text)
            known = item.rank is not None and number is not None
            found = gpus.of_rank((item.job, item.rank), number) if known and item.rank is not None else None
        else:
            found = gpus.of_name(item.host, text)
        if found is not None and item.device is None and item.host in (None, found.host):
            if found.source is not item.source:
                _note(self._notes, found.source, f"GPU {text}", found.slot, found.host)
            item.host, item.device = found.host, found.slot
            self._fill_rank(item, found.host, found.slot)

    def _join_pci(self, item: Observation, text: str) -> None:
        """A PCI function of the host: a NIC, a GPU, or what no table knows."""
        function = forms.function(text)
        if function is None:
            return
        item.fields["bdf"] = function
        slot = function.partition(".")[0]
        if item.device is not None:
            return
        if item.fields.get("what") == "gpu" or self._tables.gpus.is_slot(item.host, slot):
            item.device = slot
            self._fill_rank(item, item.host, slot)
        else:
            self._join_function(item)

    def _fill_rank(self, item: Observation, host: Host, slot: str) -> None:
        if item.rank is not None or item.run:
            return
        rank = self._tables.gpus.rank_of(host, slot)
        if rank is not None and item.job in (None, rank[0]):
            _keep(item, "rank", "")
            item.rank = rank[1]
            _note(self._notes, self._tables.gpus.rank_source(rank, host, slot), f"GPU {slot}", f"rank {rank[1]}", host)


def _same_number(port: str | None, found: str | None) -> bool:
    """Whether a port number that a line states is not another one than the table's."""
    if port is None or found is None:
        return True
    return port.rpartition(":")[2].rpartition("/")[2] == found.rpartition(":")[2] or not port[-1:].isdigit()


def _renumbered(port: str | None, device: str) -> str | None:
    number = port.rpartition(":")[2] if port else ""
    return f"{device}:{int(number)}" if number.isdigit() else port


def _keep(item: Observation, name: str, value: str) -> None:
    if item.as_read is None:
        item.as_read = {}
    item.as_read.setdefault(name, value)


def _note(notes: MutableSet[str], source: Source | None, name: str, other: str, host: Host = None) -> None:
    if name != other:
        where = f" on {host}" if host else ""
        stated = f" ({source.path}:{source.line})" if source else ""
        notes.add(f"{name}{where} is {other}{stated}")
