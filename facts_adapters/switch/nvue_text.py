"""Cumulus Linux tables as text: ``nv show interface PORT counters qos``, ``… link stats``, ``net show counters``.

Sizes have a unit behind them (``12 Bytes``). The port stands in the command, or in the name of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from engine.facts.model import CounterSample, Observation, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.quoting import quote
from facts_adapters.switch._tables import Counters, Row, Table, host_of, lines, prompt, tables, whole

_QUEUES = ("priority-group", "traffic-class", "switch-priority")
_KERNEL = {"RX_ERR": "in-errors", "RX_DRP": "in-drops", "TX_ERR": "out-errors", "TX_DRP": "out-drops"}
_HEAD = re.compile(
    r"^[ \t]*(?:(?:priority-group|traffic-class|switch-priority)[ \t]+[rt]x-"
    r"|(?:Iface|Interface)[ \t]+MTU[ \t].*RX_ERR)",
    re.MULTILINE,
)
_STAT = re.compile(r"^\s*(?P<name>carrier-transitions|(?:in|out)-(?:errors|drops))\s+(?P<value>\d{1,20})(?:\s|$)")
_PORT = re.compile(r"\b(?P<port>swp\d+(?:s\d+)?)\b")


def _sniff(head: Head) -> Verdict:
    if _HEAD.search(head.text):
        return Verdict(0.95, "counters of Cumulus Linux")
    if "carrier-transitions" in head.text and any(_STAT.match(line) for line in head.lines):
        return Verdict(0.9, "link statistics of NVUE")
    return Verdict(0.0, "")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation | CounterSample]:
    named = _PORT.search(file.path)
    for table in tables(file, context):
        command = _PORT.search(table.command)
        port = command["port"] if command else named["port"] if named else None
        for row in table.rows:
            yield from _row(row, table, port, Counters(file, "nvue_text", file.host or table.host, table.when))
    yield from _statistics(file, context, named["port"] if named else None)


def _row(row: Row, table: Table, port: str | None, make: Counters) -> Iterator[CounterSample]:
    first = table.columns[0] if table.columns else ""
    where = quote(make.file, row.line)
    if first in _QUEUES and port:
        queue = whole(row.cells.get(first))
        for name in table.columns[1:] if queue is not None else ():
            yield from make.sample("cumulus_qos", name, _count(row.cells.get(name)), where, port, queue)
    elif first in ("Iface", "Interface") and "RX_ERR" in table.columns:
        for title, counter in _KERNEL.items():
            own = row.cells.get(first, "")
            if _PORT.match(own):
                yield from make.sample("cumulus_port", counter, whole(row.cells.get(title)), where, own)


def _count(text: str | None) -> int | None:
    """A count; of a size the number where it is in bytes, because larger units are rounded."""
    number, _, unit = (text or "").partition(" ")
    return whole(number) if unit in ("", "Bytes") else None


def _statistics(file: EvidenceFile, context: Context, named: str | None) -> Iterator[CounterSample]:
    port, make = named, Counters(file, "nvue_text", file.host, context.snapshot_time(file.path))
    for line in lines(file):
        shell = prompt(line.text)
        if shell:
            command = _PORT.search(shell["command"] or "")
            port = command["port"] if command else named
            make = Counters(file, make.adapter, file.host or host_of(shell), make.when)
        elif re.search(r"\d:\d\d:\d\d", line.text) and len(line.text) < 80:
            make = Counters(file, make.adapter, make.host, context.reading(line.text.strip()) or make.when)
        elif port:
            yield from _statistic(line, port, make, quote(file, line))


def _statistic(line: Line, port: str, make: Counters, where: Source) -> Iterator[CounterSample]:
    found = _STAT.match(line.text)
    if found:
        yield from make.sample("cumulus_port", found["name"], whole(found["value"]), where, port)


ADAPTER = Adapter(
    name="nvue_text",
    branch="switch",
    emits=(
        "switch.counter_rise",
        "switch.counter_activity",
        "switch.counter_value",
        "switch.counter_idle",
    ),
    coverage="switch_counters",
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            "cumulus@leaf1:mgmt:~$ nv show interface swp3 counters qos\n"
            "PFC Statistics\n=================\n"
            "    switch-priority  rx-pause-frames  rx-pause-duration  tx-pause-frames  tx-pause-duration\n"
            "    ---------------  ---------------  -----------------  ---------------  -----------------\n"
            "    0                0                0                  0                0\n"
            "    3                91822            440122             12               9\n",
            (
                (
                    "counter",
                    {
                        "family": "cumulus_qos",
                        "counter": "rx-pause-frames",
                        "value": 91822,
                        "port": "swp3",
                        "queue": 3,
                        "host": "leaf1",
                    },
                ),
                ("counter", {"counter": "tx-pause-frames", "value": 12, "queue": 3}),
            ),
        ),
        Sample(
            "cumulus@leaf1:mgmt:~$ nv show interface swp3 link stats\n"
            "                     operational\n-------------------  -----------\n"
            "carrier-transitions  9\nin-bytes             2.27 MB\nin-errors            17\n",
            (
                ("counter", {"family": "cumulus_port", "counter": "carrier-transitions", "value": 9, "port": "swp3"}),
                ("counter", {"counter": "in-errors", "value": 17, "host": "leaf1"}),
            ),
        ),
        Sample(
            "Kernel Interface table\n"
            "Iface      MTU    RX_OK    RX_ERR    RX_DRP    RX_OVR    TX_OK    TX_ERR    TX_DRP    TX_OVR  Flg\n"
            "-------  -----  -------  --------  --------  --------  -------  --------  --------  --------  -----\n"
            "swp7      9216    81277        31         0         0    91271         0         0         0  BMRU\n",
            (("counter", {"family": "cumulus_port", "counter": "in-errors", "value": 31, "port": "swp7"}),),
        ),
        Sample("carrier-transitions of swp3 are fine\n", ()),
    ),
)
