"""Settings of communication libraries wherever they stand: ``env`` dumps, ``nccl.conf``, scripts, ``mpirun -x``, YAML.

A hint inside a message ("you can set NCCL_IGNORE_DISABLED_P2P=1") is no setting: only assignments at the start of a
line, options that pass a variable on, and entries of a mapping count. Values with shell variables are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Context, Sample
from facts_adapters.text.blocks import Block, BlockReader

_FAMILIES = (
    "NCCL|RCCL|UCX|UCC|HCCL|GLOO|OFI_NCCL|FI|TORCH_NCCL|TORCH_FR|TORCH_DISTRIBUTED|NVSHMEM|MSCCLPP|MSCCL|SHARP_COLL|"
    "RDMAV|TP_SOCKET|OMPI_MCA"
)
_NAME = rf"(?P<name>(?:{_FAMILIES})_\w+)"
_VALUE = r"(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<bare>[^\s\"';&|]*))"
_ANNOUNCED = re.compile(r"(?:.{0,200}\bUCX +INFO +)?UCX_\* env variables?: ")
_LEAD = re.compile(r"\s*(?:[-*] +)?(?:(?:export|setenv|declare -x|typeset -x|env|ENV|set|readonly)\s+|Environment=)?")
_ASSIGNED = re.compile(rf"(?P<any>[A-Za-z_]\w*)=(?:{_VALUE})(?:;|\s+|\\?$)")
_PASSED = re.compile(rf"(?:-x|-e|--env|-env|--export)[= ]+[\"']?{_NAME}=(?:{_VALUE})")
_GENV = re.compile(rf"-genv +{_NAME} +(?:{_VALUE})")
_MAPPED = re.compile(rf"(?:^\s*(?:- +)?|[{{,]\s*)[\"']?{_NAME}[\"']?\s*:\s+(?:{_VALUE})(?=\s*(?:[,}}#]|$))")
_NAMED = re.compile(rf"\s*(?:- +)?name:\s*[\"']?{_NAME}[\"']?\s*$")
_NAMED_VALUE = re.compile(rf"\s*value:\s*(?:{_VALUE})\s*$")
_OURS = re.compile(rf"(?:{_FAMILIES})_\w+$")
_CLASS_SETTINGS = ("NCCL_IB_TC", "UCX_IB_TRAFFIC_CLASS", "HCCL_RDMA_TC", "NVSHMEM_IB_TRAFFIC_CLASS")


def settings(line: str) -> Iterator[tuple[str, str]]:
    """The (name, value) pairs that one line sets, without quotes; other variables of the line are passed over."""
    seen: set[tuple[str, str]] = set()
    for pair in (*_leading(line), *_inside(line)):
        if pair not in seen and "$" not in pair[1] and pair[1]:
            seen.add(pair)
            yield pair


def _leading(line: str) -> Iterator[tuple[str, str]]:
    """Assignments that begin the line or that UCX lists, one after the other until something else stands there."""
    lead = _ANNOUNCED.match(line) or _LEAD.match(line)
    position = lead.end() if lead else 0
    while match := _ASSIGNED.match(line, position):
        if _OURS.match(match["any"]):
            yield match["any"], _value(match)
        position = match.end()


def _inside(line: str) -> Iterator[tuple[str, str]]:
    for pattern in (_PASSED, _GENV, _MAPPED):
        for match in pattern.finditer(line):
            yield match["name"], _value(match)


def _value(match: re.Match[str]) -> str:
    return next((match[part] for part in ("double", "single", "bare") if match[part] is not None), "").strip()


def begins(message: str) -> bool:
    """True for a line that sets a variable of a communication library."""
    return bool(_NAMED.match(message)) or next(settings(message), None) is not None


def continues(so_far: Sequence[str], message: str) -> bool:
    """True only for the value that follows a ``name:`` of a container's environment."""
    return len(so_far) == 1 and bool(_NAMED.match(so_far[0])) and bool(_NAMED_VALUE.match(message))


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``comm.env`` of each setting; a traffic class is ``nic.traffic_class`` too (DSCP = class / 4)."""
    line = block.lines[0]
    pairs = list(settings(line.text))
    named = _NAMED.match(line.text)
    if named and len(block.lines) == 2:
        value = _NAMED_VALUE.match(block.lines[1].text)
        pairs = [(named["name"], _value(value))] if value and _value(value) else []
    for name, text in pairs:
        fields: dict[str, Scalar] = {"name": name, "value": text}
        if text.isdecimal() and len(text) < 10:
            fields["number"] = int(text)
        yield Observation("comm.env", block.source(line.number), fields)
        if name in _CLASS_SETTINGS and text.isdecimal() and len(text) < 4 and int(text) < 256:
            yield Observation(
                "nic.traffic_class", block.source(line.number), {"value": int(text), "dscp": int(text) // 4}
            )


BLOCK = BlockReader(
    name="library_environment",
    literals=(
        "NCCL_",
        "RCCL_",
        "UCX_",
        "UCC_",
        "HCCL_",
        "GLOO_",
        "FI_PROVIDER",
        "FI_EFA",
        "FI_CXI",
        "FI_MR_",
        "FI_HMEM",
        "FI_LOG_LEVEL",
        "TORCH_FR_",
        "TORCH_DISTRIBUTED_",
        "SHARP_COLL_",
        "RDMAV_",
        "TP_SOCKET",
        "NVSHMEM_",
        "OMPI_MCA",
        "MSCCL",
    ),
    begins=begins,
    continues=continues,
    read=read,
    emits=("comm.env", "nic.traffic_class"),
    samples=(
        Sample(
            'PATH=/usr/bin\nNCCL_IB_TC=106\nNCCL_SOCKET_IFNAME==bond0\nexport NCCL_IB_HCA="mlx5_0,mlx5_1"\n',
            (
                ("comm.env", {"name": "NCCL_IB_TC", "value": "106", "number": 106}),
                ("nic.traffic_class", {"value": 106, "dscp": 26}),
                ("comm.env", {"name": "NCCL_SOCKET_IFNAME", "value": "=bond0"}),
                ("comm.env", {"name": "NCCL_IB_HCA", "value": "mlx5_0,mlx5_1"}),
            ),
            path="env.txt",
        ),
        Sample(
            "NCCL_DEBUG=INFO NCCL_P2P_LEVEL=PIX torchrun --nproc_per_node=8 train.py\n",
            (
                ("comm.env", {"name": "NCCL_DEBUG", "value": "INFO"}),
                ("comm.env", {"name": "NCCL_P2P_LEVEL", "value": "PIX"}),
            ),
            path="launch.sh",
        ),
        Sample(
            "mpirun -np 16 -x NCCL_ALGO=Ring -x UCX_TLS=rc,self all_reduce_perf -b 8\n",
            (
                ("comm.env", {"name": "NCCL_ALGO", "value": "Ring"}),
                ("comm.env", {"name": "UCX_TLS", "value": "rc,self"}),
            ),
            path="launch.sh",
        ),
        Sample(
            'env:\n  - name: NCCL_SOCKET_IFNAME\n    value: "eth0"\n  HCCL_CONNECT_TIMEOUT: 600\n',
            (
                ("comm.env", {"name": "NCCL_SOCKET_IFNAME", "value": "eth0"}),
                ("comm.env", {"name": "HCCL_CONNECT_TIMEOUT", "value": "600"}),
            ),
            path="pod.yaml",
        ),
        Sample(
            "{'NCCL_IB_GID_INDEX': '3', 'HOME': '/root', 'NCCL_NET': 'IB'}\n",
            (
                ("comm.env", {"name": "NCCL_IB_GID_INDEX", "value": "3"}),
                ("comm.env", {"name": "NCCL_NET", "value": "IB"}),
            ),
            path="train.log",
        ),
        Sample(
            "[1699353221.402741] [n1:42:0] parser.c:2036 UCX  INFO  UCX_* env variables: "
            "UCX_TLS=rc,sm UCX_LOG_LEVEL=info\n"
            "TORCH_DISTRIBUTED_DEBUG=DETAIL\nRCCL_MSCCL_ENABLE=0\nFI_CXI_DISABLE_HOST_REGISTER=1\n",
            (
                ("comm.env", {"name": "UCX_TLS", "value": "rc,sm"}),
                ("comm.env", {"name": "UCX_LOG_LEVEL", "value": "info"}),
                ("comm.env", {"name": "TORCH_DISTRIBUTED_DEBUG", "value": "DETAIL"}),
                ("comm.env", {"name": "RCCL_MSCCL_ENABLE", "number": 0}),
                ("comm.env", {"name": "FI_CXI_DISABLE_HOST_REGISTER", "number": 1}),
            ),
            path="env.txt",
        ),
        Sample("If you still want to proceed, you can set NCCL_IGNORE_DISABLED_P2P=1.\n", (), path="train.log"),
        Sample("unhandled cuda error (run with NCCL_DEBUG=INFO for details)\n", (), path="train.log"),
        Sample("export NCCL_SOCKET_IFNAME=$IFACE\n", (), path="launch.sh"),
    ),
)
