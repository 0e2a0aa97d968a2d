"""What the program knows about an incident: observations as read, facts as placed in time.

Adapters yield :class:`Observation`; the timeline turns them into :class:`Fact`. Every time is an integer count of
microseconds since the Unix epoch (UTC unless a name says otherwise); ``None`` at an end of a span means unbounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

Scalar = str | int | float | bool

SECOND = 1_000_000
"""Microseconds in a second."""

Basis = Literal["utc", "local", "boot"]
"""What a clock reading counts: UTC, the writer's wall clock without a zone, or seconds since boot."""

SUBJECT_FIELDS = ("job", "host", "rank", "device", "port", "peer")
"""Whom a fact is about; every fact kind has these fields, each optional."""


@dataclass(frozen=True, slots=True)
class Span:
    """A time known to lie in [earliest, latest], both inclusive, in microseconds; ``None`` is unbounded."""

    earliest: int | None = None
    latest: int | None = None

    @property
    def known(self) -> bool:
        """True where at least one end is bounded."""
        return self.earliest is not None or self.latest is not None


class Order(Enum):
    """The three answers to "did this happen before that?"."""

    YES = "yes"
    NO = "no"
    CANNOT_TELL = "cannot_tell"


@dataclass(frozen=True, slots=True)
class Reading:
    """A time as a line states it, before zone, year and clock offset are known.

    ``earliest``/``latest`` are microseconds since the epoch read as if the wall clock were UTC (``local``), true
    UTC (``utc``) or microseconds since boot (``boot``). A stamp without a year is given in 1970 and marked.
    """

    earliest: int
    latest: int
    basis: Basis = "local"
    year_known: bool = True
    zone: str | None = None
    """Zone name or offset that the text itself states, if any; the interval is then already UTC."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a statement stands: path relative to the bundle with ``/``, 1-based line, the line's text."""

    path: str
    line: int
    text: str = ""


@dataclass(slots=True)
class Observation:
    """One typed statement as an adapter read it.

    ``when`` is the line's own stamp; where it is ``None`` the timeline takes the stamps of the neighbouring lines
    (``after``/``until``) in the same file. ``lag`` is how long before the report the condition began, as
    (least, most) microseconds; where ``None`` the vocabulary's lag for the kind holds.
    """

    kind: str
    source: Source
    fields: dict[str, Scalar] = field(default_factory=dict)
    job: str | None = None
    host: str | None = None
    rank: int | None = None
    device: str | None = None
    port: str | None = None
    peer: str | None = None
    when: Reading | None = None
    after: Reading | None = None
    until: Reading | None = None
    lag: tuple[int, int] | None = None
    adapter: str = ""
    run: str | None = None
    """Marks evidence that says itself that it belongs to another run or attempt (a folder ``prev/``, a restart)."""
    as_read: dict[str, str] | None = None
    """Subject fields that were joined with another name, as the line spells them; empty where the line names none."""
    sparse: bool = False
    """Marks one of many lines that repeat, read without those in between: a gap to the next is no pause."""
    of_another: bool = False
    """Marks what its writer says of another process: the writer's host need not be the host of that."""
    writer: int | None = None
    """Rank of the process that wrote what is ``of_another``, where known."""
    called: int | None = None
    """What the writer calls itself where its line counts ranks: its number in the process group, or its rank."""


@dataclass(frozen=True, slots=True)
class Fact:
    """An observation, or an episode of equal ones, placed in time.

    ``reported`` and ``onset`` are UTC spans widened by what is unknown about the clock; ``local`` is the onset on
    the fact's own clock ``clock`` (comparable only with facts of the same clock, and then without that widening).
    ``sequence`` is the line where order inside the file is trusted for the onset, else ``None``. ``as_read`` holds the
    subject fields whose name was joined with another (:mod:`engine.facts.identity`), as the source spells them.
    A gap between facts that are ``sparse`` is no pause.

    Of ``coverage.source`` ``onset`` is what is certainly covered, narrowed by that doubt and not known where nothing
    is; ``reported`` is where it may lie.
    """

    id: str
    kind: str
    fields: Mapping[str, Scalar]
    source: Source
    job: str | None = None
    host: str | None = None
    rank: int | None = None
    device: str | None = None
    port: str | None = None
    peer: str | None = None
    ranks: tuple[int, ...] = ()
    count: int = 1
    last_source: Source | None = None
    reported: Span = Span()
    onset: Span = Span()
    local: Span = Span()
    clock: str = ""
    sequence: int | None = None
    scope: Literal["incident", "outside_window", "other_run", "other_boot"] = "incident"
    adapter: str = ""
    assumptions: tuple[str, ...] = ()
    as_read: Mapping[str, str] | None = None
    sparse: bool = False

    def get(self, name: str) -> Scalar | None:
        """The value of a subject field or of one of the kind's own fields, ``None`` where absent."""
        if name in SUBJECT_FIELDS:
            value: Scalar | None = getattr(self, name)
            return value
        return self.fields.get(name)


def before(first: Fact, second: Fact) -> Order:
    """Whether the onset of ``first`` lies before the onset of ``second``.

    On one clock the clock's own readings decide, across clocks the widened UTC spans; where these overlap, inside one
    file, the order of lines decides where ``second`` reports without lag. Where the lines of a file contradict a clock
    of their own, several processes wrote them and the clock is right; where they contradict two clocks, one of these is
    further off than stated or the file is no record of what came first, and the answer is ``CANNOT_TELL``. Seen from
    the other side the answer is the opposite one.
    """
    if _certainly_before(first, second):
        return Order.YES
    if _certainly_before(second, first):
        return Order.NO
    return Order.CANNOT_TELL


def _certainly_before(first: Fact, second: Fact) -> bool:
    if _by_clock(first, second):
        return first.clock == second.clock or not _by_line(second, first)
    return _by_line(first, second) and not _by_clock(second, first)


def _by_line(first: Fact, second: Fact) -> bool:
    one_file = first.source.path == second.source.path
    return one_file and second.sequence is not None and first.source.line < second.sequence


def _by_clock(first: Fact, second: Fact) -> bool:
    if first.clock == second.clock:
        ends, starts = first.local.latest, second.local.earliest
    else:
        ends, starts = first.onset.latest, second.onset.earliest
    return ends is not None and starts is not None and ends < starts


@dataclass(frozen=True, slots=True)
class CounterSample:
    """One reading of one counter. Samples of the same counter are paired into changes by :mod:`engine.facts.counters`.

    ``family`` names the naming scheme of the counter (``mlx5_hw``, ``ib_port``, ``ethtool_mlx5``, ``ip_link``,
    ``sonic_port``, ``sonic_pfc`` ...), ``group`` the snapshot it belongs to (a folder such as ``before``, ``t1`` or a
    stamp), ``when`` the time that the snapshot itself states.
    """

    source: Source
    family: str
    counter: str
    value: int
    host: str | None = None
    device: str | None = None
    port: str | None = None
    queue: int | None = None
    group: str = ""
    when: Reading | None = None
    adapter: str = ""
    as_read: str | None = None
    """The device as the source spells it, where it was joined with another name."""
