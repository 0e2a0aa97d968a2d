"""Pressure stall information, ``/proc/pressure/{cpu,memory,io}`` and ``*.pressure`` of cgroups (Linux >= 4.20).

The resource stands in front of the line (``grep . /proc/pressure/*``), in a heading above, or in the file's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.host._statement import state

_SHARE = r"(?P<share>some|full) avg10=(?P<avg10>[\d.]{1,12}) avg60=[\d.]{1,12} avg300=(?P<avg300>[\d.]{1,12})"
_AVERAGES = re.compile(_SHARE)
_LINE = re.compile(r"(?:(?P<prefix>\S{0,200}?)[: ])?\s{0,20}" + _SHARE)
_RESOURCE = re.compile(r"(?:^|[^a-z])(?P<resource>cpu|memory|io)(?:$|[^a-z])")


def sniff(head: Head) -> Verdict:
    """Lines with the averages."""
    found = _AVERAGES.search(head.text) is not None
    return Verdict(0.9, "pressure averages") if found else Verdict(0.0, "no pressure averages")


def read(file: EvidenceFile, context: Context) -> Iterator[Observation]:
    """``host.pressure`` per resource with the shares of the last ten seconds."""
    resource = _named(file.path.rpartition("/")[2])
    when = context.snapshot_time(file.path)
    held: tuple[Line, dict[str, Scalar]] | None = None
    for line in file.lines():
        match = _LINE.search(line.text) if _AVERAGES.search(line.text) else None
        if match is None:
            resource = _named(line.text) or resource
            continue
        resource = _named(match["prefix"] or "") or resource
        if match["share"] == "some":
            if held:
                yield state(file, held[0], "host.pressure", held[1], when)
            held = (line, {"some_avg10": float(match["avg10"]), "some_avg300": float(match["avg300"])})
            if resource:
                held[1]["resource"] = resource
        elif held:
            held[1]["full_avg10"] = float(match["avg10"])
    if held:
        yield state(file, held[0], "host.pressure", held[1], when)


def _named(text: str) -> str | None:
    match = _RESOURCE.search(text)
    return match["resource"] if match else None


_IO = """\
some avg10=81.20 avg60=60.01 avg300=21.33 total=64207318
full avg10=66.01 avg60=50.76 avg300=17.54 total=51390577
"""
_GREP = """\
/proc/pressure/cpu:some avg10=8.52 avg60=7.67 avg300=5.11 total=38174462
/proc/pressure/cpu:full avg10=0.00 avg60=0.00 avg300=0.00 total=0
/proc/pressure/memory:some avg10=0.13 avg60=0.12 avg300=0.08 total=27916043
"""

ADAPTER = Adapter(
    name="pressure_stall",
    branch="host",
    emits=("host.pressure",),
    coverage=None,
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            _IO,
            (("host.pressure", {"resource": "io", "some_avg10": 81.2, "full_avg10": 66.01}),),
            path="node1/pressure_io.txt",
        ),
        Sample(
            _GREP,
            (
                ("host.pressure", {"resource": "cpu", "some_avg10": 8.52, "full_avg10": 0.0}),
                ("host.pressure", {"resource": "memory", "some_avg10": 0.13}),
            ),
        ),
        Sample("load average: 1.02, 0.90, 0.81\n"),
    ),
)
