"""Launch scripts and command lines, and the time-outs that scripts or configurations set.

``torchrun``, ``torch.distributed.run|launch``, ``deepspeed``, ``accelerate launch``; values with shell variables are
left out.

Environment settings of the communication library are read in the comm branch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.facts.model import Observation, Scalar, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict

_LAUNCHER = re.compile(
    r"\b(?:torchrun|torch\.distributed\.(?:run|launch)|deepspeed|accelerate launch|mpirun|srun|horovodrun)\b"
)
_LAUNCHERS = ("torchrun", "torch.distributed.", "deepspeed", "accelerate launch", "mpirun", "srun", "horovodrun")
_OPTION = re.compile(r"--(?P<key>[a-z][\w-]*)(?:[= ]\s*|\s+\\?\s*)(?P<value>[\"']?[^\s\"'\\-][^\s\"'\\]*)")
_SHARED = {
    **{name: name for name in ("nnodes", "rdzv_id", "rdzv_backend", "rdzv_endpoint", "master_addr", "master_port")},
    "max_restarts": "max_restarts",
    "num_nodes": "nnodes",
    "num_machines": "nnodes",
    "hostfile": "hostfile",
    "main_process_ip": "master_addr",
    "main_process_port": "master_port",
}
_OWN = {"node_rank": "node_rank", "machine_rank": "node_rank", "nproc_per_node": "nproc_per_node"}
_NAMED = re.compile(
    r"\b(?:init|nccl|dist(?:ributed)?|process_group|pg|collective)_?timeout"
    r"(?:_s(?:ec(?:onds)?)?)?[\"']?[=: ]+(?P<n>\d+)\b"
)
_TIMEDELTA = r"\btimeout ?= ?(?:datetime\.)?timedelta\({} ?= ?(?P<n>\d+)"
_TIMEOUT = (
    (re.compile(r"\bddp_timeout[\"']?[=: ]+[\"']?(?P<n>\d+)"), 1, "process_group"),
    (re.compile(r"\bdistributed[-_]timeout[-_]minutes[\"']?[=: ]+(?P<n>\d+)"), 60, "process_group"),
    (re.compile(_TIMEDELTA.format("seconds")), 1, "process_group"),
    (re.compile(_TIMEDELTA.format("minutes")), 60, "process_group"),
    (re.compile(_TIMEDELTA.format("hours")), 3600, "process_group"),
    (re.compile(r"--rdzv[-_]conf[= ][\"']?\S*?(?:join_)?timeout=(?P<n>\d+)"), 1, "rendezvous"),
    (_NAMED, 1, "process_group"),
)
_STATED = re.compile(r"timeout[\w-]*[\"']?[=: ]+[\"']?\d|timedelta|--rdzv")
"""What a line with one of these holds at least."""

_LOOPBACK = re.compile(r"(?:localhost|127\.0\.0\.1|\[::1\]|::1)(?::\d+)?")
_LONGEST = 10_000_000


def sniff(head: Head) -> Verdict:
    """A script, or a file that holds a launcher's command."""
    if re.search(r"\.(?:sh|bash|sbatch|slurm|pbs|job)$", head.path) or head.text.startswith("#!"):
        return Verdict(0.6, "script")
    launches = any(word in head.text for word in _LAUNCHERS) and _LAUNCHER.search(head.text)
    if launches and re.search(r"--(?:nnodes|nproc|rdzv|master|num_|hostfile|node_rank|machine_rank)", head.text):
        return Verdict(0.6, "launcher command")
    lines = [line for line in head.lines if "timeout" in line and _STATED.search(line)]
    if any(pattern.search(line) for line in lines for pattern, _, _ in _TIMEOUT):
        return Verdict(0.5, "distributed time-out")
    return Verdict(0.0, "no launcher command")


def read(file: EvidenceFile, _context: Context) -> Iterator[Observation]:
    """``job.launch_config``, ``job.launch_identity`` and ``job.timeout_config``."""
    for number, text, shown in _commands(file):
        if text.lstrip().startswith("#") and not text.lstrip().startswith("#SBATCH"):
            continue
        source = Source(file.path, number, shown[:2000])
        yield from _timeouts(text, source)
        if _LAUNCHER.search(text) or "--rdzv" in text or "--nnodes" in text:
            yield from _options(text, source)


def _commands(file: EvidenceFile) -> Iterator[tuple[int, str, str]]:
    """Lines with their continuations behind a backslash joined: number of the first line, whole text, first line."""
    parts: list[str] = []
    first, shown = 0, ""
    for line in file.lines():
        if not parts:
            first, shown = line.number, line.text
        parts.append(line.text.rstrip().removesuffix("\\"))
        if not line.text.rstrip().endswith("\\"):
            yield first, " ".join(parts), shown
            parts = []
    if parts:
        yield first, " ".join(parts), shown


def _options(text: str, source: Source) -> Iterator[Observation]:
    shared: dict[str, str] = {}
    for match in _OPTION.finditer(text):
        key, value = match["key"].replace("-", "_"), match["value"].strip("\"'")
        if not value or "$" in value:
            continue
        if key in _SHARED:
            shared[_SHARED[key]] = value
            yield Observation("job.launch_config", source, {"key": _SHARED[key], "value": value})
        elif key in _OWN:
            yield Observation("job.launch_identity", source, {"key": _OWN[key], "value": value})
    address = shared.get("rdzv_endpoint") or shared.get("master_addr") or ""
    if _LOOPBACK.fullmatch(address) and shared.get("nnodes", "1").rpartition(":")[2] not in ("0", "1"):
        text_shown = f"{address} with {shared['nnodes']} nodes"
        fields: dict[str, Scalar] = {"problem": "loopback", "address": address, "text": text_shown}
        yield Observation("job.rendezvous_address", source, fields)


def _timeouts(text: str, source: Source) -> Iterator[Observation]:
    for pattern, unit, what in _TIMEOUT:
        for match in pattern.finditer(text):
            seconds = int(match["n"]) * unit
            if 0 < seconds < _LONGEST:
                fields: dict[str, Scalar] = {"seconds": seconds, "what": what}
                yield Observation("job.timeout_config", source, fields)


ADAPTER = Adapter(
    name="launch_script",
    branch="job",
    emits=("job.launch_config", "job.launch_identity", "job.timeout_config", "job.rendezvous_address"),
    coverage=None,
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            "#!/bin/bash\nexport NCCL_DEBUG=INFO\ntorchrun \\\n  --nproc_per_node=gpu \\\n  --nnodes=2 \\\n  "
            "--node_rank=1 \\\n"
            "  --rdzv_id=123 \\\n  --rdzv-endpoint=10.1.2.3:1234 \\\n  --rdzv_backend $BACKEND \\\n  train.py "
            "--ddp_timeout 3600\n",
            (
                ("job.launch_config", {"key": "nnodes", "value": "2"}),
                ("job.launch_config", {"key": "rdzv_endpoint", "value": "10.1.2.3:1234"}),
                ("job.launch_config", {"key": "rdzv_id", "value": "123"}),
                ("job.launch_identity", {"key": "node_rank", "value": "1"}),
                ("job.timeout_config", {"seconds": 3600, "what": "process_group"}),
            ),
            path="job/launch.sh",
        ),
        Sample(
            "dist.init_process_group('nccl', timeout=timedelta(minutes=2))\n",
            (("job.timeout_config", {"seconds": 120, "what": "process_group"}),),
            path="src/train.py",
        ),
        Sample(
            "torchrun --nnodes=4 --rdzv_endpoint=localhost:29500 --nproc_per_node=8 train.py\n",
            (("job.rendezvous_address", {"problem": "loopback", "address": "localhost:29500"}),),
            path="job/run.sh",
        ),
        Sample("#!/bin/bash\n# torchrun --nnodes=4 old.py\necho timeout 30\n", path="job/clean.sh"),
    ),
)
