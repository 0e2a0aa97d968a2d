"""A switch that boots is no host that boots; a warm reboot is a change."""

from __future__ import annotations

from engine.facts.model import SECOND, Observation, Reading, Source
from engine.facts.switch_boots import name_switch_boots
from facts_adapters.switch._speeds import Speeds


def _seen(kind: str, line: int, second: float = 0, host: str = "leaf1", **fields: str) -> Observation:
    stamp = Reading(int(second * SECOND), int(second * SECOND), "utc")
    return Observation(kind, Source("syslog", line, ""), dict(fields), host=host, when=stamp)


def _kinds(*items: Observation) -> list[str]:
    return [item.kind for item in name_switch_boots(items)]


def test_boot_of_a_switch_is_a_restart() -> None:
    assert _kinds(_seen("host.boot", 1), _seen("switch.port_up", 2, 40))[0] == "switch.reboot"


def test_boot_behind_a_warm_reboot_is_a_change() -> None:
    asked = _seen("switch.config_change", 1, 0, text="User requested warm-reboot")
    assert _kinds(asked, _seen("host.boot", 2, 90))[1] == "switch.config_change"
    assert _kinds(asked, _seen("host.boot", 2, 9000))[1] == "switch.reboot"


def test_boot_of_a_host_stays_one() -> None:
    assert _kinds(_seen("host.boot", 1, host="n1"), _seen("switch.port_up", 2))[0] == "host.boot"
    own = _seen("nic.link_up", 3, 50)
    assert _kinds(_seen("host.boot", 1), _seen("switch.port_up", 2, 40), own)[0] == "host.boot"


def test_slow_port_of_a_switch_makes_it_no_host() -> None:
    speeds = Speeds()
    for port, speed in (("Ethernet1/1", 400), ("Ethernet2/1", 200)):
        speeds.add(port, 400, speed, Source("show.txt", 3, ""))
    slow = list(speeds.slow("leaf1", None))
    assert [item.kind for item in slow] == ["nic.link_degraded"]
    assert _kinds(_seen("host.boot", 1), _seen("switch.port_up", 2, 40), *slow)[0] == "switch.reboot"


def test_port_of_a_nic_makes_a_host() -> None:
    own = _seen("nic.link_degraded", 3, 50)
    own.device, own.port = "mlx5_0", "mlx5_0:1"
    assert _kinds(_seen("host.boot", 1), _seen("switch.port_up", 2, 40), own)[0] == "host.boot"


def test_warm_reboot_of_another_switch_is_none_of_this_one() -> None:
    asked = _seen("switch.config_change", 1, 0, host="leaf2", text="User requested warm-reboot")
    own = _seen("switch.port_up", 3, 100)
    assert _kinds(asked, _seen("host.boot", 2, 90), own)[1] == "switch.reboot"
