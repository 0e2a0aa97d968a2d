"""Who waits for whom: how right on planted culprits, how fast on many dumps, beside the analyzer that ships in torch.

    python -m benchmarks.waits accuracy [--most RANKS]         precision and recall of the suspects, by scenario, size
    python -m benchmarks.waits speed [--ranks N --entries N]   reading and comparing that many dumps, --workers N, and
                                                               the whole program on them; --json writes dumps as JSON
    python -m benchmarks.waits torch [--python PYTHON]         the same small jobs given to torch's own analyzer

The last needs an interpreter with torch; without one it says so.
"""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random

from engine.facts.collectives import GroupState
from engine.facts.manifest import Manifest
from engine.facts.model import Fact, Observation, Source
from engine.facts.timeline import build_timeline
from engine.facts.vocabulary import load_vocabulary
from engine.facts.waits import Waits, analyse, observations_of
from facts_adapters.comm.flight_recorder import states_of
from tests.facts.building import timeline
from tests.facts.waits.dumps import Recorder, dump_of
from tests.facts.waits.endings import logs_of
from tests.facts.waits.job import Topology
from tests.facts.waits.reading import Quiet
from tests.facts.waits.scenarios import DAMAGES, RECORDERS, SCENARIOS, Case, run_of, take_dumps, topologies

SIZES = (16, 64, 256, 1024, 4096)
SEEDS = {16: 20, 64: 8, 256: 3, 1024: 1, 4096: 1}
NO_START = "starts not told"
EXITS = "exits told"
"""Beside whole dumps it is known how each process ended: a killed one by SIGKILL, the others by the watchdog."""

LOGS = (
    "logs told",
    *(f"{logs} and {count} missing" for logs in ("logs", "early logs", "torn logs") for count in (1, 2)),
)
"""Beside dumps, of which healthy ranks' are missing, there are the logs of all ranks. Early: those on the hosts of the
ranks without dump were collected before anybody gave up; torn: their own have lost their end."""


def say(text: str = "", flush: bool = False) -> None:
    """A line of the result."""
    sys.stdout.write(f"{text}\n")
    if flush:
        sys.stdout.flush()


def read_all(dumps: Iterable[tuple[int, bytes]]) -> Iterator[GroupState]:
    """The states in dumps, without keeping a dump."""
    for rank, data in dumps:
        for state in states_of(data, Source(f"nccl_trace_rank_{rank}", 1), Quiet()):
            state.rank = rank
            yield state


class Score:
    """Named, guilty and both, over many cases; ``determined`` cases are those whose dumps tell who it was."""

    def __init__(self) -> None:
        self.named = self.hits = self.guilty = self.told = self.cases = 0

    def add(self, named: set[int], case: Case, told: bool) -> None:
        """Count one case; ``told`` where its dumps determine who it was."""
        self.cases += 1
        self.named += len(named)
        self.hits += len(named & case.guilty)
        if told:
            self.told += len(named & case.guilty)
            self.guilty += len(case.guilty)

    def __str__(self) -> str:
        precision = f"{self.hits / self.named:.2f}" if self.named else "-"
        recall = f"{self.told / self.guilty:.2f}" if self.guilty else "-"
        return f"{precision}/{recall}"


def accuracy(least: int, most: int, only: str, seeds: int | None = None) -> None:
    """Precision/recall of the suspects; recall over the cases whose dumps determine who it was."""
    every = [*RECORDERS, EXITS, *(f"2 {damage}" for damage in DAMAGES), "1 missing", *LOGS]
    conditions = [name for name in every if any(part in name for part in only.split(","))]
    for size in (size for size in SIZES if least <= size <= most):
        started = time.perf_counter()
        scores: dict[tuple[str, str], Score] = defaultdict(Score)
        for name in SCENARIOS:
            for condition in conditions:
                for seed in range(seeds or SEEDS[size]):
                    _judge(name, condition, seed, size, scores[name, condition])
        took = time.perf_counter() - started
        say(f"\n{size} ranks, {seeds or SEEDS[size]} seeds each (precision/recall), {took:.0f} s")
        say(f"{'':<28}" + "".join(f"{condition:>26}" for condition in conditions))
        for name in SCENARIOS:
            say(f"{name:<28}" + "".join(f"{scores[name, condition]!s:>26}" for condition in conditions), flush=True)


def _judge(name: str, condition: str, seed: int, size: int, score: Score) -> None:
    random = Random(f"{name} {condition} {seed} {size}")  # noqa: S311
    shapes = list(topologies(size))
    case = run_of(name, shapes[seed % len(shapes)], random)
    take_dumps(case, RECORDERS.get(condition, Recorder()), random)
    told = case.determined and (name, condition) != ("device never begins", NO_START)
    hints: list[Fact] = []
    if condition in LOGS:
        told = told or bool(case.dead and "early" not in condition and "torn" not in condition)
        case, waits = _with_logs(case, condition, random)
        score.add({item.rank for item in waits.suspects}, case, told)
        return
    if condition == EXITS:
        hints = _exits(case)
        told = told or bool(case.dead)
    elif condition not in RECORDERS:
        count, damage = condition.split(" ", 1)
        case = DAMAGES[damage](case, int(count), random)
    waits = analyse(read_all(case.dumps.items()), hints=hints)
    score.add({item.rank for item in waits.suspects}, case, told)


def _with_logs(case: Case, condition: str, random: Random) -> tuple[Case, Waits]:
    """The analysis with the logs of all ranks."""
    before = set(case.dumps)
    for count in (1, 2):
        if f"{count} missing" in condition:
            case = DAMAGES["missing"](case, count, random)
    lost = before - set(case.dumps)
    logs = logs_of(case, random, lost if "early" in condition else (), lost if "torn" in condition else ())
    made = timeline(*read_all(case.dumps.items()), *logs)
    return case, made.waits or analyse(())


def _exits(case: Case) -> list[Fact]:
    """How the process of each rank ended."""
    world = case.run.topology.world
    ends = [(rank, 9 if rank in case.dead else 6) for rank in range(world)]
    seen = [
        Observation("job.process_exit", Source("job.log", 1 + rank), {"signal": signal}, rank=rank)
        for rank, signal in ends
    ]
    timeline = build_timeline(seen, load_vocabulary(), Manifest(id="benchmark"), {})
    return list(timeline.facts)


def speed(ranks: int, entries: int, folder: Path | None, workers: int, as_json: bool) -> None:
    """Wall time of reading and comparing, and the peak of memory; dumps are written before, one after the other."""
    with tempfile.TemporaryDirectory() as temporary:
        place = folder or Path(temporary)
        guilty = (
            _write(place, ranks, entries, as_json)
            if not (place / "guilty").exists()
            else (place / "guilty").read_text()
        )
        files = sorted(place.glob("nccl_trace_rank_*"))
        size = sum(path.stat().st_size for path in files)
        code = (
            "import sys; from pathlib import Path; from benchmarks.waits import timed; "
            "timed(Path(sys.argv[1]), int(sys.argv[2]))"
        )
        say(f"{len(files)} dumps, {size >> 20} MB, culprit {guilty}", flush=True)
        subprocess.run([sys.executable, "-c", code, str(place), str(workers)], check=True)  # noqa: S603 - our own code
        _program(place)


def _program(folder: Path) -> None:
    """``firstfault diagnose`` on the dumps, start and report included; the peak is that of its largest process."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "firstfault", "diagnose", "--format", "text", str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - our own program
    took = time.perf_counter() - started
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    suspects = [line.strip() for line in done.stdout.splitlines() if "Suspects" in line]
    say(f"{'program':<8} {took:7.2f} s wall, peak {usage.ru_maxrss >> 10} MB; {suspects}")


def read_files(files: list[Path]) -> list[GroupState]:
    """The states in the dumps of some files."""
    return list(read_all((int(path.name.rsplit("_", 1)[1]), path.read_bytes()) for path in files))


def timed(folder: Path, workers: int) -> None:
    """Read and compare the dumps of a folder, and say how long each took."""
    files = sorted(folder.glob("nccl_trace_rank_*"))
    moments, cpu = [time.perf_counter()], [time.process_time()]
    if workers > 1:
        parts = [files[at : at + 32] for at in range(0, len(files), 32)]
        with ProcessPoolExecutor(workers) as pool:
            states = [state for part in pool.map(read_files, parts) for state in part]
    else:
        states = read_files(files)
    moments.append(time.perf_counter())
    cpu.append(time.process_time())
    waits = analyse(states)
    facts = observations_of(waits, states)
    moments.append(time.perf_counter())
    cpu.append(time.process_time())
    operations = sum(len(state.seqs) for state in states)
    peak = int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) >> 10  # type: ignore[index]
    for name, at in (("read", 0), ("compare", 1)):
        say(f"{name:<8} {moments[at + 1] - moments[at]:7.2f} s wall {cpu[at + 1] - cpu[at]:7.2f} s CPU")
    say(f"{len(states)} states, {operations} collectives kept, {len(facts)} facts, peak {peak} MB")
    say(f"suspects {[(item.rank, item.how, item.waiting) for item in waits.suspects]}")


def _write(folder: Path, ranks: int, entries: int, as_json: bool) -> str:
    tensor = 8 if ranks % 64 == 0 else 4
    topology = (
        Topology(tensor, ranks // tensor // 4, 4) if ranks % (4 * tensor) == 0 else Topology(tensor, ranks // tensor, 1)
    )
    random = Random(7)  # noqa: S311
    case = run_of("rank blocked in user code", topology, random, long=max(entries // 11 - 2, 0))
    recorder = Recorder(length=entries, frames=True, as_json=as_json)
    for rank in range(topology.world):
        (folder / f"nccl_trace_rank_{rank}").write_bytes(dump_of(case.run, rank, recorder, random))
    (folder / "guilty").write_text(str(sorted(case.guilty)))
    return str(sorted(case.guilty))


# --- the analyzer of torch ---

_CULPRIT = re.compile(r"Culprit rank (\d+)")
_MISSING = re.compile(r"missing ranks: \{([\d, ]+)\}")


def by_torch(python: str, case: Case) -> set[int] | None:
    """Ranks that the analyzer calls culprits or missing; ``None`` where it fails."""
    with tempfile.TemporaryDirectory() as folder:
        for rank, data in case.dumps.items():
            (Path(folder) / f"nccl_trace_rank_{rank}").write_bytes(data)
        command = [python, "-m", "torch.distributed.flight_recorder.fr_trace", folder, "-p", "nccl_trace_rank_"]
        command.append("--allow-incomplete-ranks")
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)  # noqa: S603
    text = done.stdout + done.stderr
    named = {int(rank) for rank in _CULPRIT.findall(text)}
    named |= {int(rank) for ranks in _MISSING.findall(text) for rank in ranks.split(",")}
    return named if done.returncode == 0 else None


def beside_torch(python: str, size: int, seeds: int) -> None:
    """Both analyzers on the same dumps."""
    if subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode:  # noqa: S603
        say(f"{python} has no torch: not compared (pip install torch==2.13.0, then --python)")
        return
    conditions: dict[str, Callable[[Case, Random], Case]] = {
        "plain": lambda case, _: case,
        "2 missing": lambda case, random: DAMAGES["missing"](case, 2, random),
        "2 cut": lambda case, random: DAMAGES["cut"](case, 2, random),
    }
    say(f"{size} ranks, {seeds} seeds each: precision/recall; torch: ranks named a case, cases that failed")
    say(f"{'':<28}" + "".join(f"{f'{c}, {who}':>34}" for c in conditions for who in ("this", "torch")))
    for name in SCENARIOS:
        cells = []
        for condition, damage in conditions.items():
            own, other, failed = Score(), Score(), 0
            for seed in range(seeds):
                random = Random(f"{name} {condition} {seed}")  # noqa: S311
                shapes = list(topologies(size))
                case = damage(take_dumps(run_of(name, shapes[seed % len(shapes)], random), Recorder(), random), random)
                own.add({item.rank for item in analyse(read_all(case.dumps.items())).suspects}, case, True)
                named = by_torch(python, case)
                failed += named is None
                other.add(named or set(), case, True)
            cells += [str(own), f"{other}, {other.named / seeds:.0f} named, {failed} failed"]
        say(f"{name:<28}" + "".join(f"{cell:>34}" for cell in cells), flush=True)


def main() -> None:
    """Options of the three measurements."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.waits")
    parser.add_argument("what", choices=["accuracy", "speed", "torch"])
    parser.add_argument(
        "--only", default="", help="conditions of the accuracy table that contain one of these, by commas"
    )
    parser.add_argument("--least", type=int, default=16, help="smallest job of the accuracy table")
    parser.add_argument("--most", type=int, default=1024, help="largest job of the accuracy table")
    parser.add_argument("--ranks", type=int, default=1024)
    parser.add_argument("--entries", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=1, help="processes that read")
    parser.add_argument("--json", action="store_true", help="dumps as JSON")
    parser.add_argument("--folder", type=Path, help="keep the dumps here and use them again")
    parser.add_argument("--python", default=sys.executable, help="interpreter that has torch")
    parser.add_argument("--seeds", type=int, help="jobs of each kind")
    options = parser.parse_args()
    if options.what == "accuracy":
        accuracy(options.least, options.most, options.only, options.seeds)
    elif options.what == "speed":
        if options.folder:
            options.folder.mkdir(parents=True, exist_ok=True)
        speed(options.ranks, options.entries, options.folder, options.workers, options.json)
    else:
        beside_torch(options.python, 16, options.seeds or 3)


if __name__ == "__main__":
    main()
