"""Links that come up for the first time: a down and up right after boot or the driver's probe is no fault.

Drivers report "Link down" while a port trains (``mlx5e_carrier_event``, ``bnxt_report_link``): at boot and after the
driver was loaded, before the link was ever up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from engine.facts.model import SECOND, Observation

BRING_UP = 120 * SECOND
"""How long after the boot or the probe a port may train, and how soon it must be up then."""

BRING_UP_KIND = "nic.link_training"
"""What a down of a port is that comes up for the first time."""

STARTS = ("host.boot", "nic.driver_started")


def mark_bring_up(observations: Iterable[Observation]) -> list[Observation]:
    """``observations`` with ``nic.link_training`` in place of every ``nic.link_down`` that is part of a bring-up.

    That is one within 120 s of the boot (of the host's boot message or by the kernel's stamp, which counts from the
    boot) or of the driver's start, where the device came up within 120 s and had not been up since that start. A driver
    that starts again after a fault of its NIC is no bring-up.
    """
    items = list(observations)
    logs: dict[str, list[Observation]] = defaultdict(list)
    for item in items:
        logs[item.source.path].append(item)
    training = {id(item) for log in logs.values() for item in _training(log)}
    return [replace(item, kind=BRING_UP_KIND) if id(item) in training else item for item in items]


def _training(log: Sequence[Observation]) -> list[Observation]:
    if not any(item.kind == "nic.link_down" for item in log):
        return []
    found: list[Observation] = []
    ordered = sorted(log, key=lambda item: item.source.line)
    for place, item in enumerate(ordered):
        if item.kind != "nic.link_down":
            continue
        start = _start(ordered[:place], item)
        if start is None or any(_is_up(other, item) for other in ordered[start:place]):
            continue
        if any(_is_up(other, item) and _soon(item, other) for other in ordered[place + 1 :]):
            found.append(item)
    return found


def _start(earlier: Sequence[Observation], down: Observation) -> int | None:
    """Index of the start that ``down`` follows within the time of a bring-up; ``None`` where there is none."""
    for place in range(len(earlier) - 1, -1, -1):
        item = earlier[place]
        if item.kind in STARTS and _same_host(item, down) and _soon(item, down):
            failed = item.kind != "host.boot" and any(other.kind == "nic.firmware_fault" for other in earlier)
            return None if failed else place
    when = down.when
    return 0 if when is not None and when.basis == "boot" and when.latest <= BRING_UP else None


def _is_up(item: Observation, down: Observation) -> bool:
    return item.kind == "nic.link_up" and item.device == down.device and _same_host(item, down)


def _same_host(one: Observation, other: Observation) -> bool:
    return one.host == other.host or one.host is None or other.host is None


def _soon(one: Observation, other: Observation) -> bool:
    """Whether ``other`` is certainly at most the time of a bring-up after ``one``."""
    if one.when is None or other.when is None or one.when.basis != other.when.basis:
        return False
    return one.when.earliest <= other.when.latest and other.when.latest - one.when.earliest <= BRING_UP
