"""``rdma link``, ``rdma statistic``, ``rdma resource show qp`` as text, ``ibdev2netdev [-v]``.

A line of ``rdma statistic`` holds all counters of a port and is longer than a thousand characters. Counters that are
bound to queue pairs (``cntn``) count apart from the port and are left out. iproute2 before 5.1 printed
``1/1: mlx5_0/1:`` in place of ``link mlx5_0/1``. Sources: iproute2 ``rdma/link.c``, ``rdma/stat.c``,
``rdma/res-qp.c``; ``ibdev2netdev`` of MOFED.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from engine.facts.model import CounterSample, Observation, Reading
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.nic import _ports
from facts_adapters.nic.rdma_sysfs import family_of
from facts_adapters.quoting import quote

_DEVICE = r"(?:(?:\d+: )?(?:\d+/\d+: )?link |\d+/\d+: )(?P<device>[A-Za-z][\w-]{0,40})/(?P<port>\d{1,3}):? "
_LINK = re.compile(
    _DEVICE
    + r"(?:.{0,200}? )?state (?P<state>[A-Z_]+) physical_state (?P<physical>[A-Z_]+)(?: netdev (?P<netdev>\S+))?"
)
_STATISTIC = re.compile(
    _DEVICE + r"(?P<rest>(?:[A-Za-z]\w{1,60} \d{1,20} ?){2,200}|[A-Za-z]\w{1,60}_\w{1,60} \d{1,20} ?)$"
)
_STATISTIC_BEGINS = re.compile(_DEVICE + r"(?:cntn \d|(?:[A-Za-z]\w{0,60} \d{1,20} ){3})")
_QUEUE_PAIR = re.compile(
    _DEVICE
    + r"lqpn (?P<lqpn>\d{1,9})(?: rqpn (?P<rqpn>\d{1,9}))? type (?P<type>\S+) state (?P<state>[A-Z]+)(?P<rest>.*)"
)
_PROCESS = re.compile(r" pid (?P<pid>\d{1,9})(?: |$)")
_NETDEV = re.compile(
    r"(?P<device>[A-Za-z][\w-]{0,40}) port (?P<port>\d{1,3}) ==> (?P<netdev>\S+) \((?P<state>Up|Down)\)"
)
_NETDEV_LONG = re.compile(
    r"(?:[0-9a-f]{4}:)?[0-9a-f:]{5}\.[0-7] (?P<device>[A-Za-z][\w-]{0,40}) \((?P<model>MT\d+)[^()]{0,60}\).{0,120}?"
    r" fw (?P<fw>[\d.]+) port (?P<port>\d{1,3}) \((?P<logical>[A-Z]+)\s*\) ==> (?P<netdev>\S+) \((?P<state>Up|Down)\)"
)
_SUBNET = re.compile(r" sm_lid (?P<sm>\d{1,9})")
_LONGEST = 8_000
"""Characters of the longest line: a port's counters, each with its name and twenty digits."""
_BROKEN = ("ERR", "SQE", "SQD")


def _sniff(head: Head) -> Verdict:
    for line in head.lines[:200]:
        text = line.strip()
        if any(
            pattern.match(text)
            for pattern in (_LINK, _NETDEV, _NETDEV_LONG, _STATISTIC, _STATISTIC_BEGINS, _QUEUE_PAIR)
        ):
            return Verdict(0.95, "RDMA ports as text")
    return Verdict(0.0, "")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation | CounterSample]:
    when = _ports.snapshot(file, context)
    for line in file.lines():
        if len(line.text) > _LONGEST:
            continue
        text = line.text.strip()
        link, statistic, pair = _LINK.match(text), _STATISTIC.match(text), _QUEUE_PAIR.match(text)
        if pair:
            yield from _queue_pair(file, line, pair, when)
        elif link:
            yield _state(file, line, link, when)
        elif statistic:
            yield from _counters(file, line, statistic, when)
        else:
            yield from _netdev(file, line, text, when)


def _netdev(file: EvidenceFile, line: Line, text: str, when: Reading | None) -> Iterator[Observation]:
    match = _NETDEV.match(text)
    long = None if match else _NETDEV_LONG.match(text)
    match = match or long
    if match:
        state = _ports.port_state(long["logical"]) if long else "active" if match["state"] == "Up" else "down"
        fields: _ports.Fields = {"state": state, "netdev": match["netdev"]}
        device, port = match["device"], f"{match['device']}:{match['port']}"
        yield _ports.observe(
            "nic.port_state", quote(file, line), fields, host=file.host, device=device, port=port, when=when
        )
    if long:
        fields = {"version": long["fw"], "board": long["model"]}
        yield _ports.observe(
            "nic.firmware", quote(file, line), fields, host=file.host, device=long["device"], when=when
        )


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


def _queue_pair(file: EvidenceFile, line: Line, match: re.Match[str], when: Reading | None) -> Iterator[Observation]:
    """A queue pair of a process (not one of the kernel) that is in an error state."""
    process = _PROCESS.search(match["rest"])
    if match["state"] in _BROKEN and " comm [" not in match["rest"]:
        fields: _ports.Fields = {
            "lqpn": int(match["lqpn"]),
            "rqpn": int(match["rqpn"]) if match["rqpn"] else None,
            "state": match["state"],
            "pid": int(process["pid"]) if process else None,
        }
        port = f"{match['device']}:{match['port']}"
        yield _ports.observe(
            "nic.queue_pair_error",
            quote(file, line),
            fields,
            host=file.host,
            device=match["device"],
            port=port,
            when=when,
        )


def _counters(file: EvidenceFile, line: Line, match: re.Match[str], when: Reading | None) -> Iterator[CounterSample]:
    words = match["rest"].split()
    if words[0] in ("cntn", "lqpn", "cqn", "pdn", "mrn"):
        return
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


_MANY = " ".join(f"counter_number_{place} 18446744073709551615" for place in range(40))

ADAPTER = Adapter(
    name="rdma_text",
    branch="nic",
    emits=(
        "nic.port_state",
        "nic.firmware",
        "nic.queue_pair_error",
        "nic.counter_rise",
        "nic.counter_symptom",
        "nic.counter_value",
    ),
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
            "1/1: mlx5_4/1: subnet_prefix fe80:0000:0000:0000 lid 9 sm_lid 0 lmc 0 state INIT physical_state LINK_UP\n",
            (("nic.port_state", {"state": "init", "sm_lid": 0, "layer": "InfiniBand", "device": "mlx5_4"}),),
        ),
        Sample(
            "mlx5_1 port 1 ==> eth3 (Down)\n",
            (("nic.port_state", {"state": "down", "netdev": "eth3", "device": "mlx5_1"}),),
        ),
        Sample(
            "0000:17:00.0 mlx5_6 (MT4129 - MCX75310AAS-NEAT) ConnectX-7 NDR fw 28.39.1002 port 1 (INIT  )"
            " ==> ibs3 (Down)\n",
            (
                ("nic.port_state", {"state": "init", "netdev": "ibs3", "device": "mlx5_6"}),
                ("nic.firmware", {"version": "28.39.1002", "board": "MT4129"}),
            ),
        ),
        Sample(
            "link mlx5_0/1 rx_write_requests 12 packet_seq_err 7\n",
            (("counter", {"family": "mlx5_hw", "counter": "packet_seq_err", "value": 7, "device": "mlx5_0"}),),
        ),
        Sample(
            f"link mlx5_2/1 {_MANY} local_ack_timeout_err 31 \n",
            (("counter", {"counter": "local_ack_timeout_err", "value": 31, "port": "mlx5_2:1"}),),
        ),
        Sample(
            "link mlx5_0/1 lqpn 1 type GSI state RTS sq-psn 0 comm [ib_core]\n"
            "link mlx5_0/1 lqpn 201 rqpn 318 type RC state ERR rq-psn 0 sq-psn 12"
            " path-mig-state MIGRATED pid 4401 comm python3\n",
            (("nic.queue_pair_error", {"lqpn": 201, "rqpn": 318, "state": "ERR", "pid": 4401, "device": "mlx5_0"}),),
        ),
        Sample("link mlx5_0/1 lqpn 201 rqpn 318 type RC state RTS rq-psn 0 sq-psn 12 pid 4401 comm python3\n"),
        Sample("link mlx5_0/1 lqpn 33 rqpn 8 type RC state ERR sq-psn 0 comm [nvme_rdma]\n"),
        Sample("link mlx5_2/1 cntn 4 qp-type RC packet_seq_err 12 LQPN <178>\n"),
        Sample("link to the page: mlx5 port 1\n", ()),
    ),
)
