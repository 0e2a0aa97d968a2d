"""The boot of a switch is no boot of a host: its kernel prints the same line.

A switch that runs Linux logs ``Linux version`` as every host does. A warm reboot restarts its control plane while its
ports go on forwarding, so that the boot behind it is a change; any other takes the ports with it.
"""

from __future__ import annotations

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
"""What a host that computes also says."""

WARM = "warm"
WARM_WITHIN = 600 * SECOND


def name_switch_boots(observations: Iterable[Observation]) -> list[Observation]:
    """``observations`` with boots of switches as ``switch.reboot``, or ``switch.config_change`` behind a warm reboot.

    A switch is a host that speaks of its own ports and of no job, library or NIC.
    """
    items = list(observations)
    switches = {item.host for item in items if item.kind in OWN and item.host}
    switches -= {item.host for item in items if item.kind.startswith(WORKER)}
    return [_named(item, items) if item.kind in BOOTS and item.host in switches else item for item in items]


def _named(boot: Observation, items: Iterable[Observation]) -> Observation:
    text = {"text": boot.fields["text"]} if "text" in boot.fields else {}
    if any(_warm(item, boot) for item in items):
        return replace(boot, kind="switch.config_change", fields={"what": "other", **text})
    return replace(boot, kind="switch.reboot", fields=text)


def _warm(item: Observation, boot: Observation) -> bool:
    """Whether ``item`` announces the warm reboot that ``boot`` belongs to."""
    if item.kind != "switch.config_change" or item.host != boot.host or WARM not in str(item.fields.get("text", "")):
        return False
    if item.when is None or boot.when is None or item.when.basis != boot.when.basis:
        return item.source.path == boot.source.path and item.source.line < boot.source.line
    return item.when.earliest <= boot.when.latest and boot.when.earliest - item.when.latest <= WARM_WITHIN
