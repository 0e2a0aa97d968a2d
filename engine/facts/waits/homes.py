"""Hosts from which nothing came: all of their ranks without a dump, and no file or line of theirs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from engine.facts.model import Fact
from engine.facts.vocabulary import CENTRAL_SOURCES, COVERAGE_KIND
from engine.facts.waits.model import LostHost

TOLD_BY_OTHERS = (
    "comm.rank_behind",
    "comm.rank_absent",
    "comm.rank_silent",
    "comm.barrier_missing",
    "comm.dump_missing",
    "comm.heartbeat_lost",
    "job.rendezvous_incomplete",
    "job.cancelled",
    "job.placement",
    "job.process_exit",
    "host.node_lost",
    "switch.attached",
    "switch.node_removed",
)
"""Kinds that say something of a rank or host and that others write."""


def homes_of(
    known: Mapping[int, str], ranks: Iterable[int], nodes: Sequence[str], per_node: int | None
) -> dict[int, str]:
    """The host of each rank: as facts and paths tell, else by the blocks of ranks that hosts have.

    Blocks follow the list of nodes where every block whose host is known does; else only a single block without a host
    belongs to the single node without ranks.
    """
    homes = dict(known)
    if not per_node or per_node < 1 or not nodes:
        return homes
    blocks: dict[int, set[str]] = defaultdict(set)
    for rank, host in known.items():
        blocks[rank // per_node].add(host)
    if not blocks or any(len(hosts) > 1 for hosts in blocks.values()):
        return homes
    named = {block: min(hosts) for block, hosts in blocks.items()}
    if all(block < len(nodes) and nodes[block] == host for block, host in named.items()) and 2 * len(named) >= len(
        nodes
    ):
        named = dict(enumerate(nodes))
    else:
        open_blocks = {rank // per_node for rank in ranks} - set(named)
        left = set(nodes) - set(named.values())
        if len(open_blocks) == len(left) == 1 and len(named) == len(nodes) - 1:
            named[min(open_blocks)] = min(left)
    for rank in ranks:
        if rank not in homes and rank // per_node in named:
            homes[rank] = named[rank // per_node]
    return homes


def lost_hosts(homes: Mapping[int, str], missing: Iterable[int], facts: Sequence[Fact]) -> tuple[LostHost, ...]:
    """Hosts whose ranks all are without a dump, and of which no file and no line is there."""
    without = set(missing)
    by_host: dict[str, set[int]] = defaultdict(set)
    for rank, host in homes.items():
        by_host[host].add(rank)
    own = [fact for fact in facts if fact.scope == "incident" and fact.kind not in TOLD_BY_OTHERS]
    managers = _of_managers(own)
    heard: set[str] = set()
    for fact in own:
        if fact.kind != COVERAGE_KIND and fact.source.path in managers:
            continue
        if fact.kind == COVERAGE_KIND and fact.host:
            heard.add(fact.host)
        elif fact.kind != COVERAGE_KIND:
            heard.update(homes[rank] for rank in fact.ranks if rank in homes)
            heard.update({fact.host} if fact.host else ())
    lost = [(host, ranks) for host, ranks in by_host.items() if ranks <= without and host not in heard]
    return tuple(LostHost(host, tuple(sorted(ranks))) for host, ranks in sorted(lost, key=lambda item: min(item[1])))


def _of_managers(facts: Iterable[Fact]) -> set[str]:
    """Files of schedulers and orchestrators alone: they speak of hosts of which nothing else is there."""
    classes: dict[str, set[str]] = defaultdict(set)
    for fact in facts:
        if fact.kind == COVERAGE_KIND:
            classes[fact.source.path].add(str(fact.fields.get("class")))
    return {path for path, found in classes.items() if found <= set(CENTRAL_SOURCES)}
