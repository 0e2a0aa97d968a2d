"""Ordinary training output of many kinds, as much of it as wanted, with one failure at its end."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

START = datetime(2026, 5, 12, 6, 0, 0, tzinfo=timezone.utc)
_LINES_A_SECOND = 400


def _block(number: int, moment: datetime) -> str:
    """Some forty lines that a second of a job brings: frameworks, libraries, collectors, bars."""
    t = f"{moment:%Y-%m-%d %H:%M:%S}"
    short = f"{moment:%m/%d %H:%M:%S}"
    n, r = number, number % 8
    loss = 9.0 / (1 + n % 97)
    return (
        f"{t},{n % 1000:03d} INFO trainer: step {n:8d} | loss {loss:.6f} | grad norm 0.8{n % 10} | mem 61.{n % 10} GiB\n"
        f" [{t}.{n % 1000000:06d}] iteration {n:8d}/ 500000 | consumed samples: {n * 1024:12d} | elapsed time per iteration"
        f" (ms): {5000 + n % 991}.4 | learning rate: 1.5E-04 | global batch size: 1024 | lm loss: {loss:.6E} | loss scale: 1.0\n"
        f"[rank{r}]: {t},{n % 997:03d} - INFO - [dataset.py:{n % 300}] shard {n % 4096} opened in 0.0{n % 9} s\n"
        f"{{'loss': {loss:.4f}, 'grad_norm': 1.{n % 89}, 'learning_rate': 2e-05, 'epoch': {n % 7}.{n % 100:02d}}}\n"
        f"[{t},{n % 991:03d}] [INFO] [logging.py:96:log_dist] [Rank 0] step={n}, skipped=0, lr=[0.00015], mom=[(0.9, 0.95)]\n"
        f"[{t},{n % 983:03d}] [INFO] [timer.py:260:stop] epoch=0/micro_step={n}/global_step={n}, RunningAvgSamplesPerSec="
        f"{100 + n % 50}.{n % 97}, CurrSamplesPerSec={100 + n % 51}.{n % 89}, MemAllocated=61.{n % 10}GB, MaxMemAllocated=70.1GB\n"
        f"[wandb] {t} step {n}: system/gpu.{r}.powerWatts {400 + n % 90}, system/gpu.{r}.temp {60 + n % 9}, train/loss {loss:.4f}\n"
        f"[rank{r}]:W{short.replace('/', '')}.{n % 10**9:09d} {40000 + r} torch/_dynamo/convert_frame.py:844] [{r}/{n % 9}]"
        f" function: 'forward' (model.py:{n % 400})\n"
        f"{t} | INFO     | data.loader:next_batch:{n % 200} - batch {n} from worker {n % 16}, queue depth {n % 31}\n"
        f"/opt/conda/lib/python3.11/site-packages/torch/utils/checkpoint.py:{n % 90}: UserWarning: requires_grad is not set\n"
        "  warnings.warn(\n"
        f"Training:  {n % 100}%|####      | {n}/500000 [{n // 3600 % 24}:{n // 60 % 60:02d}:{n % 60:02d}<30:12:44,  5.1{n % 10}s/it]\n"
        f"{t}Z node{r:03d} kubelet[{2000 + r}]: I0512 {moment:%H:%M:%S}.{n % 10**6:06d} {2000 + r} prober.go:107] probe ok\n"
        f'{{"log":"{t} step {n} tokens/s {180000 + n % 991}\\n","stream":"stdout","time":"{moment:%Y-%m-%dT%H:%M:%S}.{n % 10**9:09d}Z"}}\n'
    )


def blocks() -> Iterator[bytes]:
    """Blocks of lines with rising times, without an end."""
    for number in itertools.count():
        yield _block(number, START + timedelta(seconds=number // (_LINES_A_SECOND // 14))).encode()


_END = (
    "[rank3]: Traceback (most recent call last):\n"
    '[rank3]:   File "/opt/train.py", line 88, in main\n'
    "[rank3]:     loss.backward()\n"
    "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.15"
    " GiB of which 1.06 GiB is free.\n"
)


def write(path: Path, size: int) -> int:
    """Write about ``size`` bytes; returns the number of lines."""
    written = lines = 0
    with path.open("wb", 1 << 20) as target:
        for block in blocks():
            target.write(block)
            written += len(block)
            lines += block.count(b"\n")
            if written >= size:
                break
        target.write(_END.encode())
    return lines + _END.count("\n")
