from __future__ import annotations

from engine.facts.manifest import Manifest
from engine.facts.model import Fact, Observation
from tests.facts.building import facts, seen


def env(host: str, name: str, value: str) -> Observation:
    return seen("comm.env", f"logs/{host}.log", host=host, name=name, value=value)


def differing(*items: Observation) -> list[Fact]:
    return facts(*items).get("compare.differs", [])


def test_the_one_that_differs_from_the_majority_is_named() -> None:
    (odd,) = differing(*[env(f"n{i}", "NCCL_IB_GID_INDEX", "0" if i == 2 else "3") for i in range(4)])
    assert odd.host == "n2"
    assert (odd.fields["value"], odd.fields["majority"], odd.fields["clear"]) == ("0", "3", True)


def test_equal_settings_say_nothing() -> None:
    assert differing(*[env(f"n{i}", "NCCL_IB_GID_INDEX", "3") for i in range(4)]) == []


def test_between_two_hosts_there_is_no_majority() -> None:
    found = differing(env("n1", "NCCL_IB_GID_INDEX", "0"), env("n2", "NCCL_IB_GID_INDEX", "3"))
    assert [fact.host for fact in found] == ["n1", "n2"]
    assert not any(fact.fields["clear"] for fact in found)


def test_a_setting_that_one_host_does_not_have_differs_too() -> None:
    items = [env(f"n{i}", "NCCL_DEBUG", "INFO") for i in range(4)]
    items += [env(f"n{i}", "NCCL_IB_TC", "106") for i in range(3)]
    (odd,) = differing(*items)
    assert (odd.host, odd.fields["value"]) == ("n3", "(not set)")


def timeout(rank: int) -> Observation:
    return seen("comm.collective_timeout", "log", rank + 1, rank=rank, host="n1", op="ALLREDUCE", seq=7, pg="0")


def started(rank: int) -> Observation:
    return seen("comm.init_started", "log", rank + 100, rank=rank, host="n1", nranks=8)


def test_the_rank_whose_log_is_there_and_says_nothing_is_silent() -> None:
    found = facts(*[timeout(rank) for rank in range(8) if rank != 5], *[started(rank) for rank in range(8)])
    assert [fact.rank for fact in found["comm.rank_silent"]] == [5]


def test_a_rank_without_any_output_is_not_called_silent() -> None:
    found = facts(*[timeout(rank) for rank in range(7)], manifest=Manifest("x", world_size=16))
    assert "comm.rank_silent" not in found


def test_where_most_ranks_are_silent_nobody_is_named() -> None:
    found = facts(timeout(0), *[started(rank) for rank in range(8)])
    assert "comm.rank_silent" not in found


def test_versions_that_only_one_host_prints_differ_from_nothing() -> None:
    items = [seen("comm.version", "logs/n0.log", host="n0", component="nccl", version="2.21.5")]
    items += [seen("comm.version", f"logs/n{i}.log", host=f"n{i}", component="cuda", version="12.4") for i in range(4)]
    assert differing(*items) == []


def test_a_peer_given_by_address_or_full_name_is_the_host() -> None:
    found = facts(
        seen("comm.interface_used", "a", host="n1", interface="eth0", address="10.0.0.1<0>"),
        seen("comm.peer_closed", "b", 1, host="n2", peer="10.0.0.1"),
        seen("comm.peer_closed", "b", 2, host="n3", peer="n2.cluster.example"),
        seen("comm.peer_closed", "b", 3, host="n3", peer="10.9.9.9"),
    )
    assert sorted(str(fact.peer) for fact in found["comm.peer_closed"]) == ["10.9.9.9", "n1", "n2"]
