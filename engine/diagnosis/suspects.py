"""Whom the evidence points to: ranks, hosts, devices, ports."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from engine.diagnosis.causality import CausalGraph
from engine.diagnosis.model import Hypothesis, Suspect
from engine.diagnosis.wording import fill
from engine.facts.model import Fact
from engine.facts.waits import Waits
from engine.inference import Inference
from engine.rules.model import EvidenceRule, Text

SUSPECT_RANKS = 8
"""More ranks than this in one fact name nobody."""

TIMED_OUT, NOT_ALL_JOINED = "comm.collective_timeout", "job.rendezvous_incomplete"
WAITED = (TIMED_OUT, NOT_ALL_JOINED)
"""Kinds by which a rank says that it waited."""

OF_THE_PEER = ("comm.peer_closed",)
"""Kinds that say that somebody else is gone: who writes them is alive."""

NOBODY = re.compile(r"unknown|localhost.*|127\.0\.[01]\.1|0\.0\.0\.0|::1?|\?|-", re.IGNORECASE)
"""Names that point to no machine."""

ADDRESS_FIELDS = ("address", "name")
"""Fields that name the far end where the subject does not."""


def find_suspects(
    top: Hypothesis | None,
    first: Fact | None,
    inference: Inference,
    rules: Mapping[str, EvidenceRule],
    graph: CausalGraph,
    waits: Waits | None = None,
) -> tuple[Suspect, ...]:
    """Whom the rules of the best hypothesis name, each once, by weight, then whom the first fault names.

    Where nothing supports a cause, the ranks that did not report what the others report are suspects. Where it is known
    whom all wait for, a rank that only reports its wait is none; nor is the first of several that do, nor who lost a
    peer.
    """
    cleared = _waiting_only(waits)
    if top is None:
        return _silent(graph) or tuple(_of_first_fault(first, cleared, graph))
    order = {item.rule: position for position, item in enumerate(top.support) if item.explained_by is None}
    found: dict[tuple[int | None, str | None, str | None, str | None], Suspect] = {}
    for firing in sorted(inference.firings, key=lambda firing: (order.get(firing.rule_id, 0), firing.bindings)):
        rule = rules.get(firing.rule_id)
        if rule is None or firing.rule_id not in order:
            continue
        facts = {alias: graph.facts[fact] for alias, fact in firing.bindings if fact in graph.facts}
        why = fill(rule.reason, facts)
        for suspect in _named(rule, facts, why, cleared):
            found.setdefault((suspect.rank, suspect.host, suspect.device, suspect.port), suspect)
    for suspect in _of_first_fault(first, cleared, graph):
        found.setdefault((suspect.rank, suspect.host, suspect.device, suspect.port), suspect)
    return _most_specific(list(found.values())) or _silent(graph)


def _of_first_fault(first: Fact | None, cleared: frozenset[int], graph: CausalGraph) -> Iterator[Suspect]:
    """The subject of the first fault, and the far end that it names: a path has two ends."""
    if first is None or _only_waited(first, cleared) or _one_of_many(first, graph):
        return
    near = Text("The first fault was noticed there", "首个故障在此处被发现")
    far = Text("It is the other end of the first fault", "它是首个故障的另一端")
    speaks_of_peer = first.kind in OF_THE_PEER and bool(first.ranks)
    if not speaks_of_peer and (first.rank is not None or first.host is not None):
        yield Suspect(first.rank, first.host, None, None, near)
    elif not speaks_of_peer and 0 < len(first.ranks) <= SUSPECT_RANKS:
        yield from (Suspect(rank, None, None, None, near) for rank in first.ranks)
    ends = [first.peer, *(first.fields.get(name) for name in ADDRESS_FIELDS)]
    for end in ends:
        host = _host_part(end) if isinstance(end, str) else ""
        if host and not NOBODY.fullmatch(host):
            yield Suspect(None, host, None, None, far)


def _host_part(address: str) -> str:
    """The host of ``host:port``, ``[v6]:port`` or ``host<port>``."""
    text = address.partition("<")[0].strip("()[] ")
    head, colon, tail = text.rpartition(":")
    return head.strip("[]") if colon and tail.isdigit() and (":" not in head or "]" in address) else text


def _most_specific(suspects: Sequence[Suspect]) -> tuple[Suspect, ...]:
    """Leave out what another suspect says more precisely, such as a host beside a rank on it."""
    return tuple(item for item in suspects if not any(_covers(other, item) for other in suspects))


def _covers(other: Suspect, item: Suspect) -> bool:
    pairs = [(getattr(other, name), getattr(item, name)) for name in ("rank", "host", "device", "port")]
    return all(mine is None or mine == theirs for theirs, mine in pairs) and any(
        mine is None and theirs is not None for theirs, mine in pairs
    )


def _waiting_only(waits: Waits | None) -> frozenset[int]:
    """Ranks that wait while the comparison of all ranks names others."""
    if waits is None or not waits.suspects:
        return frozenset()
    waiting = {rank for item in waits.waits for rank in item.waiting}
    return frozenset(waiting - {item.rank for item in waits.suspects})


def _only_waited(fact: Fact, cleared: frozenset[int]) -> bool:
    """Whether a fact about who joined comes from ranks that wait for others."""
    return fact.kind == NOT_ALL_JOINED and bool(fact.ranks) and cleared.issuperset(fact.ranks)


def _one_of_many(fact: Fact, graph: CausalGraph) -> bool:
    """Whether a rank waited until its time-out, as others did: being the first of them means nothing."""
    if fact.kind != TIMED_OUT:
        return False
    same = (item for item in graph.facts.values() if item.kind == fact.kind and item.scope == "incident")
    return len({rank for item in same for rank in item.ranks}) > 1


def _named(
    rule: EvidenceRule, facts: Mapping[str, Fact], why: Text, cleared: frozenset[int] = frozenset()
) -> list[Suspect]:
    named: list[Suspect] = []
    for alias in dict.fromkeys(alias for alias, _ in rule.suspects):
        fact = facts.get(alias)
        if fact is None or _only_waited(fact, cleared):
            continue
        fields = [name for other, name in rule.suspects if other == alias]
        host = fact.host if "host" in fields else fact.peer if "peer" in fields else None
        host = None if host is not None and NOBODY.fullmatch(host) else host
        device = fact.device if "device" in fields else None
        port = fact.port if "port" in fields else None
        ranks: list[int | None] = [None]
        if "rank" in fields and 0 < len(fact.ranks) <= SUSPECT_RANKS:
            ranks = [rank for rank in fact.ranks if fact.kind not in WAITED or rank not in cleared]
        named.extend(
            Suspect(rank, host, device, port, why) for rank in ranks if (rank, host, device, port) != (None,) * 4
        )
    return named


def _silent(graph: CausalGraph) -> tuple[Suspect, ...]:
    """Where nothing points to a cause, the ranks that did not report are the suspects."""
    why = Text(
        "Its log is there but it does not report what the others report", "其日志存在,但没有上报其他进程都上报的内容"
    )
    silent = [fact for fact in graph.facts.values() if fact.kind == "comm.rank_silent" and fact.scope == "incident"]
    return tuple(Suspect(rank, fact.host, None, None, why) for fact in silent for rank in fact.ranks)
