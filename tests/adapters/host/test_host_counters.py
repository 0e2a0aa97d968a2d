"""Counters of hosts: a level says nothing, a rise between two snapshots does."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.authored import load_document
from engine.facts.counters import counter_facts, read_profile
from engine.facts.model import CounterSample, Observation, Span
from facts_adapters.reader import read_bundle
from knowledge import BUILTIN

PROFILE = read_profile(load_document(BUILTIN / "profiles" / "counters.yaml").value)
MOUNT = (
    "device filer-a:/s mounted on /s with fstype nfs4 statvers=1.1\n\tper-op statistics\n"
    "\t        READ: {sent} {again} {timeouts} 1 1 1 1 1 0\n"
)
LINKS = "GPU 0: NVIDIA H100 (UUID: GPU-8a5d)\n\t Link 0: Replay Errors: 0\n\t Link 0: Recovery Errors: {n}\n"
CASES = [
    ("proc/vmstat", "nr_free_pages 1\noom_kill {n}\n", 0, 2, ("oom_kill", "oom_kill", 2)),
    ("proc/vmstat", "nr_free_pages 1\npswpout {n}\n", 5, 90_005, ("pswpout", "swap", 90_000)),
    ("proc/vmstat", "nr_free_pages 1\nallocstall_normal {n}\n", 7, 4_007, ("allocstall_normal", "memory_stall", 4_000)),
    ("cgroup/job/memory.events", "low 0\nmax 0\noom 0\noom_kill {n}\n", 1, 2, ("oom_kill", "oom_kill", 1)),
    ("cgroup/job/cpu.stat", "nr_periods 9\nnr_throttled {n}\n", 10, 900, ("nr_throttled", "throttled", 890)),
    (
        "nfsstat.txt",
        "calls      retrans    authrefrsh\n9   {n}   9\n",
        3,
        44,
        ("retransmissions", "storage_retransmit", 41),
    ),
    ("edac.txt", "/sys/devices/system/edac/mc/mc0/ue_count:{n}\n", 0, 1, ("ue_count", "dram_uncorrected", 1)),
    ("nvlink.txt", LINKS, 1, 3, ("link_recovery", "gpu_link", 2)),
]


def facts(folder: Path) -> list[Observation]:
    def place(_sample: CounterSample) -> Span:
        return Span()

    samples = read_bundle(folder).samples
    return [found for found in counter_facts(samples, PROFILE, place) if found.kind.startswith("host.")]


def write(folder: Path, label: str, name: str, text: str) -> None:
    path = folder / label / "n01" / name
    path.parent.mkdir(parents=True)
    path.write_text(text)


@pytest.mark.parametrize(("name", "text", "first", "last", "expected"), CASES)
def test_a_rise_is_told(
    name: str, text: str, first: int, last: int, expected: tuple[str, str, int], tmp_path: Path
) -> None:
    write(tmp_path, "before", name, text.format(n=first))
    write(tmp_path, "after", name, text.format(n=last))
    rises = [found for found in facts(tmp_path) if found.kind == "host.counter_rise"]
    assert [(o.fields["counter"], o.fields["class"], o.fields["delta"]) for o in rises] == [expected]
    assert rises[0].host == "n01"


@pytest.mark.parametrize(("name", "text", "last"), [(name, text, last) for name, text, _, last, _ in CASES])
def test_a_level_is_not(name: str, text: str, last: int, tmp_path: Path) -> None:
    write(tmp_path, "during", name, text.format(n=last))
    assert not facts(tmp_path)


def test_counters_that_stand_still_are_told(tmp_path: Path) -> None:
    for label in ("before", "after"):
        write(tmp_path, label, "proc/vmstat", "nr_free_pages 1\noom_kill 3\n")
    assert {(o.kind, o.fields["class"]) for o in facts(tmp_path)} == {("host.counter_idle", "oom_kill")}


def test_a_mount_counts_for_itself(tmp_path: Path) -> None:
    write(tmp_path, "before", "mountstats", MOUNT.format(sent=100, again=100, timeouts=0))
    write(tmp_path, "after", "mountstats", MOUNT.format(sent=200, again=260, timeouts=58))
    rises = {o.fields["counter"]: (o.device, o.fields["delta"]) for o in facts(tmp_path)}
    assert rises == {"retransmissions": ("/s", 60), "major_timeouts": ("/s", 58)}
