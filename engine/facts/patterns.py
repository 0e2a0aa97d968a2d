"""The pattern of a failure: all at once, one host first, one pair again and again, only at scale.

A pattern proves nothing. It shifts which cause one would look at first (``profiles/priors.yaml``).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from engine.facts.model import SECOND, Fact, Observation, Order, Scalar, before
from engine.facts.vocabulary import Vocabulary

KIND = "job.failure_pattern"

AT_ONCE = 10 * SECOND
"""Within which equal faults of several hosts are one event, for certain."""

LEAST_HOSTS = 3
"""Hosts from which "all at once", "one first" and "one pair of many" say anything."""

LEAST_ERRORS = 3
PAIR_SHARE = 0.75
"""Errors towards one peer, and their share of all such errors, from which it is that pair again and again."""

MOST_FIRST = 8
"""Faults of each host, earliest first, that are compared."""

BETWEEN_TWO = (
    "comm.transport_retry_exceeded",
    "comm.transport_rnr_exceeded",
    "comm.transport_remote_error",
    "comm.connect_failed",
    "comm.peer_closed",
    "comm.heartbeat_lost",
    "comm.link_wait_timeout",
)
"""Kinds whose ``peer`` is the other end."""


def failure_patterns(facts: Sequence[Fact], vocabulary: Vocabulary) -> list[Observation]:
    """``job.failure_pattern`` of each pattern that certainly fits."""
    own = [fact for fact in facts if fact.scope == "incident"]
    faults: dict[str, list[Fact]] = defaultdict(list)
    for fact in sorted(own, key=_placed):
        if fact.host is not None and _is_fault(fact, vocabulary) and len(faults[fact.host]) < MOST_FIRST:
            faults[fact.host].append(fact)
    spread = [*_at_once(faults)] or [*_one_first(faults)]
    return [*spread, *_one_pair(own), *_at_scale(own)]


def _is_fault(fact: Fact, vocabulary: Vocabulary) -> bool:
    """Faults, but for the ends of processes and the exceptions in which every rank learns of a failure elsewhere."""
    return (
        vocabulary[fact.kind].nature == "fault"
        and fact.kind != "job.process_exit"
        and fact.fields.get("class") != "distributed"
    )


def _placed(fact: Fact) -> tuple[int, str, int, str]:
    earliest = fact.onset.earliest
    return (earliest if earliest is not None else 2**62, fact.source.path, fact.source.line, fact.kind)


def _pattern(
    fact: Fact, pattern: str, host: str | None = None, peer: str | None = None, **fields: Scalar
) -> Observation:
    given: dict[str, Scalar] = {"pattern": pattern, "of": fact.kind, **fields}
    return Observation(KIND, fact.source, given, host=host, peer=peer, adapter="patterns")


def _at_once(faults: dict[str, list[Fact]]) -> Iterator[Observation]:
    """The first fault of most hosts is of one kind and at one moment."""
    firsts = [group[0] for group in faults.values()]
    for kind, count in sorted(Counter(fact.kind for fact in firsts).items()):
        alike = [fact for fact in firsts if fact.kind == kind]
        if count >= LEAST_HOSTS and 2 * count > len(firsts) and _together(alike):
            yield _pattern(min(alike, key=_placed), "all_at_once", hosts=count)


def _together(facts: Sequence[Fact]) -> bool:
    one_clock = len({fact.clock for fact in facts}) == 1
    spans = [fact.local if one_clock else fact.onset for fact in facts]
    starts = [span.earliest for span in spans if span.earliest is not None]
    ends = [span.latest for span in spans if span.latest is not None]
    return len(starts) == len(ends) == len(spans) and max(ends) - min(starts) <= AT_ONCE


def _one_first(faults: dict[str, list[Fact]]) -> Iterator[Observation]:
    """One fault of one host certainly came before every fault of all the others."""
    if len(faults) < LEAST_HOSTS:
        return
    for host, group in sorted(faults.items()):
        others = (fact for other, found in faults.items() if other != host for fact in found)
        if all(before(group[0], fact) is Order.YES for fact in others):
            yield _pattern(group[0], "one_host_first", host=host, hosts=len(faults))


def _one_pair(own: Sequence[Fact]) -> Iterator[Observation]:
    """Most errors between two hosts are between the same two, of at least three that are named."""
    errors = [fact for fact in own if fact.kind in BETWEEN_TWO and fact.host and fact.peer and fact.host != fact.peer]
    counts: Counter[tuple[str, ...]] = Counter()
    for fact in errors:
        counts[_ends(fact)] += fact.count
    if not counts:
        return
    pair, count = min(counts.items(), key=lambda item: (-item[1], item[0]))
    hosts = {fact.host for fact in own if fact.host is not None}
    if count >= LEAST_ERRORS and count >= PAIR_SHARE * sum(counts.values()) and len(hosts) >= LEAST_HOSTS:
        first = min((fact for fact in errors if _ends(fact) == pair), key=_placed)
        yield _pattern(first, "one_pair", host=pair[0], peer=pair[1], count=count)


def _ends(fact: Fact) -> tuple[str, ...]:
    return tuple(sorted((str(fact.host), str(fact.peer))))


def _at_scale(own: Sequence[Fact]) -> Iterator[Observation]:
    """Smaller communicators were made, and the largest was begun and never was."""
    sizes: dict[str, dict[int, Fact]] = defaultdict(dict)
    for fact in sorted(own, key=_placed):
        size = fact.fields.get("nranks")
        if fact.kind in ("comm.init_started", "comm.init_completed", "comm.init_incomplete") and isinstance(size, int):
            sizes[fact.kind].setdefault(size, fact)
    made = [size for size in sizes["comm.init_completed"] if size > 1]
    begun = {**sizes["comm.init_started"], **sizes["comm.init_incomplete"]}
    if made and begun and max(begun) > max(made):
        yield _pattern(begun[max(begun)], "at_scale", ranks=max(begun), passed=max(made))
