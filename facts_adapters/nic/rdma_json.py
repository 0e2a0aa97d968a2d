"""``rdma -j link``, ``rdma -j statistic`` and ``rdma -j res show qp`` of iproute2.

iproute2 before 5.1 put the port into ``ifname`` (``mlx5_0/1``). Sources: ``rdma/link.c``, ``stat.c``, ``res-qp.c``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from engine.facts.model import CounterSample, Observation, Reading, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.nic import _ports
from facts_adapters.nic.rdma_sysfs import family_of

_MARK = re.compile(r'"ifname"\s*:\s*"[^"]+".{0,400}?"(?:physical_state|port|lqpn)"\s*:', re.DOTALL)
_NOT_COUNTERS = {"ifindex", "port", "lid", "sm_lid", "lmc", "lqpn", "rqpn", "pid", "rq-psn", "sq-psn"}
_LONGEST = 8 << 20


def _sniff(head: Head) -> Verdict:
    if head.text.lstrip()[:1] in "[{" and _MARK.search(head.text) and '"stats64"' not in head.text:
        return Verdict(0.95, "JSON of the rdma tool")
    return Verdict(0.0, "")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation | CounterSample]:
    with file.open() as stream:
        raw = stream.read(_LONGEST)
    when = _ports.snapshot(file, context)
    text = raw.decode("utf-8", "replace")
    for row in _ports.json_rows(text, lambda number, reason: context.warn(file.path, number, reason)):
        when = (row.stamp(context) if row.begins else None) or when
        if isinstance(row.entry.get("ifname"), str):
            yield from _entry(file, row.entry, Source(file.path, row.line, json.dumps(row.entry)[:500]), when)


def _entry(
    file: EvidenceFile, entry: dict[str, Any], source: Source, when: Reading | None
) -> Iterator[Observation | CounterSample]:
    device, _, number = str(entry["ifname"]).partition("/")
    number = str(entry["port"]) if isinstance(entry.get("port"), int) else number
    port = f"{device}:{number}" if number else None
    if "physical_state" in entry or ("state" in entry and "netdev" in entry):
        yield _link(file, entry, source, device, port, when)
    elif "cntn" in entry:
        return  # of the queue pairs bound to this counter, apart from the port's
    elif "lqpn" in entry:
        if entry.get("state") in ("ERR", "SQE", "SQD"):
            fields: _ports.Fields = {name: entry.get(name) for name in ("lqpn", "rqpn", "state", "pid")}
            yield _ports.observe(
                "nic.queue_pair_error", source, fields, host=file.host, device=device, port=port, when=when
            )
    else:
        for name, value in entry.items():
            if isinstance(value, int) and not isinstance(value, bool) and name not in _NOT_COUNTERS:
                yield CounterSample(
                    source=source,
                    family=family_of(device, "hw_counters", name),
                    counter=name,
                    value=value,
                    host=file.host,
                    device=device,
                    port=port,
                    group=file.group,
                    when=when,
                    adapter="rdma_json",
                )


def _link(
    file: EvidenceFile, entry: dict[str, Any], source: Source, device: str, port: str | None, when: Reading | None
) -> Observation:
    infiniband = "sm_lid" in entry or "subnet_prefix" in entry
    fields: _ports.Fields = {
        "state": _ports.port_state(str(entry.get("state", ""))),
        "physical": _ports.physical_state(str(entry.get("physical_state", ""))),
        "layer": "InfiniBand" if infiniband else "Ethernet" if entry.get("netdev") else None,
        "sm_lid": entry.get("sm_lid"),
        "lid": entry.get("lid"),
        "netdev": entry.get("netdev"),
    }
    return _ports.observe("nic.port_state", source, fields, host=file.host, device=device, port=port, when=when)


ADAPTER = Adapter(
    name="rdma_json",
    branch="nic",
    emits=("nic.port_state", "nic.queue_pair_error", "nic.counter_rise", "nic.counter_symptom", "nic.counter_value"),
    coverage="nic_counters",
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            '[{"ifindex":0,"ifname":"mlx5_0","port":1,"state":"DOWN","physical_state":"DISABLED","netdev":"ens1f0np0"}]',
            (("nic.port_state", {"state": "down", "physical": "disabled", "netdev": "ens1f0np0", "port": "mlx5_0:1"}),),
        ),
        Sample(
            '[{"ifindex":0,"ifname":"mlx5_8","port":1,"packet_seq_err":12}]',
            (("counter", {"family": "mlx5_hw", "counter": "packet_seq_err", "value": 12, "device": "mlx5_8"}),),
        ),
        Sample(
            '[{"ifname":"mlx5_0","port":1,"lqpn":17,"rqpn":40,"type":"RC","state":"ERR","pid":12,"comm":"python"}]',
            (("nic.queue_pair_error", {"lqpn": 17, "rqpn": 40, "state": "ERR"}),),
        ),
        Sample(
            '[{"ifname":"mlx5_0/1","lid":9,"sm_lid":0,"state":"INIT","physical_state":"LINK_UP"},\n'
            '{"ifname":"mlx5_1/1","state":"ACTIVE","physical_state":"LINK_UP","netdev":"eth3"}]',
            (
                ("nic.port_state", {"state": "init", "port": "mlx5_0:1", "sm_lid": 0}),
                ("nic.port_state", {"state": "active", "port": "mlx5_1:1"}),
            ),
        ),
        Sample('[{"ifname":"mlx5_2","port":1,"cntn":4,"qp-type":"RC","packet_seq_err":12,"lqpn":[178]}]'),
        Sample('[{"ifname":"eth0","mtu":1500}]', ()),
    ),
)
