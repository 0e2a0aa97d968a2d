"""Text exposition of metrics exporters: what a scrape of ``/metrics`` printed, or ``promtool query``.

What each metric means is in ``knowledge/builtin/counter_maps`` and in the counter maps of the packs in use.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.facts.model import CounterSample, Observation
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.counter_maps import exposition
from facts_adapters.counter_maps.emitting import COUNTER_KINDS
from facts_adapters.counter_maps.reading import builtin_maps

EMITS = (
    "coverage.source",
    *COUNTER_KINDS,
    "host.boot",
    "host.gpu_fault",
    "host.gpu_health",
    "host.gpu_xid",
    "host.memory_error",
    "host.oom_event",
    "nic.bond_event",
    "nic.link_down",
    "nic.link_up",
    "switch.port_down",
    "switch.port_up",
)
"""What the built-in maps can yield; a test keeps the list complete."""


def _sniff(head: Head) -> Verdict:
    return exposition.sniff(builtin_maps, head)


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation | CounterSample]:
    return exposition.read(builtin_maps, "prometheus_text", file, context)


ADAPTER = Adapter(
    name="prometheus_text",
    branch="nic",
    emits=EMITS,
    coverage=None,
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            'node_infiniband_link_downed_total{device="mlx5_0",port="1"} 3\nnode_infiniband_info{device="mlx5_0"} 1\n',
            (("counter", {"family": "ib_port", "counter": "link_downed", "value": 3, "port": "mlx5_0:1"}),),
        ),
        Sample(
            "# HELP sonic_interface_receive_errs Number of receive errs on an interface\n"
            "# TYPE sonic_interface_receive_errs counter\n"
            'sonic_interface_receive_errs{device="Ethernet8",type="error"} 12\n'
            'sonic_interface_receive_errs{device="Ethernet8",type="discard"} 1.7e+04\n',
            (
                ("counter", {"family": "sonic_port", "counter": "RX_ERR", "value": 12, "port": "Ethernet8"}),
                ("counter", {"family": "sonic_port", "counter": "RX_DRP", "value": 17000}),
            ),
        ),
        Sample(
            'node_network_carrier_down_changes_total{device="eth2",instance="n7:9100"} =>\n'
            "1 @[1788347458]\n1 @[1788347473]\n4 @[1788347488.5]\n",
            (
                ("counter", {"counter": "carrier_down_count", "value": 1, "host": "n7", "device": "eth2"}),
                ("counter", {"counter": "carrier_down_count", "value": 4}),
                ("coverage.source", {"class": "nic_counters", "host": "n7"}),
            ),
        ),
        Sample('# HELP up whether it is up\n# TYPE up gauge\nup{job="node"} 1\nprocess_open_fds 12\n', ()),
        Sample("node_infiniband_link_downed_total is a metric of the node exporter\n", ()),
    ),
)
