"""Collections of whole hosts: the report of NVIDIA's script and of sos, and healthy output that must stay quiet."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.facts.model import Observation
from facts_adapters.adapter import Adapter, Sample
from facts_adapters.discovery import registry
from facts_adapters.reader import read_bundle
from facts_adapters.text.blocks import BlockReader

RULE = "_" * 44
BUG_REPORT = f"""\
{RULE}

Start of NVIDIA bug report log file.  Please include this file, along
with a detailed description of your problem.

nvidia-bug-report.sh Version: 34460028

Date: Thu Jul 16 13:45:37 UTC 2026
uname: Linux n05 6.8.0-47-generic x86_64

{RULE}

*** /etc/os-release
*** ls: lrwxrwxrwx 1 root root 21 2024-04-22 13:08:03.000000000 +0000 /etc/os-release -> ../usr/lib/os-release
PRETTY_NAME="Ubuntu 24.04.1 LTS"

{RULE}

*** /var/log/nvidia-installer.log does not exist

{RULE}

/usr/bin/lspci -d "10de:*" -v -xxx

18:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev ff) (prog-if ff)
\t!!! Unknown header type 7f

{RULE}

/usr/bin/dmesg:

[    0.000000] Linux version 6.8.0-47-generic (buildd@lcy02) (gcc 13) #47-Ubuntu SMP
[ 8121.500000] NVRM: Xid (PCI:0000:18:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.

{RULE}

/usr/bin/nvidia-smi --query

==============NVSMI LOG==============

Timestamp                                 : Thu Jul 16 13:45:40 2026
Attached GPUs                             : 7
GPU 00000000:10:1C.0
    Product Name                          : NVIDIA H100 80GB HBM3
    Remapped Rows
        Pending                           : Yes

{RULE}

*** /var/log/fabricmanager.log
*** ls: -rw-r--r-- 1 root root 100 2026-07-16 13:45:37.000000000 +0000 /var/log/fabricmanager.log
[Jul 16 2026 07:53:55] [ERROR] [tid 841] detected NVSwitch fatal error 20034 on fid 0 on NVSwitch pci bus id \
00000000:86:00.0 physical id 3 port 33

{RULE}

End of NVIDIA bug report log file.
"""


def kinds(found: list[Observation]) -> set[str]:
    return {record.kind for record in found if not record.kind.startswith("coverage.")}


def test_sections_of_a_bug_report(tmp_path: Path) -> None:
    path = tmp_path / "n05" / "nvidia-bug-report.log"
    path.parent.mkdir()
    path.write_text(BUG_REPORT)
    result = read_bundle(tmp_path)
    assert kinds(result.observations) == {
        "host.boot",
        "host.gpu_count",
        "host.gpu_health",
        "host.gpu_lost",
        "host.gpu_xid",
        "host.nvswitch_error",
        "host.software",
    }
    lines = BUG_REPORT.splitlines()
    for record in result.observations:
        if record.kind == "host.gpu_xid":
            assert "Xid" in lines[record.source.line - 1]
        if record.kind == "host.nvswitch_error":
            assert "20034" in lines[record.source.line - 1]
    assert {record.host for record in result.observations} == {"n05"}
    assert not result.warnings


def test_a_rule_of_underscores_alone_is_no_bug_report(tmp_path: Path) -> None:
    text = f"{RULE}\n\n*** /proc/vmstat\n[ 1.0] nfs: server a OK\n"
    (tmp_path / "dmesg.txt").write_text(text)
    found = [o for o in read_bundle(tmp_path).observations if o.kind == "host.storage_recovered"]
    assert [o.source.line for o in found] == [4]


SOS = {
    "sos_commands/kernel/dmesg": (
        "[ 8121.5] Out of memory: Killed process 4711 (python) total-vm:1kB\n",
        "host.oom_kill",
    ),
    "sos_commands/systemd/systemctl_list-units_--failed": (
        "  UNIT LOAD ACTIVE SUB DESCRIPTION\n● slurmd.service loaded failed failed Slurm node daemon\n",
        "host.service_failed",
    ),
    "sos_commands/chrony/chronyc_-n_sources": (
        "^? 10.0.0.3                      2   6   377    23    +12ms[  +12ms] +/-   30ms\n",
        "host.clock_offset",
    ),
    "sos_commands/filesys/mount_-l": (
        "sysfs on /sys type sysfs (rw,nosuid)\nfiler:/s on /s type nfs4 (rw,vers=4.2,hard)\n",
        "host.mount",
    ),
    "sos_commands/login/last_reboot": (
        "reboot   system boot  5.15.0-105-gener Mon Jun  3 10:00   still running\n",
        "host.boot",
    ),
    "proc/meminfo": ("MemTotal: 528280977 kB\nMemFree: 12 kB\nMemAvailable: 422624781 kB\n", "host.memory_use"),
    "sos_commands/networking/ethtool_-i_eth2": (
        "driver: mlx5_core\nversion: 24.07\nfirmware-version: 28.39.4082 (MT_0000000838)\nbus-info: 0000:12:00.0\n",
        "nic.firmware",
    ),
}


def test_files_of_a_sosreport(tmp_path: Path) -> None:
    top = tmp_path / "sosreport-gpu-b07-2026-07-16-abcdefg"
    for path, (text, _) in SOS.items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text(text)
    result = read_bundle(tmp_path)
    found = {(o.source.path.removeprefix(f"{top.name}/"), o.kind) for o in result.observations}
    assert {(path, kind) for path, (_, kind) in SOS.items()} <= found
    assert {record.host for record in result.observations} == {"gpu-b07"}
    assert not result.warnings


def _of_host(reader: Adapter | BlockReader) -> bool:
    return reader.read.__module__.startswith("facts_adapters.host.")


READERS: tuple[Adapter | BlockReader, ...] = (*registry().adapters, *registry().blocks)
GOOD = [
    pytest.param(sample, id=f"{reader.name}-{index}")
    for reader in READERS
    if _of_host(reader)
    for index, sample in enumerate(reader.samples)
    if sample.expect
]


@pytest.mark.parametrize("sample", GOOD)
def test_well_formed_input_warns_of_nothing(sample: Sample, tmp_path: Path) -> None:
    path = tmp_path / sample.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(sample.text, encoding="utf-8")
    assert not read_bundle(tmp_path).warnings
