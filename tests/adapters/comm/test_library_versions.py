"""Healthy output of communication libraries: it is understood, it warns of nothing, and it accuses nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.facts.vocabulary import load_vocabulary
from facts_adapters.reader import read_bundle

NCCL = """\
{0}:410:410 [0] NCCL INFO Bootstrap : Using eth0:10.20.0.{1}<0>
{0}:410:410 [0] NCCL INFO cudaDriverVersion 12040
NCCL version 2.21.5+cuda12.4
{0}:410:432 [0] NCCL INFO NCCL_IB_HCA set to mlx5
{0}:410:432 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.20.0.{1}<0>
{0}:410:432 [0] NCCL INFO Using non-device net plugin version 0
{0}:410:432 [0] NCCL INFO Using network IB
{0}:410:432 [0] NCCL INFO ncclCommInitRank comm 0x5 rank {1} nranks 2 cudaDev 0 nvmlDev 0 busId 1000 commId \
0xab - Init START
{0}:410:432 [0] NCCL INFO GPU Direct RDMA Enabled for GPU 0 / HCA 0 (distance 4 <= 5), read 1 mode Default
{0}:410:432 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA
{0}:410:432 [0] NCCL INFO Connected all rings
{0}:410:432 [0] NCCL INFO Connected all trees
{0}:410:432 [0] NCCL INFO threadThresholds 8/8/64 | 16/8/64 | 512 | 512
{0}:410:432 [0] NCCL INFO 2 coll channels, 0 collnet channels, 0 nvls channels, 2 p2p channels, 2 p2p channels per peer
{0}:410:432 [0] NCCL INFO ncclCommInitRank comm 0x5 rank {1} nranks 2 cudaDev 0 nvmlDev 0 busId 1000 commId \
0xab - Init COMPLETE
"""
EFA = """\
{0}:41:88 [0] NCCL INFO NET/OFI Initializing aws-ofi-nccl 1.14.0
{0}:41:88 [0] NCCL INFO NET/OFI Using Libfabric version 1.22
{0}:41:88 [0] NCCL INFO NET/OFI Using transport protocol RDMA (platform set)
{0}:41:88 [0] NCCL INFO NET/OFI Selected provider is efa, fabric is efa (found 4 nics)
{0}:41:88 [0] NCCL INFO Using network AWS Libfabric
{0}:41:88 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/AWS Libfabric/0/GDRDMA
"""
RCCL = """\
RCCL version : 2.21.5-a1b2c3d
HIP version  : 6.2.41133-dd7f95766
ROCm version : 6.2.0.0-66-c9cc2a8
{0}:402:461 [0] NCCL INFO Kernel version: 5.15.0-113-generic
{0}:402:461 [0] init.cc:120 NCCL WARN Missing "iommu=pt" from kernel command line which can lead to system \
instablity or hang!
{0}:402:461 [0] NCCL INFO Using network IB
"""
RAS = """\
NCCL version 2.27.3 compiled with CUDA 12.9
CUDA runtime version 12090, driver version 12080

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      2          8            1         16       16

Communicators... (0.00s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         2         8        16        16   RUNNING      OK

Errors
======

Warnings
========

"""
HCCL = """\
[INFO] HCCL(74{1},python):2026-02-11-06:40:12.853.097 [op_base.cc:1293] \
[74{1}]Entry-HcclCommInitRootInfoInner:ranks[2], rank[{1}], rootinfo: host ip[10.20.0.1] port[60000] \
nicDeploy[1] identifier[group_0], deviceLogicId[0]
[INFO] HCCL(74{1},python):2026-02-11-06:40:14.853.097 [op_base.cc:980] [74{1}][HCCL_TRACE]HcclCommInitRootInfo \
success,take time [2063]us, rankNum[2], rank[{1}], rootInfo identifier[group_0], server[10.20.0.1%bond1], device[0]
"""
UCX = """\
[1770792012.402741] [{0}:42:0] ucp_context.c:1970 UCX  INFO  Version 1.16.0 (loaded from /opt/ucx/lib/libucp.so.0)
[1770792012.402741] [{0}:42:0] parser.c:2036 UCX  INFO  UCX_* env variables: UCX_TLS=rc,sm UCX_LOG_LEVEL=info
"""


@pytest.mark.parametrize("text", [NCCL, EFA, RCCL, RAS, HCCL, UCX], ids=["nccl", "efa", "rccl", "ras", "hccl", "ucx"])
def test_healthy_output_is_understood_and_accuses_nobody(text: str, tmp_path: Path) -> None:
    for number, host in enumerate(("alpha", "beta")):
        (tmp_path / host).mkdir()
        (tmp_path / host / "rank.log").write_text(text.format(host, number), encoding="utf-8")
    result = read_bundle(tmp_path)
    vocabulary = load_vocabulary()
    assert not result.warnings
    assert [o.kind for o in result.observations if o.kind != "coverage.source"]
    assert not [o for o in result.observations if vocabulary[o.kind].nature in ("fault", "symptom")]


def test_the_adapters_behind_a_plugin_are_no_second_network(tmp_path: Path) -> None:
    for number, host in enumerate(("alpha", "beta")):
        (tmp_path / f"{host}.log").write_text(EFA.format(host, number), encoding="utf-8")
    networks = {
        (o.host, o.fields["network"]) for o in read_bundle(tmp_path).observations if o.kind == "comm.network_used"
    }
    assert networks == {("alpha", "AWS Libfabric"), ("beta", "AWS Libfabric")}
