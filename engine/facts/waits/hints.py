"""What other facts say of ranks: their hosts, stacks and last steps, who asked for dumps, and what speaks against one.

Nothing here makes a rank a suspect; it tells more of one, and separates a rank that is gone from a dump that was lost.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from engine.facts.log_ends import KIND as STOPPED_KIND
from engine.facts.model import Fact
from engine.facts.steps import STEP_KIND
from engine.facts.waits.model import Sign, Suspected

ENDED_KINDS = (
    "job.process_exit",
    "job.native_crash",
    "job.device_assert",
    "job.illegal_access",
    "job.gpu_out_of_memory",
    "host.oom_kill",
    "host.gpu_lost",
)
"""Kinds by which a rank's process ended, or could not go on, for a reason of its own."""

OF_ITSELF = (4, 7, 8, 9, 11)
"""Signals that are not those by which a job that hangs is ended (abort by the watchdog, termination by the agent)."""

SOFT: Mapping[str, Sign] = {"comm.rank_silent": "silent", STOPPED_KIND: "stopped"}
"""Kinds that speak against a rank only where it alone left nothing; the later one says more.

A log that ends before the others report may have been collected early: its silence counts for nothing by itself.
"""

WAITED_KIND = "comm.collective_timeout"
"""The kind by which a rank says that it waited, so that it is not gone."""

HARD: tuple[Sign, ...] = ("dead", "ended")
"""Signs that single out a rank among several of which nothing else is known."""

_CONDITIONS: Mapping[str, Sign] = {"dead": "dead", "unresponsive": "unresponsive"}


@dataclass(slots=True)
class Hints:
    """By rank: host, function at the top of its stack, sign against it, and its last step with that of the others."""

    hosts: dict[int, str] = field(default_factory=dict)
    stacks: dict[int, str] = field(default_factory=dict)
    signs: dict[int, Sign] = field(default_factory=dict)
    steps: dict[int, tuple[int, int]] = field(default_factory=dict)
    asked_first: tuple[int, ...] = ()
    waited: frozenset[int] = frozenset()
    """Ranks that report that they waited."""

    def told(self, suspect: Suspected) -> Suspected:
        """The suspect with its stack and steps."""
        step, others = self.steps.get(suspect.rank, (None, None))
        return replace(suspect, stands=self.stacks.get(suspect.rank, ""), step=step, others_step=others)


def hints_of(facts: Iterable[Fact], conditions: Mapping[int, str]) -> Hints:
    """Read the facts of the incident; ``conditions`` are what libraries say of ranks that gave no state."""
    own = [fact for fact in facts if fact.scope == "incident"]
    waited = frozenset(rank for fact in own if fact.kind == WAITED_KIND for rank in fact.ranks)
    asked = tuple(sorted(_asked_first(own)))
    return Hints(_hosts(own), _stacks(own), _signs(own, conditions), _steps(own), asked, waited)


def _hosts(facts: Iterable[Fact]) -> dict[int, str]:
    """Rank to host where all facts agree."""
    hosts: dict[int, set[str]] = {}
    for fact in facts:
        for rank in fact.ranks if fact.host else ():
            hosts.setdefault(rank, set()).add(str(fact.host))
    return {rank: min(names) for rank, names in hosts.items() if len(names) == 1}


def _asked_first(facts: Iterable[Fact]) -> set[int]:
    """Ranks whose watchdog asked for the dumps, as they or others say."""
    asked: set[int] = set()
    for fact in facts:
        if fact.kind == "comm.dump_signal":
            origin = fact.fields.get("origin_rank")
            if isinstance(origin, int):
                asked.add(origin)
            elif fact.fields.get("origin") == "local":
                asked.update(fact.ranks)
    return asked


def _stacks(facts: Iterable[Fact]) -> dict[int, str]:
    stacks: dict[int, str] = {}
    for fact in facts:
        if fact.kind == "job.python_stack" and fact.fields.get("function"):
            for rank in fact.ranks:
                stacks.setdefault(rank, str(fact.fields["function"]))
    return stacks


def _signs(facts: Sequence[Fact], conditions: Mapping[int, str]) -> dict[int, Sign]:
    """What speaks against single ranks; an end that other ranks share came with the end of the job."""
    found: dict[int, Sign] = {}
    for kind, sign in SOFT.items():
        told = [fact for fact in facts if fact.kind == kind and fact.fields.get("goes_on") is not False]
        found.update({rank: sign for fact in told for rank in fact.ranks})
    found.update({rank: _CONDITIONS[told] for rank, told in conditions.items() if told in _CONDITIONS})
    ends: dict[tuple[str, object], set[int]] = defaultdict(set)
    for fact in facts:
        signal = fact.fields.get("signal")
        if fact.kind in ENDED_KINDS and (signal in OF_ITSELF or (signal is None and fact.kind != ENDED_KINDS[0])):
            ends[fact.kind, signal].update(fact.ranks)
    found.update({rank: "ended" for ranks in ends.values() if len(ranks) == 1 for rank in ranks})
    return found


def _steps(facts: Iterable[Fact]) -> dict[int, tuple[int, int]]:
    """The rank whose last step line is behind those of all others, where one is."""
    last = {fact.rank: step for fact in facts if fact.kind == STEP_KIND and (step := _step(fact)) is not None}
    ordered = sorted((step, rank) for rank, step in last.items() if rank is not None)
    if len(ordered) < 2 or ordered[0][0] == ordered[1][0]:
        return {}
    return {ordered[0][1]: (ordered[0][0], ordered[1][0])}


def _step(fact: Fact) -> int | None:
    step = fact.fields.get("step")
    return step if isinstance(step, int) and not isinstance(step, bool) else None
