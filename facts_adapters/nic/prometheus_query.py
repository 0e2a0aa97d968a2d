"""Results of Prometheus queries: JSON of ``query_range`` and ``query``, exports of VictoriaMetrics.

What each metric means is in ``knowledge/builtin/counter_maps`` and in the counter maps of the packs in use.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.facts.model import CounterSample, Observation
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.counter_maps import query
from facts_adapters.counter_maps.reading import builtin_maps
from facts_adapters.nic.prometheus_text import EMITS


def _sniff(head: Head) -> Verdict:
    return query.sniff(builtin_maps, head)


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation | CounterSample]:
    return query.read(builtin_maps, "prometheus_query", file, context)


ADAPTER = Adapter(
    name="prometheus_query",
    branch="nic",
    emits=EMITS,
    coverage=None,
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            '{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":'
            '"node_infiniband_local_ack_timeout_errors_total","device":"mlx5_1","port":"1","instance":"n1:9100"},'
            '"values":[[1788347458,"1"],[1788347473,"1"],[1788347488,"9"]]}]}}',
            (
                ("counter", {"counter": "local_ack_timeout_err", "value": 1, "host": "n1", "device": "mlx5_1"}),
                ("counter", {"counter": "local_ack_timeout_err", "value": 9}),
                ("coverage.source", {"class": "nic_counters", "host": "n1"}),
            ),
        ),
        Sample(
            '{"status":"success","data":{"resultType":"vector","result":[\n{"metric":{"__name__":'
            '"ifHCInOctets","ifName":"Ethernet8","instance":"leaf1"},"value":[1788347458.013,"90"]},\n{"metric":'
            '{"__name__":"ifInErrors","ifName":"Ethernet8","instance":"leaf1"},"value":[1788347458.013,"7"]}]}}',
            (("counter", {"family": "if_mib", "counter": "ifInErrors", "value": 7, "port": "Ethernet8"}),),
        ),
        Sample(
            '{"metric":{"__name__":"DCGM_FI_DEV_XID_ERRORS","gpu":"3","pci_bus_id":"00000000:9B:00.0","Hostname":"n4"},'
            '"values":[0,0,79],"timestamps":[1788347458000,1788347473000,1788347488000]}\n',
            (("host.gpu_xid", {"xid": 79, "class": "lost", "host": "n4", "gpu": "00000000:9B:00.0"}),),
        ),
        Sample('{"status":"success","data":{"resultType":"matrix","result":[]}}', ()),
        Sample(
            '[{"metric":{"__name__":"DCGM_FI_DEV_XID_ERRORS","gpu":"3","Hostname":"n4"},'
            '"values":[[1788347458,"43"],[1788347473,"43"]]}]',
            (),
        ),
    ),
)
