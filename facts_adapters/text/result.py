"""What reading one text gives."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from engine.facts.model import Observation, Reading
from facts_adapters.text.envelope import Envelope
from facts_adapters.text.identity import Identity


@dataclass(slots=True)
class TextResult:
    """What a text file gave.

    ``writers`` are the hosts that the prefixes of the observations' lines name, ``kinds`` counts envelope kinds of the
    sampled lines, ``hits`` the observations of each signature, ``folded`` the equal ones that were only counted,
    ``size`` the bytes read, ``undated`` the lines after the last stamp, ``None`` where no stamp is near the end,
    ``cut`` the number of a line that is longer than what is looked at (0 for none).
    """

    observations: list[Observation] = field(default_factory=list)
    writers: list[str | None] = field(default_factory=list)
    lines: int = 0
    size: int = 0
    cut: int = 0
    first: Reading | None = None
    last: Reading | None = None
    undated: int | None = None
    kinds: Counter[str] = field(default_factory=Counter)
    hits: Counter[str] = field(default_factory=Counter)
    folded: Counter[str] = field(default_factory=Counter)
    identity: Identity = field(default_factory=Identity)


@dataclass(slots=True)
class Pending:
    """An observation whose rank and host are completed when the whole text is known.

    ``place`` is where its line begins in the text.
    """

    observation: Observation
    envelope: Envelope
    pid: int | None
    place: int = 0

    @property
    def writer(self) -> tuple[object, ...]:
        """Whose line it is, as far as the line tells."""
        observation = self.observation
        return (*self.envelope.writer, observation.host, observation.rank)

    @property
    def time(self) -> int | None:
        """When the line was written, on the clock of the text."""
        return self.observation.when.earliest if self.observation.when is not None else None
