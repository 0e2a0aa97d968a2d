"""Order and names of hosts change nothing; contradictions only take joins away."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from engine.facts.model import Fact, Observation
from tests.facts.building import seen, timeline

HOSTS = st.sampled_from(["n1", "n2", "n3", None])
NETDEVS = st.sampled_from(["eth0", "eth1", "bond0"])
DEVICES = st.sampled_from(["mlx5_0", "mlx5_1", "HCA-1"])
FUNCTIONS = st.sampled_from(["0000:3b:00.0", "00000000:4C:00.0", "3b:00"])
GUIDS = st.sampled_from(["0x1070fd0300a1b2c4", "1070:fd03:00a1:b2c5"])
OPTIONAL = {
    "netdev": NETDEVS,
    "bdf": FUNCTIONS,
    "guid": GUIDS,
    "port_guid": GUIDS,
    "lid": st.integers(1, 3),
    "bond": st.just("bond0"),
    "uuid": st.sampled_from(["GPU-5b2d0c11-2f3a-4b5c-8d6e-7f8091a2b3c4"]),
    "bus_id": st.sampled_from(["3b000", "4c000"]),
    "index": st.integers(0, 1),
    "cuda_index": st.integers(0, 1),
}


@st.composite
def statements(draw: st.DrawFn, line: int) -> Observation:
    kind = draw(st.sampled_from(["identity.port", "identity.gpu", "nic.port_state"]))
    fields = draw(st.fixed_dictionaries({}, optional=OPTIONAL))
    device = draw(st.one_of(st.none(), DEVICES))
    port = f"{device}:1" if device and draw(st.booleans()) else None
    rank = draw(st.one_of(st.none(), st.integers(0, 3))) if kind == "identity.gpu" else None
    return seen(kind, "names", line, host=draw(HOSTS), device=device, port=port, rank=rank, **fields)


@st.composite
def symptoms(draw: st.DrawFn, line: int) -> Observation:
    host, where = draw(HOSTS), "log"
    return draw(
        st.sampled_from(
            [
                seen("nic.link_down", where, line, host=host, device=draw(NETDEVS)),
                seen("nic.firmware_fault", where, line, host=host, bdf=draw(FUNCTIONS), type="health"),
                seen("host.gpu_xid", where, line, host=host, gpu=draw(FUNCTIONS), xid=79),
                seen("host.gpu_health", where, line, host=host, gpu=str(draw(st.integers(0, 1))), problem="throttled"),
                seen("switch.node_removed", where, line, host=host, port=draw(GUIDS)),
                seen("comm.async_event", where, line, host=host, device=draw(DEVICES), event="port_error"),
            ]
        )
    )


@st.composite
def bundles(draw: st.DrawFn) -> list[Observation]:
    told = [draw(statements(line)) for line in range(1, draw(st.integers(0, 8)) + 1)]
    return told + [draw(symptoms(line)) for line in range(1, draw(st.integers(1, 5)) + 1)]


def subjects(found: tuple[Fact, ...]) -> list[tuple[object, ...]]:
    return [(f.kind, f.host, f.device, f.port, f.rank, f.source.line) for f in found if f.source.path == "log"]


@given(bundles(), st.randoms(use_true_random=False))
def test_the_order_of_what_was_read_changes_nothing(items: list[Observation], random: object) -> None:
    shuffled = list(items)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert timeline(*items) == timeline(*shuffled)


@given(bundles())
def test_the_names_of_hosts_change_nothing(items: list[Observation]) -> None:
    new = {"n1": "zeta", "n2": "alpha", "n3": "m-17", None: None}
    renamed = timeline(*[replace(item, host=new[item.host], fields=dict(item.fields)) for item in items])
    expected = [(kind, new[host], *rest) for kind, host, *rest in subjects(timeline(*items).facts)]  # type: ignore[index]
    assert sorted(map(str, subjects(renamed.facts))) == sorted(map(str, expected))


@given(bundles(), NETDEVS)
def test_a_second_owner_of_a_netdev_takes_its_join_away(items: list[Observation], netdev: str) -> None:
    """With each port stated for the netdev on every host, no netdev is joined."""
    hosts = ("n1", "n2", "n3", None)
    both = [
        seen("nic.port_state", "more", 1, host=host, device=name, port=f"{name}:1", netdev=netdev, state="active")
        for host in hosts
        for name in ("mlx5_0", "mlx5_1")
    ]
    down = [seen("nic.link_down", "log", 99, host=host, device=netdev) for host in hosts]
    found = [fact for fact in timeline(*items, *both, *down).facts if fact.source.line == 99]
    assert {fact.device for fact in found} <= {netdev}


@given(bundles())
def test_every_joined_name_is_one_that_somebody_stated(items: list[Observation]) -> None:
    stated = {item.device for item in items} | {"0000:3b:00", "0000:4c:00"} | {i.fields.get("netdev") for i in items}
    for fact in timeline(*items).facts:
        assert fact.device in stated
