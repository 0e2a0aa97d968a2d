"""Links that train after boot or probe, against links that were up and fail."""

from __future__ import annotations

from engine.facts.bring_up import mark_bring_up
from engine.facts.model import SECOND, Observation, Reading, Source


def _seen(kind: str, second: float, line: int, device: str | None = "eth2", basis: str = "boot") -> Observation:
    stamp = Reading(int(second * SECOND), int(second * SECOND), basis)  # type: ignore[arg-type]
    return Observation(kind, Source("dmesg.txt", line, ""), {}, device=device, when=stamp)


def _kinds(*items: Observation) -> list[str]:
    return [item.kind for item in mark_bring_up(items)]


def test_first_up_after_boot_is_bring_up() -> None:
    assert _kinds(_seen("nic.link_down", 20, 1), _seen("nic.link_up", 22, 2)) == ["nic.link_training", "nic.link_up"]


def test_first_up_after_probe_is_bring_up() -> None:
    found = _kinds(
        _seen("nic.driver_started", 90000, 1, None, "utc"),
        _seen("nic.link_down", 90010, 2, basis="utc"),
        _seen("nic.link_up", 90012, 3, basis="utc"),
    )
    assert found[1] == "nic.link_training"


def test_link_that_was_up_fails_soon_after_boot() -> None:
    found = _kinds(_seen("nic.link_up", 10, 1), _seen("nic.link_down", 60, 2), _seen("nic.link_up", 62, 3))
    assert found[1] == "nic.link_down"


def test_late_or_lasting_loss_is_a_fault() -> None:
    assert _kinds(_seen("nic.link_down", 8121, 1), _seen("nic.link_up", 8123, 2))[0] == "nic.link_down"
    assert _kinds(_seen("nic.link_down", 20, 1), _seen("nic.link_up", 22, 2, "eth3"))[0] == "nic.link_down"


def test_driver_that_restarts_after_a_fault_is_no_bring_up() -> None:
    found = _kinds(
        _seen("nic.firmware_fault", 9000, 1, None),
        _seen("nic.driver_started", 9010, 2, None),
        _seen("nic.link_down", 9020, 3),
        _seen("nic.link_up", 9025, 4),
    )
    assert found[2] == "nic.link_down"
