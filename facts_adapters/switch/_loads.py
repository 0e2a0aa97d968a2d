"""How full the ports of a switch are, as its tables of rates say, and the neighbour that a port's description names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.facts.model import Observation, Reading, Scalar, Source
from facts_adapters.switch._tables import observation, port_name

FULL, IDLE = 85.0, 20.0
"""Percent of the line rate from which a port is full, and up to which it is idle."""

_TOWARDS = re.compile(
    r"^(?:to[_ -])?(?P<peer>[A-Za-z][\w.-]{0,60}?)[:_ -]{1,3}"
    r"(?P<far>(?:Ethernet|Eth|Et|swp|Hu|Fo|et-|xe-|\d{2,3}GE)\d[\d/:]*)$"
)
"""``spine1:Et3/1``, ``to_spine1_Ethernet3/1``: a switch and its port, as people describe an uplink."""


@dataclass(frozen=True, slots=True)
class Load:
    """One port in one direction (``rx`` or ``tx``), in percent of its rate."""

    port: str
    direction: str
    percent: float
    source: Source


def utilisation(loads: Sequence[Load], host: str | None, when: Reading | None) -> Iterator[Observation]:
    """The full and the idle ports of one table, in each direction in which some port is full."""
    for direction in ("rx", "tx"):
        own = [load for load in loads if load.direction == direction]
        if not any(load.percent >= FULL for load in own):
            continue
        for load in own:
            if load.percent >= FULL or load.percent <= IDLE:
                fields: dict[str, Scalar | None] = {
                    "direction": direction,
                    "percent": round(load.percent),
                    "level": "full" if load.percent >= FULL else "idle",
                }
                yield observation("switch.utilisation", load.source, fields, host=host, port=load.port, when=when)


def described(text: str, host: str | None, port: str, where: Source) -> Iterator[Observation]:
    """The other switch that the description of a port names; descriptions in other words are left out."""
    named = _TOWARDS.match(text.strip())
    if named and host:
        fields: dict[str, Scalar] = {"peer_port": port_name(named["far"]), "origin": "plan"}
        yield Observation("switch.trunk", where, fields, host=host, port=port, peer=named["peer"].partition(".")[0])
