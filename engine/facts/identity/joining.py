"""Give what was read the names of the tables; what a line said is kept in ``as_read``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from engine.facts.identity import forms
from engine.facts.identity.hosts import other_names
from engine.facts.identity.table import IDENTITY_KINDS, Gpu, Host, Port, Tables
from engine.facts.manifest import Manifest
from engine.facts.model import CounterSample, Fact, Observation, Source

PORT_BRANCHES = ("nic.", "comm.", "switch.attached")
"""Beginnings of the kinds whose ``device`` and ``port`` are those of a host's NIC."""

SUBNET_PORTS = ("switch.node_removed", "switch.subnet_event")
"""Kinds of the subnet manager whose ``port`` is a GUID."""

GPU_BRANCHES = ("host.", "job.")
NOTES_KEPT = 20
"""Joined names that are listed one by one; beyond, a line says how many more there are."""


Notes = dict[tuple[Host, str, str, str], str]
"""Why a name was joined, by host, subject field, the name as it was read and the joined one."""


def join_hosts(
    observations: Sequence[Observation], samples: Sequence[CounterSample], manifest: Manifest
) -> tuple[list[CounterSample], Notes]:
    """Give the observations, in place, and the samples one name for each host; returns the samples and why."""
    names = other_names(observations, samples, manifest)
    if not names:
        return list(samples), {}
    for item in observations:
        if item.host is not None and item.host in names:
            _keep(item, "host", item.host)
            item.host = names[item.host][0]
        if item.peer is not None and item.peer in names:
            item.peer = names[item.peer][0]
    renamed = [
        replace(sample, host=names[sample.host][0]) if sample.host and sample.host in names else sample
        for sample in samples
    ]
    notes: Notes = {}
    for name, (host, source) in names.items():
        _note(notes, "host", source, name, host, host)
    return renamed, notes


def join_devices(
    observations: Iterable[Observation], samples: Sequence[CounterSample]
) -> tuple[list[Observation], list[CounterSample], Notes]:
    """Give observations, in place, and samples one name for each port and GPU.

    Returns the observations without those that only state names, the samples, and why names were joined.
    """
    items = list(observations)
    joiner = _Joiner(Tables.learn(items, samples))
    kept = [item for item in items if item.kind not in IDENTITY_KINDS]
    for item in kept:
        joiner.observation(item)
    return kept, [joiner.sample(sample) for sample in samples], joiner.notes


def assumptions(facts: Iterable[Fact], notes: Notes) -> list[str]:
    """The notes on the names of these facts in order; of many the first, and how many more."""
    used = {
        notes[key]
        for fact in facts
        for field, read in (fact.as_read or {}).items()
        if (key := (fact.host, field, read, str(fact.get(field)))) in notes
    }
    more = len(used) - NOTES_KEPT
    return [*sorted(used)[:NOTES_KEPT], *([f"{more} more names were joined"] if more > 0 else [])]


class _Joiner:
    """Looks names up in the tables of one bundle."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self.notes: Notes = {}
        self._device = lru_cache(maxsize=65_536)(tables.ports.of_device)
        self._function = lru_cache(maxsize=65_536)(tables.ports.of_function)
        self._sampled: dict[tuple[Host, str, str | None], tuple[Host, str, str | None] | None] = {}
        self._rank = lru_cache(maxsize=65_536)(tables.gpus.rank_of)

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
        if sample.device is None:
            return sample
        key = (sample.host, sample.device, sample.port)
        if key not in self._sampled:
            self._sampled[key] = self._port_of(*key)
        found = self._sampled[key]
        if found is None:
            return sample
        host, device, port = found
        family = "ibquery_host" if sample.family == "ibquery" else sample.family
        read = None if sample.device.startswith(device) else sample.device  # mlx5_7:1 is only another spelling
        return replace(sample, family=family, host=host, device=device, port=port, as_read=read)

    def _port_of(self, host: Host, device: str, port: str | None) -> tuple[Host, str, str | None] | None:
        """Host, device and port of samples; ``None`` where they keep their names."""
        split = forms.rdma_port(device)
        if split and port in (None, device):
            return (host, *split)
        found = self._device(host, device)
        if found is None or not _same_number(port, found.port):
            return None
        _note(self.notes, "device", found.source, device, found.device, found.host)
        return found.host, found.device, found.port or _renumbered(port, found.device)

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
            _spell(item, "bdf", forms.function(bdf) or bdf)

    def _join_port(self, item: Observation) -> None:
        assert item.device is not None
        self._place(item, self._device(item.host, item.device))

    def _join_function(self, item: Observation) -> None:
        self._place(item, self._function(item.host, str(item.fields["bdf"])))

    def _place(self, item: Observation, found: Port | None) -> None:
        if found is None or not _same_number(item.port, found.port):
            return
        spelled = item.device or str(item.fields.get("bdf", ""))
        _note(self.notes, "device", found.source, spelled, found.device, found.host)
        _keep(item, "device", spelled)
        port = found.port or _renumbered(item.port, found.device)
        item.host, item.device, item.port = found.host, found.device, port

    def _join_guid(self, item: Observation) -> None:
        """The port that the subnet manager names by GUID; where its host has another name there, nothing is joined."""
        guid = forms.guid(item.port) if item.port else None
        found = self._tables.ports.of_guid(guid) if guid else None
        if found is None or item.port is None or (item.host is not None and item.host != found.host):
            return
        _note(self.notes, "port", found.source, item.port, found.port or item.port, found.host)
        _keep(item, "port", item.port)
        item.host, item.device, item.port = found.host, found.device, found.port or item.port

    def _join_gpu(self, item: Observation) -> None:
        text = item.fields.get("gpu")
        if text is None and item.kind.startswith("host."):
            text = item.fields.get("bdf")
            if isinstance(text, str):
                self._join_pci(item, text)
            return
        if isinstance(text, str):
            self._place_gpu(item, text, self._gpu(item, text))

    def _gpu(self, item: Observation, text: str) -> Gpu | None:
        gpus, slot = self._tables.gpus, forms.slot(text)
        if slot is not None:
            _spell(item, "gpu", slot)
            return Gpu(item.host, slot, item.source)
        if not item.kind.startswith("job."):
            return gpus.of_name(item.host, text)
        number = forms.index(text)  # inside the process, whose visible devices may be counted otherwise
        return gpus.of_rank((item.job, item.rank), number) if item.rank is not None and number is not None else None

    def _place_gpu(self, item: Observation, text: str, found: Gpu | None) -> None:
        if found is None or item.device is not None or item.host not in (None, found.host):
            return
        if found.source is not item.source:
            _note(self.notes, "device", found.source, f"GPU {text}", found.slot, found.host)
            _keep(item, "device", f"GPU {text}")
        item.host, item.device = found.host, found.slot
        self._fill_rank(item, found.host, found.slot)

    def _join_pci(self, item: Observation, text: str) -> None:
        """A PCI function of the host: a NIC, a GPU, or what no table knows."""
        function = forms.function(text)
        if function is None:
            return
        _spell(item, "bdf", function)
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
        rank = self._rank(host, slot)
        if rank is None or item.job not in (None, rank[0]):
            return
        _keep(item, "rank", "")
        item.rank = rank[1]
        key = (host, "rank", "", str(rank[1]))
        if key not in self.notes:
            source = self._tables.gpus.rank_source(rank, host, slot)
            self.notes[key] = f"GPU {slot}{f' on {host}' if host else ''} is that of rank {rank[1]} ({_at(source)})"


def _same_number(port: str | None, found: str | None) -> bool:
    """Whether a port number that a line states is not another one than the table's."""
    if port is None or found is None:
        return True
    return port.rpartition(":")[2].rpartition("/")[2] == found.rpartition(":")[2] or not port[-1:].isdigit()


def _renumbered(port: str | None, device: str) -> str | None:
    number = port.rpartition(":")[2] if port else ""
    return f"{device}:{int(number)}" if number.isdigit() else port


def _spell(item: Observation, field: str, name: str) -> None:
    if item.fields[field] != name:
        item.fields = {**item.fields, field: name}  # the reader's own dictionary stays as it is


def _keep(item: Observation, name: str, value: str) -> None:
    if item.as_read is None:
        item.as_read = {}
    item.as_read.setdefault(name, value)


def _note(notes: Notes, field: str, source: Source | None, name: str, other: str, host: Host) -> None:
    if name != other and (host, field, name, other) not in notes:
        where = f" on {host}" if host and host != other else ""
        notes[host, field, name, other] = f"{name}{where} is {other}{f' ({_at(source)})' if source else ''}"


def _at(source: Source) -> str:
    return f"{source.path}:{source.line}"
