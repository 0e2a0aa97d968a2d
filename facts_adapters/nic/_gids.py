"""What the table of GIDs of a port says, whichever tool shows it."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.facts.model import Observation, Reading
from facts_adapters.adapter import EvidenceFile, Line
from facts_adapters.nic import _ports
from facts_adapters.quoting import quote

_MAPPED = ipaddress.ip_network("::ffff:0:0/96")


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of a GID table."""

    line: Line
    device: str
    port: str
    index: int
    gid: str
    version: str | None
    netdev: str | None

    @property
    def kind(self) -> str:
        """``link_local``, ``ipv4``, ``ipv6`` or ``none`` for an empty entry."""
        address = ipaddress.IPv6Address(self.gid)
        if int(address) == 0:
            return "none"
        if address in _MAPPED:
            return "ipv4"
        return "link_local" if address.is_link_local else "ipv6"


def table(
    file: EvidenceFile, port: str, entries: Sequence[Entry], when: Reading | None = None
) -> Iterator[Observation]:
    """``nic.gid`` of every entry in use and ``nic.gid_table``; ``nic.address_missing`` where none is in use."""
    used = [entry for entry in entries if entry.kind != "none"]
    for entry in used:
        fields: _ports.Fields = {
            "index": entry.index,
            "gid": entry.gid,
            "version": entry.version,
            "class": entry.kind,
            "netdev": entry.netdev,
        }
        where = quote(file, entry.line)
        yield _ports.observe("nic.gid", where, fields, host=file.host, device=entry.device, port=port, when=when)
    routable = [entry.index for entry in used if entry.kind in ("ipv4", "ipv6") and entry.version in ("v2", None)]
    first = used[0] if used else entries[0]
    fields = {
        "entries": len(used),
        "routable": len(routable),
        "lowest_index": min((entry.index for entry in used), default=None),
        "lowest_routable": min(routable, default=None),
        "netdev": first.netdev,
    }
    where = quote(file, first.line)
    yield _ports.observe("nic.gid_table", where, fields, host=file.host, device=first.device, port=port, when=when)
    if not used:
        fields = {"what": "gid", "text": "the GID table is empty"}
        yield _ports.observe(
            "nic.address_missing", where, fields, host=file.host, device=first.device, port=port, when=when
        )
