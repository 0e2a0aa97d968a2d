"""What the comparison of ranks says: the fronts of the groups, who waits for whom, and whom that points to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.facts.model import Source

Where = tuple[str, int]
"""An operation: the key of its group and its sequence number; a transfer is ``(">from>to>group", -1)``."""

ALL_MUST_COME = "rendezvous"
"""Name of the group of those who join a job: nobody can be there alone by mistake, however many are missing."""

Standing = Literal["late", "unknown", "mismatch", "cycle", "stalled", "open", "waits_elsewhere", "idle"]
"""What holds an operation: ranks that are not in it, ranks of which nothing is known, unequal calls, a circle of
waiting, nothing that shows (all are in), nothing that shows where the members are not known, ranks that wait
elsewhere; or nobody waits in the group."""

How = Literal["never_entered", "not_started", "stuck_inside", "fewer_operations", "no_report", "mismatch", "order"]
"""Why a rank is a suspect: it never launched what others wait in, its device never began it, it alone does not finish
what others have finished, the library counts fewer of its operations, nothing is known of it, it issued another call
than the others, or the same calls in another order."""


Sign = Literal["dead", "unresponsive", "ended", "stopped", "silent"]
"""What speaks against a rank of which no state is known: the library calls it dead or gets no answer from it, its
process ended for a reason of its own, its log stops well before the others report, or does not report what they do."""


Doubt = Literal["recorder", "moment"]
"""Why a rank that seems late may not be: its recorder does not hold all that it may wait in, or nothing but the dumps
says that the job stands still, so that they may be of different moments of one that runs."""


@dataclass(frozen=True, slots=True)
class Front:
    """The earliest unfinished operation of a group, and how far its members came.

    ``launched``, ``started`` and ``finished`` count members; ``started`` is ``None`` where nothing tells. ``late`` are
    members that others wait for, ``unknown`` those of which nothing is known.
    """

    group: str
    name: str
    description: str
    size: int
    known: int
    seq: int
    call: str
    launched: int
    started: int | None
    finished: int
    late: tuple[int, ...]
    unknown: tuple[int, ...]
    standing: Standing
    closed: bool = True
    """Whether the members are known; else ``size`` counts those that launched anything."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Ranks that wait in one operation, and the ranks that they wait for."""

    waiting: tuple[int, ...]
    awaited: tuple[int, ...]
    unknown: tuple[int, ...]
    group: str
    name: str
    description: str
    seq: int
    call: str
    standing: Standing


@dataclass(frozen=True, slots=True)
class Suspected:
    """A rank that held the others up, and why.

    ``waiting`` is how many ranks wait for it, directly or along the chain.
    """

    rank: int
    host: str | None
    how: How
    source: Source
    group: str = ""
    name: str = ""
    description: str = ""
    seq: int = -1
    call: str = ""
    found: str = ""
    aspect: str = ""
    waiting: int = 0
    stands: str = ""
    """Where its stack stood, if one was taken."""
    sign: Sign | None = None
    """What else speaks against it, where no state of it is known."""
    step: int | None = None
    """Its last step where it is behind those of all other ranks, else ``None``."""
    others_step: int | None = None
    """The last step of the rank that is next behind."""
    doubt: Doubt | None = None


@dataclass(frozen=True, slots=True)
class Circle:
    """Ranks that wait for each other in a circle, and the operations in which they do."""

    ranks: tuple[int, ...]
    operations: tuple[str, ...]
    source: Source


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Unequal calls under one sequence number; ``odd`` are the ranks against the majority, empty without one."""

    group: str
    name: str
    description: str
    seq: int
    expected: str
    odd: tuple[int, ...]
    found: tuple[str, ...]
    aspect: str
    calls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LostHost:
    """A host from which nothing came, and its ranks."""

    host: str
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Waits:
    """Everything about one incident. Ranks ascend everywhere; suspects come by how many ranks wait for them."""

    ranks: int
    """Ranks whose state is known."""
    dumps: int = 0
    """Ranks that left a dump, whatever is in it."""
    missing: tuple[int, ...] = ()
    """Ranks of a group that left no dump although others have one."""
    broken: tuple[tuple[int, str], ...] = ()
    """Ranks whose dump is empty, cut short or unreadable, and which of these."""
    stale: tuple[int, ...] = ()
    """Ranks whose only dump is of minutes before or after those of most ranks; it counts as none."""
    coarse: bool = False
    """Whether a recorder tells neither transfers nor whether an operation that ended had failed (gloo's)."""
    fronts: tuple[Front, ...] = ()
    waits: tuple[Wait, ...] = ()
    suspects: tuple[Suspected, ...] = ()
    mismatches: tuple[Mismatch, ...] = ()
    circles: tuple[Circle, ...] = ()
    stalled: tuple[Front, ...] = ()
    """Operations that all members are in and none finishes, where nothing else holds the job."""
    undecided: tuple[int, ...] = ()
    """Ranks of which nothing is known and in which the chains end. One of them may be gone, or wait like the others in
    an operation that does not end; no rank is singled out."""
    lost_hosts: tuple[LostHost, ...] = ()
    """Hosts whose ranks all left no dump and no line, where others have a dump."""
    overrun: bool = False
    """Whether a recorder had dropped its oldest entries."""
    asked_first: tuple[int, ...] = ()
    """Ranks whose watchdog asked for the dumps; they waited, so that this blames nobody."""

    @property
    def at_rest(self) -> bool:
        """Whether every rank left a whole dump and none waits: what was launched is finished."""
        whole = self.dumps > 0 and not self.missing and not self.broken and not self.coarse
        return whole and self.idle

    @property
    def idle(self) -> bool:
        """Whether no operation is open, as far as the states tell."""
        return bool(self.fronts) and all(front.standing == "idle" for front in self.fronts)
