"""Sessions of a switch shell: several commands in one file, dates, tables that count since a clearing."""

from __future__ import annotations

from pathlib import Path

from engine.facts.model import CounterSample, Observation
from facts_adapters.reader import read_bundle
from facts_adapters.switch._tables import cells, prompt, whole

SESSION = """admin@leaf1:~$ date
Tue May 12 10:05:21 UTC 2026

admin@leaf1:~$ show pfcwd stats
      QUEUE       STATUS    STORM DETECTED/RESTORED    TX OK/DROP    RX OK/DROP
-----------  -----------  -------------------------  ------------  ------------
Ethernet4:3  operational                        1/1    0/38207754           0/0

admin@leaf1:~$ date
Tue May 12 10:48:37 UTC 2026

admin@leaf1:~$ show pfcwd stats
      QUEUE    STATUS    STORM DETECTED/RESTORED    TX OK/DROP    RX OK/DROP
-----------  --------  -------------------------  ------------  ------------
Ethernet4:3   stormed                        2/1    0/39114820           0/0
"""

CLEARED = """admin@leaf1:~$ date
Tue May 12 10:48:37 UTC 2026
admin@leaf1:~$ show interfaces counters errors
Last cached time was 2026-05-12 10:20:00
    IFACE    STATE    RX_ERR    RX_DRP    RX_OVR    TX_ERR    TX_DRP    TX_OVR
---------  -------  --------  --------  --------  --------  --------  --------
Ethernet0        U     1,204       N/A         0         0         0         0
"""


def read(tmp_path: Path, text: str) -> tuple[list[Observation], list[CounterSample]]:
    (tmp_path / "show.txt").write_text(text, encoding="utf-8")
    readings = [item for item in read_bundle(tmp_path).readings if item.adapter == "sonic_show"]
    samples = [item for item in readings if isinstance(item, CounterSample)]
    return [item for item in readings if isinstance(item, Observation)], samples


def test_each_table_has_the_date_above_it(tmp_path: Path) -> None:
    observations, samples = read(tmp_path, SESSION)
    storms = [item for item in samples if item.counter == "storm_detected"]
    assert [item.value for item in storms] == [1, 2]
    first, second = (item.when for item in storms)
    assert first is not None
    assert second is not None
    assert second.earliest - first.earliest == (43 * 60 + 16) * 1_000_000
    blocked = [item for item in observations if item.kind == "switch.pfc_storm"]
    assert [(item.host, item.port, item.source.line) for item in blocked] == [("leaf1", "Ethernet4", 15)]


def test_cleared_table_counts_from_the_clearing(tmp_path: Path) -> None:
    _, samples = read(tmp_path, CLEARED)
    errors = [item for item in samples if item.counter == "RX_ERR"]
    assert [(item.value, item.group) for item in errors] == [(0, "before"), (1204, "")]
    assert not [item for item in samples if item.counter == "RX_DRP"]


def test_rows_that_leave_their_columns() -> None:
    spans = [(0, 9), (11, 18)]
    assert cells("Ethernet0  12", spans) == ["Ethernet0", "12"]
    assert cells("Ethernet100200  7", spans) == ["Ethernet100200", "7"]


def test_numbers() -> None:
    assert [whole(text) for text in ("1,204", "0", "N/A", "", None)] == [1204, 0, None, None, None]


def test_prompts() -> None:
    assert prompt("root@leaf1:~# show pfcwd config") is not None
    assert prompt("leaf1#show interfaces | json") is not None
    assert prompt("Ethernet0   3,4") is None
    assert prompt("# exported from an inventory") is None


def test_slow_port_is_of_the_switch_whose_prompt_stands_above(tmp_path: Path) -> None:
    table = (
        "{0}#show interfaces status\n"
        "Port       Name        Status       Vlan     Duplex Speed  Type         Flags Encapsulation\n"
        "Et1/1      gpu1-rail0  connected    10       full   400G   400GBASE-SR8\n"
        "Et2/1      gpu2-rail0  connected    10       full   {1}   400GBASE-SR8\n"
    )
    (tmp_path / "show.txt").write_text(table.format("leaf1", "200G") + table.format("leaf2", "400G"), encoding="utf-8")
    found = [item for item in read_bundle(tmp_path).readings if isinstance(item, Observation)]
    slow = [(item.host, item.port) for item in found if item.kind == "nic.link_degraded"]
    assert slow == [("leaf1", "Ethernet2/1")]
