"""Names of hosts: what a pod, an address or a full name means where the bundle says so."""

from __future__ import annotations

import ipaddress
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from engine.facts.manifest import Manifest
from engine.facts.model import CounterSample, Observation, Source

ADDRESS_KINDS = ("comm.interface_used", "host.interface_address")
"""Kinds that say which host has an address."""

HOST_KIND = "identity.host"
PLACEMENT_KINDS = (HOST_KIND, "job.placement")
"""Kinds that say on which node a pod runs, and with which address."""


def other_names(
    observations: Iterable[Observation], samples: Iterable[CounterSample], manifest: Manifest
) -> Mapping[str, tuple[str, Source | None]]:
    """Names to replace, each with the host's name and the line that states it (``None`` where the name itself tells).

    A pod becomes its node, an address its owner, and of a short and a full name the one that the manifest uses, else
    the short one. A name that is stated for two hosts is left alone, and so is one that the manifest lists.
    """
    seen: set[str] = {sample.host for sample in samples if sample.host}
    stated: dict[str, dict[str, Source]] = defaultdict(dict)
    for item in observations:
        if item.peer:
            seen.add(item.peer)
        if item.host:
            seen.add(item.host)
            if not item.run:
                _learn(stated, item, item.host)
    listed = {*manifest.nodes, *manifest.clock_hosts, *(hint.host for hint in manifest.sources if hint.host)}
    found: dict[str, tuple[str, Source | None]] = {}
    pods = Counter(host for name, hosts in stated.items() if not _is_address(name) for host in hosts)
    for name, hosts in stated.items():
        if len(hosts) == 1:
            host, source = next(iter(hosts.items()))
            if name not in listed and name in seen:
                found[name] = (host, source)
            elif name in listed and host not in listed and pods[host] == 1 and not _is_address(name):
                found[host] = (name, source)
    for name, host in _full_names(seen | listed, listed).items():
        found.setdefault(name, (host, None))
    return {name: (_last(found, host), source) for name, (host, source) in found.items() if _last(found, host) != name}


def _learn(stated: dict[str, dict[str, Source]], item: Observation, host: str) -> None:
    names: list[str] = []
    address = item.fields.get("address")
    if item.kind in ADDRESS_KINDS and isinstance(address, str):
        names.append(bare_address(address))
    elif item.kind in PLACEMENT_KINDS:
        names += [value for value in (item.fields.get("name"), address) if isinstance(value, str)]
    for name in names:
        if name and name != host:
            known = stated[name].get(host)
            if known is None or (item.source.path, item.source.line) < (known.path, known.line):
                stated[name][host] = item.source


def bare_address(text: str) -> str:
    """An address without its prefix length or NCCL's ``<port>``."""
    return text.partition("/")[0].partition("<")[0]


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _full_names(names: Iterable[str], listed: set[str]) -> dict[str, str]:
    """Short name for full, or full for short where the manifest lists that; of two full names with one short none."""
    full: dict[str, set[str]] = defaultdict(set)
    known = set(names)
    for name in known:
        short, dot, _ = name.partition(".")
        if dot and short in known and not short.isdigit():
            full[short].add(name)
    found: dict[str, str] = {}
    for short, longer in full.items():
        if len(longer) == 1:
            name = next(iter(longer))
            if name in listed and short not in listed:
                found[short] = name
            elif name not in listed or short not in listed:
                found[name] = short
    return found


def _last(found: Mapping[str, tuple[str, Source | None]], host: str) -> str:
    """Follow a few steps: the address of a pod leads to the pod and on to its node."""
    for _ in range(3):
        if host not in found:
            break
        host = found[host][0]
    return host
