"""A path tells host, rank, snapshot and run where people name folders the way they do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts_adapters.places import Paths


def told(path: str, *others: str, known: tuple[str, ...] = ()) -> dict[str, str]:
    paths = Paths([path, *others], known)
    found = {name: getattr(paths, name)(path) for name in ("host", "rank", "local_rank", "group", "run")}
    assert all(value.why for value in found.values() if value)
    return {name: value.value for name, value in found.items() if value}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("logs/gpu-17/dmesg.txt", {"host": "gpu-17"}),
        ("hosts/alpha/dmesg.txt", {"host": "alpha"}),
        ("switches/spine-east/syslog", {"host": "spine-east"}),
        ("nodes/ip-10-1-2-3/journal.txt", {"host": "ip-10-1-2-3"}),
        ("logs/node-a/rank0.log", {"host": "node-a", "rank": "0"}),
        ("sosreport-n7-2026-08-11-3yh4sfo/var/log/syslog", {"host": "n7"}),
        ("sosreport-n7-123456-2026-08-11-3yh4sfo/proc/meminfo", {"host": "n7"}),
        ("sosreport-web-01-2026-08-11-abc.tar.xz/proc/meminfo", {"host": "web-01"}),
        ("pods/trainer-master-0.log", {"host": "trainer-master-0"}),
        ("pods/trainer-worker-3.log.gz", {"host": "trainer-worker-3"}),
        ("rank_007.log", {"rank": "7"}),
        ("rank3.log.gz", {"rank": "3"}),
        ("out/rank-12/stderr.txt", {"rank": "12"}),
        ("train.rank_5.err", {"rank": "5"}),
        ("py-spy/rank4.txt", {"rank": "4"}),
        ("global_rank_9.log", {"rank": "9"}),
        ("local_rank_2.log", {"local_rank": "2"}),
        ("run/none_abc/attempt_0/3/stderr.log", {"local_rank": "3"}),
        ("counters/before/gpu01/hw.txt", {"group": "before", "host": "gpu01"}),
        ("counters/t1/x.txt", {"group": "t1"}),
        ("counters/t1_1432/x.txt", {"group": "t1_1432"}),
        ("before-14:02/x.txt", {"group": "before-14:02"}),
        ("nic/20251104T0215Z/x.txt", {"group": "20251104T0215Z"}),
        ("logs/job_20251104/x.txt", {}),
        ("20260820T055137Z/x.txt", {"group": "20260820T055137Z"}),
        ("2026-08-20_05-51-37/x.txt", {}),
        ("npu_info_before.txt", {"group": "before"}),
        ("ethtool_t0.txt", {"group": "t0"}),
        ("prev/stdout.log", {"run": "prev"}),
        ("logs/previous/stdout.log", {"run": "previous"}),
        ("earlier-hang/dmesg.txt", {"run": "earlier-hang"}),
        ("rerun-20250225/a.log", {"run": "rerun-20250225"}),
        ("old/a.log", {"run": "old"}),
        ("train.log", {}),
        ("logs/train.log", {}),
        ("output/torchelastic/1234/x.log", {}),
        ("logs/step_100/x.log", {}),
        ("data/mlx5_0/x", {}),
        ("sys/class/infiniband/mlx5_0/ports/1/counters/x", {}),
        ("logs/2026-01-01/x.log", {}),
        ("rankings.txt", {}),
        ("frank3.log", {}),
        ("previously.txt", {}),
    ],
)
def test_one_path(path: str, expected: dict[str, str]) -> None:
    assert told(path) == expected


def test_a_host_of_several_collections() -> None:
    assert told("evidence/big-box/dmesg", "counters/x/big-box/hw.txt") == {}
    assert told("kernel/box7/dmesg", "nic/before/box7/hw.txt")["host"] == "box7"


def test_alike_siblings() -> None:
    assert told("stuff/lab14/a.txt", "stuff/lab15/a.txt")["host"] == "lab14"
    assert "host" not in told("stuff/lab14/a.txt", "stuff/other/a.txt")


def test_known_hosts() -> None:
    assert told("x/alpha/a.txt", known=("alpha",))["host"] == "alpha"
    assert told("dmesg-alpha.txt", known=("alpha",))["host"] == "alpha"
    assert "host" not in told("alphabet.txt", known=("alpha",))
    assert told("n1-dmesg.txt", known=("n", "n1"))["host"] == "n1"


def test_old_and_new_are_a_pair() -> None:
    assert told("c/old/a.txt", "c/new/a.txt") == {"group": "old"}
    assert told("c/old/a.txt", "d/new/a.txt") == {"run": "old"}


def test_attempts_before_the_last() -> None:
    paths = ("r/attempt_0/1/stderr.log", "r/attempt_1/1/stderr.log")
    assert told(*paths)["run"] == "attempt_0"
    assert "run" not in told(*reversed(paths))
    assert "run" not in told("q/attempt_0/1/stderr.log", *paths)


@given(st.lists(st.text(alphabet="ab1-_/.t0rank", max_size=30), min_size=1, max_size=6))
def test_any_paths(names: list[str]) -> None:
    for name in names:
        told(name, *names)
