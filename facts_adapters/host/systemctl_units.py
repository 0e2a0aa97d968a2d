"""Failed units: ``systemctl --failed`` and ``systemctl list-units`` (systemd 219 .. 256)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.facts.model import Observation
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.host._statement import state

_HEADER = re.compile(r"\s*UNIT +LOAD +ACTIVE +SUB +(?:JOB +)?DESCRIPTION")
_ROW = re.compile(
    r"(?:[●○×*x↻] |  )?(?P<unit>[\w@.:\\-]{1,200}\.(?:service|mount|socket|target|timer|automount|swap|slice|scope)) +"
    r"(?P<load>[\w-]+) +(?P<active>\w+) +(?P<sub>[\w-]+)(?: |$)"
)
_NONE = re.compile(r"0 loaded units listed\.")
_FABRIC = re.compile(r"nvidia-(?P<service>fabricmanager|imex)\.")


def sniff(head: Head) -> Verdict:
    """The heading of the list, or the line that says that it is empty."""
    if "ACTIVE" in head.text and any(_HEADER.match(line) for line in head.lines):
        return Verdict(0.9, "list of units")
    found = "loaded units listed" in head.text and any(_NONE.match(line) for line in head.lines)
    return Verdict(0.9, "empty list of units") if found else Verdict(0.0, "no list of units")


def read(file: EvidenceFile, context: Context) -> Iterator[Observation]:
    """``host.service_failed``, and ``host.fabric_manager`` for that service and IMEX."""
    when = context.snapshot_time(file.path)
    for line in file.lines():
        row = _ROW.match(line.text)
        if row is None:
            continue
        fabric = _FABRIC.match(row["unit"])
        if fabric and row["active"] in ("active", "failed"):
            known = "running" if row["active"] == "active" else "failed"
            fields = {"service": fabric["service"], "state": known, "text": f"{row['active']} ({row['sub']})"}
            yield state(file, line, "host.fabric_manager", fields, when)
        elif row["active"] == "failed":
            yield state(file, line, "host.service_failed", {"unit": row["unit"], "result": row["sub"]}, when)


_FAILED = """\
  UNIT                          LOAD   ACTIVE SUB    DESCRIPTION
● nvidia-fabricmanager.service  loaded failed failed NVIDIA fabric manager service
● mnt-data.mount                loaded failed failed /mnt/data

LOAD   = Reflects whether the unit definition was properly loaded.
ACTIVE = The high-level unit activation state, i.e. generalization of SUB.
2 loaded units listed.
"""
_ALL = """\
UNIT                      LOAD      ACTIVE   SUB     JOB DESCRIPTION
nvidia-imex.service       loaded    active   running     NVIDIA IMEX service
chronyd.service           loaded    active   running     NTP client/server
● ofed.service            not-found inactive dead        ofed.service
"""

ADAPTER = Adapter(
    name="systemctl_units",
    branch="host",
    emits=("host.service_failed", "host.fabric_manager"),
    coverage=None,
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            _FAILED,
            (
                ("host.fabric_manager", {"service": "fabricmanager", "state": "failed"}),
                ("host.service_failed", {"unit": "mnt-data.mount", "result": "failed"}),
            ),
            path="sos_commands/systemd/systemctl_list-units_--failed",
        ),
        Sample(_ALL, (("host.fabric_manager", {"service": "imex", "state": "running"}),)),
        Sample("  UNIT LOAD ACTIVE SUB DESCRIPTION\n0 loaded units listed.\n"),
        Sample("chronyd.service failed to be looked at\n"),
    ),
)
