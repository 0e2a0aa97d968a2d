"""``rdma link``, ``rdma statistic`` as text, ``ibdev2netdev``: states, netdevs and counters of RDMA ports."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from engine.facts.model import CounterSample, Observation, Reading
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.nic import _ports
from facts_adapters.nic.rdma_sysfs import family_of
from facts_adapters.quoting import quote

_LINK = re.compile(
    r"^(?:\d+: )?(?:\d+/\d+: )?link (?P<device>[A-Za-z][\w-]*)/(?P<port>\d+) (?:.*?)state (?P<state>[A-Z_]+)"
    r" physical_state (?P<physical>[A-Z_]+)(?: netdev (?P<netdev>\S+))?"
)
_STATISTIC = re.compile(r"^link (?P<device>[A-Za-z][\w-]*)/(?P<port>\d+) (?P<rest>(?:[A-Za-z]\w* \d+ ?)+)\s*$")
_NETDEV = re.compile(r"^(?P<device>[A-Za-z][\w-]*) port (?P<port>\d+) ==> (?P<netdev>\S+) \((?P<state>Up|Down)\)")
_SUBNET = re.compile(r" sm_lid (?P<sm>\d+)")


def _sniff(head: Head) -> Verdict:
    for line in head.lines[:200]:
        if _LINK.match(line.strip()) or _NETDEV.match(line.strip()) or _STATISTIC.match(line.strip()):
            return Verdict(0.95, "RDMA ports as text")
    return Verdict(0.0, "")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation | CounterSample]:
    when = _ports.snapshot(file, context)
    for line in _ports.lines(file):
        text = line.text.strip()
        link, netdev, statistic = _LINK.match(text), _NETDEV.match(text), _STATISTIC.match(text)
        if link:
            yield _state(file, line, link, when)
        elif netdev:
            fields: _ports.Fields = {
                "state": "active" if netdev["state"] == "Up" else "down",
                "netdev": netdev["netdev"],
            }
            yield _ports.observe(
                "nic.port_state",
                quote(file, line),
                fields,
                host=file.host,
                device=netdev["device"],
                port=f"{netdev['device']}:{netdev['port']}",
                when=when,
            )
        elif statistic:
            yield from _counters(file, line, statistic, when)


def _state(file: EvidenceFile, line: Line, match: re.Match[str], when: Reading | None) -> Observation:
    subnet = _SUBNET.search(line.text)
    fields: _ports.Fields = {
        "state": _ports.port_state(match["state"]),
        "physical": _ports.physical_state(match["physical"]),
        "netdev": match["netdev"],
        "layer": "InfiniBand" if subnet else "Ethernet" if match["netdev"] else None,
        "sm_lid": int(subnet["sm"]) if subnet else None,
    }
    device = match["device"]
    port = f"{device}:{match['port']}"
    return _ports.observe(
        "nic.port_state", quote(file, line), fields, host=file.host, device=device, port=port, when=when
    )


def _counters(file: EvidenceFile, line: Line, match: re.Match[str], when: Reading | None) -> Iterator[CounterSample]:
    words = match["rest"].split()
    for name, value in zip(words[::2], words[1::2], strict=False):
        yield CounterSample(
            source=quote(file, line),
            family=family_of(match["device"], "hw_counters", name),
            counter=name,
            value=int(value),
            host=file.host,
            device=match["device"],
            port=f"{match['device']}:{match['port']}",
            group=file.group,
            when=when,
            adapter="rdma_text",
        )


ADAPTER = Adapter(
    name="rdma_text",
    branch="nic",
    emits=("nic.port_state", "nic.counter_rise", "nic.counter_symptom", "nic.counter_value"),
    coverage=None,
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth2\n"
            "link mlx5_1/1 state DOWN physical_state POLLING netdev eth3\n",
            (
                ("nic.port_state", {"state": "active", "physical": "linkup", "netdev": "eth2", "port": "mlx5_0:1"}),
                ("nic.port_state", {"state": "down", "physical": "polling", "netdev": "eth3"}),
            ),
        ),
        Sample(
            "mlx5_1 port 1 ==> eth3 (Down)\n",
            (("nic.port_state", {"state": "down", "netdev": "eth3", "device": "mlx5_1"}),),
        ),
        Sample(
            "link mlx5_0/1 rx_write_requests 12 packet_seq_err 7\n",
            (("counter", {"family": "mlx5_hw", "counter": "packet_seq_err", "value": 7, "device": "mlx5_0"}),),
        ),
        Sample("link to the page: mlx5 port 1\n", ()),
    ),
)
