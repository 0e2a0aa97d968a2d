"""Lost messages in a copy of ``/dev/kmsg`` (Documentation/ABI/testing/dev-kmsg, linux 3.5 .. 6.x).

Each record begins with priority, sequence number and microseconds since boot; a reader that is too slow misses numbers.
The messages themselves are read by the signatures.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.facts.model import Observation, Reading
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.host._statement import state

_RECORD = re.compile(r"\d{1,4},(?P<sequence>\d{1,15}),(?P<since_boot>\d{1,15}),[-c+](?:,[^;]{0,200})?;")
_LEAST = 2


def sniff(head: Head) -> Verdict:
    """Several records with their numbers."""
    found = ",-;" in head.text and sum(bool(_RECORD.match(line)) for line in head.lines[:50]) >= _LEAST
    return Verdict(0.9, "/dev/kmsg") if found else Verdict(0.0, "no records of /dev/kmsg")


def read(file: EvidenceFile, _context: Context) -> Iterator[Observation]:
    """``host.kernel_log_gap`` where numbers are missing."""
    last: int | None = None
    for line in file.lines():
        record = _RECORD.match(line.text)
        if record is None:
            continue
        sequence = int(record["sequence"])
        if last is not None and sequence > last + 1:
            at = int(record["since_boot"])
            when = Reading(at, at, "boot", False)
            yield state(file, line, "host.kernel_log_gap", {"suppressed": sequence - last - 1}, when)
        last = sequence


ADAPTER = Adapter(
    name="kmsg_gaps",
    branch="host",
    emits=("host.kernel_log_gap",),
    coverage=None,
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            "6,3964,206764307,-;ready\n SUBSYSTEM=pci\n6,3965,206764309,-;next\n4,4011,206764999,-;after the gap\n",
            (("host.kernel_log_gap", {"suppressed": 45}),),
            path="kmsg.txt",
        ),
        Sample("6,3964,206764307,-;first\n6,3965,206764309,c;second\n6,3966,206764310,-;third\n"),
        Sample("1,2,3,-;\n"),
    ),
)
