"""Which rules can hold at all for an incident, and rules compiled for such selections only.

A rule needs a fact of each kind that its plain and counted conditions name. Of some thousand rules a hundred or two
have one; compiling the others would take longer than everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Generic, Protocol, TypeVar

from engine.inference.strata import Asked
from engine.rules.model import Rule

Layers = Sequence[Sequence[Rule]]

Selection = frozenset[tuple[int, int]]
"""Rules by their layer and their place in it."""

MOST_SELECTIONS = 4
"""Selections that are compiled for themselves; an engine that meets yet another one compiles all rules, once."""


class Closable(Protocol):
    """Something that holds resources."""

    def close(self) -> None:
        """Free them."""


Compiled = TypeVar("Compiled", bound=Closable)


class Possible:
    """Answers which rules can hold, given the kinds of an incident's facts."""

    def __init__(self, layers: Layers, asked: Sequence[Sequence[Asked]]) -> None:
        self._rules: dict[frozenset[str], list[tuple[int, int]]] = {}
        self._makes: dict[frozenset[str], set[str]] = {}
        for layer, rules in enumerate(layers):
            for place, rule in enumerate(rules):
                needed = asked[layer][place].needed
                self._rules.setdefault(needed, []).append((layer, place))
                if rule.emits:
                    self._makes.setdefault(needed, set()).add(rule.emits.kind)

    def of(self, kinds: Collection[str]) -> Selection:
        """The rules whose kinds are among these or derived by rules that are possible themselves; never too few."""
        known = set(kinds)
        while True:
            made = {kind for needed, more in self._makes.items() if needed <= known for kind in more}
            if made <= known:
                break
            known |= made
        return frozenset(where for needed, places in self._rules.items() if needed <= known for where in places)


class Selections(Generic[Compiled]):
    """Compiled selections of rules, made when an incident first needs one and kept for the next ones.

    One incident needs few of the rules, a batch of incidents in the end most of them. ``compile`` is given the layers
    without the rules that are left out; what it raises is passed on.
    """

    def __init__(self, layers: Layers, possible: Possible, compile: Callable[[Layers], Compiled]) -> None:  # noqa: A002
        self._layers = layers
        self._possible = possible
        self._compile = compile
        self._kept: dict[Selection, Compiled] = {}

    @property
    def kept(self) -> Iterable[Compiled]:
        """What is compiled, the latest made last."""
        return self._kept.values()

    def get(self, kinds: Collection[str]) -> Compiled:
        """Compiled rules, among them all that can hold for facts of these kinds."""
        wanted = self._possible.of(kinds)
        found = next((selection for selection in self._kept if wanted <= selection), None)
        if found is not None:
            return self._kept[found]
        if len(self._kept) < MOST_SELECTIONS:
            self._kept[wanted] = self._compile(
                [
                    [rule for place, rule in enumerate(rules) if (layer, place) in wanted]
                    for layer, rules in enumerate(self._layers)
                ]
            )
            return self._kept[wanted]
        everything = frozenset(
            (layer, place) for layer, rules in enumerate(self._layers) for place in range(len(rules))
        )
        compiled = self._compile(self._layers)
        self.close()
        self._kept[everything] = compiled
        return compiled

    def close(self) -> None:
        """Free all of them."""
        while self._kept:
            self._kept.popitem()[1].close()
