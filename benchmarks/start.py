"""How long a start takes: wall and CPU time and peak memory of whole processes, and where imports spend theirs.

    python -m benchmarks.start [RUNS] [BUNDLE]

Each program runs RUNS times (default 5), in turns, so that what else the machine does hits all alike; the medians are
printed. Byte code is compiled beforehand into a folder of its own, as an installation has it, whatever
``PYTHONDONTWRITEBYTECODE`` says; ``first start`` is the run that compiles it.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "oom-kill-behind-timeouts"
FIRSTFAULT = (sys.executable, "-m", "firstfault")
TARGETS = {"--help": (150, None), "diagnose": (800, 150)}
"""Wall milliseconds and peak MB that a quiet machine should stay below."""

SHARES = 14
"""Groups of modules that are listed."""


@dataclass(frozen=True)
class Cost:
    """What one process took: wall and CPU milliseconds, peak resident MB."""

    wall: float
    cpu: float
    peak: float


def run(command: Sequence[str], environment: Mapping[str, str]) -> Cost:
    """Run a program to its end and measure it; raises ``SystemExit`` where it fails."""
    started = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)  # noqa: S603
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024
    return Cost(wall * 1000, (used.ru_utime + used.ru_stime) * 1000, used.ru_maxrss * unit / 2**20)


def median(costs: Sequence[Cost]) -> Cost:
    """The median of each figure."""
    middle = statistics.median
    return Cost(middle(c.wall for c in costs), middle(c.cpu for c in costs), middle(c.peak for c in costs))


def imports(command: Sequence[str], environment: Mapping[str, str]) -> Counter[str]:
    """Microseconds that a program spends in the modules of each group, their own imports not counted."""
    timed = (command[0], "-X", "importtime", *command[1:])
    done = subprocess.run(timed, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)  # noqa: S603
    found: Counter[str] = Counter()
    for line in done.stderr.splitlines():
        own, _, name = line.removeprefix("import time:").partition("|")
        if line.startswith("import time:") and own.strip().isdigit():
            module = name.rpartition("|")[2].strip().split(".")
            inside = module[0] in ("engine", "facts_adapters") and len(module) > 1
            found[".".join(module[:2]) if inside else module[0]] += int(own)
    return found


def main() -> None:
    """Measure and print."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    bundle = str(Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else EXAMPLE)
    programs: dict[str, tuple[str, ...]] = {
        "python -c pass": (sys.executable, "-c", "pass"),
        "--help": (*FIRSTFAULT, "--help"),
        "diagnose": (*FIRSTFAULT, "diagnose", bundle),
    }
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        first = run(programs["diagnose"], environment)
        run(programs["--help"], environment)
        costs: dict[str, list[Cost]] = {name: [] for name in programs}
        for _ in range(runs):
            for name, command in programs.items():
                costs[name].append(run(command, environment))
        shares = [imports(programs["diagnose"], environment) for _ in range(runs)]
    out = sys.stdout
    out.write(f"{'median of ' + str(runs):<20}{'wall ms':>9}{'CPU ms':>9}{'peak MB':>9}   wanted\n")
    for name, found in costs.items():
        cost, (wall, peak) = median(found), TARGETS.get(name, (None, None))
        wanted = ", ".join([f"{wall} ms"] * (wall is not None) + [f"{peak} MB"] * (peak is not None))
        out.write(f"{name:<20}{cost.wall:9.0f}{cost.cpu:9.0f}{cost.peak:9.0f}   {wanted}\n")
    out.write(f"{'first start':<20}{first.wall:9.0f}{first.cpu:9.0f}{first.peak:9.0f}\n")
    total = statistics.median(share.total() for share in shares)
    out.write(f"\nimports of diagnose {total / 1000:17.0f} ms\n")
    groups = {group: statistics.median(share[group] for share in shares) for group in set().union(*shares)}
    for group, spent in sorted(groups.items(), key=lambda item: (-item[1], item[0]))[:SHARES]:
        out.write(f"  {group:<30}{spent / 1000:6.1f} {100 * spent / total:5.0f} %\n")


if __name__ == "__main__":
    main()
