"""Neighbours as ``lldpcli`` prints them: which host a listing belongs to."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.facts.model import Observation
from facts_adapters.reader import read_bundle

LISTING = """LLDP neighbors:
Interface:    eth2, via: LLDP, RID: 3, Time: 4 days, 02:11:10
  Chassis:
    SysName:      leaf1
  Port:
    PortID:       ifname Ethernet1/7
"""


@pytest.mark.parametrize(
    ("name", "host"), [("lldp/gpu7.txt", "gpu7"), ("neighbors/dgx-a12.out", "dgx-a12"), ("lldp/all.txt", None)]
)
def test_a_listing_below_the_tools_folder_is_named_after_its_host(tmp_path: Path, name: str, host: str | None) -> None:
    file = tmp_path / name
    file.parent.mkdir()
    file.write_text(LISTING, encoding="utf-8")

    found = [item for item in read_bundle(tmp_path).readings if item.adapter == "lldp_text"]

    assert [(item.host, item.device) for item in found if isinstance(item, Observation)] == [(host, "eth2")]
