"""Mounted file systems: ``mount`` (util-linux 2.2x .. 2.4x), ``/proc/mounts`` and ``/proc/self/mountinfo``.

Told are the file systems of servers, shared memory, and disks that are mounted read-only where a job writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.host._statement import size_kb, state

_MOUNT = re.compile(r"(?P<source>\S+) on (?P<mount>/.*?) type (?P<type>[\w.-]+) \((?P<options>[\w,=:@./%+-]*)\)")
_PROC = re.compile(r"(?P<source>\S+) (?P<mount>/\S*) (?P<type>[\w.-]+) (?P<options>r[ow](?:,\S*)?) \d \d$")
_INFO = re.compile(
    r"\d+ \d+ \d+:\d+ \S+ (?P<mount>/\S*) (?P<options>r[ow](?:,\S*)?) (?:\S+:\d+ )*- (?P<type>[\w.-]+) "
    r"(?P<source>\S+) (?P<super>r[ow](?:,\S*)?)$"
)
_OF_SERVERS = re.compile(
    r"nfs\d?|lustre|ceph|gpfs|beegfs\w*|cifs|smb3|9p|virtiofs|wekafs|panfs|glusterfs|fuse\.(?!lxcfs|gvfs|portal|snap)[\w.-]+"
)
_ON_DISKS = re.compile(r"ext[234]|xfs|btrfs|zfs|f2fs")
_NOT_WRITTEN = re.compile(
    r"/(?:snap|boot|sys|sysroot|proc|run|dev|media|cdrom|usr|lib\w*|bin|sbin|etc|opt|nix|"
    r"var/lib/(?:docker|containerd|kubelet))(?:/|$)"
)
"""Where no job writes; container runtimes mount files of the driver read-only there."""
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a mount point that is looked for, not a file that is used
_LEAST = 2


def sniff(head: Head) -> Verdict:
    """Several lines of one of the three shapes."""
    if " rw" not in head.text and "(rw" not in head.text:
        return Verdict(0.0, "nothing is mounted for writing")
    for pattern, name in ((_MOUNT, "mount"), (_PROC, "/proc/mounts"), (_INFO, "mountinfo")):
        if sum(bool(pattern.match(line)) for line in head.lines) >= min(_LEAST, len(head.lines)):
            return Verdict(0.9, name)
    return Verdict(0.0, "no mounted file systems")


def read(file: EvidenceFile, context: Context) -> Iterator[Observation]:
    """``host.mount`` and the size of /dev/shm as ``host.shm_size``."""
    when = context.snapshot_time(file.path)
    for line in file.lines():
        match = _MOUNT.match(line.text) or _PROC.match(line.text) or _INFO.match(line.text)
        if match is None:
            continue
        options = match["options"].split(",") + (match.groupdict().get("super") or "").split(",")
        if match["mount"] == SHARED_MEMORY:
            size = next((size_kb(o.removeprefix("size=")) for o in options if o.startswith("size=")), None)
            if size is not None:
                yield state(file, line, "host.shm_size", {"size_kb": size}, when)
            continue
        fields = _fields(match, options)
        if fields:
            yield state(file, line, "host.mount", fields, when)


def _fields(match: re.Match[str], options: list[str]) -> dict[str, Scalar]:
    read_only = "ro" in options
    served = _OF_SERVERS.fullmatch(match["type"])
    if not served and not (read_only and _ON_DISKS.fullmatch(match["type"]) and not _NOT_WRITTEN.match(match["mount"])):
        return {}
    fields: dict[str, Scalar] = {"mount": match["mount"], "type": match["type"], "read_only": read_only}
    if served:
        fields["server"] = match["source"].rpartition(":/")[0] or match["source"]
    if match["type"].startswith(("nfs", "cifs", "smb")):
        fields["soft"] = "soft" in options
    return fields


_LISTED = """\
sysfs on /sys type sysfs (rw,nosuid,nodev,noexec,relatime)
/dev/nvme0n1p2 on / type ext4 (rw,relatime)
filer-a:/vol/scratch on /scratch type nfs4 (rw,relatime,vers=4.2,hard,proto=tcp,timeo=600,retrans=2,addr=10.0.0.9)
/dev/nvme1n1 on /mnt/ckpt type xfs (ro,relatime,attr2,inode64)
/dev/nvme0n1p1 on /boot type ext4 (ro,relatime)
"""
_PROC_MOUNTS = """\
proc /proc proc rw,nosuid,nodev,noexec,relatime 0 0
shm /dev/shm tmpfs rw,nosuid,nodev,noexec,relatime,size=65536k 0 0
10.0.0.7@o2ib:10.0.0.8@o2ib:/scratch /lustre lustre rw,flock,lazystatfs 0 0
nas:/data /data nfs rw,vers=3,soft,proto=tcp,timeo=100,retrans=2 0 0
"""
_MOUNT_INFO = """\
23 29 0:21 / /sys rw,nosuid,nodev,noexec,relatime shared:7 - sysfs sysfs rw
90 29 0:44 / /data rw,relatime shared:49 - nfs4 nas:/data rw,vers=4.2,hard,proto=tcp
"""

ADAPTER = Adapter(
    name="mounts",
    branch="host",
    emits=("host.mount", "host.shm_size"),
    coverage=None,
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            _LISTED,
            (
                ("host.mount", {"mount": "/scratch", "server": "filer-a", "soft": False, "read_only": False}),
                ("host.mount", {"mount": "/mnt/ckpt", "type": "xfs", "read_only": True}),
            ),
        ),
        Sample(
            _PROC_MOUNTS,
            (
                ("host.shm_size", {"size_kb": 65536}),
                ("host.mount", {"mount": "/lustre", "server": "10.0.0.7@o2ib:10.0.0.8@o2ib"}),
                ("host.mount", {"mount": "/data", "soft": True}),
            ),
            path="proc/mounts",
        ),
        Sample(_MOUNT_INFO, (("host.mount", {"mount": "/data", "type": "nfs4", "soft": False}),)),
        Sample("proc on /proc type proc (rw,nosuid)\n/dev/nvme0n1p2 on / type ext4 (rw,relatime)\n"),
        Sample(
            "proc /proc proc rw,nosuid 0 0\n/dev/nvme0n1p2 /usr/bin/nvidia-smi ext4 ro,nosuid,nodev,relatime 0 0\n",
            path="proc/mounts",
        ),
        Sample("the scratch is mounted on /scratch type nfs4 rw\n"),
    ),
)
