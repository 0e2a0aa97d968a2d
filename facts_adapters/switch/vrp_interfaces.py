"""Huawei VRP ``display interface brief`` and H3C Comware ``display interface`` and ``display priority-flow-control``.

Comware prints the name of a port on a line of its own, then ``Current state: UP`` and blocks ``Input`` and ``Output``.
The table of its priority flow control wraps at the width of the terminal: a row ends in a second line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from engine.facts.model import CounterSample, Observation, Scalar, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.quoting import quote
from facts_adapters.switch._loads import Load, utilisation
from facts_adapters.switch._tables import Counters, host_of, lines, observation, prompt, whole

_NAME = r"(?P<port>[A-Za-z0-9][A-Za-z-]{0,24}\d[\d/:.]{0,14}|\d{2,3}GE\d[\d/:.]{0,14})"
_BRIEF_HEAD = re.compile(r"^Interface\s+PHY\s+Protocol\s+InUti\s+OutUti\s+inErrors\s+outErrors", re.MULTILINE)
_BRIEF = re.compile(
    rf"^\s*{_NAME}(?:\(\S+\))?\s+(?P<phy>\S+)\s+\S+\s+(?P<rx>[\d.]+)%\s+(?P<tx>[\d.]+)%\s+(?P<in>\d+)\s+(?P<out>\d+)\s*$"
)
_H3C_PORT = re.compile(rf"^{_NAME}\s*$")
_H3C_STATE = re.compile(r"^Current state: (?P<state>UP|DOWN|Administratively DOWN)", re.IGNORECASE)
_H3C_SIDE = re.compile(r"^\s*(?P<side>Input|Output)\s*(?P<total>\(total\))?\s*:")
_H3C_COUNT = re.compile(
    r"(?P<value>\d{1,20}) (?P<name>input errors|output errors|CRC|overruns|no buffers|buffer failures)\b"
)
_H3C_NAMES = {
    "input errors": "input_errors",
    "output errors": "output_errors",
    "CRC": "crc",
    "overruns": "input_discards",
    "buffer failures": "output_discards",
}
_PFC_HEAD = re.compile(r"Dot1pList\s+(?:Prio|P)\s+Recv", re.MULTILINE)
_PFC_ROW = re.compile(
    rf"^{_NAME}\s+(?:Auto|Enabled|Disabled|On|Off)\s+(?:Enabled|Disabled|On|Off)\s+(?P<cells>\d[\d,\s-]*)$"
)
_PFC_MORE = re.compile(r"^\s+(?P<first>\d+)\s+(?P<second>\d+)\s+(?P<third>\d+)(?:\s+(?P<fourth>\d+))?\s*$")
_UNITS = ("Eth-Trunk", "Vlanif", "NULL", "LoopBack", "MEth", "Tunnel", "Nve")


@dataclass
class _Place:
    port: str | None = None
    side: str = "Input"
    queue: int | None = None
    pfc: bool = False
    loads: list[Load] = field(default_factory=list)


def _sniff(head: Head) -> Verdict:
    if _BRIEF_HEAD.search(head.text):
        return Verdict(0.95, "display interface brief of Huawei")
    if _PFC_HEAD.search(head.text):
        return Verdict(0.95, "priority flow control of H3C")
    shown = "Current state:" in head.text and any(_H3C_STATE.match(line) for line in head.lines)
    return Verdict(0.9, "display interface of H3C") if shown else Verdict(0.0, "")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation | CounterSample]:
    make = Counters(file, "vrp_interfaces", file.host, context.snapshot_time(file.path))
    place = _Place()
    for line in lines(file):
        shell = prompt(line.text)
        if shell:
            yield from utilisation(place.loads, make.host, make.when)
            make = Counters(file, make.adapter, file.host or host_of(shell), make.when)
            place = _Place()
        else:
            yield from _line(line, place, make, quote(file, line))
    yield from utilisation(place.loads, make.host, make.when)


def _line(line: Line, place: _Place, make: Counters, where: Source) -> Iterator[Observation | CounterSample]:
    text = line.text.rstrip()
    brief, name, state = _BRIEF.match(text), _H3C_PORT.match(text), _H3C_STATE.match(text)
    side, row = _H3C_SIDE.match(text), _PFC_ROW.match(text)
    place.pfc = place.pfc or _PFC_HEAD.search(text) is not None
    if brief and not brief["port"].startswith(_UNITS):
        if brief["phy"].lower() == "up":
            place.loads.extend(Load(brief["port"], side, float(brief[side]), where) for side in ("rx", "tx"))
        yield from make.sample("huawei_port", "input_errors", whole(brief["in"]), where, brief["port"])
        yield from make.sample("huawei_port", "output_errors", whole(brief["out"]), where, brief["port"])
    elif row and place.pfc:
        yield from _flow(row, place, make, where)
    elif place.pfc and place.queue is not None and (more := _PFC_MORE.match(text)):
        sent = whole(more["first"])
        yield from make.sample("h3c_pfc", "transmitted", sent, where, place.port, place.queue)
        place.queue = None
    elif name:
        place.port, place.side = name["port"], "Input"
    elif state and place.port:
        if state["state"].upper() == "DOWN":
            fields: dict[str, Scalar | None] = {"up": False, "admin_up": True}
            yield observation("switch.port_state", where, fields, host=make.host, port=place.port, when=make.when)
    elif place.port:
        place.side = side["side"] if side else place.side
        yield from _counts(text, place, make, where)


def _flow(row: re.Match[str], place: _Place, make: Counters, where: Source) -> Iterator[CounterSample]:
    """The cells behind the modes: the list (it may be empty), priority, received; sent and rates where not wrapped."""
    cells = row["cells"].split()
    cells = cells[1:] if len(cells) in (3, 6) else cells
    if len(cells) not in (2, 5) or not cells[0].isdecimal():
        return
    place.port, queue = row["port"], int(cells[0])
    yield from make.sample("h3c_pfc", "received", whole(cells[1]), where, place.port, queue)
    if len(cells) == 2:
        place.queue = queue
    else:
        yield from make.sample("h3c_pfc", "transmitted", whole(cells[2]), where, place.port, queue)


def _counts(text: str, place: _Place, make: Counters, where: Source) -> Iterator[CounterSample]:
    for count in _H3C_COUNT.finditer(text):
        counter = _H3C_NAMES.get(count["name"])
        if counter:
            yield from make.sample("huawei_port", counter, whole(count["value"]), where, place.port)


ADAPTER = Adapter(
    name="vrp_interfaces",
    branch="switch",
    emits=(
        "switch.counter_rise",
        "switch.counter_activity",
        "switch.counter_value",
        "switch.counter_idle",
        "switch.port_state",
        "switch.utilisation",
    ),
    coverage="switch_counters",
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            "<leaf1>display interface brief\nPHY: Physical\n*down: administratively down\n"
            "InUti/OutUti: input utility rate/output utility rate\n"
            "Interface                  PHY      Protocol  InUti OutUti   inErrors  outErrors\n"
            "100GE1/0/8                 up       up       41.02% 39.51%        812          0\n"
            "Eth-Trunk1                 up       up          0%     0%           9          0\n",
            (("counter", {"family": "huawei_port", "counter": "input_errors", "value": 812, "port": "100GE1/0/8"}),),
        ),
        Sample(
            "<leaf2>display interface\nHundredGigE1/0/3\nCurrent state: DOWN\nLine protocol state: DOWN\n"
            " Input (total):  81224 packets, 99120045 bytes\n"
            " Input:  731 input errors, 0 runts, 0 giants, 0 throttles\n"
            "          729 CRC, 2 frame, - overruns, 0 aborts\n"
            " Output: 4 output errors, - underruns, 17 buffer failures\n",
            (
                ("switch.port_state", {"up": False, "host": "leaf2", "port": "HundredGigE1/0/3"}),
                ("counter", {"family": "huawei_port", "counter": "crc", "value": 729, "port": "HundredGigE1/0/3"}),
                ("counter", {"counter": "output_discards", "value": 17}),
            ),
        ),
        Sample(
            "Interface                        AdminMode  OperMode  Dot1pList   Prio  Recv\n"
            "   Send       Inpps      Outpps\n"
            "--------------------------------------------------------------------------------\n-------------------\n"
            "HGE1/0/1                         Enabled    Enabled   3           3     912\n   55         0          0\n",
            (
                ("counter", {"family": "h3c_pfc", "counter": "received", "value": 912, "queue": 3, "port": "HGE1/0/1"}),
                ("counter", {"family": "h3c_pfc", "counter": "transmitted", "value": 55, "queue": 3}),
            ),
        ),
        Sample(
            "<leaf1>display interface brief | include 400GE\n"
            "Interface                  PHY      Protocol  InUti OutUti   inErrors  outErrors\n"
            "400GE1/0/25                up       up       12.40% 96.12%          0          0\n"
            "400GE1/0/26                up       up       11.02%  1.90%          0          0\n",
            (
                ("switch.utilisation", {"direction": "tx", "percent": 96, "level": "full", "port": "400GE1/0/25"}),
                ("switch.utilisation", {"direction": "tx", "percent": 2, "level": "idle", "host": "leaf1"}),
            ),
        ),
        Sample("Interface PHY Protocol\nCurrent state: UP\n100GE1/0/8 up up\n", ()),
    ),
)
