"""How fast texts become facts, beside ripgrep and wc in the same run, and in how much memory.

    python -m benchmarks.reading [FOLDER] [mixed] [libraries] [job] [line] [--small]

Everything is made below FOLDER (a temporary folder) and removed; ``--small`` makes a tenth of it. All parts need about
14 GB of disk. ``rg`` is Debian's ripgrep, ``google-re2`` (from PyPI) is measured where it is installed.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import make_job, mixed_logs
from facts_adapters.bundle import BundleWarning
from facts_adapters.reader import builtin_reader, read_bundle
from facts_adapters.text.matchers import Hyperscan, Plain, hyperscan_version

MEGA = 1_000_000


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> None:
    """Run the parts that are named, or all."""
    parts: dict[str, Callable[[Path, int], None]] = {
        "mixed": mixed, "libraries": libraries, "job": job, "line": line,
    }  # fmt: skip
    named = [a for a in arguments if a in parts] or list(parts)
    folders = [a for a in arguments if a not in parts and not a.startswith("--")]
    share = 10 if "--small" in arguments else 1
    root = Path(tempfile.mkdtemp(prefix="firstfault-reading-", dir=folders[0] if folders else None))
    say(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}, hyperscan {hyperscan_version() or 'not installed'}")
    try:
        for name in named:
            part = root / name
            part.mkdir()
            parts[name](part, share)
            shutil.rmtree(part)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def mixed(root: Path, share: int) -> None:
    """One core, one uncompressed file: facts, ``rg -c -f`` with the same literals, ``wc -l``."""
    path = root / "bundle" / "train.log"
    path.parent.mkdir()
    lines = mixed_logs.write(path, 1000 * MEGA // share)
    size = path.stat().st_size
    literals = root / "literals"
    texts = builtin_reader().literals.texts
    literals.write_bytes(b"\n".join(texts) + b"\n")
    one = {min(os.sched_getaffinity(0))}
    say(f"\nmixed logs: one file of {size / MEGA:.0f} MB, {lines:,} lines, one core, {len(texts)} literals")
    path.read_bytes()[-1:]  # all of it is in the page cache now
    ours = min(_alone(path.parent, one)[0] for _ in range(3))
    _, peak, facts, _ = _alone(path.parent, one)
    others = {
        "rg -c -F -f": ["rg", "-c", "-j1", "--no-mmap", "-F", "-f", str(literals), str(path)],
        "wc -l": ["wc", "-l", str(path)],
    }
    say(f"  firstfault    {size / MEGA / ours:7.0f} MB/s  {ours:6.2f} s  {peak:5.0f} MB  {facts} facts")
    for name, command in others.items():
        if shutil.which(command[0]) is None:
            say(f"  {name:13} not installed")
            continue
        took = min(_timed(command, one) for _ in range(3))
        say(f"  {name:13} {size / MEGA / took:7.0f} MB/s  {took:6.2f} s  ratio firstfault/{name}: {took / ours:.2f}")


def _timed(command: list[str], cores: set[int]) -> float:
    started = time.perf_counter()
    limited = ["taskset", "-c", ",".join(map(str, cores)), *command]
    subprocess.run(limited, check=False, stdout=subprocess.DEVNULL)  # noqa: S603 - our own commands
    return time.perf_counter() - started


def _alone(bundle: Path, cores: set[int] | None = None) -> tuple[float, float, int, list[BundleWarning]]:
    """Seconds, peak MB of all processes together, facts and warnings of reading a bundle in a process of its own."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)

    def work() -> None:
        if cores:
            os.sched_setaffinity(0, cores)
        builtin_reader()
        started = time.perf_counter()
        found = read_bundle(bundle)
        theirs.send((time.perf_counter() - started, len(found.observations), found.warnings))

    process = context.Process(target=work)
    process.start()
    theirs.close()
    peak = 0.0
    while not ours.poll(0.05):
        peak = max(peak, _memory(process.pid or 0))
    seconds, facts, warnings = ours.recv()
    process.join()
    return seconds, peak, facts, warnings


def _memory(parent: int) -> float:
    """MB that a process and its children hold, what they share counted once (PSS)."""
    total = 0
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            status = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(entry.name) != parent and int(status[1]) != parent:
                continue
            rollup = (entry / "smaps_rollup").read_text()
        except OSError:
            continue
        total += int(rollup.partition("\nPss:")[2].split()[0])
    return total * 1024 / MEGA


def libraries(root: Path, share: int) -> None:
    """The matchers alone on the literals of all signatures: which of them stand in each chunk."""
    path = root / "sample.log"
    mixed_logs.write(path, 64 * MEGA // share)
    data = path.read_bytes()
    texts = builtin_reader().literals.texts
    chunks = [data[i : i + (1 << 18)] for i in range(0, len(data), 1 << 18)]
    say(f"\nmatchers: {len(texts)} literals, {len(data) / MEGA:.0f} MB of mixed logs, one core")
    if hyperscan_version():
        fast = Hyperscan(texts)
        _rate("hyperscan", len(data), lambda: [fast.present(chunk) for chunk in chunks])
    try:
        import re2
    except ImportError:
        say("  google-re2 is not installed")
    else:
        options = re2.Options()
        options.literal = True
        options.max_mem = 1 << 28
        known = re2.Set.SearchSet(options)
        for text in texts:
            known.Add(text)
        known.Compile()
        few = chunks[: max(len(chunks) // 8, 1)]
        _rate("google-re2", sum(map(len, few)), lambda: [known.Match(chunk) for chunk in few])
    plain = Plain(texts)
    few = chunks[: max(len(chunks) // 8, 1)]
    _rate("plain Python", sum(map(len, few)), lambda: [plain.present(chunk) for chunk in few])


def _rate(name: str, size: int, work: Callable[[], object]) -> None:
    started = time.perf_counter()
    work()
    say(f"  {name:13} {size / MEGA / (time.perf_counter() - started):7.0f} MB/s")


def job(root: Path, share: int) -> None:
    """A job of 256 and one of 1,024 ranks, 8 MB each: wall time and memory of all processes."""
    say("\njob: one log of 8 MB a rank")
    took: dict[int, float] = {}
    for hosts in (32, 128):
        bundle = root / f"job{hosts}"
        make_job.make(bundle, hosts, 8 * MEGA // share)
        size = sum(path.stat().st_size for path in bundle.rglob("*") if path.is_file())
        seconds, peak, facts, warnings = _alone(bundle)
        took[hosts] = seconds
        say(
            f"  {8 * hosts:5} ranks {size / MEGA:7.0f} MB  {seconds:7.2f} s  {size / MEGA / seconds:5.0f} MB/s"
            f"  peak {peak:5.0f} MB  {facts} facts, {len(warnings)} warnings"
        )
        shutil.rmtree(bundle)
    say(f"  four times the ranks took {took[128] / took[32]:.2f} times as long")


def line(root: Path, share: int) -> None:
    """One file of 2 GB in which one line has 200 MB."""
    path = root / "bundle" / "train.log"
    path.parent.mkdir()
    half = 900 * MEGA // share
    mixed_logs.write(path, half)
    with path.open("ab") as target:
        for _ in range(200 // share):
            target.write(b"x" * MEGA)
        target.write(b"\n")
    with path.open("ab", 1 << 20) as target:
        written = 0
        for block in mixed_logs.blocks():
            target.write(block)
            written += len(block)
            if written >= half:
                break
    size = path.stat().st_size
    seconds, peak, facts, warnings = _alone(path.parent)
    say(f"\none file of {size / MEGA:.0f} MB with a line of {200 // share} MB")
    say(f"  {seconds:.2f} s, {size / MEGA / seconds:.0f} MB/s, peak {peak:.0f} MB, {facts} facts")
    for warning in warnings:
        say(f"  warning: {warning}")


if __name__ == "__main__":
    main(sys.argv[1:])
