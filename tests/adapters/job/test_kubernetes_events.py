"""Event tables of Kubernetes: how long an image was pulled for."""

from __future__ import annotations

from pathlib import Path

from facts_adapters.reader import read_bundle

HEAD = "NAMESPACE   LAST SEEN   TYPE     REASON    OBJECT           MESSAGE\n"


def slow(folder: Path, *rows: str) -> list[int]:
    """Lines of the pulls that took long."""
    (folder / "events.txt").write_text(HEAD + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    readings = read_bundle(folder).readings
    return [item.source.line for item in readings if getattr(item, "fields", {}).get("reason") == "PulledSlowly"]


def test_a_pull_is_slow_once(tmp_path: Path) -> None:
    found = slow(
        tmp_path,
        'ml          50m         Normal   Pulling   pod/llm-0        Pulling image "t:1"',
        'ml          40m         Normal   Pulled    pod/llm-0        Successfully pulled image "t:1"',
        'ml          5m          Normal   Pulled    pod/llm-0        Successfully pulled image "t:1"',
    )
    assert found == [3]


def test_an_image_that_was_there_is_not_pulled(tmp_path: Path) -> None:
    present = (
        'ml          5m          Normal   Pulled    pod/llm-0        Container image "{}" already present on machine'
    )
    pulling = 'ml          50m         Normal   Pulling   pod/llm-0        Pulling image "t:1"'
    assert not slow(tmp_path, pulling, present.format("t:1"), present.format("u:1"))


def test_another_image_or_namespace_is_another_pull(tmp_path: Path) -> None:
    found = slow(
        tmp_path,
        'ml          50m         Normal   Pulling   pod/llm-0        Pulling image "t:1"',
        'ml          5m          Normal   Pulled    pod/llm-0        Successfully pulled image "side:1"',
        'test        5m          Normal   Pulled    pod/llm-0        Successfully pulled image "t:1"',
    )
    assert not found
