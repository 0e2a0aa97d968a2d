"""Many incidents, each on its own: one result as each finishes, and a broken one stops nobody."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TypeVar

Result = TypeVar("Result")
AHEAD = 4
"""Incidents handed out per process before the first of them is done."""


def run_batch(
    incidents: Sequence[Path],
    work: Callable[[Path], Result],
    failed: Callable[[Path, str], Result],
    processes: int,
) -> Iterator[Result]:
    """Yield ``work(incident)`` for every incident as each finishes; ``failed(incident, why)`` where it did not.

    ``work`` must be importable by name in a fresh process. With one process the order is that of ``incidents``. A
    process that dies (a crash in native code, a kill for memory) costs only the incident that it was working on: those
    that were in flight are tried once more, each in a process of its own.
    """
    if processes <= 1:
        yield from (_guarded(work, failed, incident) for incident in incidents)
        return
    waiting = list(incidents)
    while waiting:
        in_flight: dict[Future[Result], Path] = {}
        lost: list[Path] = []
        with _pool(processes) as pool:
            while (waiting or in_flight) and not lost:
                while waiting and len(in_flight) < processes * AHEAD:
                    incident = waiting.pop(0)
                    in_flight[pool.submit(work, incident)] = incident
                done, _ = wait(in_flight, return_when=FIRST_COMPLETED)
                for future in done:
                    incident = in_flight.pop(future)
                    try:
                        yield future.result()
                    except BrokenProcessPool:
                        lost.append(incident)
                    except Exception as error:
                        yield failed(incident, f"{type(error).__name__}: {error}")
            lost.extend(in_flight.values())
        for incident in lost:
            yield _alone(work, failed, incident)


def _guarded(work: Callable[[Path], Result], failed: Callable[[Path, str], Result], incident: Path) -> Result:
    try:
        return work(incident)
    except Exception as error:
        return failed(incident, f"{type(error).__name__}: {error}")


def _alone(work: Callable[[Path], Result], failed: Callable[[Path, str], Result], incident: Path) -> Result:
    with _pool(1) as pool:
        try:
            return pool.submit(work, incident).result()
        except BrokenProcessPool:
            return failed(incident, "the process that read this incident died")
        except Exception as error:
            return failed(incident, f"{type(error).__name__}: {error}")


def _pool(processes: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn"))
