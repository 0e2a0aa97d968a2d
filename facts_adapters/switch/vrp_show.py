"""Huawei CloudEngine ``display dcb pfc interface`` and ``display interface``, H3C ``display priority-flow-control``.

The name of a port says what it can do (``400GE``), its speed what it does. A Huawei row of flow control takes two
physical lines: received, rate and deadlocks, then transmitted, rate and recoveries.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from engine.facts.model import CounterSample, Observation, Scalar, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.quoting import quote
from facts_adapters.switch._loads import described
from facts_adapters.switch._speeds import Speeds
from facts_adapters.switch._tables import Counters, host_of, lines, observation, prompt, whole

_PFC_HEAD = re.compile(r"Interface\s+Queue\s+Received\(Frames\)\s+ReceivedRate", re.MULTILINE)
_FIRST = re.compile(
    r"^(?P<port>[A-Za-z0-9-]{1,20}\d/\d[\d/:.]{0,12})\s+(?P<queue>[0-7])\s+"
    r"(?P<received>\d+)\s+\d+\s+(?P<deadlock>\d+)\s*$"
)
_SECOND = re.compile(r"^\s+(?P<transmitted>\d+)\s+\d+\s+(?P<recovery>\d+)\s*$")
_STATE = re.compile(
    r"^(?P<port>[A-Za-z0-9-]{1,20}\d/\d[\d/:.]{0,12}) current state\s*:\s*"
    r"(?P<admin>Administratively )?(?P<state>UP|DOWN)"
)
_ERROR = re.compile(r"\b(?P<name>CRC|Total Error|Discard|Ignored)\s*:\s*(?P<value>\d+)")
_SPEED = re.compile(r"^\s*Speed\s*:\s*(?P<mbps>\d{4,6})\s*,\s*Loopback")
_ABLE = re.compile(r"^(?P<gbps>\d{2,3})GE\d")
_DESCRIPTION = re.compile(r"^\s*Description\s*:\s*(?P<text>\S.{0,120})$")
_SIDE = re.compile(r"^\s*(?P<side>Input|Output)\b")
_H3C = re.compile(
    r"^(?P<port>[A-Z]{2,}[\w-]{0,20}\d/\d[\d/:.]{0,12})\s+(?:Auto|Enabled|Disabled|On|Off)\s+"
    r"(?P<oper>Enabled|Disabled|On|Off)\s+(?P<cells>\d[\d,\s-]*)$"
)
_H3C_HEAD = re.compile(r"AdminMode\s+OperMode\s+Dot1pList|Conf -- Configured mode", re.MULTILINE)


def _sniff(head: Head) -> Verdict:
    for pattern, why in ((_PFC_HEAD, "dcb pfc of Huawei"), (_H3C_HEAD, "flow control of H3C")):
        if pattern.search(head.text):
            return Verdict(0.95, why)
    shown = "current state" in head.text and re.search(_STATE.pattern, head.text, re.M)
    return Verdict(0.85, "display interface") if shown else Verdict(0.0, "")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation | CounterSample]:
    make = Counters(file, "vrp_show", file.host, context.snapshot_time(file.path))
    port: str | None = None
    queue: int | None = None
    side, up, speeds = "Input", False, Speeds()
    for line in lines(file):
        where = quote(file, line)
        shell, first, second = prompt(line.text), _FIRST.match(line.text), _SECOND.match(line.text)
        state, towards, h3c = _STATE.match(line.text), _SIDE.match(line.text), _H3C.match(line.text)
        side = towards["side"] if towards else side
        if shell and not make.host:
            make = Counters(file, make.adapter, host_of(shell), make.when)
        if first:
            port, queue = first["port"], int(first["queue"])
            yield from make.sample("huawei_pfc", "received", whole(first["received"]), where, port, queue)
            yield from make.sample("huawei_pfc", "deadlock", whole(first["deadlock"]), where, port, queue)
        elif second and port:
            yield from make.sample("huawei_pfc", "transmitted", whole(second["transmitted"]), where, port, queue)
            yield from make.sample("huawei_pfc", "recovery", whole(second["recovery"]), where, port, queue)
        elif state:
            port, queue, up = state["port"], None, state["state"] == "UP"
            if state["state"] == "DOWN" and not state["admin"]:
                fields: dict[str, Scalar | None] = {"up": False, "admin_up": True}
                yield observation("switch.port_state", where, fields, host=make.host, port=port, when=make.when)
        elif h3c:
            yield _flow_control(h3c, where, make)
        elif up and port and (speed := _SPEED.match(line.text)):
            if able := _ABLE.match(port):
                speeds.add(port, int(able["gbps"]), int(speed["mbps"]) // 1000, where)
        elif port and (told := _DESCRIPTION.match(line.text)):
            yield from described(told["text"], make.host, port, where)
        elif port:
            yield from _errors(line, make, port, side, where)
    yield from speeds.slow(make.host, make.when)


def _flow_control(match: re.Match[str], where: Source, make: Counters) -> Observation:
    cells = match["cells"].split()
    listed = cells[0].strip("-") if len(cells) in (1, 3, 6) else ""  # an empty list leaves one number less
    enabled = listed if listed and match["oper"] in ("Enabled", "On") else "none"
    fields: dict[str, Scalar | None] = {
        "priorities": enabled,
        "priority": int(enabled) if enabled.isdecimal() else None,
    }
    return observation("switch.lossless_config", where, fields, host=make.host, port=match["port"], when=make.when)


def _errors(line: Line, make: Counters, port: str, side: str, where: Source) -> Iterator[CounterSample]:
    for match in _ERROR.finditer(line.text):
        names = {"CRC": "crc", "Total Error": "input_errors", "Discard": f"{side.lower()}_discards"}
        counter = names.get(match["name"])
        if counter and not (match["name"] == "Total Error" and side == "Output"):
            yield from make.sample("huawei_port", counter, whole(match["value"]), where, port)


ADAPTER = Adapter(
    name="vrp_show",
    branch="switch",
    emits=(
        "switch.counter_rise",
        "switch.counter_value",
        "switch.port_state",
        "switch.lossless_config",
        "switch.trunk",
        "nic.link_degraded",
    ),
    coverage="switch_counters",
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            "Interface         Queue         Received(Frames)        ReceivedRate(pps)     DeadlockNum\n"
            "                             Transmitted(Frames)     TransmittedRate(pps)     RecoveryNum\n"
            "100GE1/0/1             5                      12                        0               2\n"
            "                                               7                        0               1\n",
            (
                ("counter", {"family": "huawei_pfc", "counter": "deadlock", "value": 2, "port": "100GE1/0/1"}),
                ("counter", {"family": "huawei_pfc", "counter": "transmitted", "value": 7, "queue": 5}),
            ),
        ),
        Sample(
            "Interface                        AdminMode  OperMode  Dot1pList   Prio  Recv\n"
            "HGE1/0/1                         Enabled    Enabled   3           3     912\n   55         0          0\n"
            "HGE1/0/2                         Enabled    Enabled               0     5\n   5          3          3\n",
            (
                ("switch.lossless_config", {"priorities": "3", "priority": 3, "port": "HGE1/0/1"}),
                ("switch.lossless_config", {"priorities": "none", "port": "HGE1/0/2"}),
            ),
        ),
        Sample(
            "<LF-05>display interface 100GE1/0/50\n100GE1/0/50 current state : UP (ifindex: 61)\n"
            "Description: to SP-01 100GE3/0/5\n",
            (("switch.trunk", {"host": "LF-05", "port": "100GE1/0/50", "peer": "SP-01", "peer_port": "100GE3/0/5"}),),
        ),
        Sample(
            "<LF-05>display interface 100GE1/0/8\n100GE1/0/8 current state : UP (ifindex: 9)\n"
            "Description: gpu-08 ens1f0\n",
            (),
        ),
        Sample(
            "<leaf2>display interface 200GE1/0/9\n200GE1/0/9 current state : UP (ifindex: 9)\n"
            "Speed: 100000, Loopback: NONE\n200GE1/0/10 current state : UP (ifindex: 10)\n"
            "Speed: 200000, Loopback: NONE\n",
            (
                (
                    "nic.link_degraded",
                    {"host": "leaf2", "port": "200GE1/0/9", "value": "100 Gb/s", "expected": "200 Gb/s"},
                ),
            ),
        ),
        Sample(
            "<leaf2>display interface 200GE1/0/9\n200GE1/0/9 current state : UP (ifindex: 9)\n"
            "Speed: 100000, Loopback: NONE\n",
            (),
        ),
        Sample("Interface and Queue of the day\n", ()),
    ),
)
