"""The counters profile says of every counter that the readers yield what a rise means."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engine.authored.document import load_document
from engine.facts.counters import CounterProfile, counter_facts, read_profile
from engine.facts.model import SECOND, CounterSample, Observation, Source, Span
from facts_adapters.reader import read_bundle
from knowledge import BUILTIN

DOCUMENT = load_document(BUILTIN / "profiles" / "counters.yaml").value
FAMILY = re.compile(
    r"family=\"(\w+)\"|\"((?:sonic|arista|nxos|huawei|h3c|cumulus|ethtool|ib|mlx5|bnxt|efa|irdma)\w*)\""
)


@pytest.fixture(scope="module")
def profile() -> CounterProfile:
    return read_profile(DOCUMENT)


def change(
    profile: CounterProfile, family: str, counter: str, first: int, last: int, seconds: int = 600
) -> list[Observation]:
    """What two samples of one counter, ``seconds`` apart, come to."""
    times = {"before": 0, "after": seconds * SECOND}
    samples = [
        CounterSample(Source(f"{group}/counters.txt", 1), family, counter, value, host="n1", device="d", group=group)
        for group, value in (("before", first), ("after", last))
    ]
    return counter_facts(samples, profile, lambda sample: Span(times[sample.group], times[sample.group]))


def test_classes_are_a_closed_list() -> None:
    known = set(DOCUMENT["classes"])
    for name, family in DOCUMENT["families"].items():
        entries = {**family.get("counters", {}), **family.get("patterns", {})}
        used = {entry["class"] for entry in entries.values() if entry != "ignore"}
        assert used <= known, (name, used - known)
        for pattern in family.get("patterns", {}):
            re.compile(pattern)


def test_families_of_the_readers_are_known() -> None:
    packages = Path(__file__).parents[3] / "facts_adapters"
    for path in (*packages.glob("nic/*.py"), *packages.glob("switch/*.py")):
        for keyword, _ in FAMILY.findall(path.read_text(encoding="utf-8")):
            assert not keyword or keyword in DOCUMENT["families"], (path.name, keyword)


@pytest.mark.parametrize(
    ("family", "counter", "first", "last", "kind"),
    [
        ("mlx5_hw", "packet_seq_err", 3_655, 8_485, "nic.counter_rise"),
        ("mlx5_hw", "packet_seq_err", 3_655, 3_658, None),
        ("mlx5_hw", "local_ack_timeout_err", 0, 48, "nic.counter_symptom"),
        ("mlx5_hw", "req_transport_retries_exceeded", 0, 1, "nic.counter_symptom"),
        ("mlx5_hw", "out_of_sequence", 0, 90_000, "nic.counter_activity"),
        ("mlx5_hw", "np_ecn_marked_roce_packets", 0, 90_000, "nic.counter_activity"),
        ("mlx5_hw", "lifespan", 10, 12, None),
        ("mlx5_hw", "packet_seq_err", 7, 7, "nic.counter_idle"),
        ("ib_port", "link_downed", 255, 255, "nic.counter_saturated"),
        ("ib_port", "port_xmit_wait", 0, 900_000_000, "nic.counter_activity"),
        ("ib_port", "symbol_error", 0, 4_000, "nic.counter_rise"),
        ("ethtool_mlx5", "rx_corrected_bits_phy", 0, 400_000, "nic.counter_activity"),
        ("ethtool_mlx5", "rx_prio3_pause", 0, 400_000, "nic.counter_activity"),
        ("ethtool_mlx5", "rx_prio3_pause_duration", 0, 22_000_000, "nic.counter_rise"),
        ("ethtool_mlx5", "rx_prio3_pause_duration", 0, 1_464, None),
        ("ethtool_bnxt", "pfc_pri3_tx_duration_us", 0, 90_000_000, "nic.counter_rise"),
        ("sonic_port", "RX_OVR", 0, 90_000, "switch.counter_activity"),
        ("sonic_fec", "FEC_CORR", 0, 90_000, "switch.counter_activity"),
        ("sonic_fec", "FEC_UNCORR", 0, 90, "switch.counter_rise"),
        ("sonic_pg", "pg3_drop", 0, 90, "switch.counter_rise"),
        ("sonic_pfcwd", "storm_detected", 1, 2, "switch.counter_rise"),
        ("arista_pfc", "rxFrames", 0, 2_000, None),
        ("arista_pfc", "rxFrames", 0, 2_000_000, "switch.counter_rise"),
    ],
)
def test_change(profile: CounterProfile, family: str, counter: str, first: int, last: int, kind: str | None) -> None:
    found = change(profile, family, counter, first, last)
    assert [item.kind for item in found] == ([kind] if kind else [])


def test_direction_of_pause(profile: CounterProfile) -> None:
    received = change(profile, "ethtool_mlx5", "rx_prio3_pause_duration", 0, 90_000_000)[0]
    sent = change(profile, "ethtool_mlx5", "tx_prio4_pause_duration", 0, 90_000_000)[0]
    assert (received.fields["class"], received.fields["queue"]) == ("pause_received", 3)
    assert (sent.fields["class"], sent.fields["queue"]) == ("pause_sent", 4)


def test_dumps_that_do_not_tell_the_device_are_no_series(tmp_path: Path) -> None:
    dump = "lifespan:10\nout_of_buffer:0\npacket_seq_err:{}\n"
    (tmp_path / "hw.txt").write_text(dump.format(3) + dump.format(9_000), encoding="utf-8")
    statistics = "NIC statistics:\n     rx_prio0_bytes: 1\n     rx_discards_phy: {}\n"
    (tmp_path / "nic.txt").write_text(statistics.format(3) + statistics.format(9_000), encoding="utf-8")
    result = read_bundle(tmp_path)
    values = {(sample.counter, sample.value) for sample in result.samples}
    assert {("packet_seq_err", 3), ("rx_discards_phy", 3)} <= values
    assert not {("packet_seq_err", 9_000), ("rx_discards_phy", 9_000)} & values


def test_a_long_line_of_counters_is_a_total_and_no_rise(tmp_path: Path) -> None:
    names = ("packet_seq_err", "local_ack_timeout_err", *(f"rx_other_counter_{place}" for place in range(40)))
    line = "link mlx5_0/1 " + " ".join(f"{name} 123456789012" for name in names)
    (tmp_path / "statistic.txt").write_text(f"{line} \n", encoding="utf-8")
    result = read_bundle(tmp_path)
    assert not [item for item in result.observations if item.kind.startswith("nic.")]
    assert {sample.port for sample in result.samples} == {"mlx5_0:1"}
    assert len(result.samples) == len(names)
    assert not result.warnings
