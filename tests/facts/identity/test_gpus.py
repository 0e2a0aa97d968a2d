"""Names of GPUs and the ranks that run on them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.facts.model import Fact, Observation
from tests.facts.building import facts, seen, timeline

UUID = "GPU-5b2d0c11-2f3a-4b5c-8d6e-7f8091a2b3c4"


def gpu(line: int = 1, **fields: object) -> Observation:
    return seen("identity.gpu", "names", line, **{"host": "n1", **fields})


def nccl(rank: int = 11, bus: str = "3b000", index: int = 3, line: int = 1, **given: object) -> Observation:
    """``comm 0x… rank 11 nranks 16 cudaDev 3 nvmlDev 3 busId 3b000``."""
    return gpu(line, rank=rank, bus_id=bus, index=index, cuda_index=index, **given)


def xid(text: str = "0000:3b:00", **given: object) -> Observation:
    return seen("host.gpu_xid", "dmesg", 7, **{"host": "n1", "gpu": text, "xid": 79, **given})


def only(kind: str, *items: Observation) -> Fact:
    (fact,) = facts(*items)[kind]
    return fact


@pytest.mark.parametrize("text", ["0000:3b:00", "00000000:3B:00.0", "PCI:0000:3b:00", "3b:00.0"])
def test_an_address_names_the_gpu_without_any_table(text: str) -> None:
    fact = only("host.gpu_xid", xid(text))
    assert (fact.device, fact.fields["gpu"], fact.rank) == ("0000:3b:00", "0000:3b:00", None)


def test_what_was_read_is_not_changed() -> None:
    item = xid("00000000:3B:00.0")
    only("host.gpu_xid", item)
    assert (item.fields["gpu"], item.device, item.as_read) == ("00000000:3B:00.0", None, None)


def test_the_rank_that_runs_on_the_gpu_is_named() -> None:
    fact = only("host.gpu_xid", nccl(), xid())
    assert (fact.rank, fact.ranks) == (11, (11,))
    assert "GPU 0000:3b:00 on n1 is that of rank 11 (names:1)" in timeline(nccl(), xid()).assumptions


@pytest.mark.parametrize(
    "others",
    [
        (nccl(rank=12, line=2),),
        (nccl(rank=11, bus="4c000", line=2),),
    ],
    ids=["two ranks on it", "the rank on two"],
)
def test_where_the_rank_is_not_certain_none_is_named(others: tuple[Observation, ...]) -> None:
    assert only("host.gpu_xid", nccl(), *others, xid()).rank is None


def test_the_gpu_of_another_host_has_the_same_address() -> None:
    assert only("host.gpu_xid", nccl(host="n2"), xid()).rank is None


def test_another_runs_ranks_are_not_this_ones() -> None:
    assert only("host.gpu_xid", replace(nccl(), run="prev"), xid()).rank is None
    assert only("host.gpu_xid", nccl(), replace(xid(), run="prev")).rank is None


def test_ranks_of_two_jobs_are_kept_apart() -> None:
    jobs = (nccl(job="a"), nccl(job="b", host="n2", line=2))
    assert only("host.gpu_xid", *jobs, xid()).rank == 11
    assert only("host.gpu_xid", *jobs, xid(job="b")).rank is None


def health(text: str) -> Observation:
    return seen("host.gpu_health", "dcgm", 3, host="n1", gpu=text, problem="uncorrectable_ecc")


@pytest.mark.parametrize(
    "known",
    [
        (gpu(bdf="00000000:3B:00.0", index=3),),
        (gpu(bdf="0000:3b:00", uuid=UUID), gpu(2, index=3, uuid=UUID)),
    ],
    ids=["csv with index and address", "address by kernel, index by nvidia-smi -L"],
)
def test_an_index_is_the_gpu_at_its_address(known: tuple[Observation, ...]) -> None:
    fact = only("host.gpu_health", *known, health("3"))
    assert (fact.device, fact.as_read) == ("0000:3b:00", {"device": "GPU 3"})


def test_a_uuid_is_the_gpu_at_its_address() -> None:
    assert only("host.gpu_health", gpu(bdf="0000:3b:00", uuid=UUID), health(UUID)).device == "0000:3b:00"


def test_an_index_that_moved_between_snapshots_is_no_name() -> None:
    moved = (gpu(bdf="0000:3b:00.0", index=3), gpu(2, bdf="0000:4c:00.0", index=3))
    assert only("host.gpu_health", *moved, health("3")).device is None


def test_a_process_counts_the_devices_that_it_sees() -> None:
    memory = seen("job.gpu_out_of_memory", "rank11.log", rank=11, gpu="3", host="n1")
    assert only("job.gpu_out_of_memory", nccl(), memory).device == "0000:3b:00"
    assert only("job.gpu_out_of_memory", nccl(), replace(memory, fields={"gpu": "0"})).device is None


def test_pcie_errors_are_those_of_the_gpu_or_the_nic_behind_them() -> None:
    error = seen("host.pcie_error", "dmesg", host="n1", bdf="0000:3b:00.0", severity="fatal")
    fact = only("host.pcie_error", nccl(), error)
    assert (fact.device, fact.rank) == ("0000:3b:00", 11)
    nic = seen("identity.port", "mst", host="n1", device="mlx5_0", bdf="3b:00.0")
    assert only("host.pcie_error", nic, error).device == "mlx5_0"
    assert only("host.pcie_error", error).device is None


def test_a_rank_that_only_its_gpu_names_has_not_spoken() -> None:
    """Its log may be missing; that others report a time-out and it does not is then no silence."""
    waiting = [
        seen("comm.collective_timeout", f"rank{rank}.log", rank=rank, host=f"n{rank}", seq=4, pg="0") for rank in (0, 2)
    ]
    assert "comm.rank_silent" not in facts(*waiting, nccl(rank=1), xid())
