"""How what holds for a rule is put together from the parts that :mod:`engine.inference.compile` split it into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.inference.items import Item
from engine.inference.matches import NOTHING, Witness, enough
from engine.rules.model import Count

Frame = tuple[Item, ...]
"""The facts of the slots."""

Records = Mapping[int, set[Frame]]
"""By leaf, the frames found so far."""

Solutions = dict[Frame, Witness]
"""By the facts of the plain conditions, what else they rest on."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """Frames come straight from conjunctions; what lies behind the first ``width`` slots is coverage."""

    index: int
    width: int

    def solve(self, records: Records) -> Solutions:
        """One solution for each choice of the first ``width`` facts."""
        frames = records.get(self.index, set())
        if all(len(frame) == self.width for frame in frames):
            return dict.fromkeys(frames, NOTHING)
        found: Solutions = {}
        for frame in frames:
            found.setdefault(frame[: self.width], Witness()).coverage.update(frame[self.width :])
        return found


@dataclass(frozen=True, slots=True)
class Group:
    """All parts have to hold for the same facts of the plain conditions ``aliases``."""

    aliases: tuple[str, ...]
    parts: tuple[Leaf | Counted | Either, ...]

    def solve(self, records: Records) -> Solutions:
        """The solutions that all parts share."""
        first, *rest = (part.solve(records) for part in self.parts)
        if not rest:
            return first
        found: Solutions = {}
        for frame, witness in first.items():
            if all(frame in other for other in rest):
                found[frame] = Witness()
                for one in (witness, *(other[frame] for other in rest)):
                    found[frame].add(one)
        return found


@dataclass(frozen=True, slots=True)
class Counted:
    """Enough facts in the last place of ``group``."""

    group: Group
    count: Count

    def solve(self, records: Records) -> Solutions:
        """One solution for each choice of the other facts for which enough facts count."""
        found: Solutions = {}
        facts: dict[Frame, list[Item]] = {}
        for frame, witness in self.group.solve(records).items():
            outer, item = frame[:-1], frame[-1]
            facts.setdefault(outer, []).append(item)
            into = found.setdefault(outer, Witness())
            into.add(witness)
            into.counted.add((self.group.aliases[-1], item))
        return {outer: witness for outer, witness in found.items() if enough(facts[outer], self.count)}


@dataclass(frozen=True, slots=True)
class Either:
    """At least one of the groups, each with ``width`` places from outside."""

    groups: tuple[Group, ...]
    width: int

    def solve(self, records: Records) -> Solutions:
        """One solution for each choice of the outer facts with which a branch holds."""
        found: Solutions = {}
        for group in self.groups:
            for frame, witness in group.solve(records).items():
                into = found.setdefault(frame[: self.width], Witness())
                into.inside |= {*zip(group.aliases[self.width :], frame[self.width :], strict=True)}
                into.inside |= witness.counted
                into.coverage |= witness.coverage
        return found
