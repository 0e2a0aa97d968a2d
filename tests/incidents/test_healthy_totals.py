"""Totals of a long life beside an incident change nothing in its verdict."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.incidents.investigating import BUNDLES, report_of

BOND = """\
Ethernet Channel Bonding Driver: v5.15.0-105-generic

Bonding Mode: IEEE 802.3ad Dynamic link aggregation
MII Status: up
MII Polling Interval (ms): 100

Slave Interface: eth0
MII Status: up
Speed: 100000 Mbps
Duplex: full
Link Failure Count: 3
Permanent HW addr: b8:ce:f6:00:00:01
"""
WATCHDOG = """\
       QUEUE       STATUS    STORM DETECTED/RESTORED    TX OK/DROP    RX OK/DROP    TX LAST OK/DROP    RX LAST OK/DROP
------------  -----------  -------------------------  ------------  ------------  -----------------  -----------------
Ethernet0:3  operational                        2/2       100/12           0/0              12/12                0/0
"""
HEALTHY = {
    "state/gpu-z1/proc_net_bonding_bond0.txt": BOND,
    "state/leaf-z1/show_pfcwd_stats.txt": WATCHDOG,
    "state/gpu-z1/cpu.stat": "usage_usec 9\nuser_usec 8\nsystem_usec 1\nnr_periods 1000\nnr_throttled 12\n",
    "state/gpu-z1/vmstat": "nr_free_pages 1\npgmajfault 9\noom_kill 2\n",
}


@pytest.mark.parametrize("name", ["bare-watchdog-lines", "finished-with-scary-noise", "exception-before-network-noise"])
def test_the_verdict_stays(tmp_path: Path, name: str) -> None:
    before = report_of(BUNDLES / name)
    bundle = tmp_path / name
    shutil.copytree(BUNDLES / name, bundle)
    for path, text in HEALTHY.items():
        (bundle / path).parent.mkdir(parents=True, exist_ok=True)
        (bundle / path).write_text(text, encoding="utf-8")
    after = report_of(bundle)
    for key in ("outcome", "cause", "owner"):
        assert after["verdict"][key] == before["verdict"][key]
    first = [report["first_fault"] and report["first_fault"]["source"] for report in (before, after)]
    assert first[0] == first[1]
