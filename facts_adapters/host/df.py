"""Use of file systems: ``df`` with any of -h -k -m -T -i -B (coreutils 8-9, busybox), also inside other output.

The size column is in the unit that the header names, else in kB (GNU default).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Context, Sample
from facts_adapters.host._statement import size_kb
from facts_adapters.text.blocks import Block, BlockReader

_HEAD = re.compile(r"(?:Filesystem|文件系统|Source)\b.*(?:Mounted on|挂载点|Target)")
_ROW = re.compile(
    r"(?P<source>\S+)(?: +(?P<type>[a-z][\w.]*[a-z\d]))? +(?P<size>[\d.]+[KMGTP]?i?) +(?P<used>[\d.]+[KMGTP]?i?) +"
    r"(?P<free>-?[\d.]+[KMGTP]?i?) +(?P<percent>\d{1,18}|-)%? +(?P<mount>/\S*)"
)
_BLOCKS = re.compile(r"\b(?P<number>\d{1,18})(?P<unit>[BKMG]?)-blocks")
_NOT_WRITTEN = re.compile(r"/(?:snap|boot|sys|proc|run|dev|media|cdrom|etc/|var/lib/(?:docker|containerd|kubelet)/)")
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a mount point that is looked for, not a file that is used
_IMAGES = ("squashfs", "iso9660", "erofs", "overlay")


def begins(message: str) -> bool:
    """True for the header."""
    return _HEAD.search(message) is not None


def continues(so_far: Sequence[str], message: str) -> bool:
    """True for rows, also where a long device name stands on a line of its own."""
    return len(so_far) < 500 and (bool(_ROW.match(message)) or bool(re.fullmatch(r"\S+|\s+\S.*/\S*", message)))


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``host.filesystem`` per mount, ``host.shm_size`` for /dev/shm; images and system mounts are left out."""
    head = block.lines[0].text
    inodes = "IUse%" in head or "Inodes" in head or "ifree" in head
    pending = ""
    for line in block.lines[1:]:
        match = _ROW.match((pending + line.text) if pending else line.text)
        pending = "" if match else line.text.strip() + " "
        if match is None or match["type"] in _IMAGES or match["source"].startswith("/dev/loop"):
            continue
        fields = _fields(match, inodes, _unit(head))
        if match["mount"] == SHARED_MEMORY:
            if not inodes:
                fields.pop("mount")
                fields.pop("type", None)
                yield Observation("host.shm_size", block.source(line.number), fields)
        elif not _NOT_WRITTEN.match(match["mount"]):
            yield Observation("host.filesystem", block.source(line.number), fields)


def _fields(match: re.Match[str], inodes: bool, unit: float) -> dict[str, Scalar]:
    fields: dict[str, Scalar] = {"mount": match["mount"]}
    if match["type"]:
        fields["type"] = match["type"]
    percent = int(match["percent"]) if match["percent"].isdigit() else None
    if inodes:
        if percent is not None:
            fields["inodes_used_percent"] = percent
        return fields
    for name, text in (("size_kb", match["size"]), ("available_kb", match["free"])):
        value = int(float(text) * unit) if re.fullmatch(r"[\d.]+", text) else size_kb(text.lstrip("-"))
        if value is not None:
            fields[name] = value
    if percent is not None:
        fields["used_percent"] = percent
    return fields


def _unit(head: str) -> float:
    """How many kB a plain number of the table counts."""
    match = _BLOCKS.search(head)
    if match is None:
        return 1.0
    return int(match["number"]) * {"": 1 / 1024, "B": 1 / 1024, "K": 1.0, "M": 1024.0, "G": 1048576.0}[match["unit"]]


_HUMAN = """\
Filesystem                Size  Used Avail Use% Mounted on
tmpfs                     151G  9.4M  151G   1% /run
/dev/mapper/vg0-root      437G  188G  227G  46% /
tmpfs                      64M   64M     0 100% /dev/shm
/dev/nvme1n1               14T   14T     0 100% /mnt/ckpt
/dev/loop3                 64M   64M     0 100% /snap/core20/2318
"""
_TYPED = """\
$ df -T
Filesystem     Type      1K-blocks       Used Available Use% Mounted on
filer-a:/vol/scratch
               nfs4    10737418240 9663676416 1073741824  90% /scratch
"""
_INODES = """\
Filesystem       Inodes   IUsed   IFree IUse% Mounted on
/dev/nvme1n1    1000000 1000000       0  100% /mnt/ckpt
"""

BLOCK = BlockReader(
    name="df",
    literals=("Mounted on", "挂载点"),
    begins=begins,
    continues=continues,
    read=read,
    emits=("host.filesystem", "host.shm_size"),
    samples=(
        Sample(
            _HUMAN,
            (
                ("host.shm_size", {"size_kb": 65536, "used_percent": 100, "available_kb": 0}),
                ("host.filesystem", {"mount": "/mnt/ckpt", "used_percent": 100}),
                ("host.filesystem", {"mount": "/", "used_percent": 46}),
            ),
        ),
        Sample(_TYPED, (("host.filesystem", {"mount": "/scratch", "type": "nfs4", "size_kb": 10737418240}),)),
        Sample(_INODES, (("host.filesystem", {"mount": "/mnt/ckpt", "inodes_used_percent": 100}),)),
        Sample("EXT4-fs (nvme1n1): Mounted on a healthy device\n"),
    ),
)
