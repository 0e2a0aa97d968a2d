"""What counts as a setting of a communication library, and what is only talk about one."""

from __future__ import annotations

from pathlib import Path

import pytest

from facts_adapters.comm.environment import begins, settings
from facts_adapters.reader import read_bundle


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
        ("NCCL_IB_TC=²", [("NCCL_IB_TC", "²")]),
        (
            "[1] [n1:42:0] parser.c:2 UCX  INFO  UCX_* env variables: UCX_TLS=rc UCX_X=1",
            [("UCX_TLS", "rc"), ("UCX_X", "1")],
        ),
        ("UCX_* env variables are read once", []),
        ("n1:1:1 [0] NCCL INFO NCCL_IB_HCA set to mlx5_0", []),
    ],
)
def test_settings(line: str, expected: list[tuple[str, str]]) -> None:
    assert list(settings(line)) == expected
    assert begins(line) == bool(expected)


def test_what_only_looks_like_a_number_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "env.txt").write_text(
        f"NCCL_IB_TC=²\nNCCL_IB_TIMEOUT=22\nUCX_IB_TRAFFIC_CLASS={'9' * 6000}\n", encoding="utf-8"
    )
    result = read_bundle(tmp_path)
    assert [o.fields.get("number") for o in result.observations if o.kind == "comm.env"] == [None, 22, None]
    assert not result.warnings


def test_hosts_with_different_raw_environments_differ(tmp_path: Path) -> None:
    for host, adapters in (("node-a", "mlx5_0"), ("node-b", "mlx5_0"), ("node-c", "mlx5_4")):
        (tmp_path / host).mkdir()
        entries = ("PATH=/usr/bin", f"NCCL_IB_HCA={adapters}", "HOME=/root", "PWD=/work", "")
        (tmp_path / host / "environ").write_bytes("\0".join(entries).encode())
    found = {(o.host, o.fields["value"]) for o in read_bundle(tmp_path).observations if o.kind == "comm.env"}
    assert found == {("node-a", "mlx5_0"), ("node-b", "mlx5_0"), ("node-c", "mlx5_4")}
