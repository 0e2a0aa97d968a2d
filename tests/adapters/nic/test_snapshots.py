"""Two snapshots of one host, taken with several tools: one statement for each counter, in the right direction."""

from __future__ import annotations

import json
from pathlib import Path

from engine.authored.document import load_document
from engine.facts.counters import counter_facts, read_profile
from engine.facts.model import Observation, Span
from facts_adapters.reader import read_bundle
from facts_adapters.result import BundleReading
from knowledge import BUILTIN

PROFILE = read_profile(load_document(BUILTIN / "profiles" / "counters.yaml").value)
PORT = "sys/class/infiniband/mlx5_0/ports/1"


def snapshot(folder: Path, time: str, counters: dict[str, int], values: dict[str, int]) -> None:
    """What was collected at one time: files of sysfs, rdma, ethtool and ip, some of them of the same counters."""
    files = {
        "date.txt": time,
        "n1/rdma_statistic.txt": "link mlx5_0/1 "
        + " ".join(f"{name} {value}" for name, value in counters.items())
        + " ",
        "n1/rdma_statistic.json": json.dumps([{"ifindex": 0, "ifname": "mlx5_0", "port": 1, **counters}]),
        "n1/ethtool_-S_eth2": "NIC statistics:\n"
        + "".join(f"     {name}: {value}\n" for name, value in values.items()),
        "n1/sys/class/net/eth2/operstate": "up",
        "n1/sys/class/net/eth2/carrier_changes": str(values["link_down_events_phy"] * 2 + 1),
        f"n1/{PORT}/state": "4: ACTIVE",
        f"n1/{PORT}/counters/symbol_error": "65535",
        f"n1/{PORT}/counters/link_downed": "2",
        f"n1/{PORT}/counters/port_rcv_errors": "N/A (no PMA)",
    }
    files |= {f"n1/{PORT}/hw_counters/{name}": str(value) for name, value in counters.items()}
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n", encoding="utf-8")


def changes(reading: BundleReading) -> dict[tuple[str | None, str], Observation]:
    def place(sample: object) -> Span:
        when = getattr(sample, "when", None)
        return Span(when.earliest, when.latest) if when else Span()

    found = counter_facts(reading.samples, PROFILE, place)
    return {(item.device, str(item.fields.get("counter", item.fields["class"]))): item for item in found}


def test_two_snapshots_with_several_tools(tmp_path: Path) -> None:
    quiet = {"lifespan": 10, "packet_seq_err": 7, "local_ack_timeout_err": 3, "rnr_nak_retry_err": 0, "np_cnp_sent": 12}
    statistics = {
        "rx_prio0_bytes": 5,
        "rx_prio3_pause": 40,
        "rx_prio3_pause_duration": 1_000,
        "tx_prio3_pause_duration": 500,
        "rx_discards_phy": 0,
        "link_down_events_phy": 1,
        "rx_pause_ctrl_phy": 40,
    }
    snapshot(tmp_path / "t0", "2026-05-12T10:00:00Z", quiet, statistics)
    snapshot(
        tmp_path / "t1",
        "2026-05-12T10:10:00Z",
        quiet | {"packet_seq_err": 4_807, "local_ack_timeout_err": 60, "lifespan": 12},
        statistics | {"rx_prio3_pause": 90_040, "rx_prio3_pause_duration": 95_001_000},
    )
    reading = read_bundle(tmp_path)
    assert not reading.warnings
    found = changes(reading)
    said = {key: (item.kind, item.fields.get("delta")) for key, item in found.items()}
    assert said == {
        ("mlx5_0", "packet_seq_err"): ("nic.counter_rise", 4_800),
        ("mlx5_0", "local_ack_timeout_err"): ("nic.counter_symptom", 57),
        ("mlx5_0", "symbol_error"): ("nic.counter_saturated", None),
        ("mlx5_0", "link_down"): ("nic.counter_idle", None),
        ("mlx5_0", "rnr"): ("nic.counter_idle", None),
        ("mlx5_0", "cnp"): ("nic.counter_idle", None),
        ("eth2", "rx_prio3_pause"): ("nic.counter_activity", 90_000),
        ("eth2", "rx_prio3_pause_duration"): ("nic.counter_rise", 95_000_000),
        ("eth2", "link_down"): ("nic.counter_idle", None),
        ("eth2", "carrier"): ("nic.counter_idle", None),
        ("eth2", "receive_overrun"): ("nic.counter_idle", None),
        ("eth2", "pause_sent"): ("nic.counter_idle", None),
        ("eth2", "traffic"): ("nic.counter_idle", None),
    }
    assert found["eth2", "rx_prio3_pause_duration"].fields["class"] == "pause_received"
    assert found["mlx5_0", "packet_seq_err"].fields["per_s"] == 8.0
    kinds = {(item.kind, item.device) for item in reading.observations if item.kind.startswith("nic.")}
    assert kinds == {("nic.port_state", "mlx5_0"), ("nic.pfc_config", "eth2")}


def test_a_driver_that_was_loaded_again_counts_from_zero(tmp_path: Path) -> None:
    statistics = {"rx_prio0_bytes": 5, "rx_discards_phy": 90_000, "link_down_events_phy": 9, "rx_pause_ctrl_phy": 0}
    snapshot(tmp_path / "before", "2026-05-12T10:00:00Z", {"packet_seq_err": 50_000}, statistics)
    after = {"rx_prio0_bytes": 1, "rx_discards_phy": 3, "link_down_events_phy": 1, "rx_pause_ctrl_phy": 0}
    snapshot(tmp_path / "after", "2026-05-12T10:10:00Z", {"packet_seq_err": 2}, after)
    found = changes(read_bundle(tmp_path))
    down = found["eth2", "link_down_events_phy"]
    assert (down.kind, down.fields["delta"], down.fields["resets"]) == ("nic.counter_rise", 1, 1)
    assert ("eth2", "rx_discards_phy") not in found
    assert ("mlx5_0", "packet_seq_err") not in found
