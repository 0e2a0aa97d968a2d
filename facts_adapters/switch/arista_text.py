"""Arista EOS tables as text: port errors and discards, priority flow control, LLDP neighbours."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from engine.facts.model import CounterSample, Observation, Scalar
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.quoting import quote
from facts_adapters.switch._tables import Counters, host_of, lines, prompt, whole
from facts_adapters.switch.arista_json import port_name

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
_PORT = re.compile(r"^(?P<port>(?:Et|Ethernet|Po)\d[\d/]*)\s+(?P<rest>\S.*)$")


def _sniff(head: Head) -> Verdict:
    if any(pattern.match(line.strip()) for line in head.lines[:400] for pattern, _, _ in _HEADERS):
        return Verdict(0.95, "counter table of Arista EOS")
    known = any(_LLDP.match(line.strip()) for line in head.lines[:400])
    return Verdict(0.9, "neighbours of Arista EOS") if known else Verdict(0.0, "")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation | CounterSample]:
    make = Counters(file, "arista_text", file.host, context.snapshot_time(file.path))
    family, neighbours = "", False
    names: tuple[str, ...] = ()
    for line in lines(file):
        text = line.text.strip()
        shell = prompt(line.text)
        if shell:
            make = Counters(file, make.adapter, file.host or host_of(shell), make.when)
        header = next(((f, n) for pattern, f, n in _HEADERS if pattern.match(text)), None)
        row = _PORT.match(text)
        if header or _LLDP.match(text) or shell:
            family, names = header or ("", ())
            neighbours = bool(_LLDP.match(text))
        elif row and names:
            yield from _counts(file, line, make, family, names, row)
        elif row and neighbours:
            yield from _neighbour(file, line, make, row)
        elif re.search(r"\d:\d\d:\d\d", text):
            stamp = context.reading(text)
            make = Counters(file, make.adapter, make.host, stamp or make.when)


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
    emits=("switch.counter_rise", "switch.counter_value", "switch.trunk", "switch.attached"),
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
        Sample("Port of call\nEt1/1 is fine\n", ()),
    ),
)
