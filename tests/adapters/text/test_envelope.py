"""Prefixes come off whatever stacks them; what they tell is kept; torn ones cost nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts_adapters.text.envelope import Profile, open_envelope, profile

# line, expected attributes; "message" is what must be left
CASES: list[tuple[str, dict[str, Any]]] = [
    (
        "[rank3]:[E1206 18:44:12.715298746 ProcessGroupNCCL.cpp:629] [Rank 3] Watchdog caught",
        {"kind": "c10", "rank": 3, "level": "error", "message": "[Rank 3] Watchdog caught"},
    ),
    ("[rank3]:[E ProcessGroupNCCL.cpp:523] [Rank 3] x", {"kind": "c10", "rank": 3, "when": None}),
    (
        "(RayWorkerWrapper pid=1890, ip=10.41.0.8) ERROR 08-02 08:50:03 worker_base.py:382] Traceback (most recent",
        {"host": "10.41.0.8", "level": "error", "message": "Traceback (most recent"},
    ),
    (
        "2026-05-01T10:28:25.497Z 2026-05-01 10:28:25,496 - root - INFO - Saving latest checkpoint",
        {"host": None, "level": "info", "message": "Saving latest checkpoint"},
    ),
    (
        "10.5.0.19: kern: warning: [2026-04-22T21:25:20.505406921Z]: NVRM: Xid (PCI:0000:48:00): 62, 0",
        {"kind": "kernel", "host": "10.5.0.19", "level": "warning", "message": "NVRM: Xid (PCI:0000:48:00): 62, 0"},
    ),
    (
        "2024-05-01T12:00:00.123456789Z stderr F [default1]:[rank9]:[W1130 13:34:05.468376209 TCPStore.cpp:138] x",
        {"kinds": ("k8s", "c10"), "rank": 9, "local_rank": 1, "message": "x"},
    ),
    (
        "E1130 13:33:17.896000 11076 torch/distributed/elastic/multiprocessing/api.py:882] failed (exitcode: -9)",
        {"kind": "torch_python", "pid": 11076, "message": "failed (exitcode: -9)"},
    ),
    (
        "[2023-10-12 11:22:33,123] torch.distributed.elastic.multiprocessing.api: [ERROR] failed",
        {"kind": "torch_python", "level": "error", "message": "failed"},
    ),
    (
        "ERROR:torch.distributed.elastic.multiprocessing.api:failed",
        {"kind": "python", "when": None, "message": "failed"},
    ),
    (
        "[2025-06-17 10:30:24] gpu012:3141:3987 [3] transport/net_ib.cc:2458 NCCL WARN NET/IB: x",
        {
            "kind": "nccl",
            "host": "gpu012",
            "pid": 3141,
            "device": 3,
            "rank": None,
            "level": "warn",
            "message": "NET/IB: x",
        },
    ),
    ("gpu012:3141:3987 [0] NCCL INFO Using network IB", {"kind": "nccl", "when": None, "message": "Using network IB"}),
    (
        "[2026-02-01 10:30:24] gpu012:3141:3987 [3] transport/net_ib/p2p.cc:688 (ncclIbTest) NCCL WARN x",
        {"kind": "nccl", "message": "x"},
    ),
    ("ip-10-0-0-1:41:88 [2] int nccl_net_ofi_init(void):345 NCCL WARN NET/OFI x", {"kind": "nccl", "pid": 41}),
    (
        "[0] misc/socket.cc:71 NCCL WARN socketProgress: y",
        {"kind": "nccl", "device": 0, "message": "socketProgress: y"},
    ),
    ("include/shm.h:28 NCCL WARN Call to x failed", {"kind": "nccl", "message": "Call to x failed"}),
    (
        "[ERROR] HCCL(114656,python3):2025-06-19-09:28:34.085.178 [hccl_socket_manager.cc:778] [116500][Wait]timeout",
        {"kind": "plog", "pid": 114656, "unit": "HCCL", "message": "[Wait]timeout"},
    ),
    (
        "[2024-01-01 12:00:00,123] [INFO] [logging.py:96:log_dist] [Rank 7] step=10",
        {"kind": "python", "rank": 7, "message": "step=10"},
    ),
    (" [2025-06-17 10:30:24.123456] iteration     1200/  500000 | x", {"kind": "megatron"}),
    ("[INFO|trainer.py:2134] 2024-01-01 12:00:00,123 >> ***** Running", {"kind": "hf", "message": "***** Running"}),
    (
        "2025-10-06 12:51:38.914 | INFO     | __main__:train:164 - rank 11/16",
        {"kind": "loguru", "message": "rank 11/16"},
    ),
    (
        "May 23 02:17:36 n029 kernel: [3907214.480932] docker0: port 4",
        {"kinds": ("syslog", "kernel"), "host": "n029", "message": "docker0: port 4"},
    ),
    (
        "2026-05-28T15:32:08.719240+08:00 n045 kernel: [2083516.905711] perf: x",
        {"kinds": ("syslog", "kernel"), "host": "n045", "message": "perf: x"},
    ),
    (
        "May 23 19:08:54.630277 tor02 NOTICE swss#orchagent: :- doTask: x",
        {"kind": "switch", "host": "tor02", "unit": "swss#orchagent", "message": ":- doTask: x"},
    ),
    ("Sep 11 06:27:35 tor01 Ebra: %LINEPROTO-5-UPDOWN: x", {"kind": "switch", "host": "tor01"}),
    ("2015 May 18 12:43:15 switch2 %ETHPORT-5-IF_UP: x", {"kind": "switch", "host": "switch2"}),
    ("*Mar  1 02:13:48: %SYS-5-CONFIG_I: x", {"kind": "switch", "host": None}),
    ("May 18 2024 12:43:15+08:00 leaf3 %%01IFNET/4/LINK_STATE(l)[0]:x", {"kind": "switch", "host": "leaf3"}),
    ("%Jan  1 12:00:00:123 2024 leaf7 IFNET/3/PHY_UPDOWN: x", {"kind": "switch", "host": "leaf7"}),
    ("2025 Jul  5 05:30:12.123456 leaf1 NOTICE swss#orchagent: :- x", {"kind": "switch", "host": "leaf1"}),
    ("E1206 18:44:12.715298 12345 ProcessGroupNCCL.cpp:607] x", {"kind": "c10", "message": "x"}),
    ("[12345.678901] mlx5_core: hello", {"kind": "kernel", "message": "mlx5_core: hello"}),
    ("[    0.000000][  T1234] x", {"kind": "kernel", "message": "x"}),
    ("[Mon Nov 30 13:10:55 2026] Linux version", {"kind": "kernel", "message": "Linux version"}),
    ("[Nov30 13:10] foo", {"kind": "kernel", "message": "foo"}),
    ("[  +0.000274] pcieport: AER", {"kind": "kernel", "when": None, "message": "pcieport: AER"}),
    ("kern  :warn  : 2025-01-21T04:41:44,285060+00:00 msg", {"kinds": ("kernel",), "level": "warn", "message": "msg"}),
    ("kern  :info  : [12.345678] msg", {"kind": "kernel", "message": "msg"}),
    ("2026-11-30T13:10:55,000000+00:00 msg", {"kind": "kernel", "message": "msg"}),
    ("6,3964,206764307,-;msg text", {"kind": "kernel", "message": "msg text"}),
    ("<5>[    0.000000] msg", {"kind": "kernel", "message": "msg"}),
    (
        "<34>1 2003-10-11T22:14:15.003Z node1 sshd 11 ID47 - failed",
        {"kind": "syslog", "host": "node1", "message": "failed"},
    ),
    ("1718187742.000123 node1 kernel: msg", {"kinds": ("syslog", "kernel"), "host": "node1", "message": "msg"}),
    ("Wed 2024-06-12 10:22:22 UTC node1 systemd[1]: foo", {"kinds": ("syslog", "journal"), "pid": 1, "message": "foo"}),
    ("Jun 17 17:21:28 922890 [4E8006C0] 0x01 -> log_trap_info: x", {"kind": "opensm", "message": "log_trap_info: x"}),
    ("[Jul 23 2024 07:53:55] [ERROR] [tid 841] detected x", {"kind": "fabricmanager", "message": "detected x"}),
    ("[2024-05-01T12:00:00.123] error: Nodes n1 not responding", {"kind": "slurm"}),
    ("submitit WARNING (2022-06-09 10:37:41,285) - Bypassing", {"kind": "submitit", "message": "Bypassing"}),
    ("[1,13]<stderr>: text", {"kind": "mpi", "rank": 13, "message": "text"}),
    ("[prterun-n1-77@1,3]<stdout>:text", {"kind": "mpi", "rank": 3, "message": "text"}),
    ("[n08][[274,1],386][../btl_tcp_endpoint.c:730:f] bind", {"kind": "mpi", "host": "n08", "rank": 386}),
    (
        "(RayTrainWorker pid=123, ip=10.0.0.3) [rank5]:[E F.cpp:523] x",
        {"kinds": ("ray", "c10"), "host": "10.0.0.3", "rank": 5, "message": "x"},
    ),
    ("[pod/train-0/worker] [rank5]: boom", {"kind": "k8s", "host": "train-0", "rank": 5, "message": "boom"}),
    (
        "[0604/1024][2025-01-24 05:48:10,936] [misc/socket.cc:586] [gn1740:pid=394] NCCL WARN poll() x",
        {"rank": 604, "host": "gn1740", "pid": 394, "message": "poll() x"},
    ),
    ("[2024-09-26 16:45:33,904][root][INFO] - train", {"kind": "python", "message": "train"}),
    ("INFO:08-11 09:26:50:rank 0/16", {"kind": "python", "message": "rank 0/16"}),
    ("INFO 08-11 09:26:50 [core.py:12] text", {"kind": "python"}),
    ("05/26/2026 21:11:39 - WARNING - __main__ - Process rank: 0", {"kind": "python", "message": "Process rank: 0"}),
    ("2024-05-01 12:00:00,123 - torch.foo - ERROR - message", {"kind": "python", "message": "message"}),
    ("2025-11-07 20:14:26,318 INFO trainer: step=0", {"kind": "python", "host": None, "message": "step=0"}),
    ("[1702384519.123456] [host1:123:0]   ib_device.c:123 UCX  ERROR fatal", {"kind": "ucx", "message": "fatal"}),
    ("libfabric:35:1702384519::efa:cq:f():243<warn> text", {"kind": "libfabric", "pid": 35, "message": "text"}),
    ("slurmstepd: error: *** STEP 37.0 ON node118 CANCELLED ***", {"kind": "slurm"}),
    ("I0612 10:22:22.123456    1234 kubelet.go:12] foo", {"kind": "glog", "message": "foo"}),
    (
        '{"__REALTIME_TIMESTAMP":"1718187742000123","_TRANSPORT":"kernel","_HOSTNAME":"n1","MESSAGE":"Out of memory"}',
        {"kinds": ("journal", "syslog", "kernel"), "host": "n1", "message": "Out of memory"},
    ),
    ('{"log":"[rank1]: boom\\n","stream":"stderr","time":"2024-05-01T12:00:00.5Z"}', {"rank": 1, "message": "boom"}),
    ("RuntimeError: CUDA error: foo", {"kind": "plain", "message": "RuntimeError: CUDA error: foo"}),
    ("    return f(x)", {"kind": "plain", "message": "    return f(x)"}),
    ("[rank0]:     return f(x)", {"rank": 0, "message": "    return f(x)"}),
    ("", {"kind": "plain", "message": ""}),
]


@pytest.mark.parametrize(("line", "expected"), CASES, ids=[line[:40] or "empty" for line, _ in CASES])
def test_shapes(line: str, expected: dict[str, Any]) -> None:
    envelope = open_envelope(line)
    found = {name: getattr(envelope, name) for name in expected}
    assert found == expected


def test_the_better_stamp_wins() -> None:
    both = open_envelope("2024-05-01T12:00:00.123456789Z [rank9]:[W501 14:00:00.468376209 TCPStore.cpp:138] x")
    assert both.when is not None
    assert both.when.basis == "utc"
    kernel = open_envelope("May 23 02:17:36 n029 kernel: [3907214.480932] x")
    assert kernel.when is not None
    assert kernel.when.basis == "local"


def test_the_kernels_own_time_in_the_journal() -> None:
    line = (
        '{"__REALTIME_TIMESTAMP":"1718187742000000","__MONOTONIC_TIMESTAMP":"5000000",'
        '"_SOURCE_MONOTONIC_TIMESTAMP":"2000000","_TRANSPORT":"kernel","MESSAGE":"x","_BOOT_ID":"b"}'
    )
    envelope = open_envelope(line)
    assert envelope.when is not None
    assert envelope.when.earliest == 1718187739000000


def test_prefixes_that_only_the_file_gives_away() -> None:
    numbered = profile(["0: a", "1: b", "10: c", ""])
    assert numbered.numbered
    assert open_envelope("12: [rank12]: x", numbered).task == 12
    hosted = profile(["node1: a", "node2: b", "node1: ValueError: c"])
    assert hosted.hosts == {"node1", "node2"}
    assert open_envelope("node2: text", hosted).host == "node2"
    assert profile(["ValueError: a", "RuntimeError: b"]).hosts == frozenset()
    assert profile(["alpha: a", "text", "more"], ["alpha"]).hosts == {"alpha"}
    services = profile(["worker-1  | a", "worker-2  | b", "worker-1  | c", "worker-2  | d"])
    assert open_envelope("worker-2  | text", services).host == "worker-2"
    assert not profile(["text: a", "1: b", "c"]).numbered


def test_brackets_that_are_no_prefix_stay() -> None:
    for text in ("[1, 2, 3]", "[x] y", "[2024-13-45 99:99:99] z", "[PG ID 1 PG GUID 7(tp) Rank 3] w", "[Rank 3] v"):
        assert open_envelope(text).message == text


@given(st.text(max_size=200), st.booleans())
def test_any_line(text: str, numbered: bool) -> None:
    envelope = open_envelope(text, Profile(numbered, frozenset({"n1"}), frozenset({"s"})))
    assert isinstance(envelope.message, str)


@given(st.lists(st.sampled_from([line for line, _ in CASES]), min_size=1, max_size=3), st.integers(0, 60))
def test_glued_and_torn_lines(lines: list[str], cut: int) -> None:
    open_envelope("".join(lines)[cut:])
