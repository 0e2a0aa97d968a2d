from __future__ import annotations

from typing import Any

import pytest

from engine.facts.manifest import Manifest
from engine.facts.model import Fact, Observation
from tests.facts.building import facts, seen, utc

CLOCKS = Manifest("x", clock_hosts=dict.fromkeys(("n1", "n2", "n3", "n4"), (0, 1000)))


def at(second: int, host: str, kind: str = "nic.link_down", **given: Any) -> Observation:
    stamp = f"2026-03-01T10:{second // 60:02}:{second % 60:02}"
    return seen(kind, f"{host}.log", second + 1, when=utc(stamp), lag=(0, 0), host=host, **given)


def patterns(*items: Observation, manifest: Manifest = CLOCKS) -> dict[str, Fact]:
    found = facts(*items, manifest=manifest).get("job.failure_pattern", [])
    return {str(fact.fields["pattern"]): fact for fact in found}


def test_most_hosts_at_one_moment() -> None:
    found = patterns(at(0, "n1"), at(3, "n2"), at(6, "n3"), at(900, "n4", "host.oom_kill"))
    assert set(found) == {"all_at_once"}
    assert (found["all_at_once"].fields["of"], found["all_at_once"].fields["hosts"]) == ("nic.link_down", 3)


@pytest.mark.parametrize(
    "items",
    [
        (at(0, "n1"), at(3, "n2")),  # two hosts are no pattern
        (at(0, "n1"), at(3, "n2"), at(40, "n3")),  # not at one moment
        (at(0, "n1"), at(3, "n2"), at(6, "n3", "host.oom_kill")),  # not of one kind
    ],
)
def test_other_faults_are_not_all_at_once(items: tuple[Observation, ...]) -> None:
    assert "all_at_once" not in patterns(*items)


def test_clocks_that_are_not_known_show_no_moment() -> None:
    assert patterns(at(0, "n1"), at(3, "n2"), at(6, "n3"), manifest=Manifest("x")) == {}


def test_exceptions_in_which_all_ranks_learn_of_it_are_no_pattern() -> None:
    hosts = [(0, "n1"), (1, "n2"), (2, "n3")]
    told = [
        at(second, host, "job.exception", error="DistBackendError", **{"class": "distributed"})
        for second, host in hosts
    ]
    own = [at(second, host, "job.exception", error="KeyError", **{"class": "application"}) for second, host in hosts]
    assert patterns(*told) == {}
    assert "all_at_once" in patterns(*own)


def test_one_host_certainly_first() -> None:
    found = patterns(at(0, "n1", "host.gpu_xid", code=79), at(300, "n2"), at(700, "n3"))
    assert set(found) == {"one_host_first"}
    assert found["one_host_first"].host == "n1"


def test_nobody_is_first_where_the_clocks_cannot_tell() -> None:
    assert patterns(at(0, "n1"), at(100, "n2"), at(110, "n3"), manifest=Manifest("x")) == {}


def lost(line: int, host: str, peer: str) -> Observation:
    return seen("comm.peer_closed", f"{host}.log", line, host=host, peer=peer, what="reset")


def elsewhere() -> Observation:
    return seen("comm.version", "n3.log", 1, host="n3", component="nccl", version="2.21.5")


def test_one_pair_again_and_again() -> None:
    found = patterns(lost(1, "n1", "n2"), lost(2, "n2", "n1"), lost(3, "n1", "n2"), elsewhere())
    assert set(found) == {"one_pair"}
    fact = found["one_pair"]
    assert (fact.host, fact.peer, fact.fields["count"]) == ("n1", "n2", 3)


@pytest.mark.parametrize(
    "items",
    [
        (lost(1, "n1", "n2"), lost(2, "n1", "n2"), elsewhere()),  # twice
        (lost(1, "n1", "n2"), lost(2, "n1", "n2"), lost(3, "n1", "n2")),  # there are no others
        (lost(1, "n1", "n2"), lost(2, "n1", "n3"), lost(3, "n2", "n3")),  # every pair
        (lost(1, "n1", "n1"), lost(2, "n1", "n1"), lost(3, "n1", "n1"), elsewhere()),  # no pair
    ],
)
def test_other_errors_are_not_one_pair(items: tuple[Observation, ...]) -> None:
    assert "one_pair" not in patterns(*items)


def communicator(kind: str, ranks: int) -> Observation:
    return seen(f"comm.init_{kind}", "n1.log", ranks, host="n1", nranks=ranks, comm=f"c{ranks}")


def test_only_at_scale() -> None:
    found = patterns(communicator("completed", 8), communicator("started", 512))
    assert set(found) == {"at_scale"}
    assert (found["at_scale"].fields["ranks"], found["at_scale"].fields["passed"]) == (512, 8)


@pytest.mark.parametrize(
    "items",
    [
        (communicator("completed", 512), communicator("started", 8)),
        (communicator("completed", 512), communicator("started", 512)),
        (communicator("started", 512),),
        (communicator("completed", 1), communicator("started", 512)),
    ],
)
def test_not_only_at_scale(items: tuple[Observation, ...]) -> None:
    assert "at_scale" not in patterns(*items)


def test_faults_of_another_run_are_no_pattern() -> None:
    items = [at(0, "n1"), at(3, "n2"), at(6, "n3")]
    for item in items:
        item.run = "prev"
    assert patterns(*items) == {}
