"""Counters of ``/proc/vmstat`` and ``vmstat -s`` (mm/vmstat.c, linux 4.x .. 6.x; procps 3-4); all run since boot.

Stalls in allocation and pages written to swap say that the host ran out of memory before anybody was killed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.facts.model import CounterSample
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.host._statement import Counting

_NAME = "vmstat_counters"
_PAIR = re.compile(r"(?:/proc/vmstat:)?(?P<name>oom_kill|pswpout|allocstall(?:_\w{1,20})?) (?P<value>\d{1,18})$")
_SUMMARY = re.compile(r"\s{0,20}(?P<value>\d{1,18}) pages swapped out$")
_FILE = re.compile(r"^(?:/proc/vmstat:)?(?:pswpout|nr_free_pages) \d+$", re.M)


def sniff(head: Head) -> Verdict:
    """Counters that only this file has, or the words of ``vmstat -s``."""
    if ("pswpout " in head.text or "nr_free_pages " in head.text) and _FILE.search(head.text):
        return Verdict(0.9, "/proc/vmstat")
    found = "pages swapped out" in head.text and any(_SUMMARY.match(line) for line in head.lines)
    return Verdict(0.9, "vmstat -s") if found else Verdict(0.0, "no counters of the memory manager")


def read(file: EvidenceFile, context: Context) -> Iterator[CounterSample]:
    """Counter samples of family ``vmstat``."""
    counting = Counting(file, "vmstat", _NAME, context.snapshot_time(file.path))
    for line in file.lines():
        text = line.text.rstrip()
        pair, summary = _PAIR.match(text), _SUMMARY.match(text)
        if pair:
            yield counting.sample(line, pair["name"], int(pair["value"]))
        elif summary:
            yield counting.sample(line, "pswpout", int(summary["value"]))


ADAPTER = Adapter(
    name=_NAME,
    branch="host",
    emits=("host.counter_rise",),
    coverage=None,
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            "nr_free_pages 1918\npswpin 12\npswpout 881233\nallocstall_normal 42\noom_kill 1\n",
            (
                ("counter", {"family": "vmstat", "counter": "pswpout", "value": 881233}),
                ("counter", {"counter": "allocstall_normal", "value": 42}),
                ("counter", {"counter": "oom_kill", "value": 1}),
            ),
            path="proc/vmstat",
        ),
        Sample(
            "    528280977 K total memory\n            0 pages swapped in\n         4711 pages swapped out\n",
            (("counter", {"counter": "pswpout", "value": 4711}),),
        ),
        Sample("step 12: pswpout was looked at\n"),
    ),
)
