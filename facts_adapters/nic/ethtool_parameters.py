"""``ethtool --show-fec``, ``-g``, ``-k``, ``-l``, ``-c`` and the statistics that ``-I`` adds to FEC and pause settings.

Facts come from FEC and ring lengths; features, channels and coalescing are recognised and tell of no fault. Sources:
ethtool 5.x, 6.x ``netlink/fec.c``, ``netlink/rings.c``, ``netlink/pause.c`` (a statistic stands there as
``name: total``, those of lanes below it), ``ethtool.c`` for the form before netlink.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from engine.facts.model import CounterSample, Observation, Reading
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.nic import _ports
from facts_adapters.quoting import quote

_BEGINS = re.compile(
    r"^(?:(?P<what>FEC|Ring|Pause|Channel|Coalesce) parameters|Features) for (?P<netdev>[\w.@-]{1,32}?):\s*$"
)
_ACTIVE = re.compile(r"^\s*Active FEC encodings?:\s*(?P<modes>[A-Za-z_ ]{1,80}?)\s*$")
_RING = re.compile(r"^RX:\s*(?P<length>\d{1,9})\s*$")
_MAXIMUMS = re.compile(r"^Pre-set maximums:")
_CURRENT = re.compile(r"^Current hardware settings:")
_STATISTIC = re.compile(
    r"^\s{1,8}(?P<name>(?:un)?corrected_(?:blocks|bits)|uncorrectable_blocks|[rt]x_pause_frames):\s*(?P<value>\d{1,20})\s*$"
)
_MODES = {"none": "off", "off": "off", "rs": "rs", "baser": "baser", "llrs": "llrs", "auto": "auto"}


def _sniff(head: Head) -> Verdict:
    return _ports.found(head, _BEGINS, "parameters of a network interface", 0.95)


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation | CounterSample]:
    when = _ports.snapshot(file, context)
    for begin, block in _ports.blocks(_ports.lines(file), _BEGINS):
        netdev = begin["netdev"]
        if begin["what"] == "FEC":
            yield from _fec(file, netdev, block, when)
        elif begin["what"] == "Ring":
            yield from _ring(file, netdev, block, when)
        for line in block if begin["what"] in ("FEC", "Pause") else ():
            counted = _STATISTIC.match(line.text)
            if counted:
                yield statistic(file, netdev, counted["name"], int(counted["value"]), line, when)


def fec_mode(names: Iterable[str]) -> str:
    """The vocabulary's word for the encodings that ethtool names, several joined with ``,``."""
    return ",".join(sorted({_MODES.get(name.lower(), name.lower()) for name in names}))


def statistic(
    file: EvidenceFile, netdev: str, name: str, value: int, line: Line, when: Reading | None, adapter: str = ""
) -> CounterSample:
    """A counter that ethtool names alike for all drivers."""
    return CounterSample(
        source=quote(file, line),
        family="ethtool_standard",
        counter=name,
        value=value,
        host=file.host,
        device=netdev,
        group=file.group,
        when=when,
        adapter=adapter or "ethtool_parameters",
    )


def _fec(file: EvidenceFile, netdev: str, block: list[Line], when: Reading | None) -> Iterator[Observation]:
    for line in block:
        active = _ACTIVE.match(line.text)
        if active:
            fields: _ports.Fields = {"netdev": netdev, "mode": fec_mode(active["modes"].split())}
            yield _ports.observe("nic.fec", quote(file, line), fields, host=file.host, device=netdev, when=when)
            return


def _ring(file: EvidenceFile, netdev: str, block: list[Line], when: Reading | None) -> Iterator[Observation]:
    largest: int | None = None
    current = False
    for line in block:
        current = not _MAXIMUMS.match(line.text) and (current or _CURRENT.match(line.text) is not None)
        length = _RING.match(line.text)
        if length and not current:
            largest = int(length["length"])
        elif length:
            fields: _ports.Fields = {"netdev": netdev, "rx": int(length["length"]), "rx_max": largest}
            yield _ports.observe("nic.ring", quote(file, line), fields, host=file.host, device=netdev, when=when)
            return


ADAPTER = Adapter(
    name="ethtool_parameters",
    branch="nic",
    emits=("nic.fec", "nic.ring", "nic.counter_rise", "nic.counter_activity", "nic.counter_value"),
    coverage=None,
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            "FEC parameters for eth2:\nSupported/Configured FEC encodings: Auto RS\nActive FEC encoding: RS\n"
            "Statistics:\n  corrected_blocks: 256\n    Lane 0: 250\n    Lane 1: 6\n  uncorrectable_blocks: 145\n",
            (
                ("nic.fec", {"mode": "rs", "netdev": "eth2", "device": "eth2"}),
                ("counter", {"family": "ethtool_standard", "counter": "corrected_blocks", "value": 256}),
                ("counter", {"counter": "uncorrectable_blocks", "value": 145, "device": "eth2"}),
            ),
        ),
        Sample(
            "FEC parameters for ens1f0np0:\nConfigured FEC encodings: Off\nActive FEC encodings: None\n",
            (("nic.fec", {"mode": "off", "netdev": "ens1f0np0"}),),
        ),
        Sample(
            "Ring parameters for eth2:\nPre-set maximums:\nRX:\t\t8192\nRX Mini:\tn/a\nTX:\t\t8192\n"
            "Current hardware settings:\nRX:\t\t1024\nRX Mini:\tn/a\nTX:\t\t1024\nTX Push:\toff\n",
            (("nic.ring", {"rx": 1024, "rx_max": 8192, "netdev": "eth2"}),),
        ),
        Sample(
            "Pause parameters for eth2:\nAutonegotiate:\toff\nRX:\t\ton\nTX:\t\ton\nStatistics:\n"
            "  tx_pause_frames: 14\n  rx_pause_frames: 0\n",
            (("counter", {"counter": "tx_pause_frames", "value": 14, "device": "eth2"}),),
        ),
        Sample("Features for eth2:\nrx-checksumming: on\n\ttx-checksum-ipv4: off [fixed]\n"),
        Sample("Channel parameters for eth2:\nPre-set maximums:\nRX:\t\t4\nCurrent hardware settings:\nRX:\t\t4\n"),
        Sample("Ring parameters for eth2:\nPre-set maximums:\nRX:\tn/a\nCurrent hardware settings:\nRX:\tn/a\n"),
        Sample("Active FEC encoding: RS\n"),
    ),
)
