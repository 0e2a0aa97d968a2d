"""What inference returns, and the errors it raises."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from engine.facts.model import Scalar

Backend = Literal["durable", "reference", "both"]


@dataclass(frozen=True, slots=True)
class Firing:
    """One way in which a rule holds.

    ``bindings`` has one (alias, fact id) pair for each alias that a rule's texts can name: the plain conditions in
    their order, a counted one with the earliest of its facts. ``others`` are the further facts of counted conditions
    and the facts that satisfied ``any``, ``coverage`` the facts that show what an absence rests on.
    """

    rule_id: str
    bindings: tuple[tuple[str, str], ...]
    others: tuple[tuple[str, str], ...] = ()
    coverage: tuple[str, ...] = ()

    def facts(self, alias: str) -> tuple[str, ...]:
        """Ids of all facts that the alias stands for, the earliest first."""
        return tuple(fact for name, fact in (*self.bindings, *self.others) if name == alias)


@dataclass(frozen=True, slots=True)
class Derived:
    """A fact that a rule derived. ``id`` spells out its content, ``sources`` are the facts it follows from.

    Where several firings derive the same fact, this is the one that derived it in the fewest steps, so following
    ``sources`` always ends in given facts.
    """

    id: str
    kind: str
    fields: Mapping[str, Scalar]
    rule_id: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Inference:
    """Everything that follows from the facts, in an order that depends on their content only.

    ``firings`` are ordered by rule id, then by the time of the bound facts; ``derived`` so that sources come first.
    ``backend`` is the one that was used, ``version`` its version, ``note`` what a reader has to know about either:
    why another backend stood in, which values could not be matched, which rule was stopped. Empty if nothing.
    """

    firings: tuple[Firing, ...]
    derived: tuple[Derived, ...]
    backend: Backend
    version: str
    note: str = ""


@dataclass(frozen=True, slots=True, order=True)
class Refusal:
    """Why a rule cannot be evaluated."""

    rule_id: str
    reason: str

    def __str__(self) -> str:
        return f"{self.rule_id}: {self.reason}"


class InvalidRules(ValueError):  # noqa: N818 - reads as what it is
    """Rules that have no meaning or cannot be encoded exactly; ``refusals`` says which and why."""

    def __init__(self, refusals: Iterable[Refusal]) -> None:
        self.refusals = tuple(sorted(set(refusals)))
        super().__init__("\n".join(map(str, self.refusals)))


class InvalidFacts(ValueError):  # noqa: N818
    """Facts that cannot be told apart or placed in order: an id used twice, a line number that is no line number."""


class BackendsDisagree(RuntimeError):  # noqa: N818
    """The two backends did not find the same; the message names the first rule and the firings in question."""
