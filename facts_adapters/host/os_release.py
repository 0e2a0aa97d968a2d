"""The system of a host: ``/etc/os-release`` (os-release(5)) and ``hostnamectl`` (systemd 219 .. 256)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.facts.model import Observation
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.host._statement import state

_NAME = re.compile(r"PRETTY_NAME=\"?(?P<version>[^\"]{1,100})\"?$")
_SYSTEM = re.compile(r"\s*Operating System: (?P<version>\S.{0,100})$")
_KERNEL = re.compile(r"\s*Kernel: (?:Linux )?(?P<version>\d\S{0,100})$")


def sniff(head: Head) -> Verdict:
    """The name of the system as one of the two writes it."""
    if "PRETTY_NAME=" in head.text and any(_NAME.match(line) for line in head.lines):
        return Verdict(0.9, "os-release")
    found = "Static hostname:" in head.text and any(_SYSTEM.match(line) for line in head.lines)
    return Verdict(0.9, "hostnamectl") if found else Verdict(0.0, "no name of a system")


def read(file: EvidenceFile, context: Context) -> Iterator[Observation]:
    """``host.software`` of the system and its kernel."""
    when = context.snapshot_time(file.path)
    for line in file.lines():
        for pattern, name in ((_NAME, "os"), (_SYSTEM, "os"), (_KERNEL, "kernel")):
            match = pattern.match(line.text.rstrip())
            if match:
                yield state(file, line, "host.software", {"name": name, "version": match["version"]}, when)


ADAPTER = Adapter(
    name="os_release",
    branch="host",
    emits=("host.software",),
    coverage=None,
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            'PRETTY_NAME="Ubuntu 24.04.1 LTS"\nVERSION_ID="24.04"\n',
            (("host.software", {"name": "os", "version": "Ubuntu 24.04.1 LTS"}),),
            path="etc/os-release",
        ),
        Sample(
            " Static hostname: n07\nOperating System: Debian GNU/Linux 12\n          Kernel: Linux 6.1.0-18-amd64\n",
            (("host.software", {"name": "kernel", "version": "6.1.0-18-amd64"}),),
        ),
        Sample("Kernel: Linux 6.1.0-18-amd64\n"),
    ),
)
