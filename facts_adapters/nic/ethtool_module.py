"""``ethtool -m``: alarms and optical power of a cable or transceiver module (SFF-8636, CMIS)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from engine.facts.model import Observation
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.nic import _ports
from facts_adapters.quoting import quote

_IDENTIFIER = re.compile(r"^[ \t]*Identifier[ \t]*:.*0x[0-9a-f]{2}", re.IGNORECASE | re.MULTILINE)
_COMMAND = re.compile(r"ethtool\s+(?:-m|--module-info|--dump-module-eeprom)\s+(?P<netdev>[A-Za-z][\w.@-]{0,31})")
_ALARM = re.compile(
    r"^\s*(?P<name>[A-Za-z].*?) (?P<level>high|low) alarm\s*(?:\(Chan(?:nel)? (?P<lane>\d+)\))?\s*:\s*On\s*$"
)
_FLAG = re.compile(
    r"^\s*(?P<name>Rx loss of signal|Tx loss of signal|Rx loss of lock|Tx fault)\s*:\s*(?P<value>.*Yes.*)$",
    re.IGNORECASE,
)
_POWER = re.compile(
    r"^\s*(?:Rcvr|Receiver) signal .*?(?:Channel (?P<lane>\d+)\))?\s*:\s*"
    r"(?P<mw>[\d.]+) mW\s*/\s*(?P<dbm>-?[\d.]+|-inf) dBm"
)
_DARK_DBM = -20.0
"""Received power at or below this is no light: far under every short-reach module's sensitivity."""


def _sniff(head: Head) -> Verdict:
    if ("Vendor" in head.text or "alarm" in head.text) and _IDENTIFIER.search(head.text):
        return Verdict(0.95, "module data of ethtool -m")
    return Verdict(0.0, "")


def _problem(name: str, level: str) -> str:
    word = name.lower()
    if "temperature" in word:
        return "temperature_high" if level == "high" else "other"
    if "bias" in word:
        return "bias"
    if "power" in word or "signal" in word or "avg" in word:
        side = "tx" if "tx" in word or "transmit" in word or "laser" in word else "rx"
        return f"{side}_power_{level}"
    return "other"


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation]:
    del context
    netdev = _ports.netdev_of_path(file.path)
    for line in _ports.lines(file):
        command = _COMMAND.search(line.text)
        netdev = (command["netdev"] if command else _ports.heading(line.text)) or netdev
        where = quote(file, line)
        alarm, flag, power = _ALARM.match(line.text), _FLAG.match(line.text), _POWER.match(line.text)
        problem, lane, value = None, None, None
        if alarm:
            problem, lane = _problem(alarm["name"], alarm["level"]), alarm["lane"]
        elif flag:
            problem = "loss_of_lock" if "lock" in flag["name"].lower() else "loss_of_signal"
            problem = "other" if "fault" in flag["name"].lower() else problem
        elif power:
            value = -40.0 if power["dbm"] == "-inf" else _ports.decimal(power["dbm"])
            problem, lane = (
                ("rx_power_low", power["lane"]) if value is not None and value <= _DARK_DBM else (None, None)
            )
        if problem:
            fields: _ports.Fields = {
                "problem": problem,
                "value": value,
                "lane": int(lane) if lane else None,
                "text": line.text.strip(),
            }
            yield _ports.observe("nic.optics", where, fields, host=file.host, device=netdev)


ADAPTER = Adapter(
    name="ethtool_module",
    branch="nic",
    emits=("nic.optics",),
    coverage=None,
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            "\tIdentifier                                : 0x18 (QSFP-DD)\n"
            "\tVendor name                               : ACME\n"
            "\tRcvr signal avg optical power (Channel 1) : 0.0001 mW / -40.00 dBm\n"
            "\tLaser rx power low alarm   (Channel 1)    : On\n",
            (("nic.optics", {"problem": "rx_power_low", "lane": 1, "device": "eth2"}),),
            "n1/ethtool_-m_eth2",
        ),
        Sample(
            "# ethtool -m eth7\n\tIdentifier                                : 0x11 (QSFP28)\n"
            "\tVendor name                               : ACME\n"
            "\tRcvr signal avg optical power(Channel 3)  : 0.5000 mW / -3.01 dBm\n"
            "\tLaser bias current low alarm    (Chan 3)  : On\n"
            "\tModule temperature high alarm             : On\n",
            (
                ("nic.optics", {"problem": "bias", "lane": 3, "device": "eth7"}),
                ("nic.optics", {"problem": "temperature_high"}),
            ),
        ),
        Sample(
            "\tIdentifier                                : 0x18 (QSFP-DD)\n"
            "\tVendor name                               : ACME\n"
            "\tRcvr signal avg optical power (Channel 1) : 0.8000 mW / -0.97 dBm\n"
            "\tLaser rx power low alarm   (Channel 1)    : Off\n",
            (),
        ),
    ),
)
