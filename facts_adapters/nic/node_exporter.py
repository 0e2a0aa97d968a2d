"""Metrics of the node exporter about RDMA ports and interfaces: text exposition, or query results of Prometheus.

The exporter's names differ from those of sysfs (``collector/infiniband_linux.go``). Of a series the first and the last
value of every run of equal values are kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engine.facts.model import CounterSample, Observation, Reading, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.nic import _ports
from facts_adapters.quoting import line_at, quote

_HARDWARE = {
    "local_ack_timeout_errors": "local_ack_timeout_err",
    "packet_sequence_errors": "packet_seq_err",
    "out_of_sequence_packets_received": "out_of_sequence",
    "rnr_nak_retry_packets_received": "rnr_nak_retry_err",
    "out_of_buffer_drops": "out_of_buffer",
    "np_cnp_packets_sent": "np_cnp_sent",
    "np_ecn_marked_roce_packets_received": "np_ecn_marked_roce_packets",
    "rp_cnp_packets_handled": "rp_cnp_handled",
    "rp_cnp_ignored_packets_received": "rp_cnp_ignored",
    "roce_adp_retransmits": "roce_adp_retrans",
    "rx_icrc_encapsulated_errors": "rx_icrc_encapsulated",
    "req_cqes_errors": "req_cqe_error",
    "duplicate_requests_packets": "duplicate_request",
    "implied_nak_seq_errors": "implied_nak_seq_err",
}
_PORT = {
    "link_downed": "link_downed",
    "link_error_recovery": "link_error_recovery",
    "symbol_error": "symbol_error",
    "port_errors_received": "port_rcv_errors",
    "port_discards_transmitted": "port_xmit_discards",
    "port_receive_remote_physical_errors": "port_rcv_remote_physical_errors",
    "local_link_integrity_errors": "local_link_integrity_errors",
    "excessive_buffer_overrun_errors": "excessive_buffer_overrun_errors",
    "port_transmit_wait": "port_xmit_wait",
}
_NETWORK = {
    "carrier_changes": "carrier_changes",
    "carrier_down_changes": "carrier_down_count",
    "receive_errs": "rx_errors",
    "receive_crc": "rx_crc_errors",
    "transmit_errs": "tx_errors",
}
_LINE = re.compile(
    r"^node_(?P<name>(?:infiniband|network)_\w+)\{(?P<labels>[^}]*)\} (?P<value>[\d.eE+-]+)(?: (?P<ms>\d{13}))?\s*$"
)
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_LONGEST = 32 << 20


def _sniff(head: Head) -> Verdict:
    if "node_" not in head.text:
        return Verdict(0.0, "")
    if re.search(r"^node_(?:infiniband|network)_\w+\{", head.text, re.MULTILINE):
        return Verdict(0.95, "metrics of the node exporter")
    if '"resultType"' in head.text and re.search(r'"node_(?:infiniband|network)_', head.text):
        return Verdict(0.95, "query result with metrics of the node exporter")
    return Verdict(0.0, "")


def _counter(name: str) -> tuple[str, str] | None:
    """Family and counter of a metric's name without ``node_``."""
    prefix, _, rest = name.partition("_")
    rest = rest.removesuffix("_total")
    if prefix == "infiniband":
        return (
            ("mlx5_hw", _HARDWARE[rest]) if rest in _HARDWARE else ("ib_port", _PORT[rest]) if rest in _PORT else None
        )
    return ("ip_link", _NETWORK[rest]) if rest in _NETWORK else None


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation | CounterSample]:
    with file.open() as stream:
        head = stream.read(4096).decode("utf-8", "replace")
    if head.lstrip().startswith("{"):
        yield from _query(file, context)
        return
    when = _ports.snapshot(file, context)
    for line in _ports.lines(file):
        match = _LINE.match(line.text)
        if match:
            stamp = context.reading(match["ms"]) if match["ms"] else when
            labels = dict(_LABEL.findall(match["labels"]))
            yield from _sample(file, match["name"], labels, match["value"], quote(file, line), stamp)


def _query(file: EvidenceFile, context: Context) -> Iterator[CounterSample]:
    with file.open() as stream:
        text = stream.read(_LONGEST).decode("utf-8", "replace")
    try:
        results = json.loads(text)["data"]["result"]
    except (ValueError, KeyError, TypeError) as error:
        context.warn(file.path, 1, f"not a query result: {error}")
        return
    for series in results if isinstance(results, list) else []:
        labels = series.get("metric") or {}
        name = str(labels.get("__name__", "")).removeprefix("node_")
        place = text.find(f'"{labels.get("__name__", "")}"')
        source = Source(file.path, line_at(text, place), json.dumps(labels)[:500])
        for time, value in _kept(series.get("values") or [series.get("value")]):
            yield from _sample(file, name, labels, value, source, context.reading(f"{time:.3f}"))


def _kept(values: list[Any]) -> Iterator[tuple[Any, str]]:
    """First and last point of every run of equal values."""
    points = [
        (point[0], str(point[1]))
        for point in values
        if isinstance(point, list) and len(point) == 2 and isinstance(point[0], (int, float)) and 0 < point[0] < 1e11
    ]
    for index, point in enumerate(points):
        inner = 0 < index < len(points) - 1
        if not inner or points[index - 1][1] != point[1] or points[index + 1][1] != point[1]:
            yield point


def _sample(
    file: EvidenceFile, name: str, labels: Mapping[str, str], value: str, source: Source, when: Reading | None
) -> Iterator[CounterSample]:
    known = _counter(name)
    if not known or not re.fullmatch(r"\d{1,20}(?:\.0+)?|\d(?:\.\d{1,20})?[eE]\+?\d{1,2}", value):
        return
    device = labels.get("device")
    port = labels.get("port")
    instance = re.sub(r":\d+$", "", str(labels.get("instance", ""))) or None
    yield CounterSample(
        source=source,
        family=known[0],
        counter=known[1],
        value=int(float(value)),
        host=labels.get("nodename") or labels.get("node") or labels.get("hostname") or file.host or instance,
        device=device,
        port=f"{device}:{port}" if port else None,
        group=file.group,
        when=when,
        adapter="node_exporter",
    )


ADAPTER = Adapter(
    name="node_exporter",
    branch="nic",
    emits=("nic.counter_rise", "nic.counter_symptom", "nic.counter_value"),
    coverage="nic_counters",
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            'node_infiniband_link_downed_total{device="mlx5_0",port="1"} 3\nnode_infiniband_info{device="mlx5_0"} 1\n',
            (("counter", {"family": "ib_port", "counter": "link_downed", "value": 3, "port": "mlx5_0:1"}),),
        ),
        Sample(
            '{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":'
            '"node_infiniband_local_ack_timeout_errors_total","device":"mlx5_1","port":"1","instance":"n1:9100"},'
            '"values":[[1788347458,"1"],[1788347473,"1"],[1788347488,"9"]]}]}}',
            (
                ("counter", {"counter": "local_ack_timeout_err", "value": 1, "host": "n1", "device": "mlx5_1"}),
                ("counter", {"counter": "local_ack_timeout_err", "value": 9}),
            ),
        ),
        Sample('{"status":"success","data":{"resultType":"matrix","result":[]}}', ()),
    ),
)
