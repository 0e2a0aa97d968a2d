"""Counter maps: what exporters and tables of a site mean, and what is wrong with a map."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from engine.facts.model import Observation
from engine.facts.vocabulary import load_vocabulary
from facts_adapters.catalogue import signature_problems
from facts_adapters.counter_maps import query
from facts_adapters.counter_maps.check import check
from facts_adapters.counter_maps.reading import builtin_profile, load_maps
from facts_adapters.counter_maps.series import MOST_POINTS, Thinned
from facts_adapters.counter_maps.site import emitted, with_packs
from facts_adapters.nic.prometheus_text import EMITS
from facts_adapters.reader import read_bundle
from facts_adapters.result import BundleReading
from knowledge import BUILTIN

TABLE = """schema: 1
kind: counter_map
id: fabric-poller
reads: table
covers: switch_counters
time: [polled_at]
host: device
port: "{slot}/{ifname}"
queue: cos
counters:
  rx_crc: arista_port/fcsErrors
  tx_drop: {counter: arista_queue/drop_packets, queue: cos}
patterns:
  "pfc_rx_(?P<priority>[0-7])": "sonic_pfc/rx_pfc{priority}"
samples:
  - text: |
      polled_at,device,slot,ifname,cos,rx_crc,tx_drop,pfc_rx_3
      2026-05-12T10:00:00Z,leaf1,Ethernet1,3,3,7,0,12
    expect:
      - {family: arista_port, counter: fcsErrors, value: 7, host: leaf1, port: Ethernet1/3}
      - {family: sonic_pfc, counter: rx_pfc3, value: 12}
near_misses:
  - |
    polled_at,device,slot,ifname
    2026-05-12T10:00:00Z,leaf1,Ethernet1,3
"""

METRICS = """schema: 1
kind: counter_map
id: our-exporter
reads: metrics
covers: nic_counters
host: rack_host
device: hca
counters:
  rdma_retries_total: site_nic/ack_timeout
samples:
  - text: 'rdma_retries_total{hca="mlx5_0",rack_host="n1"} 9'
    expect: [{family: site_nic, counter: ack_timeout, value: 9, host: n1, device: mlx5_0}]
near_misses: ['rdma_retries{hca="mlx5_0"} 9']
"""


def pack(folder: Path, **maps: str) -> Path:
    """A pack with these counter maps."""
    root = folder / "site"
    (root / "counter_maps").mkdir(parents=True)
    (root / "pack.yaml").write_text("schema: 1\nname: site\nversion: '1'\n", encoding="utf-8")
    for name, text in maps.items():
        (root / "counter_maps" / f"{name}.yaml").write_text(text, encoding="utf-8")
    return root


def read(folder: Path, files: dict[str, str], packs: tuple[Path, ...] = ()) -> BundleReading:
    """A bundle of these files, read with the maps of these packs."""
    bundle = folder / "bundle"
    for name, text in files.items():
        path = bundle / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return read_bundle(bundle, adapters=with_packs(packs))


def matrix(name: str, values: Sequence[object], start: int = 1_788_347_400, **labels: str) -> str:
    """A range query with one series, a point every fifteen seconds."""
    points = [[start + 15 * index, str(value)] for index, value in enumerate(values)]
    result = {"metric": {"__name__": name, **labels}, "values": points}
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": [result]}})


def test_builtin_maps_name_known_counters_and_their_samples_come_out() -> None:
    loaded = load_maps([BUILTIN], profile=builtin_profile(), vocabulary=load_vocabulary())
    assert not [str(problem.message) for problem in (*loaded.problems, *check(loaded.maps))]
    assert len(loaded.maps) >= 7
    assert set(emitted(loaded.maps)) == set(EMITS)


def test_a_map_of_a_pack_reads_a_table(tmp_path: Path) -> None:
    site = pack(tmp_path, table=TABLE)
    assert not signature_problems([site], load_vocabulary())
    rows = (
        "polled_at;device;slot;ifname;cos;rx_crc;tx_drop;pfc_rx_3\n"
        "2026-05-12T10:00:00Z;leaf1;Ethernet1;3;3;7;0;12\n"
        "2026-05-12T10:01:00Z;leaf1;Ethernet1;3;3;7;N/A;9,012\n"
        "2026-05-12T10:02:00Z;leaf1;Ethernet1;3;3;19;0;9,012\n"
    )
    result = read(tmp_path, {"polled.csv": rows}, (site,))
    assert not result.warnings
    found = {(s.counter, s.value, s.queue) for s in result.samples}
    assert ("fcsErrors", 19, 3) in found
    assert ("rx_pfc3", 9012, 3) in found
    assert {(s.host, s.port, s.adapter) for s in result.samples} == {("leaf1", "Ethernet1/3", "fabric-poller")}
    times = sorted({s.when.earliest for s in result.samples if s.when and s.counter == "fcsErrors"})
    assert [b - a for a, b in pairwise(times)] == [60_000_000, 60_000_000]
    covered = [o for o in result.observations if o.kind == "coverage.source" and o.adapter == "fabric-poller"]
    assert [(o.host, o.fields["class"]) for o in covered] == [("leaf1", "switch_counters")]


def test_without_the_pack_nobody_knows_the_table(tmp_path: Path) -> None:
    result = read(tmp_path, {"polled.csv": "polled_at,device,slot,ifname,cos,rx_crc\nx,leaf1,E,3,3,7\n"})
    assert not result.samples


def test_json_rows_nested_and_as_a_list(tmp_path: Path) -> None:
    text = TABLE.replace("device\n", "labels.device\n", 1).replace("{slot}/{ifname}", "{labels.port}")
    site = pack(
        tmp_path,
        table=text.partition("samples:")[0] + 'samples: [{text: "x", expect: [{value: 1}]}]\nnear_misses: [x]\n',
    )
    row = {"polled_at": 1_788_347_400, "labels": {"device": "leaf1", "port": "Et1", "cos": "3"}, "rx_crc": 5}
    files = {"lines.json": f"{json.dumps(row)}\n{json.dumps(row)}\n", "list.json": json.dumps([row], indent=1)}
    result = read(tmp_path, files, (site,))
    assert {(s.source.path, s.host, s.port, s.value) for s in result.samples} == {
        ("lines.json", "leaf1", "Et1", 5),
        ("list.json", "leaf1", "Et1", 5),
    }


def test_bad_cells_are_told_and_the_rest_is_used(tmp_path: Path) -> None:
    site = pack(tmp_path, table=TABLE)
    rows = ["polled_at,device,slot,ifname,cos,rx_crc,tx_drop,pfc_rx_3"]
    rows += [
        f"2026-05-12T10:{minute:02d}:00Z,leaf1,Ethernet1,3,3,{'many' if minute < 9 else minute},0,0"
        for minute in range(12)
    ]
    result = read(tmp_path, {"polled.csv": "\n".join(rows)}, (site,))
    reasons = [warning.reason for warning in result.warnings]
    assert reasons[:1] == ['rx_crc is "many", no number']
    assert reasons[-1] == "4 more cells could not be used"
    assert {s.value for s in result.samples if s.counter == "fcsErrors"} == {9, 10, 11}


def test_metrics_of_a_site_come_before_the_builtin_ones(tmp_path: Path) -> None:
    site = pack(tmp_path, metrics=METRICS)
    text = 'rdma_retries_total{hca="mlx5_0",rack_host="n1"} 9\n'
    text += 'node_infiniband_symbol_error_total{device="mlx5_0",port="1"} 2\n'
    result = read(tmp_path, {"n1/metrics.txt": text}, (site,))
    assert {(s.family, s.value) for s in result.samples} == {("site_nic", 9), ("ib_port", 2)}
    assert not result.warnings


def test_the_manifest_gives_a_file_to_a_map(tmp_path: Path) -> None:
    site = pack(tmp_path, table=TABLE)
    files = {
        "incident.yaml": "schema: 1\nid: x\nsources: [{path: odd.txt, adapter: fabric-poller, host: leaf9}]\n",
        "odd.txt": "# exported by hand\npolled_at,ifname,rx_crc\n2026-05-12T10:00:00Z,3,7\n",
    }
    result = read(tmp_path, files, (site,))
    assert [(s.host, s.value) for s in result.samples] == [("leaf9", 7)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("arista_port/fcsErrors", "arista_prot/fcsErrors"), '"arista_prot" is not a value of the families'),
        (("arista_port/fcsErrors", "arista_port/fcsError"), '"fcsError" is not a value of the counters of arista_port'),
        (("arista_port/fcsErrors", "fcsErrors"), '"fcsErrors" is no counter'),
        (("reads: table", "reads: tables"), '"tables" is not a value of reads'),
        (("covers:", "cover:"), 'unknown key "cover" in a counter map'),
        (("id: fabric-poller\n", ""), 'a counter map lacks the key "id"'),
        (("[0-7])", "[0-7])(?=x)"), "the pattern uses look-around"),
        (("value: 7,", "value: 8,"), "sample 1 does not give"),
        (("ifname\n    2026", "rx_crc\n    2026"), "near miss 1 gives"),
        (("near_misses:", "near_miss:"), "at least one near miss is required"),
        (("time: [polled_at]", "time: 7"), "time must be a list, not a whole number"),
    ],
)
def test_what_is_wrong_with_a_map_is_told(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    assert change[0] in TABLE
    problems = signature_problems([pack(tmp_path, table=TABLE.replace(*change))], load_vocabulary())
    assert any(message in problem.message for problem in problems), [problem.message for problem in problems]
    assert all(problem.path.endswith("table.yaml") and problem.line for problem in problems)


def test_a_faulty_map_does_not_stop_the_reading(tmp_path: Path) -> None:
    site = pack(tmp_path, table=TABLE.replace("reads: table", "reads: nothing"), metrics=METRICS)
    result = read(tmp_path, {"metrics.txt": 'rdma_retries_total{hca="mlx5_0",rack_host="n1"} 9\n'}, (site,))
    assert [s.value for s in result.samples] == [9]


def test_a_range_query_keeps_the_points_where_the_value_changes(tmp_path: Path) -> None:
    text = matrix(
        "node_infiniband_link_downed_total",
        [3] * 40 + [4] * 40 + ["NaN"] + [9] * 40,
        device="mlx5_0",
        port="1",
        instance="n1:9100",
    )
    result = read(tmp_path, {"downed.json": text})
    seconds = [(s.value, (s.when.earliest // 1_000_000 - 1_788_347_400) // 15) for s in result.samples if s.when]
    assert seconds == [(3, 0), (3, 39), (4, 40), (4, 79), (9, 81), (9, 120)]
    assert not result.warnings


def test_a_series_that_always_changes_is_cut_but_adds_up() -> None:
    series: Thinned[int] = Thinned()
    values = [*range(5_000), *range(3_000), *range(70)]
    kept = [value for at, number in enumerate(values) for value in series.add(number, at)]
    kept += series.rest()
    assert len(kept) < 2 * MOST_POINTS
    numbers = [value for value, _ in kept]
    pairs = list(pairwise(numbers))
    assert sum(later - earlier if later >= earlier else later for earlier, later in pairs) == 4_999 + 2_999 + 69
    assert sum(later < earlier for earlier, later in pairs) == 2


def test_a_large_step_of_a_busy_series_keeps_its_time() -> None:
    series: Thinned[int] = Thinned()
    values = [*range(1_000), *range(5_000, 6_000)]
    kept = [point for at, number in enumerate(values) for point in series.add(number, at)]
    assert (999, 999) in kept
    assert (5_000, 1_000) in kept


def test_queries_in_other_wrappings(tmp_path: Path) -> None:
    one = {
        "metric": {"__name__": "ifInErrors", "ifName": "Et1", "instance": "leaf1"},
        "values": [[1_788_347_400, "1"], [1_788_347_415, "8"]],
    }
    answer = {"status": "success", "data": {"resultType": "matrix", "result": [one]}}
    files = {
        "promtool.json": json.dumps([one]),
        "pretty.json": json.dumps({"errors": answer, "others": answer}, indent=2),
        "several.json": f"{json.dumps(answer)}\n{json.dumps(answer)}\n",
    }
    result = read(tmp_path, files)
    by_file = {name: [s.value for s in result.samples if s.source.path == name] for name in files}
    assert by_file == {"promtool.json": [1, 8], "pretty.json": [1, 8, 1, 8], "several.json": [1, 8, 1, 8]}
    lines = {s.source.line for s in result.samples if s.source.path == "pretty.json"}
    assert len(lines) == 2
    assert not result.warnings


def test_a_cut_off_answer_and_a_failed_query_are_told(tmp_path: Path) -> None:
    whole = matrix("ifInErrors", [1, 5], ifName="Et1", instance="leaf1")
    files = {
        "cut.json": whole[:-3] + ", " + '{"metric": {"__name__": "ifInErr',
        "failed.json": '{"status":"error","errorType":"bad_data","error":"invalid parameter \\"query\\""}',
        "rate.json": matrix("", [1, 2], instance="n1").replace('"__name__": "", ', ""),
    }
    result = read(tmp_path, files)
    told = {warning.path: warning.reason for warning in result.warnings}
    assert told["cut.json"] == "the last series is cut off or damaged; those before it are used"
    assert "the query failed" in told["failed.json"]
    assert "no metric name" in told["rate.json"]
    assert [s.value for s in result.samples] == [1, 5]


def test_a_series_across_the_chunks_of_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query, "CHUNK", 97)
    answers = "\n".join(
        matrix("ifInErrors", [index, index + 1], ifName=f"Et{index}", instance="叶1") for index in range(9)
    )
    result = read(tmp_path, {"all.json": answers})
    assert sorted(s.value for s in result.samples) == sorted([*range(9), *range(1, 10)])
    assert {s.source.line for s in result.samples} == set(range(1, 10))


def test_changes_of_levels_become_facts_between_two_points(tmp_path: Path) -> None:
    text = matrix("DCGM_FI_DEV_XID_ERRORS", [0, 0, 79, 79], gpu="1", pci_bus_id="00000000:9B:00.0", Hostname="n4")
    result = read(tmp_path, {"xid.json": text})
    (xid,) = (o for o in result.observations if o.kind == "host.gpu_xid")
    assert isinstance(xid, Observation)
    assert (xid.fields["class"], xid.host) == ("lost", "n4")
    assert xid.after is not None
    assert xid.until is not None
    assert xid.until.earliest - xid.after.earliest == 15_000_000


def test_error_tables_of_two_vendors_are_not_confused(tmp_path: Path) -> None:
    eos = "Ethernet3/1 is up, line protocol is up (connected)\n     9 input errors, 7 CRC, 3 input discards\n"
    cisco = "Ethernet1/2 is up\nadmin state is up\n    9 input error  0 short frame\n    3 input discard\n"
    result = read(tmp_path, {"leaf1/interfaces.txt": eos, "leaf2/interfaces.txt": cisco})
    found = {(s.host, s.family) for s in result.samples}
    assert found == {("leaf1", "arista_port"), ("leaf2", "nxos_port")}


def test_counters_of_eos_count_from_their_clearing(tmp_path: Path) -> None:
    text = (
        "Tue May 12 10:30:00 UTC 2026\nEthernet3/1 is up, line protocol is up (connected)\n"
        '  Last clearing of "show interface" counters 1 day, 0:10:00 ago\n     9 input errors, 7 CRC, 0 alignment\n'
    )
    result = read(tmp_path, {"leaf1/interfaces.txt": text})
    crc = [(s.value, s.when.earliest // 1_000_000) for s in result.samples if s.counter == "fcsErrors" and s.when]
    assert [value for value, _ in crc] == [0, 7]
    assert crc[1][1] - crc[0][1] == 87_000


def test_scrapes_under_dates_in_one_file(tmp_path: Path) -> None:
    metric = 'node_network_carrier_changes_total{{device="eth2"}} {}\n'
    text = f"Tue May 12 10:00:00 UTC 2026\n{metric.format(4)}Tue May 12 10:05:00 UTC 2026\n{metric.format(6)}"
    result = read(tmp_path, {"hosts/n1/scrapes.txt": text})
    values = [(s.value, s.when.earliest) for s in result.samples if s.when]
    assert [value for value, _ in values] == [4, 6]
    assert values[1][1] - values[0][1] == 300_000_000
    assert {s.host for s in result.samples} == {"n1"}


@pytest.mark.parametrize(
    "text",
    [
        "# TYPE a counter\n" + "a{" + 'x="y",' * 3_000 + "} 1\n",
        "# TYPE a counter\na{" + "{" * 4_000 + "\n",
        '[{"metric":{"__name__":"ifInErrors"},"values":[[true,"1"],["x","1"],[1,[2]],7,null,[1788347400,"1e999"]]}]',
        '{"metric":{"__name__":"ifInErrors"},"value":' + "[" * 20_000,
        '{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":7},"values":{}}]}}',
        "time,host,device,port,queue,family,counter,value\n" + '"' * 70_000 + "\nx,y,z,a,9999999,no_family,c,1\n",
    ],
)
def test_hostile_input_ends_with_warnings_only(tmp_path: Path, text: str) -> None:
    result = read(tmp_path, {"hostile.txt": text})
    assert not result.samples
    assert not [warning for warning in result.warnings if "failed" in warning.reason]
