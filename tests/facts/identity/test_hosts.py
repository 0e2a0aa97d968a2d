"""Names of hosts: pods, addresses, short and full names."""

from __future__ import annotations

from engine.facts.manifest import Manifest
from engine.facts.model import Observation
from tests.facts.building import facts, seen


def placed(pod: str, node: str, line: int = 1, **given: object) -> Observation:
    return seen("job.placement", "pods", line, host=node, name=pod, **given)


def failed(host: str, path: str = "log") -> Observation:
    return seen("job.exception", path, 9, host=host, error="ValueError")


def host_of(*items: Observation, manifest: Manifest | None = None) -> str | None:
    return facts(*items, manifest=manifest)["job.exception"][0].host


def test_a_pod_is_its_node() -> None:
    fact = facts(placed("worker-1", "gpu13"), failed("worker-1"))["job.exception"][0]
    assert (fact.host, fact.as_read) == ("gpu13", {"host": "worker-1"})


def test_a_pod_that_ran_on_two_nodes_is_neither() -> None:
    assert host_of(placed("worker-1", "gpu13"), placed("worker-1", "gpu14", 2), failed("worker-1")) == "worker-1"


def test_a_pod_that_the_manifest_lists_gives_its_name_to_the_node() -> None:
    listed = Manifest("x", nodes=("worker-1", "worker-2"))
    assert host_of(placed("worker-1", "gpu13"), failed("gpu13"), manifest=listed) == "worker-1"
    placement = placed("worker-1", "gpu13", address="10.1.2.3")
    assert host_of(placement, failed("10.1.2.3"), manifest=listed) == "worker-1"


def test_two_listed_pods_of_one_node_leave_all_names() -> None:
    listed = Manifest("x", nodes=("worker-1", "worker-2"))
    two = (placed("worker-1", "gpu13"), placed("worker-2", "gpu13", 2))
    assert host_of(*two, failed("gpu13"), manifest=listed) == "gpu13"
    assert host_of(*two, failed("worker-2"), manifest=listed) == "worker-2"


def test_an_address_is_its_owner() -> None:
    owner = seen("comm.interface_used", "nccl", host="n1", address="10.0.0.1<0>", interface="eth0")
    assert host_of(owner, failed("10.0.0.1")) == "n1"


def test_the_address_of_a_pod_is_its_node() -> None:
    assert host_of(placed("worker-1", "gpu13", address="10.1.2.3"), failed("10.1.2.3")) == "gpu13"


def test_a_peer_is_named_like_a_host() -> None:
    closed = seen("comm.peer_closed", "log", 9, host="n1", peer="10.1.2.3")
    (fact,) = facts(placed("worker-1", "gpu13", address="10.1.2.3"), closed)["comm.peer_closed"]
    assert fact.peer == "gpu13"


def test_an_address_that_every_host_has_is_nobodys() -> None:
    bridge = [
        seen("host.interface_address", "ip", line, host=host, interface="docker0", address="172.17.0.1/16")
        for line, host in enumerate(("n1", "n2"))
    ]
    assert host_of(*bridge, failed("172.17.0.1")) == "172.17.0.1"


def test_short_and_full_names_are_one_host() -> None:
    assert {f.host for f in facts(failed("n1"), failed("n1.dc.example", "b"))["job.exception"]} == {"n1"}
    listed = Manifest("x", nodes=("n1.dc.example",))
    found = facts(failed("n1"), failed("n1.dc.example", "b"), manifest=listed)["job.exception"]
    assert {fact.host for fact in found} == {"n1.dc.example"}


def test_one_short_name_in_two_domains_is_two_hosts() -> None:
    found = facts(failed("n1"), failed("n1.a.example", "b"), failed("n1.b.example", "c"))["job.exception"]
    assert {fact.host for fact in found} == {"n1", "n1.a.example", "n1.b.example"}


def test_tables_are_joined_with_the_hosts() -> None:
    state = seen(
        "nic.port_state", "rdma", host="gpu13", device="mlx5_0", port="mlx5_0:1", netdev="eth2", state="active"
    )
    down = seen("nic.link_down", "dmesg", host="worker-1", device="eth2", netdev="eth2")
    (fact,) = facts(placed("worker-1", "gpu13"), state, down)["nic.link_down"]
    assert (fact.host, fact.device) == ("gpu13", "mlx5_0")
