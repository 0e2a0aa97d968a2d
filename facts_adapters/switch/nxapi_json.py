"""Cisco NX-OS ``… | json`` and NX-API answers: interfaces, errors, priority flow control, LLDP neighbours.

Rows stand under ``TABLE_x.ROW_x``, as a list, or as an object where there is one (NX-OS 9.3 and 10.x). The keys of a
row tell which table it is of. A port that is down is told only where it has carried packets.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engine.facts.model import CounterSample, Observation, Scalar, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.quoting import line_at
from facts_adapters.switch._tables import Counters, host_of, observation, port_name, prompt, whole
from facts_adapters.switch.lldp_tables import neighbour

_LONGEST = 64 << 20
_MOST_ROWS = 200_000
_PORT = {
    "eth_crc": "crc",
    "eth_inerr": "input_errors",
    "eth_outerr": "output_errors",
    "eth_indiscard": "input_discards",
    "eth_outdiscard": "output_discards",
    "eth_inpause": "rx_pause",
    "eth_outpause": "tx_pause",
    "eth_reset_cntr": "interface_resets",
    "eth_fcs_err": "crc",
    "eth_rcv_err": "input_errors",
    "eth_xmit_err": "output_errors",
    "eth_outdisc": "output_discards",
}
_NAMES = ("interface", "if_name_str", "l_port_id")


def _sniff(head: Head) -> Verdict:
    if '"TABLE_' in head.text and '"ROW_' in head.text:
        return Verdict(0.9, "JSON of NX-OS")
    return Verdict(0.0, "")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation | CounterSample]:
    with file.open() as stream:
        text = stream.read(_LONGEST).decode("utf-8", "replace")
    host = file.host
    decoder = json.JSONDecoder()
    place = 0
    while (start := _begin(text, place)) >= 0:
        for line in text[place:start].splitlines():
            shell = prompt(line.strip())
            host = file.host or (host_of(shell) if shell else host)
        try:
            document, place = decoder.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            context.warn(file.path, line_at(text, start), f"not JSON from here on: {error}")
            return
        make = Counters(file, "nxapi_json", host, context.snapshot_time(file.path))
        finder = _Finder(text, start)
        for count, row in enumerate(_rows(document)):
            if count >= _MOST_ROWS:
                context.warn(file.path, 0, f"more than {_MOST_ROWS} rows; the rest is left out")
                return
            yield from _row(row, make, finder)


def _begin(text: str, place: int) -> int:
    found = [at for at in (text.find("{", place), text.find("[{", place)) if at >= 0]
    return min(found) if found else -1


class _Finder:
    """The line of each name, looked for from where the last one stood: rows come in the order of the text."""

    def __init__(self, text: str, start: int) -> None:
        self.text, self.place, self.line = text, start, line_at(text, start)

    def at(self, name: str) -> int:
        """The line of the next place of a name; where it does not come again, the line of the last one."""
        found = self.text.find(f'"{name}"', self.place)
        if found >= 0:
            self.line += self.text.count("\n", self.place, found)
            self.place = found
        return self.line


def _rows(value: Any, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    if depth > 12:
        return
    if isinstance(value, list):
        for item in value:
            yield from _rows(item, depth + 1)
    elif isinstance(value, dict):
        if any(name in value for name in _NAMES):
            yield value
        for item in value.values():
            if isinstance(item, (dict, list)):
                yield from _rows(item, depth + 1)


def _row(row: Mapping[str, Any], make: Counters, finder: _Finder) -> Iterator[Observation | CounterSample]:
    shown = next((str(row[name]) for name in _NAMES if name in row), "")
    where, port = Source(make.file.path, finder.at(shown), f'"{shown}"'), port_name(shown)
    for key, counter in _PORT.items():
        if key in row:
            yield from make.sample("nxos_port", counter, whole(str(row[key])), where, port)
    if "rx-stats" in row or "tx-stats" in row:
        yield from make.sample("nxos_pfc", "RxPPP", whole(str(row.get("rx-stats"))), where, port)
        yield from make.sample("nxos_pfc", "TxPPP", whole(str(row.get("tx-stats"))), where, port)
    state = str(row.get("state", ""))
    used = whole(str(row.get("eth_inpkts") or row.get("eth_inucast") or "")) or 0
    if state == "down" and str(row.get("admin_state", "up")) == "up" and used:
        fields: dict[str, Scalar | None] = {"up": False, "admin_up": True}
        yield observation("switch.port_state", where, fields, host=make.host, port=port, when=make.when)
    if "l_port_id" in row:
        peer = str(row.get("sys_name") or row.get("chassis_id") or "")
        yield from neighbour(make.host, port, peer, str(row.get("port_id", "")), where)


ADAPTER = Adapter(
    name="nxapi_json",
    branch="switch",
    emits=(
        "switch.counter_rise",
        "switch.counter_symptom",
        "switch.counter_activity",
        "switch.counter_value",
        "switch.counter_idle",
        "switch.port_state",
        "switch.attached",
        "switch.trunk",
    ),
    coverage="switch_counters",
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            '{"TABLE_interface": {"ROW_interface": [{"interface": "Ethernet1/3", "state": "down",'
            ' "admin_state": "up", "eth_inpkts": "81", "eth_crc": "17", "eth_outdiscard": 5},'
            ' {"interface": "Ethernet1/4", "state": "up", "eth_crc": "0"}]}}',
            (
                ("counter", {"family": "nxos_port", "counter": "crc", "value": 17, "port": "Ethernet1/3"}),
                ("counter", {"family": "nxos_port", "counter": "output_discards", "value": 5}),
                ("switch.port_state", {"up": False, "port": "Ethernet1/3"}),
            ),
        ),
        Sample(
            '{"TABLE_module": {"ROW_module": {"TABLE_pfc_interface": {"ROW_pfc_interface": {"if_name_str":'
            ' "Ethernet1/2", "admin": "Auto", "oper": "On", "rx-stats": "4088353", "tx-stats": "1890"}}}}}',
            (("counter", {"family": "nxos_pfc", "counter": "RxPPP", "value": 4088353, "port": "Ethernet1/2"}),),
        ),
        Sample(
            '{"TABLE_nbor": {"ROW_nbor": [{"chassis_id": "spine1", "l_port_id": "Eth1/49",'
            ' "port_id": "Ethernet1/7"}]}}',
            (("switch.trunk", {"port": "Ethernet1/49", "peer": "spine1", "peer_port": "Ethernet1/7"}),),
        ),
        Sample('{"TABLE_vlan": {"ROW_vlan": {"vlanshowbr-vlanid": "1"}}}', ()),
    ),
)
