"""Blocked tasks of the kernel log with the stack that tells what they wait for (kernel/hung_task.c 2.6 .. 6.x).

The report comes at least the stated seconds after the task blocked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engine.facts.model import SECOND, Observation, Scalar
from facts_adapters.adapter import Context, Sample
from facts_adapters.text.blocks import Block, BlockReader

_HEAD = re.compile(
    r"task (?P<process>\S[^:]{0,40}(?::[^:\s]{1,20}){0,3}?):(?P<pid>\d{1,18})(?: \w{1,20}){0,3} (?:is )?blocked "
    r"(?P<how>for more than|in I/O wait for more than|on an? \w+)"
    r"(?: (?P<seconds>\d{1,18}) seconds| likely owned by.*| .*)?"
)
_STACK = re.compile(
    r"\s*(?:Tainted:|Not tainted|\"echo 0|task:|Call Trace|</?TASK>|</?IRQ>|\[<[0-9a-f]+>\]|\? ?\S|Workqueue:|RIP:|"
    r"RSP:|RAX:|RDX:|RBP:|R\d\d:|RDI:|ORIG_RAX|Blocked by|[\w.]{1,120}\+0x[0-9a-f]+/0x[0-9a-f]+|\S+ +[DSR] )"
)
_FRAME = re.compile(r"(?P<function>[\w.]{1,120})\+0x[0-9a-f]+/0x[0-9a-f]+(?: \[(?P<module>\w+)\])?")

_WAITS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("nfs", re.compile(r"nfs\d?_|rpc_wait|rpc_execute|__rpc_|nfs$|sunrpc$")),
    ("lustre", re.compile(r"cl_(?:io|sync|lock|page)_|ll_\w+|ptlrpc|osc_|ldlm_|lov_|mdc_|lustre$|obdclass$")),
    ("ceph", re.compile(r"ceph_|libceph$|ceph$")),
    ("gpfs", re.compile(r"kxWait|gpfs|mmfs|cxi\w+$")),
    ("fuse", re.compile(r"fuse_|request_wait_answer|fuse$|wekafs|beegfs")),
    ("gpu", re.compile(r"nvidia|uvm_|_nv\d+rm|rm_ioctl|nvkms|os_acquire_rwlock|amdgpu|kfd_|drm_sched|davinci|devdrv")),
    ("nic", re.compile(r"mlx[45]_|ib_uverbs|uverbs_|ib_umem|rdma_|ib_dereg|ib_destroy|bnxt_|irdma|hns_roce|efa_")),
    ("memory", re.compile(r"mem_cgroup_oom|mem_cgroup_handle_over|throttle_direct_reclaim|shrink_|kswapd|compact_")),
    ("disk", re.compile(r"io_schedule|wait_on_(?:page|buffer)|folio_wait|jbd2_|xfs_|ext4_|blk_|nvme_|submit_bio|"
                        r"btrfs_|md_|balance_dirty|sync_inodes|raid\d|dm_")),
    ("lock", re.compile(r"mutex_lock|rwsem_|down_(?:read|write)|__mutex|schedule_preempt|futex|pipe_")),
)  # fmt: skip


def begins(message: str) -> bool:
    """True for the line that reports a blocked task."""
    return _HEAD.search(message) is not None


def continues(so_far: Sequence[str], message: str) -> bool:
    """True for the lines of the report's stack, up to its end mark."""
    if so_far[-1].strip() == "</TASK>" or begins(message):
        return False
    return bool(_STACK.match(message)) and len(so_far) < 80


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``host.hung_task`` with what the task waits for, where the stack tells it."""
    first = block.lines[0]
    head = _HEAD.search(first.text)
    if head is None:
        return
    fields: dict[str, Scalar] = {
        "process": head["process"],
        "pid": int(head["pid"]),
        "waits_for": _waits_for([line.text for line in block.lines[1:]], head["how"]),
    }
    lag = None
    if head["seconds"]:
        fields["seconds"] = int(head["seconds"])
        lag = (int(head["seconds"]) * SECOND, int(head["seconds"]) * SECOND)
    yield Observation("host.hung_task", block.source(first.number), fields, lag=lag)


def _waits_for(stack: Sequence[str], how: str) -> str:
    """The subsystem of the stack: file systems and devices count before the generic waits above them."""
    names = [name for text in stack for match in _FRAME.finditer(text) for name in match.groups() if name]
    for subsystem, pattern in _WAITS:
        if any(pattern.match(name) for name in names):
            return subsystem
    return "disk" if "I/O wait" in how else "lock" if how.startswith("on a") else "unknown"


_NFS = """\
2026-10-04T05:48:37.416057+0000 n28 kernel: INFO: task python:2218407 blocked for more than 120 seconds.
2026-10-04T05:48:37.416060+0000 n28 kernel:       Tainted: P           OE     4.18.0-513.5.1.el8_9.x86_64 #1
2026-10-04T05:48:37.416063+0000 n28 kernel: "echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.
2026-10-04T05:48:37.416066+0000 n28 kernel: task:python          state:D stack:    0 pid:2218407 ppid:2218366
2026-10-04T05:48:37.416069+0000 n28 kernel: Call Trace:
2026-10-04T05:48:37.416072+0000 n28 kernel:  <TASK>
2026-10-04T05:48:37.416075+0000 n28 kernel:  __schedule+0x24e/0x590
2026-10-04T05:48:37.416081+0000 n28 kernel:  io_schedule+0x46/0x80
2026-10-04T05:48:37.416090+0000 n28 kernel:  nfs_file_fsync+0x8a/0x1a0 [nfs]
2026-10-04T05:48:37.416099+0000 n28 kernel:  </TASK>
"""
_GPU = """\
[  871.101] INFO: task pt_main_thread:4711 blocked for more than 241 seconds.
[  871.102]       Tainted: P           OE      6.8.0-47-generic #41
[  871.103] task:pt_main_thread state:D stack:0     pid:4711  ppid:4700   flags:0x00000002
[  871.104] Call Trace:
[  871.105]  <TASK>
[  871.106]  __schedule+0x2cb/0x760
[  871.107]  rwsem_down_write_slowpath+0x33d/0x720
[  871.108]  os_acquire_rwlock_write+0x3a/0x50 [nvidia]
[  871.109]  _nv042330rm+0x10/0x40 [nvidia]
[  871.110]  </TASK>
"""
_MUTEX = "[  871.2] INFO: task kworker/u64:2:812 is blocked on a mutex likely owned by task python:4711.\n"

BLOCK = BlockReader(
    name="kernel_hung_task",
    literals=("blocked for more than", "blocked in I/O wait", "is blocked on a"),
    begins=begins,
    continues=continues,
    read=read,
    emits=("host.hung_task",),
    samples=(
        Sample(_NFS, (("host.hung_task", {"process": "python", "pid": 2218407, "seconds": 120, "waits_for": "nfs"}),)),
        Sample(_GPU, (("host.hung_task", {"process": "pt_main_thread", "seconds": 241, "waits_for": "gpu"}),)),
        Sample(_MUTEX, (("host.hung_task", {"process": "kworker/u64:2", "pid": 812, "waits_for": "lock"}),)),
        Sample(
            "[ 12.1] INFO: task dd:77 blocked in I/O wait for more than 122 seconds.\n",
            (("host.hung_task", {"seconds": 122, "waits_for": "disk"}),),
        ),
        Sample("trainer: the data task was blocked for more than 3 steps\n"),
    ),
)
