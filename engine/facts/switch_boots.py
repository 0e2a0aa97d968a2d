"""The boot of a switch is no boot of a host: its kernel prints the same line.

A switch that runs Linux logs ``Linux version`` as every host does. A warm reboot restarts its control plane while its
ports go on forwarding, so that the boot behind it is a change; any other takes the ports with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from engine.facts.model import SECOND, Observation

BOOTS = ("host.boot", "host.shutdown")
OWN = (
    "switch.port_down",
    "switch.port_up",
    "switch.pfc_storm",
    "switch.pfc_restored",
    "switch.hardware_fault",
    "switch.port_problem",
    "switch.port_state",
    "switch.lossless_config",
    "switch.pfc_watchdog",
    "switch.config_change",
)
"""Kinds whose host is a switch that speaks of itself."""

WORKER = ("job.", "comm.", "nic.")
"""What a host that computes also says. Of ``nic.`` a switch says some itself: its port is slow (see ``_computes``)."""

WARM = "warm"
WARM_WITHIN = 600 * SECOND


def name_switch_boots(observations: Iterable[Observation]) -> list[Observation]:
    """``observations`` with boots of switches as ``switch.reboot``, or ``switch.config_change`` behind a warm reboot.

    A switch is a host that speaks of its own ports and of no job, library or NIC.
    """
    items = list(observations)
    switches = {item.host for item in items if item.kind in OWN and item.host}
    switches -= {item.host for item in items if _computes(item)}
    announced: dict[str, list[Observation]] = defaultdict(list)
    for item in items:
        if item.host in switches and _announces(item):
            announced[item.host].append(item)
    return [
        _named(item, announced[item.host]) if item.kind in BOOTS and item.host in switches else item for item in items
    ]


def _computes(item: Observation) -> bool:
    """Whether ``item`` is of a host that computes; a port without a device is one of a switch, not of a NIC."""
    own_port = item.kind.startswith("nic.") and item.port is not None and item.device is None
    return item.kind.startswith(WORKER) and not own_port


def _announces(item: Observation) -> bool:
    return item.kind == "switch.config_change" and WARM in str(item.fields.get("text", ""))


def _named(boot: Observation, announced: Iterable[Observation]) -> Observation:
    text = {"text": boot.fields["text"]} if "text" in boot.fields else {}
    if any(_warm(item, boot) for item in announced):
        return replace(boot, kind="switch.config_change", fields={"what": "other", **text})
    return replace(boot, kind="switch.reboot", fields=text)


def _warm(item: Observation, boot: Observation) -> bool:
    """Whether ``item``, which announces a warm reboot of that switch, announces the one that ``boot`` belongs to."""
    if item.when is None or boot.when is None or item.when.basis != boot.when.basis:
        return item.source.path == boot.source.path and item.source.line < boot.source.line
    return item.when.earliest <= boot.when.latest and boot.when.earliest - item.when.latest <= WARM_WITHIN
