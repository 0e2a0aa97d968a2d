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
"""``spine1:Et3/1``, ``to_spine1_Ethernet3/1``, ``to SP-01 100GE3/0/5``: a switch and its port, as people say it."""

_ROLE = re.compile(
    r"^(?:(?:link |uplink )?to[ :_-]|[-=]*> ?)?"
    r"(?P<peer>(?:[\w.-]{0,30}[-_.\d])?(?:spine|leaf|core|tor|agg)[-_.]?[a-z]{0,2}\d[\w.-]{0,20})$",
    re.IGNORECASE,
)
"""``ai-spine1``, ``to leaf04``: a name that says its place among the switches."""


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
    role = None if named else _ROLE.match(text.strip())
    if host and (told := named or role):
        fields: dict[str, Scalar] = {"origin": "plan"}
        if named:
            fields["peer_port"] = port_name(named["far"])
        yield Observation("switch.trunk", where, fields, host=host, port=port, peer=told["peer"].partition(".")[0])
