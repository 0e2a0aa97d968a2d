"""The spellings of a name: PCI functions, GUIDs, ports of RDMA devices, indexes of GPUs.

Each function gives one form for all spellings of a name, and ``None`` for what is no such name.
"""

from __future__ import annotations

import re

_PCI = re.compile(
    r"(?:PCI:)?(?:(?P<domain>[0-9a-f]{4}|[0-9a-f]{8}):)?(?P<bus>[0-9a-f]{2}):(?P<device>[0-9a-f]{2})"
    r"(?:\.(?P<function>[0-9a-f]))?",
    re.IGNORECASE,
)
_BUS_ID = re.compile(r"(?:0x)?(?P<digits>[0-9a-f]{1,13})", re.IGNORECASE)
_GUID = re.compile(
    r"0x(?P<plain>[0-9a-f]{8,16})|(?P<whole>[0-9a-f]{16})|(?P<parts>(?:[0-9a-f]{4}:){3}[0-9a-f]{4})", re.I
)
_RDMA_PORT = re.compile(r"(?P<device>[A-Za-z][\w.-]*)[:/](?P<port>\d{1,3})(?:/(?:IB|RoCE|InfiniBand|Ethernet))?")
_LID = re.compile(r"lid (?P<lid>\d{1,7})", re.IGNORECASE)
_INDEX = re.compile(r"(?:gpu[ _-]?)?(?P<index>\d{1,4})", re.IGNORECASE)
_UUID = re.compile(r"GPU-[0-9a-f]{8}(?:-[0-9a-f]{4,12}){1,4}", re.IGNORECASE)
_NO_KERNEL_NAME = re.compile(r"HCA-\d+", re.IGNORECASE)


def function(text: str) -> str | None:
    """A PCI function as the kernel prints it, ``0000:3b:00.0``; without the function where the text has none.

    Reads ``0000:3b:00.0``, ``00000000:3B:00.0`` (NVML), ``PCI:0000:3b:00`` (NVRM) and ``3b:00.0`` (lspci, domain 0).
    """
    match = _PCI.fullmatch(text.strip())
    if match is None:
        return None
    name = f"{int(match['domain'] or '0', 16):04x}:{match['bus']}:{match['device']}".lower()
    return f"{name}.{match['function'].lower()}" if match["function"] else name


def slot(text: str) -> str | None:
    """A PCI device without its function, ``0000:3b:00``: as the NVIDIA driver names a GPU."""
    found = function(text)
    return found.partition(".")[0] if found else None


def slot_of_bus_id(text: str) -> str | None:
    """The device of NCCL's ``busId 3b000``: ``0000:3b:00.0`` without its marks and without leading zeros.

    Source: ``busIdToInt64`` in NCCL's ``src/misc/utils.cc``, printed with ``%lx``.
    """
    if ":" in text:
        return slot(text)
    match = _BUS_ID.fullmatch(text.strip())
    if match is None:
        return None
    value = int(match["digits"], 16)
    return f"{value >> 20:04x}:{value >> 12 & 0xFF:02x}:{value >> 4 & 0xFF:02x}"


def guid(text: str) -> str | None:
    """A GUID as ``0x`` and 16 digits, from ``0x…`` (ibstat), ``xxxx:xxxx:xxxx:xxxx`` (sysfs, ibv_devinfo) or 16 digits.

    A GUID of zeros names nobody.
    """
    match = _GUID.fullmatch(text.strip())
    if match is None:
        return None
    value = int((match["plain"] or match["whole"] or match["parts"]).replace(":", ""), 16)
    return f"0x{value:016x}" if value else None


def rdma_port(text: str) -> tuple[str, str] | None:
    """(device, device:port) of ``mlx5_0:1``, ``mlx5_0/1`` or ``mlx5_0:1/RoCE``."""
    match = _RDMA_PORT.fullmatch(text.strip())
    return (match["device"], f"{match['device']}:{int(match['port'])}") if match else None


def lid(text: str) -> int | None:
    """The number of ``lid 32``."""
    match = _LID.fullmatch(text.strip())
    return int(match["lid"]) if match else None


def index(text: str) -> int | None:
    """The number of ``3``, ``GPU3`` or ``gpu 3``."""
    match = _INDEX.fullmatch(text.strip())
    return int(match["index"]) if match else None


def uuid(text: str) -> str | None:
    """The UUID of a whole GPU in lower case; an instance of a partitioned one (``MIG-…``) is another thing."""
    found = text.strip()
    return found.lower() if _UUID.fullmatch(found) else None


def has_kernel_name(device: str) -> bool:
    """Whether a device goes by the kernel's name, not by a number of the subnet (``HCA-1``)."""
    return _NO_KERNEL_NAME.fullmatch(device) is None
