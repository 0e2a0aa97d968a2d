"""``hccn_tool`` of Ascend NPUs: link state, statistics, optics and health of the on-board RoCE ports.

The link history (``link change records``) is read by the signatures, which take the time that a record states.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from engine.facts.model import CounterSample, Observation
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.nic import _ports

_COMMAND = re.compile(r"hccn_tool\s+-i\s+(?P<device>\d+)\s+-(?P<what>\w+)")
_STATUS = re.compile(r"^[ \t]{0,20}(?:\[devid (?P<device>\d+)\])?[ \t]{0,20}link status\s*:\s*(?P<state>UP|DOWN)\s*$")
_HEALTH = re.compile(r"^[ \t]{0,20}(?:\[devid (?P<device>\d+)\])?[ \t]{0,20}net health status\s*:\s*(?P<text>.+?)\s*$")
_STATISTIC = re.compile(
    r"^[ \t]{0,20}(?:\[devid (?P<device>\d+)\])?[ \t]{0,20}(?P<name>(?:mac|roce|nic)_\w+)\s*[:=]\s*(?P<value>\d+)\s*$"
)
_LOSS = re.compile(
    r"^[ \t]{0,20}(?:\[devid (?P<device>\d+)\])?[ \t]{0,20}"
    r"(?P<name>Rx (?:Los|LoL) Flag)\s*:\s*0x(?P<flags>[0-9a-f]+)\s*$"
)
_SPEED = re.compile(r"^[ \t]{0,20}(?:\[devid (?P<device>\d+)\])?[ \t]{0,20}[Ss]peed\s*:\s*(?P<speed>\d+)\s*Mb/s")


def _sniff(head: Head) -> Verdict:
    text = head.text
    if any(mark in text for mark in ("hccn_tool", "roce_new_pkt_rty_num", "mac_tx_pfc_pri", "link change records")):
        return Verdict(0.95, "hccn_tool")
    return _ports.found(head, _STATUS, "link state of an NPU") if "link status" in text else Verdict(0.0, "")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation | CounterSample]:
    when = _ports.snapshot(file, context)
    device: str | None = None
    for line in _ports.lines(file):
        command = _COMMAND.search(line.text)
        if command:
            device = command["device"]
            continue
        statistic = _STATISTIC.match(line.text)
        where = _ports.source(file, line)
        if statistic:
            yield CounterSample(
                source=where,
                family="hccn_stat",
                counter=statistic["name"],
                value=int(statistic["value"]),
                host=file.host,
                device=statistic["device"] or device,
                group=file.group,
                when=when,
                adapter="hccn",
            )
            continue
        for kind, fields, name in _facts(line.text):
            yield _ports.observe(kind, where, fields, host=file.host, device=name or device, when=when)


def _facts(text: str) -> Iterable[tuple[str, _ports.Fields, str | None]]:
    status, health, loss, speed = (pattern.match(text) for pattern in (_STATUS, _HEALTH, _LOSS, _SPEED))
    if status:
        state = "active" if status["state"] == "UP" else "down"
        yield "nic.port_state", {"state": state, "layer": "Ethernet"}, status["device"]
    elif health and not health["text"].lower().startswith(("success", "init")):
        yield "switch.path_hint", {"hint": "unreachable", "text": health["text"]}, health["device"]
    elif loss and int(loss["flags"], 16):
        problem = "loss_of_signal" if "Los" in loss["name"] else "loss_of_lock"
        yield "nic.optics", {"problem": problem, "text": text.strip()}, loss["device"]
    elif speed:
        yield "nic.rate", {"rate_gbps": round(int(speed["speed"]) / 1000)}, speed["device"]


ADAPTER = Adapter(
    name="hccn",
    branch="nic",
    emits=("nic.port_state", "nic.optics", "nic.rate", "switch.path_hint", "nic.counter_rise", "nic.counter_symptom"),
    coverage="nic_counters",
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            "/usr/local/Ascend/driver/tools/hccn_tool -i 3 -link -g\nlink status: DOWN\n\n"
            "/usr/local/Ascend/driver/tools/hccn_tool -i 3 -stat -g\npacket statistics:\nroce_new_pkt_rty_num:17\n",
            (
                ("nic.port_state", {"state": "down", "device": "3"}),
                ("counter", {"family": "hccn_stat", "counter": "roce_new_pkt_rty_num", "value": 17, "device": "3"}),
            ),
        ),
        Sample("the link status is fine: UP\n", ()),
    ),
)
