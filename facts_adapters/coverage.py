"""What a file covers: the class of source it is and the time between its first and its last stamp.

Only this makes the absence of a line a statement. A file of no known kind covers nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engine.facts.model import Observation, Scalar, Source
from facts_adapters.result import FileReport
from facts_adapters.text.result import TextResult

_CLASSES: dict[str, str] = {
    "kernel": "kernel_log",
    "syslog": "system_log",
    "journal": "system_log",
    "switch": "switch_log",
    "opensm": "switch_log",
    "c10": "job_log",
    "torch_python": "job_log",
    "nccl": "job_log",
    "plog": "job_log",
    "megatron": "job_log",
    "hf": "job_log",
    "loguru": "job_log",
    "python": "job_log",
    "submitit": "job_log",
    "libfabric": "job_log",
    "ucx": "job_log",
    "ray": "job_log",
    "mpi": "job_log",
    "fabricmanager": "system_log",
    "glog": "system_log",
}
_OF_SWITCH = re.compile(r"(?:^|/)(?:switch(?:es)?|tors?|spines?|leafs?|leaves)/", re.IGNORECASE)
_JOB_BRANCHES = ("job.", "comm.")
LEAST_SHARE = 0.02
"""Share of the sampled lines that an envelope needs to name the file's class."""


def classes_of(text: TextResult) -> list[str]:
    """Coverage classes of a text file by the envelopes of its lines and by what was found in it."""
    sampled = max(sum(text.kinds.values()), 1)
    found: set[str] = set()
    for kind, count in text.kinds.items():
        name = _CLASSES.get(kind)
        if name and (count >= LEAST_SHARE * sampled or kind == "kernel"):
            found.add(name)
    if "slurm" in text.kinds and text.kinds["slurm"] > sampled // 2 and text.first is not None:
        found.add("scheduler")
    other = found & {"kernel_log", "switch_log", "system_log"}
    if not other and any(o.kind.startswith(_JOB_BRANCHES) for o in text.observations):
        found.add("job_log")
    if "switch_log" in found:
        found -= {"system_log", "kernel_log"}
    return sorted(found)


def coverage(
    path: str, report: FileReport, text: TextResult | None, by_adapter: Sequence[str]
) -> Iterator[Observation]:
    """One statement per class; ``after`` and ``until`` are the first and the last stamp of the file.

    Of a rank's own log it says how many lines follow the last stamp, where the log was read to its end.
    """
    classes = set(by_adapter) | set(classes_of(text) if text is not None else ())
    if classes & {"system_log", "kernel_log"} and _OF_SWITCH.search(path):
        classes.add("switch_log")  # the syslog of a switch that runs Linux
    for name in sorted(classes):
        fields: dict[str, Scalar] = {"class": name, "lines": report.lines}
        if name == "job_log" and report.rank and report.whole and text is not None and text.undated is not None:
            fields["undated"] = text.undated
        yield Observation(
            kind="coverage.source",
            source=Source(path, 0),
            fields=fields,
            after=text.first if text is not None else None,
            until=text.last if text is not None else None,
            adapter="discovery",
        )
