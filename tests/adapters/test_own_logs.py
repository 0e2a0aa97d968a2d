"""Where the log of one rank ends, as far as its last stamp tells."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from engine.facts.model import Observation
from facts_adapters.reader import read_bundle
from facts_adapters.result import BundleReading

LINE = (
    "[E512 11:33:07.000000001 ProcessGroupNCCL.cpp:629] [Rank 3] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600029 milliseconds "
    "before timing out.\n"
)


def reading(root: Path, files: dict[str, str | bytes]) -> BundleReading:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_bundle(root)


def covered(result: BundleReading) -> list[Observation]:
    return [item for item in result.observations if item.kind == "coverage.source"]


@pytest.mark.parametrize(
    ("tail", "undated"),
    [
        ("", 0),
        ("\n\n", 0),
        ("  a second line of it\nand one more\n", 2),
        (LINE.rstrip("\n") + "\r 40%|####\r 41%|####\n", 2),
        ("\r 40%|####\r" + LINE, 0),
        ("step 7\n" * 6_000, None),
    ],
)
def test_the_end_of_a_ranks_own_log_is_told_by_its_last_stamp(tmp_path: Path, tail: str, undated: int | None) -> None:
    own, shared = covered(reading(tmp_path, {"n1/rank_3.log": LINE + tail, "n1/all.log": LINE + tail}))[::-1]
    assert own.fields.get("undated") == undated
    assert (own.rank, "undated" in shared.fields) == (3, False)


def test_a_log_that_was_read_in_part_has_no_known_end(tmp_path: Path) -> None:
    whole = gzip.compress(("noise\n" * 900 + LINE).encode())
    (own,) = covered(reading(tmp_path, {"n1/rank_3.log.gz": whole}))
    assert own.fields["undated"] == 0
    result = reading(tmp_path, {"n1/rank_3.log.gz": gzip.compress((LINE * 900).encode())[:-9]})
    assert result.warnings
    (own,) = covered(result)
    assert "undated" not in own.fields
