"""A plain table of counters, for what no other reader knows: one counter in each row, named as the profile names it.

Columns ``time``, ``host``, ``device``, ``port``, ``queue`` (those that apply), ``family``, ``counter`` and ``value``;
CSV or JSON lines. A table with other columns needs a counter map (``docs/how-to/map-your-own-counters.md``).
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.facts.model import CounterSample, Observation
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.counter_maps import table
from facts_adapters.counter_maps.emitting import COUNTER_KINDS
from facts_adapters.counter_maps.model import CounterMap, Subject, Term

FAMILY = "family"

PLAIN = CounterMap(
    id="counter_table",
    reads="table",
    subject=Subject(host=Term(("host",)), device=Term(("device",)), port=Term(("port",)), queue=Term(("queue",))),
    time=Term(("time",)),
    name="counter",
    value="value",
    family=FAMILY,
)


def _sniff(head: Head) -> Verdict:
    return table.sniff(PLAIN, head)


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation | CounterSample]:
    return table.read(PLAIN, file, context)


ADAPTER = Adapter(
    name="counter_table",
    branch="nic",
    emits=("coverage.source", *COUNTER_KINDS),
    coverage=None,
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            "time,host,device,port,queue,family,counter,value\n"
            "2026-05-12T10:00:00Z,leaf1,,Ethernet8,3,sonic_queue,drop_packets,17\n"
            "2026-05-12T10:01:00Z,leaf1,,Ethernet8,3,sonic_queue,drop_packets,5017\n",
            (
                ("counter", {"family": "sonic_queue", "counter": "drop_packets", "value": 17, "queue": 3}),
                ("counter", {"value": 5017, "host": "leaf1", "port": "Ethernet8"}),
            ),
        ),
        Sample(
            '{"time":1788347458,"host":"n1","device":"mlx5_0","port":"mlx5_0:1","queue":"","family":"ib_port",'
            '"counter":"symbol_error","value":9}\n',
            (("counter", {"family": "ib_port", "counter": "symbol_error", "value": 9, "device": "mlx5_0"}),),
        ),
        Sample("time,host,counter\n2026-05-12T10:00:00Z,leaf1,7\n", ()),
    ),
)
