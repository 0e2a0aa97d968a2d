"""``/proc/<pid>/environ`` as it is: the environment that a process was started with, entries that end in NUL bytes.

The same settings count as in an ``env`` dump; see :mod:`facts_adapters.comm.environment`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.facts.model import Observation, Scalar, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.comm.environment import settings

LARGEST = 4 << 20
"""Bytes that are read; the kernel hands out at most the argument space of a process."""

_BEGINS = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,100}=")
_GLUED = re.compile(r"[^\s;&'\"](?:PATH|HOME|PWD|HOSTNAME|USER|LOGNAME|LANG|SHLVL|SHELL|TERM|_)=")
_FEWEST = 2


def sniff(head: Head) -> Verdict:
    """Variables that stand behind each other without anything between: a head shows no NUL bytes."""
    first = head.text[:16_384].partition("\n")[0]
    if _BEGINS.match(first) and len(_GLUED.findall(first)) >= _FEWEST:
        return Verdict(0.95, "the environment of a process")
    return Verdict(0.0, "no list of variables")


def read(file: EvidenceFile, context: Context) -> Iterator[Observation]:
    """``comm.env`` of each setting of a communication library."""
    with file.open() as stream:
        data = stream.read(LARGEST)
    if b"\x00" not in data:
        context.warn(file.path, 1, "the variables cannot be told apart: the NUL bytes between them are gone")
        return
    when = context.snapshot_time(file.path)
    for entry in data.decode("utf-8", "replace").split("\x00"):
        name, equals, value = entry.partition("=")
        if not equals or "\n" in name:
            continue
        for found, text in settings(f"{name}='{value}'" if "'" not in value else f'{name}="{value}"'):
            fields: dict[str, Scalar] = {"name": found, "value": text[:500]}
            if text.isdecimal() and len(text) < 10:
                fields["number"] = int(text)
            yield Observation("comm.env", Source(file.path, 1, entry[:500]), fields, when=when)


ADAPTER = Adapter(
    name="process_environment",
    branch="comm",
    emits=("comm.env",),
    coverage=None,
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            "PATH=/usr/bin\x00NCCL_IB_HCA=mlx5_0,mlx5_1\x00HOME=/root\x00NCCL_IB_TIMEOUT=22\x00PWD=/work\x00"
            "BASH_FUNC_x%%=() {  echo\n}\x00",
            (
                ("comm.env", {"name": "NCCL_IB_HCA", "value": "mlx5_0,mlx5_1"}),
                ("comm.env", {"name": "NCCL_IB_TIMEOUT", "value": "22", "number": 22}),
            ),
            path="gpu-a03/environ",
        ),
        Sample("PATH=/usr/bin HOME=/root PWD=/work NCCL_IB_HCA=mlx5_0 torchrun\n", (), path="gpu-a03/environ"),
    ),
)
