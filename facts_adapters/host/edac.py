"""Errors of main memory that the memory controller counted: ``/sys/devices/system/edac`` and ``edac-util``.

They count since the driver was loaded (Documentation/ABI/testing/sysfs-devices-edac; edac-utils 0.18). Corrected ones
are normal at a low rate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.facts.model import CounterSample
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.host._statement import Counting

_NAME = "edac"
_LISTED = re.compile(r"(?:\S{0,200}/)?(?P<device>mc\d{1,4})/(?P<counter>[cu]e_count)[: =]{1,3}(?P<value>\d{1,18})$")
_SINGLE = re.compile(r"(?:^|/)(?P<device>mc\d{1,4})/(?P<counter>[cu]e_count)$")
_UTILITY = re.compile(r"(?P<device>mc\d{1,4}): (?P<value>\d{1,18}) (?P<word>Corrected|Uncorrected) Errors with no DIMM")


def sniff(head: Head) -> Verdict:
    """Counters of a memory controller, one a line or alone in a file of that name."""
    if _SINGLE.search(head.path) and head.lines and head.lines[0].strip().isdigit():
        return Verdict(0.9, "counter of a memory controller")
    listed = "e_count" in head.text and any(_LISTED.match(line) for line in head.lines)
    told = "Errors with no DIMM" in head.text and any(_UTILITY.match(line) for line in head.lines)
    return Verdict(0.9, "counters of memory controllers") if listed or told else Verdict(0.0, "no EDAC counters")


def read(file: EvidenceFile, context: Context) -> Iterator[CounterSample]:
    """Counter samples of family ``edac``, one per memory controller."""
    counting = Counting(file, "edac", _NAME, context.snapshot_time(file.path))
    single = _SINGLE.search(file.path)
    for line in file.lines():
        text = line.text.strip()
        listed, told = _LISTED.match(text), _UTILITY.match(text)
        if listed:
            yield counting.sample(line, listed["counter"], int(listed["value"]), listed["device"])
        elif told:
            counter = "ce_count" if told["word"] == "Corrected" else "ue_count"
            yield counting.sample(line, counter, int(told["value"]), told["device"])
        elif single and text.isdigit() and len(text) < 19:
            yield counting.sample(line, single["counter"], int(text), single["device"])


ADAPTER = Adapter(
    name=_NAME,
    branch="host",
    emits=("host.counter_rise",),
    coverage=None,
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            "/sys/devices/system/edac/mc/mc0/ce_count:12\n/sys/devices/system/edac/mc/mc0/ue_count:1\n",
            (("counter", {"family": "edac", "counter": "ue_count", "value": 1, "device": "mc0"}),),
        ),
        Sample("7\n", (("counter", {"counter": "ce_count", "value": 7}),), path="sys/devices/edac/mc/mc1/ce_count"),
        Sample("mc0: 3 Uncorrected Errors with no DIMM info\n", (("counter", {"counter": "ue_count", "value": 3}),)),
        Sample("no_count: 12\n"),
    ),
)
