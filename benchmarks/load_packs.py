"""How long it takes to load knowledge.

``python benchmarks/load_packs.py [FILES]`` measures the built-in pack and a made-up one of FILES rule files (default
250, about 600 kB), each in a fresh process state: best and median of ten loads, with and without examples.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from engine.rules.loading import load
from engine.rules.pack import load_packs
from knowledge import BUILTIN

SMALL = Path(__file__).resolve().parents[1] / "tests" / "rules" / "pack"


def made_up(folder: Path, files: int) -> Path:
    """A pack of leaves and evidence files, each a copy of one of the small pack under another id."""
    leaf = (SMALL / "tree" / "host" / "oom-kill.yaml").read_text(encoding="utf-8")
    rules = (SMALL / "evidence" / "host" / "oom-kill.yaml").read_text(encoding="utf-8")
    vocabulary = (SMALL / "vocabulary" / "all.yaml").read_text(encoding="utf-8")
    (folder / "pack.yaml").write_text('schema: 1\nname: made-up\nversion: "1"\n', encoding="utf-8")
    (folder / "vocabulary.yaml").write_text(vocabulary, encoding="utf-8")
    for number in range(files // 2):
        cause = f"host.cause-{number}"
        (folder / f"{number}-leaf.yaml").write_text(leaf.replace("host.oom-kill", cause), encoding="utf-8")
        text = rules.replace("cause: host.oom-kill", f"cause: {cause}")
        (folder / f"{number}-evidence.yaml").write_text(text, encoding="utf-8")
    return folder


def measure(name: str, work: Callable[[], object]) -> None:
    """Print best and median of ten runs in milliseconds."""
    times = []
    for _ in range(10):
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) * 1000)
    sys.stdout.write(f"{name:<44} best {min(times):7.1f} ms   median {statistics.median(times):7.1f} ms\n")


def main() -> None:
    """Measure both packs."""
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 250
    with tempfile.TemporaryDirectory() as folder:
        pack = made_up(Path(folder), files)
        for name, root in (("built-in", BUILTIN), ("made-up", pack)):
            paths = list(root.rglob("*.yaml"))
            size = sum(path.stat().st_size for path in paths) // 1000
            sys.stdout.write(f"{name}: {len(paths)} files, {size} kB\n")
            measure("  load_packs", lambda root=root: load_packs(builtin=root))  # type: ignore[misc]
            measure("  with examples, as lint", lambda root=root: load([root], examples=True))  # type: ignore[misc]


if __name__ == "__main__":
    main()
