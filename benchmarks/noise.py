"""Wrap the logs of labelled bundles in ordinary start-up and teardown noise, to see what a diagnosis loses by it.

    python -m benchmarks.noise SOURCE TARGET

Every job log gets the settings lines, harmless warnings, agent clean-up and launcher summary that surround a real
failure; kernel logs get kernel chatter. Labels keep pointing at the same text: their line numbers are moved.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

JOB_LOG = re.compile(r"\.(log|out|err)$")
KERNEL_LOG = re.compile(r"(dmesg|kernel|messages|syslog|journal)", re.IGNORECASE)
FIRST_FAULT = re.compile(r"(first_fault:\s*\{path:\s*(?P<path>[^,}]+),\s*line:\s*)(?P<line>\d+)")

BEFORE = """\
W0101 00:00:00.101000 4101 torch/distributed/run.py:793] 
W0101 00:00:00.101000 4101 torch/distributed/run.py:793] *****************************************
W0101 00:00:00.101000 4101 torch/distributed/run.py:793] Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your system being overloaded, please further tune the variable for optimal performance in your application as needed. 
W0101 00:00:00.101000 4101 torch/distributed/run.py:793] *****************************************
[W socket.cpp:697] [c10d] The client socket cannot be initialized to connect to [localhost]:29500 (errno: 97 - Address family not supported by protocol).
/opt/conda/lib/python3.11/site-packages/torch/cuda/__init__.py:61: FutureWarning: The pynvml package is deprecated. Please install nvidia-ml-py instead.
worker:4242:4242 [0] NCCL INFO Bootstrap : Using eth0:10.1.2.3<0>
worker:4242:4242 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.
worker:4242:4242 [0] NCCL INFO cudaDriverVersion 12040
worker:4242:4300 [0] NCCL INFO NCCL_DEBUG set by environment to INFO
worker:4242:4300 [0] NCCL INFO NCCL_IB_TIMEOUT set by environment to 22.
worker:4242:4300 [0] NCCL INFO NCCL_IB_RETRY_CNT set by environment to 7.
worker:4242:4300 [0] NCCL INFO NCCL_ASYNC_ERROR_HANDLING is deprecated
huggingface/tokenizers: The current process just got forked, after parallelism has already been used. Disabling parallelism to avoid deadlocks...
WARNING: The requested image's platform does not match; continuing
INFO: connection to telemetry endpoint timed out after 5 s, telemetry disabled
"""

AFTER = """\
worker:4242:4311 [0] NCCL INFO [Service thread] Connection closed by localRank 0
worker:4242:4300 [0] NCCL INFO comm 0x5500aa rank 0 nranks 8 cudaDev 0 busId 1b000 - Abort COMPLETE
WARNING:torch.distributed.elastic.multiprocessing.api:Sending process 4243 closing signal SIGTERM
WARNING:torch.distributed.elastic.multiprocessing.api:Sending process 4244 closing signal SIGTERM
WARNING:torch.distributed.elastic.multiprocessing.api:Sending process 4245 closing signal SIGTERM
[rank1]:[W ProcessGroupNCCL.cpp:1496] Warning: WARNING: destroy_process_group() was not called before program exit, which can leak resources. For more info, please see https://pytorch.org/docs/stable/distributed.html#shutdown (function operator())
/opt/conda/lib/python3.11/multiprocessing/resource_tracker.py:254: UserWarning: resource_tracker: There appear to be 12 leaked semaphore objects to clean up at shutdown
srun: Job step aborted: Waiting up to 32 seconds for job step to finish.
"""

KERNEL = """\
docker0: port 2(vethbdee56b) entered forwarding state
perf: interrupt took too long (4061 > 4020), lowering kernel.perf_event_max_sample_rate to 39750
IPv6: ADDRCONF(NETDEV_CHANGE): veth703a4ca: link becomes ready
"""


def wrap(source: Path, target: Path) -> int:
    """Copy all bundles from ``source`` to ``target``; the number of wrapped files."""
    shutil.copytree(source, target, dirs_exist_ok=True)
    wrapped = 0
    for manifest in sorted(target.rglob("incident.yaml")):
        moved: dict[str, int] = {}
        for path in sorted(item for item in manifest.parent.rglob("*") if item.is_file() and item != manifest):
            before = _wrap_file(path)
            if before:
                moved[path.relative_to(manifest.parent).as_posix()] = before
        wrapped += len(moved)
        text = manifest.read_text(encoding="utf-8")
        manifest.chmod(0o644)
        manifest.write_text(FIRST_FAULT.sub(lambda match, moved=moved: _moved(match, moved), text), encoding="utf-8")
    return wrapped


def _moved(match: re.Match[str], moved: dict[str, int]) -> str:
    return f"{match[1]}{int(match['line']) + moved.get(match['path'].strip(), 0)}"


def _wrap_file(path: Path) -> int:
    """Wrap one file where it is a log; how many lines stand before its text now."""
    kernel = KERNEL_LOG.search(path.name)
    if not kernel and not JOB_LOG.search(path.name):
        return 0
    before, after = (KERNEL, KERNEL) if kernel else (BEFORE, AFTER)
    text = path.read_bytes()
    if text and not text.endswith(b"\n"):
        text += b"\n"
    path.chmod(0o644)
    path.write_bytes(before.encode() + text + after.encode())
    return before.count("\n")


def main(arguments: list[str]) -> int:
    """``SOURCE TARGET``."""
    if len(arguments) != 2:
        sys.stderr.write((__doc__ or "") + "\n")
        return 2
    sys.stdout.write(f"{wrap(Path(arguments[0]), Path(arguments[1]))} files wrapped\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
