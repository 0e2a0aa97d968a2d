"""Where an absence must be covered, and what covers it: silence is not absence.

"Nothing of the kind on this host" needs a log of this host; "nothing anywhere" needs one of every host of the incident.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.facts.model import Fact, Span
from engine.facts.vocabulary import CENTRAL_SOURCES, COVERAGE_KIND, is_of_switches
from engine.inference.items import Item


class Places:
    """The hosts and the switches of an incident: those that its facts are about, and ``hosts`` known otherwise."""

    def __init__(self, facts: Iterable[Fact], hosts: Iterable[str] = ()) -> None:
        named: set[str] = set(hosts)
        switches: set[str] = set()
        for fact in facts:
            if fact.scope == "incident" and fact.host:
                source = fact.fields.get("class") if fact.kind == COVERAGE_KIND else None
                of_switch = is_of_switches(source) if isinstance(source, str) else fact.kind.startswith("switch.")
                (switches if of_switch else named).add(fact.host)
        self.hosts = frozenset(named - switches)
        self.switches = frozenset(switches)

    def of(self, source: str) -> frozenset[str]:
        """Of what there must be a source of the class to know that something happened nowhere.

        Schedulers and orchestrators speak of all hosts, so that one of them is enough.
        """
        if source in CENTRAL_SOURCES:
            return frozenset()
        return self.switches if is_of_switches(source) else self.hosts


class Silence:
    """What is covered in one incident."""

    def __init__(self, places: Places, items: Iterable[Item]) -> None:
        self._places = places
        self._sources: dict[str, dict[str | None, list[Fact]]] = {}
        self._known: dict[tuple[str, str, Span, Span], bool] = {}
        for item in items:
            source, host = item.get("class"), item.get("host")
            if item.fact.kind == COVERAGE_KIND and isinstance(source, str):
                own = self._sources.setdefault(source, {})
                own.setdefault(host if isinstance(host, str) else None, []).append(item.fact)

    def everywhere(self, source: str, anchor: Fact) -> bool:
        """Whether sources of the class cover the onset of ``anchor`` on every host that they should."""
        key = (source, anchor.clock, anchor.local, anchor.onset)
        if key not in self._known:
            by_host = self._sources.get(source, {})
            wanted = self._places.of(source)
            self._known[key] = wanted <= by_host.keys() and (
                all(any(contains(fact, anchor) for fact in by_host[host]) for host in wanted)
            )
        return self._known[key]


def spans(first: Fact, second: Fact) -> tuple[Span, Span]:
    """The onsets on the common clock, else in UTC."""
    return (first.local, second.local) if first.clock == second.clock else (first.onset, second.onset)


def contains(covering: Fact, anchor: Fact) -> bool:
    """Whether the onset of ``covering`` contains that of ``anchor``; all four ends have to be known."""
    outer, inner = spans(covering, anchor)
    ends = (outer.earliest, inner.earliest, inner.latest, outer.latest)
    if any(end is None for end in ends):
        return False
    low, start, stop, high = (end for end in ends if end is not None)
    return low <= start and stop <= high
