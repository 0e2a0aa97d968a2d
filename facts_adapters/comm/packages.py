"""Versions of the packages that must fit together, from ``pip freeze``, ``pip list`` and ``conda list``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.facts.model import Observation, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict

_FROZEN = re.compile(r"(?P<name>[A-Za-z0-9][\w.-]*)==(?P<version>[\w.!+-]+)\s*(?:#.*|;.*)?$")
_LISTED = re.compile(r"(?P<name>[A-Za-z][\w.-]*) {2,}(?P<version>\d[\w.+!-]*)(?: {2,}\S.*)?$")
_RELEVANT = re.compile(
    r"(?:nvidia[-_].*|.*nccl.*|.*rccl.*|.*hccl.*|torch|torch[-_]npu|torchvision|torchaudio|pytorch.*|triton|deepspeed|"
    r"megatron.*|accelerate|transformers|lightning|transformer[-_]engine|apex|flash[-_]attn|jax|jaxlib|jax[-_].*|"
    r"tensorflow.*|horovod|mindspore|cupy.*|cuda.*|libfabric|aws[-_]ofi.*|ucx.*|ucc|openmpi|mpi4py|xformers|vllm|"
    r"bitsandbytes|numpy)$",
    re.IGNORECASE,
)


def sniff(head: Head) -> Verdict:
    """A list of packages: most lines are ``name==version`` or two columns under a heading."""
    lines = [line for line in head.lines[:200] if line.strip() and not line.startswith("#")]
    frozen = sum(1 for line in lines if _FROZEN.match(line.strip()) or " @ file:" in line or line.startswith("-e "))
    if len(lines) >= 2 and frozen >= 0.7 * len(lines):
        return Verdict(0.9, "name==version lines")
    if lines and re.match(r"Package +Version", lines[0]):
        return Verdict(0.9, "pip list")
    if head.text.startswith("# packages in environment at"):
        return Verdict(0.9, "conda list")
    return Verdict(0.0, "no package list")


def read(file: EvidenceFile, _context: Context) -> Iterator[Observation]:
    """``host.software`` of each package that has to do with communication, the framework or the GPU."""
    for line in file.lines():
        text = line.text.strip()
        match = _FROZEN.match(text) or _LISTED.match(text)
        if match and _RELEVANT.match(match["name"]):
            fields = {"name": match["name"].lower().replace("_", "-"), "version": match["version"]}
            yield Observation("host.software", Source(file.path, line.number, text[:2000]), {**fields})


ADAPTER = Adapter(
    name="python_packages",
    branch="comm",
    emits=("host.software",),
    coverage=None,
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            "absl-py==2.1.0\nnvidia-nccl-cu12==2.21.5\ntorch==2.5.1\npandas==2.2.2\n",
            (
                ("host.software", {"name": "nvidia-nccl-cu12", "version": "2.21.5"}),
                ("host.software", {"name": "torch", "version": "2.5.1"}),
            ),
            path="pip_freeze.txt",
        ),
        Sample(
            "Package            Version\n------------------ ---------\nnvidia-nccl-cu12   2.19.3\nsix  1.16.0\n",
            (("host.software", {"name": "nvidia-nccl-cu12", "version": "2.19.3"}),),
            path="pip_list.txt",
        ),
        Sample("a == b\nstep 1\nloss==3 at step 2\nnothing\n", (), path="train.log"),
    ),
)
