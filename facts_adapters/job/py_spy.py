"""Stacks by ``py-spy dump`` (text, also with ``--native`` or ``--locals``, and ``--json``; py-spy 0.3 and 0.4)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from engine.facts.model import Observation, Source
from facts_adapters.adapter import Adapter, Context, EvidenceFile, Head, Sample, Verdict
from facts_adapters.job._stacks import StackFrame, Thread, is_main, observe

_PROCESS = re.compile(r"^Process (?P<pid>\d+): ")
_THREAD = re.compile(
    r"^Thread (?:0x)?(?P<id>[0-9A-Fa-f]+)(?: \((?P<state>[\w+ ]+)\))?(?::\s*\"?(?P<name>[^\"]*)\"?)?\s*$"
)
_FRAME = re.compile(r"^\s{2,}(?P<function>\S.*?) \((?P<file>[^()]*?)(?::(?P<line>\d+))?\)\s*$")


def sniff(head: Head) -> Verdict:
    """A thread line followed by a frame, or JSON with threads and frames."""
    text = head.text.lstrip()
    if text[:1] == "[" and '"frames"' in text and '"owns_gil"' in text:
        return Verdict(0.95, "py-spy dump --json")
    lines = head.lines
    for index, line in enumerate(lines[:-1]):
        if _THREAD.match(line) and _FRAME.match(lines[index + 1]):
            return Verdict(0.95, "py-spy dump")
    return Verdict(0.0, "no thread with frames")


def read(file: EvidenceFile, context: Context) -> Iterator[Observation]:
    """One ``job.python_stack`` for each thread that tells something."""
    threads = _text(file)
    first = next(iter(file.lines()), None)
    if first and first.text.lstrip()[:1] == "[":
        threads = _json(file, context)
    for thread in threads:
        found = observe(thread)
        if found:
            yield found


def _text(file: EvidenceFile) -> Iterator[Thread]:
    pid: int | None = None
    head: re.Match[str] | None = None
    source = Source(file.path, 1)
    frames: list[StackFrame] = []
    for line in file.lines():
        process, thread, frame = _PROCESS.match(line.text), _THREAD.match(line.text), _FRAME.match(line.text)
        if process or thread:
            if head:
                yield _thread(head, frames, source, pid)
            head, frames = thread, []
            source = Source(file.path, line.number, line.text)
            pid = int(process["pid"]) if process else pid
        elif head and frame:
            frames.append(StackFrame(frame["function"], frame["file"], int(frame["line"] or 0), line.number))
    if head:
        yield _thread(head, frames, source, pid)


def _thread(head: re.Match[str], frames: list[StackFrame], source: Source, pid: int | None) -> Thread:
    name = (head["name"] or "").strip()
    main = is_main(name) or (not name and pid is not None and head["id"] == str(pid))
    return Thread(name or head["id"], tuple(frames), source, pid, (head["state"] or "").startswith("active"), main)


def _json(file: EvidenceFile, context: Context) -> Iterator[Thread]:
    with file.open() as stream:
        raw = stream.read(64 << 20)
    try:
        content = json.loads(raw)
    except ValueError:
        context.warn(file.path, 1, "no valid JSON of py-spy")
        return
    for record in content if isinstance(content, list) else ():
        parts = record.get("threads", [record]) if isinstance(record, dict) else ()
        for thread in parts if isinstance(parts, list) else ():
            if isinstance(thread, dict):
                yield _json_thread(file, thread)


def _json_thread(file: EvidenceFile, thread: dict[str, Any]) -> Thread:
    name = str(thread.get("thread_name") or thread.get("name") or "")
    frames = tuple(
        StackFrame(
            str(frame.get("name")),
            str(frame.get("short_filename") or frame.get("filename")),
            frame["line"] if isinstance(frame.get("line"), int) else 0,
        )
        for frame in (thread["frames"] if isinstance(thread.get("frames"), list) else ())
        if isinstance(frame, dict)
    )
    pid = thread.get("pid")
    known = pid if isinstance(pid, int) else None
    return Thread(
        name, frames, Source(file.path, 1, f'thread "{name}"'), known, bool(thread.get("active")), is_main(name)
    )


ADAPTER = Adapter(
    name="py_spy",
    branch="job",
    emits=("job.python_stack",),
    coverage=None,
    sniff=sniff,
    read=read,
    samples=(
        Sample(
            "Process 418276: python -u main.py\nPython v3.12.8 (/opt/conda/bin/python)\n\n"
            'Thread 418276 (idle): "MainThread"\n'
            "    all_reduce (torch/distributed/distributed_c10d.py:2806)\n"
            "    wrapper (torch/distributed/c10d_logger.py:81)\n"
            "    train_step (main.py:255)\n"
            'Thread 418490 (idle): "Thread-1 (_pin_memory_loop)"\n'
            "    select (selectors.py:415)\n    get (multiprocessing/queues.py:113)\n"
            "    do_one_step (torch/utils/data/_utils/pin_memory.py:31)\n",
            (("job.python_stack", {"where": "collective", "thread": "MainThread", "pid": 418276, "rank": 13}),),
            path="pyspy/rank13.txt",
        ),
        Sample(
            'Thread 0x7FA6E7C01740 (idle): "MainThread"\n    wait (threading.py:302)\n    get (queue.py:170)\n'
            "    __next__ (fairseq/data/iterators.py:648)\n    train (fairseq_cli/train.py:274)\n",
            (("job.python_stack", {"where": "data_input", "function": "__next__ (fairseq/data/iterators.py:648)"}),),
        ),
        Sample(
            'Thread 812 (active): "MainThread"\n    write (torch/serialization.py:812)\n    _save '
            "(torch/serialization.py:900)\n"
            "    save_checkpoint (train/io.py:88)\n    main (train/main.py:12)\n",
            (("job.python_stack", {"where": "checkpoint"}),),
        ),
        Sample(
            '[{"pid": 812, "thread_id": 1, "thread_name": "MainThread", "active": true, "owns_gil": true, "frames": '
            '[{"name": "open", "filename": "/usr/lib/python3.12/pathlib.py", "short_filename": "pathlib.py", '
            '"line": 9}]}]\n',
            (("job.python_stack", {"where": "file_io", "pid": 812}),),
            path="stacks/dump.json",
        ),
        Sample(
            'Thread 77 (idle): "MainThread"\n    acquire (logging/__init__.py:917)\n'
            "    handle (logging/__init__.py:966)\n    report (app/meters.py:31)\n",
            (("job.python_stack", {"where": "lock", "function": "acquire (logging/__init__.py:917)"}),),
        ),
        Sample(
            'Thread 4004 (active): "MainThread"\n    item (torch/_tensor.py:41)\n    clip_grads (app/optim.py:311)\n',
            (("job.python_stack", {"where": "device_wait"}),),
        ),
        Sample(
            'Thread 4004 (active): "MainThread"\n    synchronize (torch/cuda/streams.py:95)\n'
            "    all_reduce (torch/distributed/distributed_c10d.py:2501)\n    step (app/optim.py:311)\n",
            (("job.python_stack", {"where": "collective"}),),
        ),
        Sample(
            'Thread 78 (idle): "MainThread"\n    acquire_slot (app/pool.py:4)\n'
            "    __next__ (torch/utils/data/dataloader.py:701)\n",
            (("job.python_stack", {"where": "data_input"}),),
        ),
        Sample("Thread pool size: 8\n    workers (8)\n"),
    ),
)
