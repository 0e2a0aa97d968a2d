"""Names of ports: what joins, what does not, and what cancels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from engine.authored import load_document
from engine.facts.counters import read_profile
from engine.facts.model import CounterSample, Fact, Observation, Source
from knowledge import BUILTIN
from tests.facts.building import facts, seen, timeline

COUNTERS = read_profile(load_document(BUILTIN / "profiles" / "counters.yaml").value)


def pair(netdev: str = "eth2", device: str = "mlx5_0", host: str | None = "n1", line: int = 1) -> Observation:
    """A line of ``ibdev2netdev``."""
    port = f"{device}:1"
    return seen(
        "nic.port_state", "ibdev2netdev", line, host=host, device=device, port=port, netdev=netdev, state="active"
    )


def down(netdev: str = "eth2", host: str | None = "n1") -> Observation:
    return seen("nic.link_down", "dmesg", 7, host=host, device=netdev, netdev=netdev)


def names(**fields: Any) -> Observation:
    return seen("identity.port", "names", **{"host": "n1", **fields})


def link_down(*items: Observation) -> Fact:
    (fact,) = facts(*items)["nic.link_down"]
    return fact


def test_a_netdev_is_named_after_its_rdma_port() -> None:
    fact = link_down(pair(), down())
    assert (fact.device, fact.port, fact.fields["netdev"]) == ("mlx5_0", "mlx5_0:1", "eth2")
    assert fact.as_read == {"device": "eth2"}


def test_the_line_that_states_the_pair_is_an_assumption_of_the_report() -> None:
    assert "eth2 on n1 is mlx5_0 (ibdev2netdev:1)" in timeline(pair(), down()).assumptions


def test_a_pair_that_nobody_needs_is_not_mentioned() -> None:
    assert timeline(pair()).assumptions == ()


def test_without_a_pair_the_netdev_keeps_its_name() -> None:
    fact = link_down(down())
    assert (fact.device, fact.port, fact.as_read) == ("eth2", None, None)


def test_hosts_are_kept_apart() -> None:
    fact = link_down(pair(host="n2"), down(host="n1"))
    assert fact.device == "eth2"
    both = facts(pair("eth2", "mlx5_0", "n1"), pair("eth2", "mlx5_5", "n2"), down(host="n1"), down(host="n2"))
    assert {(f.host, f.device) for f in both["nic.link_down"]} == {("n1", "mlx5_0"), ("n2", "mlx5_5")}


def test_contradictory_pairs_cancel() -> None:
    fact = link_down(pair("eth2", "mlx5_0"), pair("eth2", "mlx5_1", line=2), down())
    assert (fact.device, fact.port) == ("eth2", None)


def test_another_runs_pairs_teach_nothing() -> None:
    assert link_down(replace(pair(), run="prev"), down()).device == "eth2"


def test_several_netdevs_of_one_port_are_that_port() -> None:
    found = facts(pair("eth2"), pair("eth2.100", line=2), down(), down("eth2.100"))["nic.link_down"]
    assert {fact.device for fact in found} == {"mlx5_0"}


def test_a_member_of_a_bond_is_not_the_port_of_the_bond() -> None:
    bond = "mlx5_bond_0"
    member = names(netdev="eth2", bond="bond0")
    assert link_down(pair("bond0", bond), pair("eth2", bond, line=2), member, down()).device == "eth2"
    assert link_down(pair("eth2", bond), member, down()).device == "eth2"
    assert link_down(pair("bond0", bond), member, down("bond0")).device == bond


def test_a_member_with_an_rdma_device_of_its_own_is_that_device() -> None:
    members = (names(netdev="eth2", bond="bond0"), names(netdev="eth3", bond="bond0"))
    fact = link_down(pair("eth2", "mlx5_0"), pair("eth3", "mlx5_1", line=2), *members, down())
    assert fact.device == "mlx5_0"


@pytest.mark.parametrize("port", ["mlx5_0:1", "mlx5_0/1", "1"])
def test_a_port_is_written_in_one_way(port: str) -> None:
    (fact,) = facts(pair(), seen("nic.link_degraded", "x", host="n1", device="mlx5_0", port=port, problem="speed"))[
        "nic.link_degraded"
    ]
    assert (fact.device, fact.port) == ("mlx5_0", "mlx5_0:1")


def test_a_device_with_its_port_in_one_word_is_split() -> None:
    (fact,) = facts(seen("comm.device_open_failed", "x", host="n1", device="mlx5_7:1", text="not available"))[
        "comm.device_open_failed"
    ]
    assert (fact.device, fact.port) == ("mlx5_7", "mlx5_7:1")


def test_a_port_number_that_is_not_the_tables_joins_nothing() -> None:
    item = seen("nic.link_degraded", "x", host="n1", device="eth2", port="2", problem="speed")
    (fact,) = facts(pair(), item)["nic.link_degraded"]
    assert (fact.device, fact.port) == ("eth2", "2")


FAULT: dict[str, Any] = {"host": "n1", "type": "health"}


def test_a_pci_function_is_the_rdma_device_behind_it() -> None:
    fault = seen("nic.firmware_fault", "dmesg", **FAULT, bdf="0000:3B:00.0")
    (fact,) = facts(names(device="mlx5_0", bdf="3b:00.0"), fault)["nic.firmware_fault"]
    assert (fact.device, fact.fields["bdf"]) == ("mlx5_0", "0000:3b:00.0")


def test_a_pci_function_is_its_netdev_where_nothing_else_is_known() -> None:
    fault = seen("nic.firmware_fault", "dmesg", **FAULT, bdf="0000:3b:00.0")
    (fact,) = facts(names(netdev="eth2", bdf="0000:3b:00.0"), fault)["nic.firmware_fault"]
    assert fact.device == "eth2"
    (fact,) = facts(names(netdev="eth2", bdf="0000:3b:00.0"), pair(), fault)["nic.firmware_fault"]
    assert (fact.device, fact.port) == ("mlx5_0", "mlx5_0:1")


def test_a_netdev_and_a_device_on_one_function_are_one_port() -> None:
    by_function = (names(netdev="eth2", bdf="0000:3b:00.0"), names(device="mlx5_0", bdf="0000:3b:00.0", line=2))
    assert link_down(*by_function, down()).device == "mlx5_0"
    representor = names(netdev="pf0vf1", bdf="0000:3b:00.0", line=3)
    assert link_down(*by_function, representor, down()).device == "eth2"


def test_a_netdev_that_was_seen_at_two_functions_is_neither() -> None:
    moved = (names(netdev="eth2", bdf="0000:3b:00.0"), names(netdev="eth2", bdf="0000:4c:00.0", line=2))
    device = names(device="mlx5_0", bdf="0000:3b:00.0", line=3)
    assert link_down(*moved, device, down()).device == "eth2"


def test_a_plan_is_believed_where_no_tool_was_asked() -> None:
    plan = seen("switch.attached", "plan.csv", host="n1", device="mlx5_4", netdev="eth2", switch="s1", switch_port="1")
    assert link_down(plan, down()).device == "mlx5_4"
    assert link_down(plan, pair(), down()).device == "mlx5_0"


def test_lldp_and_a_tool_give_the_switch_port_of_an_rdma_device() -> None:
    lldp = seen("switch.attached", "lldp", host="n1", device="eth2", netdev="eth2", switch="s1", switch_port="1")
    found = facts(
        pair("eth2", "mlx5_3"), lldp, seen("comm.async_event", "x", host="n1", device="mlx5_3", port="mlx5_3:1")
    )
    assert found["switch.attached"][0].device == found["comm.async_event"][0].device == "mlx5_3"


GUID = "0x1070fd0300a1b2c4"


def test_a_guid_of_the_subnet_manager_is_the_port_of_a_host() -> None:
    known = names(device="mlx5_2", port="mlx5_2:1", port_guid="1070:fd03:00a1:b2c4")
    removed = seen("switch.node_removed", "opensm.log", host="n1", port=GUID[2:])
    (fact,) = facts(known, removed)["switch.node_removed"]
    assert (fact.host, fact.device, fact.port) == ("n1", "mlx5_2", "mlx5_2:1")
    (other,) = facts(known, replace(removed, host="n9"))["switch.node_removed"]
    assert (other.host, other.device) == ("n9", None)


def test_a_guid_that_two_hosts_claim_is_nobodys() -> None:
    claims = [names(host=host, device="mlx5_2", guid=GUID) for host in ("n1", "n2")]
    (fact,) = facts(*claims, seen("switch.node_removed", "opensm.log", port=GUID[2:]))["switch.node_removed"]
    assert (fact.host, fact.device) == (None, None)


def sample(value: int, group: str, device: str, **given: object) -> CounterSample:
    subject = {"family": "ethtool_mlx5", "counter": "rx_crc_errors_phy", "host": "n1", **given}
    source = Source(f"{group}/{device}", 1, "")
    return CounterSample(source=source, value=value, device=device, group=group, **subject)  # type: ignore[arg-type]


def test_counters_of_a_netdev_are_those_of_its_port() -> None:
    items = (pair(), sample(1, "before", "eth2"), sample(900, "after", "eth2"))
    (fact,) = [f for f in timeline(*items, counters=COUNTERS).facts if f.kind == "nic.counter_rise"]
    assert (fact.device, fact.port, fact.as_read) == ("mlx5_0", "mlx5_0:1", {"device": "eth2"})


def test_a_lid_is_the_port_of_the_host_that_has_it() -> None:
    state = seen("nic.port_state", "ibstat", host="n2", device="mlx5_1", port="mlx5_1:1", lid=32, state="active")
    read = {"family": "ibquery", "counter": "LinkDownedCounter", "port": "1"}
    items = [sample(value, group, "lid 32", **read) for value, group in ((1, "before"), (5, "after"))]
    (fact,) = [f for f in timeline(state, *items, counters=COUNTERS).facts if f.kind.endswith("counter_rise")]
    assert (fact.kind, fact.host, fact.device, fact.port) == ("nic.counter_rise", "n2", "mlx5_1", "mlx5_1:1")
    twin = seen("nic.port_state", "ibstat", 2, host="n3", device="mlx5_0", port="mlx5_0:1", lid=32, state="active")
    (fact,) = [f for f in timeline(state, twin, *items, counters=COUNTERS).facts if f.kind.endswith("counter_rise")]
    assert (fact.kind, fact.device) == ("switch.counter_rise", "lid 32")


def test_the_subnets_number_of_a_device_is_resolved_by_its_guid() -> None:
    known = (names(device="HCA-1", guid=GUID), names(device="mlx5_0", guid=GUID, line=2))
    item = seen("nic.link_degraded", "iblinkinfo", host="n1", device="HCA-1", port="1", problem="width")
    (fact,) = facts(*known, item)["nic.link_degraded"]
    assert (fact.device, fact.port) == ("mlx5_0", "mlx5_0:1")


def test_settings_of_hosts_with_different_tables_stay_comparable() -> None:
    rates = [
        seen("nic.rate", f"{host}/ethtool", host=host, device="eth2", netdev="eth2", rate_gbps=rate)
        for host, rate in (("n1", 400), ("n2", 400), ("n3", 200))
    ]
    (odd,) = facts(pair(host="n1"), *rates)["compare.differs"]
    assert (odd.host, odd.fields["value"]) == ("n3", "200")


def test_statements_about_names_are_no_facts() -> None:
    assert not [fact for fact in timeline(names(device="mlx5_0", guid=GUID)).facts if fact.kind.startswith("identity")]
