"""``perfquery``: the counters of one InfiniBand port by LID (infiniband-diags ``perfquery.c``)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from engine.facts.model import CounterSample, Observation
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.nic import _ports
from facts_adapters.quoting import quote

_HEADER = re.compile(r"^# Port (?:extended )?counters: Lid (?P<lid>\d+) port (?P<port>\d+)")
_ENTRY = re.compile(r"^(?P<name>[A-Za-z][\w]+):\.*(?P<value>\d+)\s*$")
_FILE_DEVICE = re.compile(r"perfquery\S*?_-C_(?P<device>[a-z]\w*?)_-P_(?P<port>\d+)")


def _sniff(head: Head) -> Verdict:
    return _ports.found(head, re.compile(_HEADER.pattern, re.MULTILINE), "perfquery", 1.0)


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation | CounterSample]:
    when = _ports.snapshot(file, context)
    named = _FILE_DEVICE.search(file.path)
    lid = "?"
    port: str | None = None
    for line in _ports.lines(file):
        header, entry = _HEADER.match(line.text), _ENTRY.match(line.text)
        if header:
            lid, port = header["lid"], header["port"]
        elif entry and port:
            yield CounterSample(
                source=quote(file, line),
                family="ibquery_host" if named else "ibquery",
                counter=entry["name"],
                value=int(entry["value"]),
                host=file.host,
                device=named["device"] if named else f"lid {lid}",
                port=f"{named['device']}:{named['port']}" if named else port,
                group=file.group,
                when=when,
                adapter="perfquery",
            )
        elif line.text.strip():
            when = context.reading(line.text) or when


ADAPTER = Adapter(
    name="perfquery",
    branch="nic",
    emits=("nic.counter_rise", "nic.counter_value", "switch.counter_rise", "switch.counter_value"),
    coverage="nic_counters",
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            "# Port counters: Lid 32 port 1 (CapMask: 0x5A00)\nPortSelect:......................1\n"
            "LinkDownedCounter:...............2\n",
            (
                (
                    "counter",
                    {"family": "ibquery_host", "counter": "LinkDownedCounter", "value": 2, "port": "mlx5_0:1"},
                ),
            ),
            "n1/sos_commands/infiniband/perfquery_-C_mlx5_0_-P_1",
        ),
        Sample("LinkDownedCounter:...............2\n", ()),
    ),
)
