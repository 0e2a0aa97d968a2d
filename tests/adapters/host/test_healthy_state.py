"""What ordinary hosts show is no fault: totals since long ago, and limits that are met now and then."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.facts.model import Observation
from engine.facts.vocabulary import load_vocabulary
from facts_adapters.reader import read_bundle

REPAIRED = """\
==============NVSMI LOG==============
Timestamp                                 : Mon Nov 30 13:10:55 2026
Driver Version                            : 550.90.07
Attached GPUs                             : 1
GPU 00000000:10:1C.0
    ECC Errors
        Volatile
            DRAM Correctable              : 3
            DRAM Uncorrectable            : {now}
        Aggregate
            DRAM Correctable              : 122
            DRAM Uncorrectable            : 1
            SRAM Threshold Exceeded       : No
    Remapped Rows
        Uncorrectable Error               : 1
        Pending                           : No
        Remapping Failure Occurred        : No
"""
QUERY = (
    "pci.bus_id, ecc.errors.uncorrected.volatile.total, ecc.errors.uncorrected.aggregate.total\n"
    "00000000:10:1C.0, {now}, 1\n"
)
QUOTA = "usage_usec 9\nuser_usec 8\nsystem_usec 1\nnr_periods 1000\nnr_throttled {now}\nthrottled_usec 99\n"
METRIC = 'container_cpu_cfs_throttled_periods_total{{container="trainer",pod="t-0"}} 91821\n{now}\n'
CASES = [
    ("nvidia-smi-q.txt", REPAIRED, "0", "2", "host.gpu_health"),
    ("nvidia-smi.csv", QUERY, "0", "2", "host.gpu_health"),
    ("cpu.stat", QUOTA, "12", "400", "host.cpu_throttled"),
    ("metrics.txt", METRIC, "", "CPUThrottlingHigh: 78% throttling of CPU in pod t-0", "host.cpu_throttled"),
]


def told(folder: Path) -> list[Observation]:
    """What is more than a name, a setting or a number."""
    vocabulary = load_vocabulary()
    found = read_bundle(folder).observations
    return [o for o in found if vocabulary[o.kind].nature in ("fault", "symptom") or "problem" in o.fields]


@pytest.mark.parametrize(("name", "text", "healthy", "bad", "kind"), CASES)
def test_only_the_bad_state_is_told(tmp_path: Path, name: str, text: str, healthy: str, bad: str, kind: str) -> None:
    file = tmp_path / "gpu-n1" / name
    file.parent.mkdir()
    file.write_text(text.format(now=healthy), encoding="utf-8")
    assert told(tmp_path) == []
    file.write_text(text.format(now=bad), encoding="utf-8")
    assert [o.kind for o in told(tmp_path)] == [kind]
