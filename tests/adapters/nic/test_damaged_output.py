"""Output of NIC tools that is cut, mixed up or absurd: what can be read is read, and no reader fails or hangs."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from facts_adapters.adapter import Adapter
from facts_adapters.discovery import registry
from facts_adapters.reader import read_bundle

ADAPTERS = [adapter for adapter in registry().adapters if adapter.branch == "nic"]
NOISE = ("\x00", "�", "9" * 400, "-", ": ", "\n", "\t", "[", "{", '"', "0x", "mlx5_0", "1e999", "NaN", "ffff:")


def damaged(text: str, chance: random.Random) -> str:
    """The text cut somewhere, with pieces moved and noise put in."""
    for _ in range(chance.randint(1, 6)):
        place = chance.randrange(len(text) + 1)
        kind = chance.randrange(4)
        if kind == 0:
            text = text[:place]
        elif kind == 1:
            text = text[:place] + chance.choice(NOISE) + text[place:]
        elif kind == 2:
            text = text[place:] + text[:place]
        else:
            text = text[:place] + chance.choice(NOISE) + text[place + 1 :]
    return text


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: str(adapter.name))
def test_damaged_output_fails_no_reader(adapter: Adapter, tmp_path: Path) -> None:
    chance = random.Random(adapter.name)
    for index, sample in enumerate(adapter.samples):
        for round_ in range(6):
            path = tmp_path / f"{index}x{round_}" / sample.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(damaged(sample.text, chance), encoding="utf-8")
    failed = [warning for warning in read_bundle(tmp_path).warnings if "failed" in warning.reason]
    assert not failed


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: str(adapter.name))
def test_well_formed_output_gives_no_warning(adapter: Adapter, tmp_path: Path) -> None:
    for index, sample in enumerate(adapter.samples):
        if sample.expect:
            path = tmp_path / str(index) / sample.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(sample.text, encoding="utf-8")
    assert not read_bundle(tmp_path).warnings


def test_long_lines_of_every_kind_take_no_time(tmp_path: Path) -> None:
    pieces = (
        "link mlx5_0/1 ",
        "rx_errors:1 ",
        "a_1 ",
        "[SUM] 1-1 sec 1 GBytes ",
        "GID[ 1]: ff::",
        "/sys/class/net/",
        "1 2 ",
    )
    for index, piece in enumerate(pieces):
        (tmp_path / f"long{index}.txt").write_text((piece * (400_000 // len(piece)) + "\n") * 3, encoding="utf-8")
        (tmp_path / f"many{index}.txt").write_text((piece * (900 // len(piece)) + "\n") * 300, encoding="utf-8")
    started = time.process_time()
    read_bundle(tmp_path)
    assert time.process_time() - started < 20
