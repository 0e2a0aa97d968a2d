"""Requests that an NFS client sent again: ``nfsstat -c`` and ``-rc``, ``/proc/net/rpc/nfs``, ``/proc/self/mountstats``.

All run since boot or mount (net/sunrpc/stats.c, fs/nfs/super.c statvers 1.0 and 1.1, nfs-utils 1.3 .. 2.7). Over TCP a
request is sent again after a lost connection or a major timeout; a healthy mount counts next to none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.facts.model import CounterSample
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Line, Sample, Verdict
from facts_adapters.host._statement import Counting

_NAME = "nfs_statistics"
_DEVICE = re.compile(r"device \S+ mounted on (?P<mount>/.*) with fstype (?P<type>\S+)(?: statvers=\S+)?$")
_OPERATION = re.compile(r"\s+[A-Z][A-Z_0-9]*: (?P<sent>\d{1,18}) (?P<transmitted>\d{1,18}) (?P<timeouts>\d{1,18}) \d")
_HEADER = re.compile(r"calls +retrans +authrefrsh")
_VALUES = re.compile(r"\d{1,18} +(?P<retrans>\d{1,18}) +\d{1,18}\s*$")
_PROC = re.compile(r"rpc \d{1,18} (?P<retrans>\d{1,18}) \d{1,18}$")


def sniff(head: Head) -> Verdict:
    """Mounts with their statistics, or the counters of the client."""
    if "mounted on /" in head.text and any(_DEVICE.match(line) for line in head.lines):
        return Verdict(0.95, "mountstats")
    if "authrefrsh" in head.text and any(_HEADER.match(line) for line in head.lines):
        return Verdict(0.9, "nfsstat")
    found = "rpc " in head.text and any(_PROC.match(line) for line in head.lines[:20])
    return Verdict(0.9, "/proc/net/rpc/nfs") if found else Verdict(0.0, "no statistics of an NFS client")


def read(file: EvidenceFile, context: Context) -> Iterator[CounterSample]:
    """Counter samples of family ``nfs_client``; those of a mount have it as device."""
    counting = Counting(file, "nfs_client", _NAME, context.snapshot_time(file.path))
    mount: tuple[Line, str] | None = None
    again = timeouts = 0
    header = False
    for line in file.lines():
        device = _DEVICE.match(line.text)
        if device:
            yield from _mount(counting, mount, again, timeouts)
            mount = (line, device["mount"]) if device["type"].startswith("nfs") else None
            again = timeouts = 0
            continue
        operation = _OPERATION.match(line.text) if mount else None
        if operation:
            again += max(0, int(operation["transmitted"]) - int(operation["sent"]))
            timeouts += int(operation["timeouts"])
            continue
        total = _PROC.match(line.text) or (_VALUES.match(line.text) if header else None)
        header = bool(_HEADER.match(line.text))
        if total:
            yield counting.sample(line, "retransmissions", int(total["retrans"]))
    yield from _mount(counting, mount, again, timeouts)


def _mount(counting: Counting, mount: tuple[Line, str] | None, again: int, timeouts: int) -> Iterator[CounterSample]:
    if mount is not None:
        line, path = mount
        yield counting.sample(line, "retransmissions", again, path)
        yield counting.sample(line, "major_timeouts", timeouts, path)


_STATISTICS = """\
device proc mounted on /proc with fstype proc
device filer-a:/vol/scratch mounted on /scratch with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2,hard,proto=tcp,timeo=600,retrans=2
\tage:\t91822
\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)
\txprt:\ttcp 912 1 3 0 12 8812311 8812300 11 99122 0 8 1 2
\tper-op statistics
\t        NULL: 1 1 0 44 24 0 0 0 0
\t        READ: 120000 120400 398 24000000 125829120000 91822 881233 901234 3
\t       WRITE: 500 500 0 524288000 64000 12 4000 4100 0
device tmpfs mounted on /run with fstype tmpfs
"""

ADAPTER = Adapter(
    name=_NAME,
    branch="host",
    emits=("host.counter_rise",),
    coverage=None,
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            _STATISTICS,
            (
                ("counter", {"counter": "retransmissions", "device": "/scratch", "value": 400}),
                ("counter", {"counter": "major_timeouts", "device": "/scratch", "value": 398}),
            ),
            path="proc/self/mountstats",
        ),
        Sample(
            "Client rpc stats:\ncalls      retrans    authrefrsh\n8812311    4021       8812344   \n",
            (("counter", {"family": "nfs_client", "counter": "retransmissions", "value": 4021}),),
        ),
        Sample("net 0 0 0 0\nrpc 8812311 12 8812344\n", (("counter", {"value": 12}),), path="proc/net/rpc/nfs"),
        Sample("Server rpc stats:\ncalls      badcalls   badfmt     badauth    badclnt\n1 0 0 0 0\n"),
    ),
)
