from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.facts.identity import forms


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("0000:3b:00.0", "0000:3b:00.0"),
        ("00000000:3B:00.0", "0000:3b:00.0"),
        ("3b:00.0", "0000:3b:00.0"),
        ("PCI:0000:3b:00", "0000:3b:00"),
        ("0000:3B:00.1", "0000:3b:00.1"),
        ("0018:01:00", "0018:01:00"),
        ("00010000:01:00.0", "10000:01:00.0"),
        ("3b000", None),
        ("eth2", None),
        ("10:70:fd:03", None),
        ("", None),
    ],
)
def test_functions(text: str, name: str | None) -> None:
    assert forms.function(text) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("3b000", "0000:3b:00"),
        ("1000", "0000:01:00"),
        ("0x801000", "0008:01:00"),
        ("101c0", "0000:10:1c"),
        ("0000:3b:00.0", "0000:3b:00"),
        ("zz", None),
    ],
)
def test_bus_ids(text: str, name: str | None) -> None:
    assert forms.slot_of_bus_id(text) == name


@pytest.mark.parametrize(
    "text",
    ["0x1070fd0300a1b2c4", "1070:fd03:00a1:b2c4", "1070FD0300A1B2C4", " 0x1070fd0300a1b2c4 "],
)
def test_guids(text: str) -> None:
    assert forms.guid(text) == "0x1070fd0300a1b2c4"


@pytest.mark.parametrize("text", ["0x0000000000000000", "0000:0000:0000:0000", "0x12", "10:70:fd:03:00:a1", "mlx5_0"])
def test_no_guids(text: str) -> None:
    assert forms.guid(text) is None


@pytest.mark.parametrize("text", ["mlx5_0:1", "mlx5_0/1", "mlx5_0:1/RoCE", "mlx5_0/1/IB"])
def test_ports(text: str) -> None:
    assert forms.rdma_port(text) == ("mlx5_0", "mlx5_0:1")


@pytest.mark.parametrize("text", ["mlx5_0", "mlx5_0:-1", "1", "mlx5_0+mlx5_1", "Ethernet1/3/2"])
def test_no_ports(text: str) -> None:
    assert forms.rdma_port(text) is None


def test_bonded_devices_are_devices() -> None:
    assert forms.rdma_port("mlx5_bond_0:1") == ("mlx5_bond_0", "mlx5_bond_0:1")


@pytest.mark.parametrize(("text", "number"), [("3", 3), ("GPU3", 3), ("gpu 3", 3), ("0,1", None), ("cuda", None)])
def test_indexes(text: str, number: int | None) -> None:
    assert forms.index(text) == number


def test_an_instance_of_a_partitioned_gpu_is_not_the_gpu() -> None:
    assert forms.uuid("GPU-5B2D0C11-2f3a-4b5c-8d6e-7f8091a2b3c4") == "gpu-5b2d0c11-2f3a-4b5c-8d6e-7f8091a2b3c4"
    assert forms.uuid("MIG-5b2d0c11-2f3a-4b5c-8d6e-7f8091a2b3c4") is None


@given(st.integers(0, 0xFFFF), st.integers(0, 0xFF), st.integers(0, 0x1F), st.integers(0, 7))
def test_all_spellings_of_an_address_are_one(domain: int, bus: int, device: int, function: int) -> None:
    kernel = f"{domain:04x}:{bus:02x}:{device:02x}.{function}"
    nvml = f"{domain:08X}:{bus:02X}:{device:02X}.{function}"
    nccl = f"{int(kernel.replace(':', '').replace('.', ''), 16):x}"
    assert forms.function(kernel) == forms.function(nvml) == kernel
    assert forms.slot(kernel) == forms.slot_of_bus_id(nccl) == kernel.partition(".")[0]


@given(st.text(max_size=40))
def test_no_text_breaks_a_form(text: str) -> None:
    for form in (forms.function, forms.slot, forms.slot_of_bus_id, forms.guid, forms.rdma_port, forms.lid, forms.index):
        form(text)
