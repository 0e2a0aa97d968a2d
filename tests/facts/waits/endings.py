"""The logs of a hanging job: where each ends, and who reports that it gave up waiting."""

from __future__ import annotations

from collections.abc import Collection
from random import Random

from engine.facts.model import SECOND, Observation, Reading
from tests.facts.building import micros, seen
from tests.facts.waits.job import SCHEDULED, STARTED
from tests.facts.waits.scenarios import Case

PER_HOST = 4
BEGAN = micros("2026-05-12T10:02:00")
HANG_S, TIMEOUT_S = 3_000, 600


def local_at(seconds: float) -> Reading:
    """A stamp without zone, so many seconds after the job began, of one second's width."""
    start = BEGAN + round(seconds * SECOND)
    return Reading(start, start + SECOND - 1)


def own_log(rank: int, last: float, undated: int = 0, **more: object) -> Observation:
    """What is covered by the log that the rank wrote: from the start of the job to its last stamp."""
    host = f"n{rank // PER_HOST:02d}"
    given: dict[str, object] = {"host": host, "lines": 90, "undated": undated, "after": local_at(rank % 3), **more}
    path = str(given.pop("path", f"train/{host}/rank_{rank:03d}.log"))
    return seen("coverage.source", path, 0, rank=rank, until=local_at(last), **{"class": "job_log"}, **given)


def gave_up(rank: int, at: float, **more: object) -> Observation:
    """A time-out in the rank's own log; the line names no group and no number, as older versions print it."""
    host = f"n{rank // PER_HOST:02d}"
    path = str(more.pop("path", f"train/{host}/rank_{rank:03d}.log"))
    given = {"host": host, "when": local_at(at), "op": "ALLREDUCE", "timeout_ms": TIMEOUT_S * 1000, **more}
    return seen("comm.collective_timeout", path, 88, rank=rank, **given)


def waits(case: Case, rank: int) -> bool:
    """Whether the rank lives and has something launched that is not finished."""
    return rank not in case.dead and any(state in (SCHEDULED, STARTED) for state in case.run.states[rank])


def logs_of(case: Case, random: Random, early: Collection[int] = (), torn: Collection[int] = ()) -> list[Observation]:
    """The logs of all ranks; hosts have clocks of their own.

    Logs on the hosts of ``early`` were collected before anybody gave up; those of ``torn`` lost their end, where lines
    without a stamp stand now.
    """
    found: list[Observation] = []
    skew = [random.uniform(-40, 40) for _ in range(case.run.topology.world // PER_HOST + 1)]
    collected = {rank // PER_HOST for rank in early}
    for rank in range(case.run.topology.world):
        clock = skew[rank // PER_HOST]
        last = clock + HANG_S - random.uniform(0, 30)
        reports = waits(case, rank) and rank // PER_HOST not in collected and rank not in torn
        if reports:
            last = clock + HANG_S + TIMEOUT_S + random.uniform(0, 3)
            found.append(gave_up(rank, last))
        found.append(own_log(rank, last, undated=7 if rank in torn else 0))
    return found
