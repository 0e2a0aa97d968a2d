"""Arista EOS tables as text: errors and discards, rates, priority flow control, queues, states, LLDP neighbours.

A port that is not connected says nothing (most are unused); one that the switch disabled itself does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from engine.facts.model import CounterSample, Observation, Scalar, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.quoting import quote
from facts_adapters.switch._loads import Load, described, utilisation
from facts_adapters.switch._speeds import Speeds
from facts_adapters.switch._tables import Counters, host_of, lines, observation, port_name, prompt, whole

_HEADERS = (
    (
        re.compile(r"^Port\s+FCS\s+Align\s+Symbol\s+Rx\s+Runts\s+Giants\s+Tx\s*$"),
        "arista_port",
        ("fcsErrors", "alignmentErrors", "symbolErrors", "inErrors", "frameTooShorts", "frameTooLongs", "outErrors"),
    ),
    (re.compile(r"^Port\s+InDiscards\s+OutDiscards\s*$"), "arista_port", ("inDiscards", "outDiscards")),
    (re.compile(r"^Port\s+RxPfc\s+TxPfc\s*$"), "arista_pfc", ("rxFrames", "txFrames")),
)
_LLDP = re.compile(r"^Port\s+Neighbor Device ID\s+Neighbor Port ID\s+TTL")
_STATUS = re.compile(r"^Port\s+Name\s+Status\s+Vlan\s+Duplex")
_DISABLED = re.compile(r"^(?P<port>(?:Et|Ethernet)\d[\d/]*)\s.*\serrdisabled\s")
_LIT = re.compile(
    r"^(?P<port>(?:Et|Ethernet)\d[\d/]*)\s.*\sconnected\s.*\s(?P<speed>\d{1,3})G\s+(?P<able>\d{2,3})GBASE-\S+"
)
_QUEUES = re.compile(r"^Port\s+TxQ\s+Counter/pkts\s+Counter/bytes\s+Drop/pkts\s+Drop/bytes")
_QUEUE = re.compile(
    r"^(?P<port>Et\d[\d/]*)\s+UC(?P<queue>\d{1,2})\s+(?P<sent>[\d,]+)\s+[\d,]+\s+(?P<lost>[\d,]+)\s+[\d,]+\s*$"
)
_RATES = re.compile(r"^Port\s+Name\s+Intvl\s+In Mbps\s+%\s+In Kpps\s+Out Mbps\s+%\s+Out Kpps")
_RATE = re.compile(
    r"^(?P<port>(?:Et|Ethernet|Po)\d[\d/]*)\s+(?P<name>\S.{0,60}?)?\s*\b\d{1,4}:\d\d\s+[\d.]+\s+(?P<rx>[\d.]+)%"
    r"\s+[\d.]+\s+[\d.]+\s+(?P<tx>[\d.]+)%\s+[\d.]+\s*$"
)
_MARKS = re.compile(r"^(?P<port>Et\d[\d/]*)\s+UC(?P<queue>\d{1,2})\s+(?P<marked>[\d,]+)\s*$")
_MARKED = re.compile(r"^Port\s+TxQ\s+ECN-Marked Pkts")
_PORT = re.compile(r"^(?P<port>(?:Et|Ethernet|Po)\d[\d/]*)\s+(?P<rest>\S.*)$")


def _sniff(head: Head) -> Verdict:
    if any(pattern.match(line.strip()) for line in head.lines[:400] for pattern, _, _ in _HEADERS):
        return Verdict(0.95, "counter table of Arista EOS")
    if "Intvl" in head.text and any(_RATES.match(line.strip()) for line in head.lines[:400]):
        return Verdict(0.95, "rates of Arista EOS")
    if "ECN-Marked" in head.text and any(_MARKED.match(line.strip()) for line in head.lines[:400]):
        return Verdict(0.95, "ECN counters of Arista EOS")
    if any(_QUEUES.match(line.strip()) for line in head.lines) and any(_QUEUE.match(line) for line in head.lines):
        return Verdict(0.95, "queue counters of Arista EOS")
    if any(_STATUS.match(line.strip()) for line in head.lines) and any(_PORT.match(line) for line in head.lines):
        return Verdict(0.9, "port states of Arista EOS")
    known = any(_LLDP.match(line.strip()) for line in head.lines[:400])
    return Verdict(0.9, "neighbours of Arista EOS") if known else Verdict(0.0, "")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation | CounterSample]:
    make = Counters(file, "arista_text", file.host, context.snapshot_time(file.path))
    family, neighbours = "", False
    names: tuple[str, ...] = ()
    loads: list[Load] = []
    speeds = Speeds()
    for line in lines(file):
        text = line.text.strip()
        shell = prompt(line.text)
        if shell or _RATES.match(text):
            yield from utilisation(loads, make.host, make.when)
            loads.clear()
        if shell:
            yield from speeds.slow(make.host, make.when)
            make = Counters(file, make.adapter, file.host or host_of(shell), make.when)
        header = next(((f, n) for pattern, f, n in _HEADERS if pattern.match(text)), None)
        row, queue, disabled = _PORT.match(text), _QUEUE.match(text) or _MARKS.match(text), _DISABLED.match(text)
        if rate := _RATE.match(text):
            yield from _rate(rate, make, loads, quote(file, line))
        elif queue:
            yield from _queue(queue, make, quote(file, line))
        elif disabled and not names:
            yield _down(disabled, make, quote(file, line))
        elif not names and (lit := _LIT.match(text)):
            speeds.add(port_name(lit["port"]), int(lit["able"]), int(lit["speed"]), quote(file, line))
        elif header or _LLDP.match(text) or shell:
            family, names = header or ("", ())
            neighbours = bool(_LLDP.match(text))
        elif row and names:
            yield from _counts(file, line, make, family, names, row)
        elif row and neighbours:
            yield from _neighbour(file, line, make, row)
        elif re.search(r"\d:\d\d:\d\d", text):
            stamp = context.reading(text)
            make = Counters(file, make.adapter, make.host, stamp or make.when)
    yield from utilisation(loads, make.host, make.when)
    yield from speeds.slow(make.host, make.when)


def _rate(row: re.Match[str], make: Counters, loads: list[Load], where: Source) -> Iterator[Observation]:
    """Keep the two percentages of a port; its description may name the switch behind it."""
    port = port_name(row["port"])
    loads.extend(Load(port, direction, float(row[direction]), where) for direction in ("rx", "tx"))
    yield from described(row["name"] or "", make.host, port, where)


def _queue(row: re.Match[str], make: Counters, where: Source) -> Iterator[CounterSample]:
    port, queue = port_name(row["port"]), int(row["queue"])
    if row.re is _MARKS:
        yield from make.sample("arista_queue", "ecn_marked_packets", whole(row["marked"]), where, port, queue)
        return
    yield from make.sample("arista_queue", "packets", whole(row["sent"]), where, port, queue)
    yield from make.sample("arista_queue", "drop_packets", whole(row["lost"]), where, port, queue)


def _down(row: re.Match[str], make: Counters, where: Source) -> Observation:
    fields: dict[str, Scalar | None] = {"up": False, "admin_up": True}
    return observation("switch.port_state", where, fields, host=make.host, port=port_name(row["port"]), when=make.when)


def _counts(
    file: EvidenceFile, line: Line, make: Counters, family: str, names: tuple[str, ...], row: re.Match[str]
) -> Iterator[CounterSample]:
    where = quote(file, line)
    for name, value in zip(names, row["rest"].split(), strict=False):
        yield from make.sample(family, name, whole(value), where, port_name(row["port"]))


def _neighbour(file: EvidenceFile, line: Line, make: Counters, row: re.Match[str]) -> Iterator[Observation]:
    words = row["rest"].split()
    if len(words) < 2 or not make.host:
        return
    peer, far, port = words[0].partition(".")[0], words[1], port_name(row["port"])
    where = quote(file, line)
    if _PORT.match(far + " x"):
        yield Observation(
            "switch.trunk", where, {"peer_port": port_name(far), "origin": "seen"}, host=make.host, port=port, peer=peer
        )
    elif not re.match(r"[0-9a-f]{4}\.", far):
        fields: dict[str, Scalar] = {"switch": make.host, "switch_port": port, "netdev": far, "origin": "seen"}
        yield Observation("switch.attached", where, fields, host=peer, device=far)


ADAPTER = Adapter(
    name="arista_text",
    branch="switch",
    emits=(
        "switch.counter_rise",
        "switch.counter_activity",
        "switch.counter_value",
        "switch.counter_idle",
        "switch.port_state",
        "switch.trunk",
        "switch.attached",
        "switch.utilisation",
        "nic.link_degraded",
    ),
    coverage="switch_counters",
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            "Port             FCS    Align   Symbol       Rx    Runts   Giants       Tx\n"
            "Et1/1              4        0        9        4        0        0        0\n",
            (
                ("counter", {"family": "arista_port", "counter": "fcsErrors", "value": 4, "port": "Ethernet1/1"}),
                ("counter", {"counter": "symbolErrors", "value": 9}),
            ),
        ),
        Sample(
            "leaf1#show lldp neighbors\nPort          Neighbor Device ID       Neighbor Port ID    TTL\n"
            "Et26/1        spine1.dc.example        Ethernet2/1         120\n"
            "Et3/1         gpu1                     eth2                120\n",
            (
                ("switch.trunk", {"host": "leaf1", "port": "Ethernet26/1", "peer": "spine1"}),
                ("switch.attached", {"host": "gpu1", "netdev": "eth2", "switch_port": "Ethernet3/1"}),
            ),
        ),
        Sample(
            "leaf1#show interfaces status\n"
            "Port       Name        Status       Vlan     Duplex Speed  Type         Flags Encapsulation\n"
            "Et1/1      gpu1-rail0  connected    10       full   400G   400GBASE-SR8\n"
            "Et2/1      gpu2-rail0  errdisabled  10       full   400G   400GBASE-SR8\n"
            "Et3/1                  notconnect   1        full   400G   Not Present\n"
            "Et4/1      gpu4-rail0  connected    10       full   200G   400GBASE-SR8\n",
            (
                ("switch.port_state", {"up": False, "host": "leaf1", "port": "Ethernet2/1"}),
                ("nic.link_degraded", {"host": "leaf1", "port": "Ethernet4/1", "expected": "400 Gb/s"}),
            ),
        ),
        Sample(
            "Port   TxQ   Counter/pkts   Counter/bytes   Drop/pkts   Drop/bytes\n"
            "Et1/1  UC3       91182773    134217728000       4,411      6220000\n",
            (("counter", {"family": "arista_queue", "counter": "drop_packets", "value": 4411, "queue": 3}),),
        ),
        Sample(
            "leaf1#show interfaces counters rates | nz\n"
            "Port      Name                Intvl   In Mbps      %  In Kpps  Out Mbps      % Out Kpps\n"
            "Et49/1    spine1:Et7/1         5:00   80112.4  20.1%     2412  391180.0  97.9%    11801\n"
            "Et50/1    to rack 9            5:00   91220.0  22.8%     2744    1204.1   0.3%       36\n"
            "Et51/1                         5:00   60110.0  60.1%     1744   50204.1  50.3%     1736\n",
            (
                ("switch.trunk", {"host": "leaf1", "port": "Ethernet49/1", "peer": "spine1"}),
                ("switch.utilisation", {"direction": "tx", "percent": 98, "level": "full", "port": "Ethernet49/1"}),
                ("switch.utilisation", {"direction": "tx", "percent": 0, "level": "idle", "port": "Ethernet50/1"}),
            ),
        ),
        Sample(
            "leaf1#show qos interfaces ecn counters queue | nz\nPort         TxQ     ECN-Marked Pkts\n"
            "-----------  ----  -----------------\nEt7/1        UC3          1,120,394\n",
            (("counter", {"family": "arista_queue", "counter": "ecn_marked_packets", "value": 1120394, "queue": 3}),),
        ),
        Sample("Port of call\nEt1/1 is fine\n", ()),
    ),
)
