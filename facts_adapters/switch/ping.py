"""``ping``: probes between two hosts, with their size and loss (iputils ``ping_common.c``)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from engine.facts.model import Observation, Scalar, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.switch._tables import host_of, lines, prompt

_BEGINS = re.compile(
    r"^PING (?P<name>\S+)(?: \((?P<address>[\da-fA-F.:]+)\))?.*?(?P<size>\d+)(?:\(\d+\))? (?:data )?bytes"
)
_RESULT = re.compile(
    r"\b(?P<sent>\d{1,9}) packets transmitted, (?P<got>\d{1,9}) (?:packets )?received.*?"
    r"(?P<loss>\d{1,3}(?:\.\d+)?)% packet loss"
)


def _sniff(head: Head) -> Verdict:
    if "packets transmitted, " in head.text:
        return Verdict(0.9, "statistics of ping")
    return Verdict(0.0, "")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation]:
    when = context.snapshot_time(file.path)
    peer: str | None = None
    size: int | None = None
    host = file.host
    unreachable = oversize = False
    for line in lines(file):
        begin, result = _BEGINS.match(line.text.strip()), _RESULT.search(line.text)
        shell = prompt(line.text.lstrip("["))
        if shell:
            host = file.host or host_of(shell)
        if begin:
            peer, size, unreachable, oversize = begin["name"], int(begin["size"]), False, False
        unreachable = unreachable or "nreachable" in line.text
        oversize = oversize or "essage too long" in line.text
        if not result or oversize:
            continue
        source = Source(file.path, line.number, line.text.strip()[:500])
        loss = round(float(result["loss"]))
        fields: dict[str, Scalar] = {"size": size} if size is not None else {}
        if loss == 0:
            yield Observation("switch.ping_passed", source, fields, host=host, peer=peer, when=when)
        elif loss >= 2:
            fields.update(loss_percent=loss, unreachable=unreachable, text=line.text.strip())
            yield Observation("switch.ping_lost", source, fields, host=host, peer=peer, when=when)


ADAPTER = Adapter(
    name="ping",
    branch="switch",
    emits=("switch.ping_lost", "switch.ping_passed"),
    coverage=None,
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            "PING n2 (10.1.2.3) 8972(9000) bytes of data.\n\n--- n2 ping statistics ---\n"
            "5 packets transmitted, 0 received, 100% packet loss, time 4099ms\n",
            (("switch.ping_lost", {"size": 8972, "loss_percent": 100, "unreachable": False, "peer": "n2"}),),
        ),
        Sample(
            "PING 10.1.2.3 (10.1.2.3) 56(84) bytes of data.\n64 bytes from 10.1.2.3: icmp_seq=1 ttl=64 time=0.1 ms\n"
            "1 packets transmitted, 1 received, 0% packet loss, time 0ms\n",
            (("switch.ping_passed", {"size": 56, "peer": "10.1.2.3"}),),
        ),
        Sample(
            "PING n2 (10.1.2.3) 8972(9000) bytes of data.\nping: local error: message too long, mtu=1500\n"
            "1 packets transmitted, 0 received, +1 errors, 100% packet loss, time 0ms\n",
            (),
        ),
        Sample("PING the operator when done\n", ()),
    ),
)
