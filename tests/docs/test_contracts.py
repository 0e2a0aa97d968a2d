"""The pages on the bundle and the report name what the code reads and writes, and nothing else."""

from __future__ import annotations

import json
import re
from typing import Any

from facts_adapters import manifest
from facts_adapters.manifest import read_manifest
from knowledge import BUILTIN
from tests.docs.pages import ROOT

BUNDLE = (ROOT / "docs" / "reference" / "bundle.md").read_text(encoding="utf-8")
REPORT = (ROOT / "docs" / "reference" / "report.md").read_text(encoding="utf-8")
SCHEMA = json.loads((BUILTIN.parent / "schema" / "report.schema.json").read_text(encoding="utf-8"))


def test_the_manifest_shown_has_no_problem() -> None:
    block = re.search(r"```yaml\n(.*?)```", BUNDLE, re.DOTALL)
    assert block
    read = read_manifest(block[1].encode(), "x")
    assert read.problems == ()
    assert read.manifest.id == "hang-at-first-step"
    assert read.manifest.clock_hosts == {"n1": (400_000, 50_000)}


def test_every_key_of_the_manifest_is_named() -> None:
    known = {*manifest._TOP, *manifest._JOB, *manifest._SOURCE} - {"schema"}
    assert {key for key in known if not re.search(rf"`(?:\w+\.)*{key}\b", BUNDLE)} == set()


def test_every_key_of_the_report_is_named() -> None:
    assert {key for key in keys(SCHEMA) if f"`{key}`" not in REPORT} - {"earliest", "latest"} == set()


def keys(schema: Any) -> set[str]:
    """Names of all properties at any depth, but those inside ``fields``, which depend on the kind."""
    if isinstance(schema, list):
        return {key for item in schema for key in keys(item)}
    if not isinstance(schema, dict):
        return set()
    named = set(schema.get("properties", {}))
    return named | {key for item in schema.values() for key in keys(item)}
