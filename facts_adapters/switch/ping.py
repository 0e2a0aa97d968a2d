"""``ping``: probes between two hosts, with their size and loss (iputils ``ping_common.c``)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.quoting import quote
from facts_adapters.switch._tables import host_of, lines, prompt

_BEGINS = re.compile(
    r"^PING (?P<name>\S+)(?: \((?P<address>[\da-fA-F.:]+)\))?.*?(?P<size>\d+)(?:\(\d+\))? (?:data )?bytes"
)
_COMMAND = re.compile(
    r"^\[?(?:[\w.-]+@)?(?P<host>[A-Za-z][\w.-]*)?[^$#>]{0,40}[$#>]\s*(?:sudo\s+)?ping6?\s+(?P<options>-\S.*|[\w.:-]+)$"
)
_SIZE = re.compile(r"(?:^|\s)-s\s*(?P<size>\d{1,5})(?:\s|$)")
_TARGET = re.compile(r"(?:^|\s)(?P<peer>[A-Za-z0-9][\w.:-]*)$")
_HEADING = re.compile(r"^--- (?P<peer>\S+) ping statistics ---")
DEFAULT_SIZE = 56
"""Bytes that ping sends where ``-s`` is not given (ping(8))."""

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
        command, heading = _COMMAND.match(line.text.strip()), _HEADING.match(line.text.strip())
        if command:
            peer, size = _asked(command["options"].strip())
            host, unreachable, oversize = file.host or command["host"] or host, False, False
        if heading and peer is None:
            peer = heading["peer"]
        if begin:
            peer, size, unreachable, oversize = begin["name"], int(begin["size"]), False, False
        unreachable = unreachable or "nreachable" in line.text
        oversize = oversize or "essage too long" in line.text
        if not result:
            continue
        tested, asked, refused = peer, size, oversize
        peer, size, oversize = None, None, False
        if refused:
            continue
        source = quote(file, line)
        loss = round(float(result["loss"]))
        fields: dict[str, Scalar] = {"size": asked} if asked is not None else {}
        if loss == 0:
            yield Observation("switch.ping_passed", source, fields, host=host, peer=tested, when=when)
        elif loss >= 2:
            fields.update(loss_percent=loss, unreachable=unreachable, text=line.text.strip())
            yield Observation("switch.ping_lost", source, fields, host=host, peer=tested, when=when)
        unreachable = False


def _asked(options: str) -> tuple[str | None, int]:
    """Peer and size of the probe that a ``ping`` command asks for."""
    size, target = _SIZE.search(options), _TARGET.search(options)
    return target["peer"] if target else None, int(size["size"]) if size else DEFAULT_SIZE


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
        Sample(
            "n1$ ping -M do -s 8000 -c 2 10.1.2.3\nPING 10.1.2.3 (10.1.2.3) 8000(8028) bytes of data.\n"
            "2 packets transmitted, 0 received, 100% packet loss, time 1041ms\n"
            "n1$ ping -M do -s 1400 -c 2 10.1.2.3\n2 packets transmitted, 2 received, 0% packet loss, time 1003ms\n",
            (
                ("switch.ping_lost", {"size": 8000, "peer": "10.1.2.3", "host": "n1"}),
                ("switch.ping_passed", {"size": 1400, "peer": "10.1.2.3", "host": "n1"}),
            ),
        ),
        Sample("PING the operator when done\n", ()),
    ),
)
