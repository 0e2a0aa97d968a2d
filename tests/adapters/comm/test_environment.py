"""What counts as a setting of a communication library, and what is only talk about one."""

from __future__ import annotations

import pytest

from facts_adapters.comm.environment import begins, settings


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("NCCL_IB_HCA=mlx5_0:1,mlx5_1:1", [("NCCL_IB_HCA", "mlx5_0:1,mlx5_1:1")]),
        ("export NCCL_DEBUG=INFO NCCL_ALGO=Ring", [("NCCL_DEBUG", "INFO"), ("NCCL_ALGO", "Ring")]),
        ("  export NCCL_SOCKET_IFNAME='^lo,docker'", [("NCCL_SOCKET_IFNAME", "^lo,docker")]),
        ('declare -x UCX_TLS="rc,self"', [("UCX_TLS", "rc,self")]),
        ("ENV NCCL_NET_GDR_LEVEL=SYS", [("NCCL_NET_GDR_LEVEL", "SYS")]),
        ("WORLD_SIZE=2 FI_PROVIDER=efa python train.py --lr=3", [("FI_PROVIDER", "efa")]),
        (
            "docker run -e NCCL_P2P_DISABLE=1 --env NCCL_SHM_DISABLE=1 image",
            [("NCCL_P2P_DISABLE", "1"), ("NCCL_SHM_DISABLE", "1")],
        ),
        ("mpiexec -genv NCCL_PROTO Simple -n 8 app", [("NCCL_PROTO", "Simple")]),
        ("    NCCL_SOCKET_IFNAME: =enp65s0np0", [("NCCL_SOCKET_IFNAME", "=enp65s0np0")]),
        ('  "NCCL_IB_TC": "106",', [("NCCL_IB_TC", "106")]),
        ("NCCL_IB_QPS_PER_CONNECTION=4 # four", [("NCCL_IB_QPS_PER_CONNECTION", "4")]),
        ("Set NCCL_MNNVL_ENABLE=0 to ignore this issue.", []),
        ("You can enable it by setting TORCH_NCCL_TRACE_BUFFER_SIZE to a non-zero value.", []),
        ("(run with NCCL_DEBUG=INFO for details)", []),
        ("export NCCL_SOCKET_IFNAME=${IFACE:-eth0}", []),
        ("NCCL_IB_HCA=", []),
        ("n1:1:1 [0] NCCL INFO NCCL_IB_HCA set to mlx5_0", []),
    ],
)
def test_settings(line: str, expected: list[tuple[str, str]]) -> None:
    assert list(settings(line)) == expected
    assert begins(line) == bool(expected)
