"""Arista EOS ``show interfaces`` as text: state, error, discard, pause and link change counters of every port.

The line ``Last clearing of "show interface" counters 0:12:04 ago`` says since when the numbers count (EOS 4.2x).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from engine.facts.model import SECOND, CounterSample, Observation, Reading, Scalar, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.quoting import quote
from facts_adapters.switch._tables import Counters, host_of, lines, observation, prompt, whole

_STATE = re.compile(
    r"^(?P<port>(?:Ethernet|Port-Channel)\d[\d/.]*) is (?P<admin>administratively )?(?P<state>up|down), "
    r"line protocol is (?P<line>up|down|lowerlayerdown|notpresent)(?: \((?P<reason>\w+)\))?"
)
_COUNT = re.compile(
    r"(?P<value>\d{1,20}) (?P<name>input errors|CRC|alignment|symbol|input discards|output errors|output discards|"
    r"PAUSE input|PAUSE output|link status changes)\b"
)
_NAMES = {
    "input errors": "inErrors",
    "CRC": "fcsErrors",
    "alignment": "alignmentErrors",
    "symbol": "symbolErrors",
    "input discards": "inDiscards",
    "output errors": "outErrors",
    "output discards": "outDiscards",
    "link status changes": "linkStatusChanges",
}
_RECEIVED = re.compile(r"^\s+(?P<value>\d{1,20}) packets input\b")
_MTU = re.compile(r"^\s+(?:Ethernet |IP )MTU (?P<mtu>\d{3,5}) bytes")
_CLEARED = re.compile(
    r"Last clearing of .* counters (?:(?P<d>\d{1,4}) days?, )?(?P<h>\d{1,2}):(?P<m>\d\d):(?P<s>\d\d) ago"
)
_CLOCK = re.compile(r"\d:\d\d:\d\d")


@dataclass
class _Place:
    port: str | None = None
    up: bool = False
    down: tuple[Source, bool] | None = None
    """Where it says that the port is down though nobody disabled it, and whether the switch itself did."""


def _sniff(head: Head) -> Verdict:
    if "line protocol is" in head.text and any(_STATE.match(line) for line in head.lines):
        return Verdict(0.95, "show interfaces of Arista EOS")
    return Verdict(0.0, "")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation | CounterSample]:
    make = Counters(file, "eos_interfaces", file.host, context.snapshot_time(file.path))
    place = _Place()
    for line in lines(file):
        shell, state = prompt(line.text), _STATE.match(line.text)
        if shell:
            make = Counters(file, make.adapter, file.host or host_of(shell), make.when)
            place.port = None
        elif state:
            place.port, place.up = state["port"], state["state"] == "up"
            make = Counters(file, make.adapter, make.host, make.when)
            place.down = _down(state, quote(file, line))
        elif place.port and (cleared := _CLEARED.search(line.text)):
            make = Counters(file, make.adapter, make.host, make.when, _since(cleared, make.when))
        elif place.port:
            yield from _counts(line, place, make, quote(file, line))
        elif _CLOCK.search(line.text) and len(line.text) < 80:
            make = Counters(file, make.adapter, make.host, context.reading(line.text.strip()) or make.when)


def _since(cleared: re.Match[str], when: Reading | None) -> Reading | None:
    """When the counters were cleared, where the time of the output is known."""
    if when is None:
        return None
    seconds = int(cleared["d"] or 0) * 86_400 + int(cleared["h"]) * 3600 + int(cleared["m"]) * 60 + int(cleared["s"])
    return replace(when, earliest=when.earliest - seconds * SECOND, latest=when.latest - seconds * SECOND)


def _down(state: re.Match[str], where: Source) -> tuple[Source, bool] | None:
    """A port that is down without being configured so; unused ports are told apart by their packets."""
    if state["state"] == "up" and state["line"] == "up":
        return None
    return None if state["admin"] or state["reason"] == "disabled" else (where, state["reason"] == "errdisabled")


def _counts(line: Line, place: _Place, make: Counters, where: Source) -> Iterator[Observation | CounterSample]:
    mtu = _MTU.match(line.text)
    if mtu and place.up:
        fields: dict[str, Scalar | None] = {"mtu": int(mtu["mtu"])}
        yield observation("switch.mtu", where, fields, host=make.host, port=place.port, when=make.when)
    received = _RECEIVED.match(line.text)
    if place.down and received and (int(received["value"]) or place.down[1]):
        state: dict[str, Scalar | None] = {"up": False, "admin_up": True}
        yield observation("switch.port_state", place.down[0], state, host=make.host, port=place.port, when=make.when)
    for count in _COUNT.finditer(line.text):
        name = _NAMES.get(count["name"])
        if name:
            yield from make.sample("arista_port", name, whole(count["value"]), where, place.port)
        else:
            frames = "rxFrames" if count["name"] == "PAUSE input" else "txFrames"
            yield from make.sample("arista_pause", frames, whole(count["value"]), where, place.port)


ADAPTER = Adapter(
    name="eos_interfaces",
    branch="switch",
    emits=(
        "switch.counter_rise",
        "switch.counter_activity",
        "switch.counter_value",
        "switch.counter_idle",
        "switch.port_state",
        "switch.mtu",
    ),
    coverage="switch_counters",
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            "leaf1#show interfaces\n"
            "Ethernet3/1 is up, line protocol is up (connected)\n"
            "  Ethernet MTU 9214 bytes, BW 400000000 kbit\n"
            "  7 link status changes since last clear\n"
            "     0 runts, 0 giants\n"
            "     211 input errors, 209 CRC, 0 alignment, 2 symbol, 31 input discards\n"
            "     12 PAUSE input\n"
            "Ethernet4/1 is down, line protocol is down (notconnect)\n"
            "     7712 packets input, 880012 bytes\n"
            "Ethernet6/1 is down, line protocol is down (notconnect)\n"
            "     0 packets input, 0 bytes\n"
            "Ethernet5/1 is administratively down, line protocol is down (disabled)\n",
            (
                ("switch.mtu", {"mtu": 9214, "host": "leaf1", "port": "Ethernet3/1"}),
                ("counter", {"family": "arista_port", "counter": "fcsErrors", "value": 209, "port": "Ethernet3/1"}),
                ("counter", {"family": "arista_port", "counter": "linkStatusChanges", "value": 7}),
                ("counter", {"family": "arista_pause", "counter": "rxFrames", "value": 12}),
                ("switch.port_state", {"up": False, "admin_up": True, "port": "Ethernet4/1"}),
            ),
        ),
        Sample("Ethernet5/1 is administratively down, line protocol is down (disabled)\n", ()),
        Sample("Ethernet1/2 is up\nadmin state is up, Dedicated Interface\n    0 input error  0 short frame\n", ()),
    ),
)
