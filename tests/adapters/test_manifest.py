"""What a manifest says is used as far as it is sound; its labels do not exist."""

from __future__ import annotations

import dataclasses
from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.facts.manifest import Manifest, SourceHint
from facts_adapters.manifest import read_manifest, zone

FULL = b"""\
schema: 1
id: inc-1
title: A job stopped
job: {framework: pytorch, world_size: 32, nodes: [n1, n2], gpus_per_node: 16}
window: {start: 2026-03-12T08:00:00+08:00, end: 2026-03-12T09:00:00+08:00}
clock:
  timezone: Asia/Shanghai
  year: 2026
  hosts: {n1: {offset_s: 0.4, uncertainty_s: 0.05}, n2: {offset_s: -2}}
sources:
  - {path: logs/rank3.log, host: n1, rank: 3, timezone: UTC, adapter: nccl}
  - {path: "switches/*/syslog", timezone: "+02:00"}
answers: {restarted: no, who: ops}
labels: {causes: [host.oom-kill], suspects: {hosts: [n2]}}
"""


def micros(*parts: int) -> int:
    return int(datetime(*parts, tzinfo=timezone.utc).timestamp()) * 1_000_000  # type: ignore[misc, arg-type]


def test_a_full_manifest() -> None:
    read = read_manifest(FULL, "folder")
    assert not read.problems
    manifest = read.manifest
    assert (manifest.id, manifest.title, manifest.framework) == ("inc-1", "A job stopped", "pytorch")
    assert (manifest.world_size, manifest.nodes, manifest.gpus_per_node) == (32, ("n1", "n2"), 16)
    assert manifest.window is not None
    assert manifest.window.earliest == micros(2026, 3, 12)
    assert manifest.window.latest == micros(2026, 3, 12, 1) + 999_999
    assert (manifest.timezone, manifest.year) == ("Asia/Shanghai", 2026)
    assert manifest.clock_hosts == {"n1": (400_000, 50_000), "n2": (-2_000_000, 0)}
    assert manifest.answers == {"restarted": "no", "who": "ops"}
    assert manifest.hint("logs/rank3.log") == SourceHint("logs/rank3.log", "n1", 3, "UTC", "nccl")
    assert manifest.hint("switches/tor1/syslog").timezone == "+02:00"
    assert manifest.hint("switches/tor1/old/syslog") == SourceHint("switches/tor1/old/syslog")


def test_labels_are_dropped_at_the_door() -> None:
    manifest = read_manifest(FULL, "folder").manifest
    assert "oom-kill" not in repr(manifest)
    assert "labels" not in {field.name for field in dataclasses.fields(manifest)}


def test_without_a_manifest_the_name_is_the_id() -> None:
    assert read_manifest(None, "inc-7").manifest == Manifest(id="inc-7")
    assert read_manifest(b"", "inc-7").manifest == Manifest(id="inc-7")


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        ("jbo: {}", 'unknown key "jbo"', 1),
        ("id: x\njob: {worldsize: 3}", 'unknown key "worldsize"', 2),
        ("job: {world_size: many}", "world_size must be a whole number", 1),
        ("job: {world_size: -1}", "world_size must be a whole number", 1),
        ("job: {nodes: n1}", "nodes is a list", 1),
        ("job: {nodes: [n1, [n2]]}", "a name must be text", 1),
        ("job: 7", "job is a mapping", 1),
        ("window: {start: yesterday}", "start must be a time", 1),
        ("window: {start: 2026-01-01T10:00:00}", "no time zone", 1),
        ("window: {start: 2026-01-02T00:00:00Z, end: 2026-01-01T00:00:00Z}", "ends before", 1),
        ("clock: {timezone: Mars/Olympus}", "no time zone", 1),
        ("clock: {year: 26}", "year must be a year", 1),
        ("clock: {hosts: [n1]}", "hosts is a mapping", 1),
        ("clock: {hosts: {n1: 3}}", "a host's clock", 1),
        ("clock: {hosts: {n1: {offset_s: late}}}", "offset_s must be seconds", 1),
        ("sources: {path: x}", "sources is a list", 1),
        ("sources:\n  - {host: n1}", "a source needs a path", 2),
        ("sources:\n  - {path: a, rank: -3}", "rank must be a rank", 2),
        ("answers: [a]", "answers is a mapping", 1),
        ("- a\n- b", "a manifest is a mapping", 1),
        ("id: [", "not valid YAML", 1),
        ("id: a\nid: b", "stands twice", 2),
    ],
)
def test_problems_have_a_place_and_the_rest_is_used(text: str, words: str, line: int) -> None:
    read = read_manifest(text.encode(), "folder")
    matching = [problem for problem in read.problems if words in problem.message]
    assert len(matching) == 1, read.problems
    assert matching[0].line == line
    assert read.manifest.id


def test_what_is_sound_survives_what_is_not() -> None:
    read = read_manifest(b"id: 7\njob: {world_size: x, nodes: [n1]}\nwindow: 3\nclock: {year: 2026}\n", "f")
    assert (read.manifest.id, read.manifest.nodes, read.manifest.year) == ("7", ("n1",), 2026)
    assert len(read.problems) == 2


def test_a_window_without_a_zone_takes_the_clocks() -> None:
    read = read_manifest(b"window: {start: 2026-07-01 10:00:00}\nclock: {timezone: Europe/Berlin}\n", "f")
    assert not read.problems
    assert read.manifest.window is not None
    assert read.manifest.window.earliest == micros(2026, 7, 1, 8)
    assert read.manifest.window.latest is None


def test_zones() -> None:
    assert zone("UTC") is not None
    assert zone("+05:30") is not None
    assert zone("UTC+08:00") is not None
    assert zone("America/New_York") is not None
    for name in ("CST6", "../etc/passwd", "", "Nowhere/Land", "a" * 200):
        assert name == "" or zone(name) is None


def test_hints_merge() -> None:
    manifest = Manifest(
        "x",
        sources=(
            SourceHint("logs/**", host="any", timezone="UTC"),
            SourceHint("logs/*/r3.log", host="glob", rank=3),
            SourceHint("logs/a/r3.log", host="exact"),
        ),
    )
    assert manifest.hint("logs/a/r3.log") == SourceHint("logs/a/r3.log", "exact", 3, "UTC")
    assert manifest.hint("logs/b/c/d.log").host == "any"
    assert manifest.hint("other.log") == SourceHint("other.log")


@given(st.binary(max_size=400))
def test_any_bytes(raw: bytes) -> None:
    assert read_manifest(raw, "f").manifest.id


yamls = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["id", "job", "window", "clock", "sources", "answers", "x"]), yamls))
def test_any_shape(value: dict[str, object]) -> None:
    import yaml

    assert read_manifest(yaml.safe_dump(value).encode(), "f").manifest.id
