"""Ports that run below what their type can do, while others of the type do not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from engine.facts.model import Observation, Reading, Scalar, Source
from facts_adapters.switch._tables import observation


@dataclass
class Speeds:
    """The ports of one output: what each can do and does, in Gb/s.

    A site may connect slower hosts to fast ports on purpose: a slow port is told only where at least as many ports of
    its type run at full speed.
    """

    ports: list[tuple[str, int, int, Source]] = field(default_factory=list)

    def add(self, port: str, able: int, speed: int, source: Source) -> None:
        """Remember a port that is up."""
        self.ports.append((port, able, speed, source))

    def slow(self, host: str | None, when: Reading | None) -> Iterator[Observation]:
        """The slow ports; forgets all."""
        for port, able, speed, source in self.ports:
            alike = [other for _, kind, other, _ in self.ports if kind == able]
            full = sum(other >= able for other in alike)
            if speed < able and 2 * full >= len(alike):
                fields: dict[str, Scalar | None] = {
                    "problem": "speed",
                    "value": f"{speed} Gb/s",
                    "expected": f"{able} Gb/s",
                }
                yield observation("nic.link_degraded", source, fields, host=host, port=port, when=when)
        self.ports.clear()
