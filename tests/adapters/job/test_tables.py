"""The tables of exceptions, stack frames, progress labels, reasons and return codes say what they should."""

from __future__ import annotations

import pytest

from engine.facts.model import Source
from facts_adapters.job._exceptions import classify, fields_of, location
from facts_adapters.job._kubernetes import Happening, observe
from facts_adapters.job._outcome import outcome
from facts_adapters.job._stacks import StackFrame
from facts_adapters.job._stacks import classify as classify_stack
from facts_adapters.job.progress import purpose, seconds
from facts_adapters.text.blocks import Frame, PythonException

ECHOES = [
    ("torch.distributed.DistBackendError", "NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:219, x"),
    ("RuntimeError", "[../third_party/gloo/gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.0.0.2]:3"),
    ("RuntimeError", "NCCL communicator was aborted on rank 3. Original reason for failure was: x"),
    (
        "RuntimeError",
        "[3] is setting up NCCL communicator and retrieving ncclUniqueId via store->get('0') got error: x",
    ),
    ("RuntimeError", "Socket Timeout"),
    ("RuntimeError", "Connection reset by peer"),
    ("RuntimeError", "CUDA error: an illegal memory access was encountered"),
    ("torch.cuda.OutOfMemoryError", "CUDA out of memory. Tried to allocate 2.00 GiB."),
    ("RuntimeError", "DataLoader worker (pid(s) 11755) exited unexpectedly"),
    ("OSError", "[Errno 28] No space left on device"),
    ("OSError", "[Errno 98] Address already in use"),
    ("socket.gaierror", "[Errno -2] Name or service not known"),
    ("torch.distributed.elastic.multiprocessing.errors.ChildFailedError", ""),
    ("torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError", ""),
    ("ray.exceptions.RayActorError", "The actor died unexpectedly before finishing this task."),
    ("subprocess.CalledProcessError", "Command '['python']' returned non-zero exit status 1."),
    ("TimeoutError", "RPC call to sample_tokens timed out."),
    ("BrokenPipeError", "[Errno 32] Broken pipe"),
    ("torch.multiprocessing.spawn.ProcessRaisedException", ""),
    ("jaxlib.xla_extension.XlaRuntimeError", "DEADLINE_EXCEEDED: Barrier timed out. Id: step_1"),
    ("RuntimeError", "Detected mismatch between collectives on ranks. Rank 0 is running collective: x"),
    ("RuntimeError", "No CUDA GPUs are available"),
    ("RuntimeError", "The NVIDIA driver on your system is too old (found version 11040). Please"),
    ("ConnectionError", "Ray is trying to start at 10.1.0.4:6379, but is already running at 10.1.0.4:6379."),
    ("OSError", "[Errno 113] No route to host"),
    ("OSError", "[Errno 24] Too many open files"),
]

GENUINE = [
    ("KeyError", "4700", "application"),
    ("ValueError", "boom", "application"),
    ("AssertionError", "", "application"),
    ("RuntimeError", "mat1 and mat2 shapes cannot be multiplied (4x8 and 16x4)", "application"),
    ("ModuleNotFoundError", "No module named 'apex'", "import"),
    ("OSError", "libcudnn.so.9: cannot open shared object file: No such file or directory", "import"),
    ("FileNotFoundError", "[Errno 2] No such file or directory: '/data/x'", "filesystem"),
    ("OSError", "[Errno 116] Stale file handle", "filesystem"),
    ("MemoryError", "", "host_memory"),
    ("RuntimeError", "[enforce fail at alloc_cpu.cpp:114] DefaultCPUAllocator: can't allocate memory", "host_memory"),
    ("json.decoder.JSONDecodeError", "Expecting value: line 1 column 1 (char 0)", "data"),
    ("KeyError", "Caught KeyError in DataLoader worker process 0.", "data"),
    ("omegaconf.errors.ConfigAttributeError", "Key 'lr' is not in struct", "configuration"),
    ("RuntimeError", "AssertionError: Torch not compiled with CUDA enabled", "configuration"),
    ("RuntimeError", "Default process group has not been initialized, please call init_process_group", "distributed"),
    ("requests.exceptions.HTTPError", "404 Client Error", "data"),
]


@pytest.mark.parametrize(("name", "message"), ECHOES)
def test_echoes_are_no_first_fault(name: str, message: str) -> None:
    assert classify(name, message).kind is None


@pytest.mark.parametrize(("name", "message", "category"), GENUINE)
def test_genuine_failures_have_a_class(name: str, message: str, category: str) -> None:
    row = classify(name, message)
    assert (row.kind, row.category) == ("job.exception", category)


def test_frames_tell_data_input() -> None:
    frames = (Frame("/opt/lib/python3.11/site-packages/torch/utils/data/dataloader.py", 630, "__next__"),)
    assert classify("ValueError", "bad sample", frames).category == "data"


def test_an_exception_of_the_loader_is_told_as_such() -> None:
    loader = (Frame("/opt/lib/python3.11/site-packages/torch/utils/data/_utils/fetch.py", 52, "fetch"),)
    error = PythonException("OSError", "[Errno 108] x: '/data/a'", 9, 1, 9, loader)
    assert fields_of(error, classify(error.name, error.message, loader))["raised_in"] == "data_loader"
    worker = PythonException("KeyError", "Caught KeyError in DataLoader worker process 0.", 9, 1, 9)
    assert fields_of(worker, classify(worker.name, worker.message))["raised_in"] == "data_loader"
    own = PythonException("OSError", "[Errno 5] x", 9, 1, 9, (Frame("/app/data.py", 3, "read"),))
    assert "raised_in" not in fields_of(own, classify(own.name, own.message))


def test_location_is_outside_libraries() -> None:
    frames = (
        Frame("/app/train.py", 10, "main"),
        Frame("/opt/lib/python3.11/site-packages/torch/nn/modules/module.py", 1553, "_call_impl"),
    )
    assert location(frames) == "/app/train.py:10"
    assert location(()) == ""


@pytest.mark.parametrize(
    ("frames", "where"),
    [
        (["all_reduce torch/distributed/distributed_c10d.py", "train main.py"], "collective"),
        (["wait threading.py", "get queue.py", "__next__ torch/utils/data/dataloader.py"], "data_input"),
        (["write fsspec/spec.py", "save torch/serialization.py", "save_checkpoint app/io.py"], "checkpoint"),
        (["barrier torch/distributed/distributed_c10d.py", "save_checkpoint app/io.py"], "collective"),
        (["acquire threading.py", "log app/metrics.py"], "lock"),
        (["open pathlib.py", "prepare app/prep.py"], "file_io"),
        (["compute_bleu app/eval.py", "main app/train.py"], "user_code"),
        (["_find_and_load <frozen importlib._bootstrap>", "<module> app/train.py"], "import"),
        (["select selectors.py"], "idle"),
    ],
)
def test_stack(frames: list[str], where: str) -> None:
    parts = [frame.rpartition(" ") for frame in frames]
    found = classify_stack([StackFrame(function, file, 1) for function, _, file in parts])
    assert found is not None
    assert found[0] == where


def test_empty_stack_says_nothing() -> None:
    assert classify_stack([]) is None


@pytest.mark.parametrize(
    ("label", "unit", "expected"),
    [
        ("Running tokenizer on dataset", "examples", "preprocessing"),
        ("Preparing test set...", "it", "preprocessing"),
        ("Grouping texts in chunks of 2049", "examples", "preprocessing"),
        ("Map", "examples", "preprocessing"),
        ("Evaluating", "it", "evaluation"),
        ("Validation DataLoader 0", "it", "evaluation"),
        ("Running predictions on sample a", "it", "evaluation"),
        ("Downloading shards", "it", "download"),
        ("Loading checkpoint shards", "it", "checkpoint"),
        ("Epoch 3", "it", "training"),
        ("", "it", "training"),
        ("", "examples", "preprocessing"),
    ],
)
def test_purpose_of_bars(label: str, unit: str, expected: str) -> None:
    assert purpose(label, unit) == expected


def test_clock_of_bars() -> None:
    assert (seconds("02:32"), seconds("1:02:03")) == (152, 3723)


def test_return_codes() -> None:
    assert outcome(-9) == {"signal": 9}
    assert outcome(137) == {"signal": 9, "exit_code": 137}
    assert outcome(3) == {"signal": 0, "exit_code": 3}
    assert outcome(255) == {"signal": 0, "exit_code": 255}


@pytest.mark.parametrize(
    ("reason", "message", "kind"),
    [
        ("Evicted", "The node was low on resource: memory.", "host.pod_evicted"),
        ("OOMKilling", "Memory cgroup out of memory", "host.oom_event"),
        ("NodeNotReady", "Node gpu12 status is now: NodeNotReady", "host.node_lost"),
        ("Preempted", "Preempted by ml/urgent on node gpu12", "job.cancelled"),
        ("BackOff", "Back-off restarting failed container", "job.restart"),
        ("BackOff", 'Back-off pulling image "x"', "host.pod_event"),
        ("Killing", "Stopping container pytorch", "host.pod_event"),
    ],
)
def test_reasons_of_kubernetes(reason: str, message: str, kind: str) -> None:
    assert observe(Happening(reason, message, Source("events.txt", 1), "pod")).kind == kind
