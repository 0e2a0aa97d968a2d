"""``mlxlink`` as text or JSON: state, errors and the PHY's own diagnosis of a link (mstflint ``mlxlink_commander``).

Of a module (``-m``) each value stands with its limits, lanes separated by commas: ``0.9,-14.2 [-10.41..6]``. ``Speed``
is ``IB-NDR`` with the lanes in ``Width``, or ``400G_4X``, ``100GbE``. ``FEC`` is ``Standard_RS-FEC - (544,514)``,
``Firecode FEC``, ``No FEC``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from engine.facts.model import CounterSample, Observation, Reading, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.nic import _ports
from facts_adapters.quoting import line_at, quote

_PAIR = re.compile(r"^(?P<name>[A-Z][\w /\[\]().-]*?)\s*:\s*(?P<value>.*?)\s*$")
_DEVICE = re.compile(r"mlxlink\s.{0,200}?-d\s+(?P<command>\S{1,60})")
_LIMITS = re.compile(
    r"^(?P<values>-?[\d.]{1,10}(?:,-?[\d.]{1,10}){0,15}) \[(?P<low>-?[\d.]{1,10}?)\.\.(?P<high>-?[\d.]{1,10})\]$"
)
_MODULE = (
    ("Temperature [C]", "other", "temperature_high"),
    ("Rx Power Current [dBm]", "rx_power_low", "rx_power_high"),
    ("Tx Power Current [dBm]", "tx_power_low", "tx_power_high"),
    ("Bias Current [mA]", "bias", "bias"),
)
"""Name of a value of the module, and what it is to be below and above its limits."""
_LANE_GBPS = {"SDR": 2.5, "DDR": 5.0, "QDR": 10.0, "FDR": 14.0, "EDR": 25.0, "HDR": 50.0, "NDR": 100.0, "XDR": 200.0}
"""Gb/s of one lane, as ibstat adds them up."""
_CLASSES = (
    (
        "signal",
        re.compile(
            r"SER|BER|signal integrity|block lock|alignment|FEC sync|symbol|heartbeat|high signal", re.IGNORECASE
        ),
    ),
    ("cable", re.compile(r"unplug|no cable|cable|module|plugged", re.IGNORECASE)),
    ("command", re.compile(r"command|disabled|closed by", re.IGNORECASE)),
    ("remote_fault", re.compile(r"remote fault|peer", re.IGNORECASE)),
)
_COUNTERS = {
    "Link Down Counter": "link_down_counter",
    "Link Error Recovery Counter": "link_error_recovery_counter",
    "Effective Physical Errors": "effective_physical_errors",
    "Symbol Errors": "symbol_errors",
}
Pairs = dict[str, tuple[Source, str]]
"""Values by name, each with its place."""
_NO_VALUE = re.compile(r"15E-255|N/A|^$")
_HIGH_BER = 1e-5
"""Raw bit error rate above this is outside what RS-FEC links run at."""


def _sniff(head: Head) -> Verdict:
    text = head.text
    if ("Operational Info" in text or "Troubleshooting Info" in text) and ("Physical state" in text or "FEC" in text):
        return Verdict(0.95, "mlxlink")
    return Verdict(0.0, "")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation | CounterSample]:
    when = _ports.snapshot(file, context)
    unnamed = False
    for device, pairs in _blocks(file, context):
        if device or not unnamed:
            yield from _counters(file, device, pairs, when)
        unnamed = unnamed or not device
        for observation in (*_reason(pairs), *_errors(pairs), *_state(pairs), *_module(pairs), *_link(pairs)):
            observation.host, observation.device, observation.when = file.host, device, when
            yield observation


def _blocks(file: EvidenceFile, context: Context) -> Iterator[tuple[str | None, Pairs]]:
    """The device, where it is told, and the values of each output in the file."""
    device = _ports.rdma_of_path(file.path)
    pairs: Pairs = {}
    found = False
    for line in _ports.lines(file):
        match = _PAIR.match(line.text)
        command, title = _DEVICE.search(line.text), _ports.heading(line.text)
        if pairs and (command or title or line.text.startswith("Operational Info")):
            yield device, pairs
            pairs, found = {}, True
        if command or title:
            device = title or (command["command"] if command else device)
        elif match:
            pairs.setdefault(match["name"], (quote(file, line), match["value"]))
    if not pairs and not found:
        with file.open() as stream:
            pairs = _from_json(file, stream.read(1 << 20), context)
    yield device, pairs


def _from_json(file: EvidenceFile, raw: bytes, context: Context) -> Pairs:
    text = raw.decode("utf-8", "replace")
    try:
        document = json.loads(text[text.index("{") :])
    except (ValueError, RecursionError) as error:
        context.warn(file.path, 1, f"not JSON: {error}")
        return {}
    pairs: Pairs = {}

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            for name, inner in value.items():
                if isinstance(inner, (str, int, float)):
                    line = line_at(text, text.find(f'"{name}"'))
                    pairs.setdefault(name, (Source(file.path, line, f"{name}: {inner}"), str(inner)))
                else:
                    walk(inner)

    walk(document)
    return pairs


def _counters(file: EvidenceFile, device: str | None, pairs: Pairs, when: Reading | None) -> Iterator[CounterSample]:
    for name, counter in _COUNTERS.items():
        if name in pairs and pairs[name][1].isdecimal():
            yield CounterSample(
                source=pairs[name][0],
                family="mlxlink",
                counter=counter,
                value=int(pairs[name][1][:20]),
                host=file.host,
                device=device,
                group=file.group,
                when=when,
                adapter="mlxlink",
            )


def _state(pairs: Pairs) -> Iterator[Observation]:
    if "State" in pairs and "Physical state" in pairs:
        source, state = pairs["State"]
        fields: _ports.Fields = {
            "state": "down" if state in ("Disable", "Polling") else _ports.port_state(state),
            "physical": _ports.physical_state(pairs["Physical state"][1]),
        }
        yield _ports.observe("nic.port_state", source, fields)


def _link(pairs: Pairs) -> Iterator[Observation]:
    """Rate and FEC of a link that is up."""
    if pairs.get("State", (None, ""))[1] != "Active":
        return
    source, speed = pairs.get("Speed", (None, ""))
    lanes = re.match(r"(\d{1,2})x?$", pairs.get("Width", (None, ""))[1])
    infiniband, ethernet = re.match(r"IB-(\w{1,6})$", speed), re.match(r"(\d{1,4})G", speed)
    rate = int(ethernet[1]) if ethernet else None
    if infiniband and lanes and infiniband[1] in _LANE_GBPS:
        rate = round(_LANE_GBPS[infiniband[1]] * int(lanes[1]))
    if source and rate:
        yield _ports.observe("nic.rate", source, {"rate_gbps": rate})
    source, fec = pairs.get("FEC", (None, ""))
    word = fec.lower()
    mode = "off" if "no fec" in word else "llrs" if "ll" in word and "rs" in word else "rs" if "rs" in word else ""
    mode = mode or ("baser" if "firecode" in word else "")
    if source and mode:
        yield _ports.observe("nic.fec", source, {"mode": mode})


def _module(pairs: Pairs) -> Iterator[Observation]:
    """Values of the module outside the limits that stand beside them."""
    for name, below, above in _MODULE:
        source, text = pairs.get(name, (None, ""))
        match = _LIMITS.match(text)
        low, high = (_ports.decimal(match["low"]), _ports.decimal(match["high"])) if match else (None, None)
        if not source or not match or low is None or high is None or low >= high:
            continue
        texts = match["values"].split(",")
        for lane, value in enumerate(map(_ports.decimal, texts), 1):
            if value is not None and not low <= value <= high:
                problem = below if value < low else above
                fields: _ports.Fields = {"problem": problem, "value": value, "lane": lane, "text": source.text.strip()}
                yield _ports.observe("nic.optics", source, {**fields, "lane": lane if len(texts) > 1 else None})


def _reason(pairs: Pairs) -> Iterator[Observation]:
    for name in ("Recommendation", "Down Reason", "Local Reason Opcode", "Down Blame"):
        if name not in pairs:
            continue
        source, text = pairs[name]
        if not text or text.lower().startswith(("no issue", "n/a", "0")):
            continue
        kind = next((label for label, pattern in _CLASSES if pattern.search(text)), "other")
        blame = pairs.get("Down Blame", (source, ""))[1].lower()
        side = "peer" if "remote" in blame or text.lower().startswith("peer") else "local" if "local" in blame else None
        yield _ports.observe("nic.link_reason", source, {"reason": text, "class": kind, "side": side or "unknown"})


def _errors(pairs: Pairs) -> Iterator[Observation]:
    if "Raw Physical BER" in pairs:
        source, text = pairs["Raw Physical BER"]
        value = _rate(text)
        if value is not None and value > _HIGH_BER:
            yield _ports.observe("nic.optics", source, {"problem": "ber_high", "value": value, "text": source.text})
    for name in ("Effective Physical BER", "Symbol BER"):
        if name in pairs:
            source, text = pairs[name]
            value = _rate(text)
            if value is not None and value > 1e-12:
                yield _ports.observe("nic.optics", source, {"problem": "ber_high", "value": value, "text": source.text})


def _rate(text: str) -> float | None:
    if _NO_VALUE.search(text):
        return None
    return float(text) if re.fullmatch(r"\d{1,9}(?:\.\d{1,9})?(?:[eE][+-]?\d{1,2})?", text) else None


ADAPTER = Adapter(
    name="mlxlink",
    branch="nic",
    emits=(
        "nic.port_state",
        "nic.rate",
        "nic.fec",
        "nic.link_reason",
        "nic.optics",
        "nic.counter_rise",
        "nic.counter_value",
    ),
    coverage=None,
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            "Operational Info\n----------------\nState                              : Polling\n"
            "Physical state                     : ETH_AN_FSM_ENABLE\nFEC                                : N/A\n\n"
            "Troubleshooting Info\n--------------------\n"
            "Recommendation                     : Bad signal integrity - high BER\n"
            "Effective Physical BER             : 3E-9\nRaw Physical BER                   : 15E-255\n"
            "Link Down Counter                  : 4\n",
            (
                ("counter", {"family": "mlxlink", "counter": "link_down_counter", "value": 4, "device": "mlx5_3"}),
                ("nic.link_reason", {"class": "signal", "side": "unknown"}),
                ("nic.optics", {"problem": "ber_high", "value": 3e-9}),
                ("nic.port_state", {"state": "down", "physical": "unknown"}),
            ),
            "n1/mlxlink_mlx5_3.txt",
        ),
        Sample(
            "Operational Info\n----------------\nPhysical state                     : LinkUp\n\n"
            "Troubleshooting Info\n--------------------\n"
            "Recommendation                     : Bad signal integrity\n",
            (("nic.link_reason", {"class": "signal", "reason": "Bad signal integrity"}),),
            "n1/mlxlink_mlx5_4.txt",
        ),
        Sample(
            "Operational Info\n----------------\nState                              : Active\n"
            "Physical state                     : LinkUp\nSpeed                              : IB-NDR\n"
            "Width                              : 4x\n"
            "FEC                                : Interleaved_Standard_RS_FEC_PLR - (546,516)\n\n"
            "Troubleshooting Info\n--------------------\nStatus Opcode                      : 0\n"
            "Recommendation                     : No issue was observed\n\nModule Info\n-----------\n"
            "Temperature [C]                    : 48 [-5..70]\n"
            "Rx Power Current [dBm]             : 1.0,-14.2,0.9,1.1 [-10.41..6]\n",
            (
                ("nic.rate", {"rate_gbps": 400, "device": "mlx5_0"}),
                ("nic.fec", {"mode": "rs"}),
                ("nic.optics", {"problem": "rx_power_low", "value": -14.2, "lane": 2}),
                ("nic.port_state", {"state": "active", "physical": "linkup"}),
            ),
            "n1/mlx5_0/mlxlink.txt",
        ),
        Sample(
            '{"result":{"output":{"Operational Info":{"FEC":"No FEC","Physical state":"LinkUp","Speed":"100GbE",'
            '"State":"Active","Width":"4x"},"Physical Counters and BER Info":{"Link Down Counter":"3",'
            '"Raw Physical Errors Per Lane":{"values":["66","1"]}},"Module Info":{"Temperature [C]":"77 [-5..70]"}}}}',
            (
                ("nic.rate", {"rate_gbps": 100}),
                ("nic.fec", {"mode": "off"}),
                ("nic.optics", {"problem": "temperature_high", "value": 77.0}),
                ("counter", {"family": "mlxlink", "counter": "link_down_counter", "value": 3}),
            ),
        ),
        Sample(
            "mlx5_1\nOperational Info\n----------------\nState                              : Active\n"
            "Physical state                     : LinkUp\nLink Down Counter                  : 1\n"
            "mlx5_2\nOperational Info\n----------------\nState                              : Polling\n"
            "Physical state                     : Polling\nLink Down Counter                  : 8\n",
            (
                ("counter", {"counter": "link_down_counter", "value": 1, "device": "mlx5_1"}),
                ("counter", {"counter": "link_down_counter", "value": 8, "device": "mlx5_2"}),
                ("nic.port_state", {"state": "down", "physical": "polling", "device": "mlx5_2"}),
            ),
        ),
        Sample("Operational Info: none\n", ()),
    ),
)
