"""Cumulus NVUE ``nv show interface … -o json``, SONiC ``portstat -j`` and counters of its database by port."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from engine.facts.model import CounterSample, Observation, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.quoting import line_at
from facts_adapters.switch._tables import Counters, whole

_LONGEST = 16 << 20
_QOS = ("egress-queue-stats", "ingress-buffer-stats", "pfc-stats")
_SONIC_QUEUE = {"totalpacket": "packets", "droppacket": "drop_packets", "dropbytes": "drop_bytes"}
_SAI = {
    "IF_IN_ERRORS": "RX_ERR",
    "IF_OUT_ERRORS": "TX_ERR",
    "IF_IN_DISCARDS": "RX_DRP",
    "IF_OUT_DISCARDS": "TX_DRP",
}
_SAI_PFC = re.compile(r"SAI_PORT_STAT_PFC_(?P<queue>[0-7])_(?P<side>RX|TX)_PKTS$")
_LINK = frozenset(("carrier-transitions", "in-errors", "in-drops", "out-errors", "out-drops"))
_PORT = re.compile(r"(swp\d+(?:s\d+)?|Ethernet\d+)$")


def _sniff(head: Head) -> Verdict:
    if any(f'"{name}"' in head.text for name in (*_QOS, "carrier-transitions")):
        return Verdict(0.95, "NVUE counters")
    if '"SAI_PORT_STAT_' in head.text and '"COUNTERS:oid:' not in head.text:
        return Verdict(0.95, "SONiC counters database")
    if re.search(r'"Ethernet\d+"\s*:\s*\{', head.text) and re.search(r'"RX_ERR"|"droppacket"', head.text):
        return Verdict(0.95, "SONiC counters as JSON")
    return Verdict(0.0, "")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation | CounterSample]:
    with file.open() as stream:
        text = stream.read(_LONGEST).decode("utf-8", "replace")
    start = text.find("{")
    try:
        document = json.loads(text[start:])
    except (ValueError, RecursionError) as error:
        context.warn(file.path, 1, f"not JSON: {error}")
        return
    named = _PORT.search(re.sub(r"\.\w+$", "", file.path)) or re.search(r"(swp\d+(?:s\d+)?)", file.path)
    make = Counters(file, "cumulus_json", file.host, context.snapshot_time(file.path))
    yield from _walk({"": document}, named[1] if named else None, make, text)


def _walk(value: Any, port: str | None, make: Counters, text: str, depth: int = 0) -> Iterator[CounterSample]:
    """Counters anywhere in the document; the nearest key that is a port names the port."""
    if not isinstance(value, dict) or depth > 10:
        return
    for name, inner in value.items():
        if not isinstance(inner, dict):
            continue
        near = name if _PORT.match(name) else port
        where = Source(make.file.path, line_at(text, text.find(f'"{name}"')), f'"{name}"')
        if name in _QOS:
            for queue, counts in inner.items():
                if isinstance(counts, dict) and str(queue).isdecimal():
                    yield from _numbers("cumulus_qos", counts, make, where, near, int(queue))
        elif near and any(key.startswith("SAI_PORT_STAT_") for key in inner):
            yield from _sai(inner, make, where, near)
        elif near and _LINK & inner.keys():
            yield from _numbers(
                "cumulus_port", {key: inner[key] for key in sorted(_LINK & inner.keys())}, make, where, near, None
            )
        elif near and "RX_ERR" in inner:
            yield from _numbers("sonic_port", inner, make, where, near, None)
        elif near and re.fullmatch(r"UC\d+", name) and "droppacket" in inner:
            counts = {_SONIC_QUEUE[key]: count for key, count in inner.items() if key in _SONIC_QUEUE}
            yield from _numbers("sonic_queue", counts, make, where, near, int(name[2:]))
        else:
            yield from _walk(inner, near, make, text, depth + 1)


def _sai(counts: dict[str, Any], make: Counters, where: Source, port: str) -> Iterator[CounterSample]:
    for key, value in counts.items():
        pause, plain = _SAI_PFC.match(key), _SAI.get(key.removeprefix("SAI_PORT_STAT_"))
        if pause:
            queue = int(pause["queue"])
            counter = f"{pause['side'].lower()}_pfc{queue}"
            yield from make.sample("sonic_pfc", counter, whole(str(value)), where, port, queue)
        elif plain:
            yield from make.sample("sonic_port", plain, whole(str(value)), where, port)


def _numbers(
    family: str, counts: dict[str, Any], make: Counters, where: Source, port: str | None, queue: int | None
) -> Iterator[CounterSample]:
    for counter, value in counts.items():
        yield from make.sample(family, counter, whole(str(value).split(" ")[0]), where, port, queue)


ADAPTER = Adapter(
    name="cumulus_json",
    branch="switch",
    emits=("switch.counter_rise", "switch.counter_activity", "switch.counter_value"),
    coverage="switch_counters",
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            '{"operational": {"interface": {"swp1": {"qos": {"pfc-stats": {"3": {"rx-pause-frames": 17}}}}}}}',
            (("counter", {"family": "cumulus_qos", "counter": "rx-pause-frames", "value": 17, "port": "swp1"}),),
        ),
        Sample(
            '{"Ethernet8": {"UC3": {"totalpacket": "1,200", "droppacket": "33", "dropbytes": "10"}, "time": "x"}}',
            (("counter", {"family": "sonic_queue", "counter": "drop_packets", "value": 33, "queue": 3}),),
        ),
        Sample(
            '{"Ethernet0": {"SAI_PORT_STAT_IF_IN_ERRORS": "4", "SAI_PORT_STAT_PFC_3_RX_PKTS": "900"}}',
            (
                ("counter", {"family": "sonic_port", "counter": "RX_ERR", "value": 4, "port": "Ethernet0"}),
                ("counter", {"family": "sonic_pfc", "counter": "rx_pfc3", "value": 900, "queue": 3}),
            ),
        ),
        Sample(
            '{"swp1": {"link": {"mtu": 9216, "stats": {"carrier-transitions": 7, "in-errors": 0, "in-bytes": 300}}}}',
            (("counter", {"family": "cumulus_port", "counter": "carrier-transitions", "value": 7, "port": "swp1"}),),
        ),
        Sample('{"Ethernet8": {"mtu": 9100}}', ()),
    ),
)
