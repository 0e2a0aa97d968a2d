"""``hccn_tool`` of Ascend NPUs: link state, statistics, optics and health of the on-board RoCE ports.

The link history (``link change records``) is read by the signatures, which take the time that a record states.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from engine.facts.model import CounterSample, Observation, Scalar
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.nic import _ports
from facts_adapters.quoting import quote

_COMMAND = re.compile(r"hccn_tool\s+-i\s+(?P<device>\d+)\s+-(?P<what>\w+)")
_LOOP = re.compile(
    r"\bfor\s+(?P<name>\w+)\s+in\s+(?:\$\(seq\s+(?P<low>\d{1,2})\s+(?P<high>\d{1,2})\)|"
    r"\{(?P<first>\d{1,2})\.\.(?P<last>\d{1,2})\}|(?P<listed>\d{1,2}(?:\s+\d{1,2}){0,31}))\s*;.*hccn_tool\s+-i\s+\$\{?\w+\}?\s+-link\b"
)
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
    host = file.host
    looped: list[str] = []
    for line in _ports.lines(file):
        command, loop = _COMMAND.search(line.text), _LOOP.search(line.text)
        if command or loop:
            host = file.host or _ports.prompt_host(line.text) or host
            device, looped = (command["device"], []) if command else (None, _looped(line.text))
            continue
        statistic = _STATISTIC.match(line.text)
        where = quote(file, line)
        if statistic:
            yield CounterSample(
                source=where,
                family="hccn_stat",
                counter=statistic["name"],
                value=int(statistic["value"]),
                host=host,
                device=statistic["device"] or device,
                group=file.group,
                when=when,
                adapter="hccn",
            )
            continue
        if looped and _STATUS.match(line.text):
            device = looped.pop(0)
        for kind, fields, name in _facts(line.text):
            yield _ports.observe(kind, where, fields, host=host, device=name or device, when=when)


def _looped(text: str) -> list[str]:
    """The devices that a shell loop asks for in turn."""
    loop = _LOOP.search(text)
    if loop is None:
        return []
    if loop["listed"]:
        return loop["listed"].split()
    low, high = int(loop["low"] or loop["first"] or 0), int(loop["high"] or loop["last"] or 0)
    return [str(number) for number in range(low, high + 1)]


def _facts(text: str) -> Iterable[tuple[str, _ports.Fields, str | None]]:
    status, health, loss, speed = (pattern.match(text) for pattern in (_STATUS, _HEALTH, _LOSS, _SPEED))
    if status:
        state = "active" if status["state"] == "UP" else "down"
        yield "nic.port_state", {"state": state, "layer": "Ethernet"}, status["device"]
    elif health and re.fullmatch(r"link[ _]?down", health["text"], re.IGNORECASE):
        fields: dict[str, Scalar] = {"carrier": False, "role": "data", "reason": health["text"]}
        yield "nic.interface_down", fields, health["device"]
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
    emits=(
        "nic.port_state",
        "nic.interface_down",
        "nic.optics",
        "nic.rate",
        "switch.path_hint",
        "nic.counter_rise",
        "nic.counter_symptom",
    ),
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
        Sample(
            "[root@npu7 ~]# for n in {2..3}; do hccn_tool -i $n -link -g; done\nlink status: UP\nlink status: DOWN\n"
            "[root@npu7 ~]# hccn_tool -i 3 -net_health -g\nnet health status: Link Down\n",
            (
                ("nic.port_state", {"state": "active", "device": "2", "host": "npu7"}),
                ("nic.port_state", {"state": "down", "device": "3", "host": "npu7"}),
                ("nic.interface_down", {"reason": "Link Down", "device": "3", "host": "npu7"}),
            ),
        ),
        Sample("hccn_tool -i 3 -net_health -g\nnet health status: Success\n", ()),
        Sample("the link status is fine: UP\n", ()),
    ),
)
