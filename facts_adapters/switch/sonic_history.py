"""SONiC ``show interfaces flap`` and ``show reboot-cause history``: what the switch itself remembers, with its time.

The times of flaps are UTC. A reboot's record is named after the moment at which the switch was up again; it is in the
zone of the switch (sonic-utilities show/interfaces, show/reboot_cause.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from engine.facts.model import CounterSample, Observation, Reading, Scalar
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.quoting import quote
from facts_adapters.switch._tables import Counters, Row, Table, observation, tables, whole

_FLAPS = re.compile(r"^[ \t]*Interface\s+Flap Count\s+Admin\s+Oper\s+Link Down TimeStamp\(UTC\)", re.MULTILINE)
_REBOOTS = re.compile(r"^[ \t]*Name\s+Cause\s+Time\s+User", re.MULTILINE)
_NAME = re.compile(r"^(?P<y>\d{4})_(?P<m>\d\d)_(?P<d>\d\d)_(?P<h>\d\d)_(?P<mi>\d\d)_(?P<s>\d\d)$")
_YEAR = re.compile(r"(?P<clock>\d\d:\d\d:\d\d) (?P<year>\d{4})$")


def _sniff(head: Head) -> Verdict:
    if "Flap Count" in head.text and _FLAPS.search(head.text):
        return Verdict(0.95, "flaps of a SONiC switch")
    known = "Cause" in head.text and _REBOOTS.search(head.text) and re.search(r"^\d{4}(?:_\d\d){5}\s", head.text, re.M)
    return Verdict(0.95, "reboots of a SONiC switch") if known else Verdict(0.0, "")


def _read(file: EvidenceFile, context: Context) -> Iterable[Observation | CounterSample]:
    for table in tables(file, context):
        for row in table.rows:
            if "Flap Count" in table.columns:
                yield from _flaps(row, table, file, context)
            elif table.columns[:2] == ("Name", "Cause"):
                yield from _reboot(row, table, file, context)


def _flaps(row: Row, table: Table, file: EvidenceFile, context: Context) -> Iterator[Observation | CounterSample]:
    make = Counters(file, "sonic_history", file.host or table.host, table.when)
    port, where = row.cells.get("Interface", ""), quote(file, row.line)
    yield from make.sample("sonic_port", "FLAPS", whole(row.cells.get("Flap Count")), where, port)
    for kind, title in (("switch.port_down", "Link Down TimeStamp(UTC)"), ("switch.port_up", "Link Up TimeStamp(UTC)")):
        when = _utc(row.cells.get(title, ""), context)
        if when is not None:
            fields = {"reason": "unknown", "text": f"last down of {port}"} if kind == "switch.port_down" else {}
            yield observation(kind, where, fields, host=make.host, port=port, when=when)


def _utc(text: str, context: Context) -> Reading | None:
    """A stamp of ``ctime`` that is UTC without saying so; ``Never`` is none."""
    stated = _YEAR.sub(r"\g<clock> UTC \g<year>", text.strip())
    return context.reading(stated) if stated != text.strip() else None


def _reboot(row: Row, table: Table, file: EvidenceFile, context: Context) -> Iterator[Observation]:
    name = _NAME.match(row.cells.get("Name", ""))
    if name:
        when = context.reading(f"{name['y']}-{name['m']}-{name['d']} {name['h']}:{name['mi']}:{name['s']}")
        fields: dict[str, Scalar | None] = {"text": row.cells.get("Cause", "")}
        warm = "warm" in str(fields["text"])  # forwards on, so that it is a change and no fault
        kind, more = ("switch.config_change", {"what": "other"}) if warm else ("switch.reboot", {})
        yield observation(kind, quote(file, row.line), {**more, **fields}, host=file.host or table.host, when=when)


ADAPTER = Adapter(
    name="sonic_history",
    branch="switch",
    emits=(
        "switch.port_down",
        "switch.port_up",
        "switch.reboot",
        "switch.config_change",
        "switch.counter_rise",
        "switch.counter_value",
    ),
    coverage=None,
    sniff=_sniff,
    read=_read,
    samples=(
        Sample(
            "admin@leaf1:~$ show interfaces flap\n"
            "Interface    Flap Count    Admin    Oper     Link Down TimeStamp(UTC)    Link Up TimeStamp(UTC)\n"
            "-----------  ------------  -------  -------  --------------------------  ------------------------\n"
            "Ethernet8    5             Up       Up       Tue May 12 10:40:12 2026    Tue May 12 10:40:19 2026\n"
            "Ethernet16   Never         Up       Up       Never                       Never\n",
            (
                ("counter", {"family": "sonic_port", "counter": "FLAPS", "value": 5, "port": "Ethernet8"}),
                ("switch.port_down", {"host": "leaf1", "port": "Ethernet8"}),
                ("switch.port_up", {"host": "leaf1", "port": "Ethernet8"}),
            ),
        ),
        Sample(
            "Name                 Cause       Time    User    Comment\n"
            "-------------------  ----------  ------  ------  ---------\n"
            "2026_05_12_09_20_11  Power Loss  N/A     N/A     Unknown\n",
            (("switch.reboot", {"text": "Power Loss"}),),
        ),
        Sample("Name and Cause of the day\n2026_05_12 was a Tuesday\n", ()),
    ),
)
