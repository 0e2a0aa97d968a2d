"""``npu-smi info`` and ``npu-smi info -t health|ecc|board`` (Ascend HDK 21 .. 25): health, memory errors, versions.

The summary has two rows for a chip: name and health above, bus address below. Error counts run since power-on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.facts.model import CounterSample, Observation, Scalar
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.host._statement import Counting, state

_NAME = "npu_smi"
_TITLE = re.compile(r"\| npu-smi \S+ +Version: (?P<version>[\w.]+)")
_UPPER = re.compile(r"\| (?P<npu>\d{1,4}) +(?P<name>\d{3,4}\w*|Ascend\w+) *\| (?P<health>\w+) +\|")
_LOWER = re.compile(r"\| \d{1,4}(?: +\d{1,4})? +\| (?P<bdf>[0-9A-Fa-f]{4}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]) +\|")
_ENTRY = re.compile(r"\s+(?P<name>[A-Z][\w ]{1,60}?) *: (?P<value>.*)$")
_UNCORRECTABLE = ("HBM Double Bit Error Count", "DDR Double Bit Error Count")
_VERSIONS = {"Software Version": "ascend-driver", "Firmware Version": "ascend-firmware"}
_NAMES = frozenset(
    {"NPU ID", "Chip ID", "Health Status", "Health", "Error Code", "Error Information", *_UNCORRECTABLE, *_VERSIONS}
)
_MEMORY = re.compile(r"hbm|ddr|ecc|memory", re.IGNORECASE)
_LINKED = re.compile(r"hccs|roce|link|pcie", re.IGNORECASE)
_BROKEN = ("alarm", "critical")


def sniff(head: Head) -> Verdict:
    """The title of the summary, or the entries of one chip."""
    if "| npu-smi " in head.text or ("| NPU   Name" in head.text and "Hugepages-Usage" in head.text):
        return Verdict(0.95, "npu-smi info")
    if "NPU ID" not in head.text and "Chip ID" not in head.text:
        return Verdict(0.0, "no output of npu-smi")
    names = {match["name"] for line in head.lines if (match := _ENTRY.match(line))}
    telling = names & {"Health Status", *_UNCORRECTABLE, *_VERSIONS}
    found = telling and names & {"NPU ID", "Chip ID"}
    return Verdict(0.9, "npu-smi info -t") if found else Verdict(0.0, "no output of npu-smi")


def read(file: EvidenceFile, context: Context) -> Iterator[Observation | CounterSample]:
    """``host.gpu_count``, ``host.gpu_fault`` or ``host.gpu_health`` of chips that are not well, ``host.software``."""
    when = context.snapshot_time(file.path)
    counting = Counting(file, "gpu", _NAME, when)
    upper: tuple[Line, str] | None = None
    chips, last = set[str](), None
    entries: dict[str, tuple[Line, str]] = {}
    for line in file.lines():
        title, above, below = _TITLE.match(line.text), _UPPER.match(line.text), _LOWER.match(line.text)
        entry = _ENTRY.match(line.text)
        if title:
            fields: dict[str, Scalar] = {"name": "ascend-driver", "version": title["version"]}
            yield state(file, line, "host.software", fields, when)
        elif above:
            upper = (line, above["health"])
        elif below and upper:
            chips.add(below["bdf"])
            last = line
            yield from _chip(file, upper[0], below["bdf"].lower(), upper[1], "")
            upper = None
        elif entry and entry["name"] in _NAMES:
            if entry["name"] == "NPU ID" and entries:
                yield from _entries(file, counting, entries)
                entries = {}
            entries[entry["name"]] = (line, entry["value"].strip())
    yield from _entries(file, counting, entries)
    if last is not None:
        yield state(file, last, "host.gpu_count", {"count": len(chips)}, when)


def _chip(file: EvidenceFile, line: Line, gpu: str, health: str, words: str) -> Iterator[Observation]:
    if health.lower() == "ok":
        return
    text = f"health {health} {words}".strip()
    if health.lower() in _BROKEN:
        known = "memory" if _MEMORY.search(words) else "link" if _LINKED.search(words) else "unknown"
        fields: dict[str, Scalar] = {"class": known, "reporter": "ascend", "gpu": gpu, "text": text}
        yield state(file, line, "host.gpu_fault", fields)
    else:
        yield state(file, line, "host.gpu_health", {"gpu": gpu, "problem": "other", "text": text})


def _entries(
    file: EvidenceFile, counting: Counting, entries: dict[str, tuple[Line, str]]
) -> Iterator[Observation | CounterSample]:
    """What ``-t health`` and ``-t ecc`` say of one NPU."""
    npu = entries["NPU ID"][1] if "NPU ID" in entries else ""
    line, health = entries.get("Health Status") or entries.get("Health") or (None, "")
    if line is not None:
        words = [entries[name][1] for name in ("Error Code", "Error Information") if name in entries]
        yield from _chip(file, line, npu, health, " ".join(words))
    for name, package in _VERSIONS.items():
        if name in entries:
            fields: dict[str, Scalar] = {"name": package, "version": entries[name][1][:40]}
            yield state(file, entries[name][0], "host.software", fields, counting.when)
    for name in _UNCORRECTABLE:
        where, value = entries.get(name, (None, ""))
        if where is None or not value.isdigit() or len(value) > 18:
            continue
        yield counting.sample(where, "ecc_uncorrectable", int(value), npu, name.partition(" ")[0])
        if int(value):
            fields = {
                "gpu": npu,
                "problem": "uncorrectable_ecc",
                "value": int(value),
                "text": f"{name}: {value}",
            }
            yield state(file, where, "host.gpu_health", fields)


_SUMMARY = """\
+------------------------------------------------------------------------------------------------+
| npu-smi 24.1.rc3                 Version: 24.1.rc3                                             |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 0     910B3               | OK            | 92.5        43                0    / 0             |
| 0                         | 0000:C1:00.0  | 0           0    / 0          3387 / 65536         |
+===========================+===============+====================================================+
| 1     910B3               | Alarm         | 92.5        43                0    / 0             |
| 0                         | 0000:01:00.0  | 0           0    / 0          3387 / 65536         |
+===========================+===============+====================================================+
"""
_HEALTH = """\
\tNPU ID                         : 1
\tChip ID                        : 0
\tHealth Status                  : Critical
\tError Code                     : 80E01801
\tError Information              : HBM multi bit ecc
"""
_ECC = """\
\tNPU ID                                   : 1
\tChip Count                               : 1

\tHBM Single Bit Error Count               : 4
\tHBM Double Bit Error Count               : 2
\tChip ID                                  : 0
"""

ADAPTER = Adapter(
    name=_NAME,
    branch="host",
    emits=("host.gpu_count", "host.gpu_fault", "host.gpu_health", "host.software", "host.counter_rise"),
    coverage="gpu_state",
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            _SUMMARY,
            (
                ("host.software", {"name": "ascend-driver", "version": "24.1.rc3"}),
                ("host.gpu_fault", {"reporter": "ascend", "gpu": "0000:01:00.0", "class": "unknown"}),
                ("host.gpu_count", {"count": 2}),
            ),
        ),
        Sample(_HEALTH, (("host.gpu_fault", {"reporter": "ascend", "gpu": "1", "class": "memory"}),)),
        Sample(
            _ECC,
            (
                ("host.gpu_health", {"problem": "uncorrectable_ecc", "value": 2, "gpu": "1"}),
                ("counter", {"family": "gpu", "counter": "ecc_uncorrectable", "value": 2, "device": "1"}),
            ),
        ),
        Sample(
            "\tNPU ID                         : 0\n\tSoftware Version               : 24.1.rc3\n"
            "\tFirmware Version               : 7.5.0.1.129\n",
            (("host.software", {"name": "ascend-firmware", "version": "7.5.0.1.129"}),),
        ),
        Sample("\tHealth Status : OK\n"),
        Sample("npu-smi was not found on this host\n"),
    ),
)
