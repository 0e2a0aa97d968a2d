"""The signatures of Xid and SXid codes say the same as the profiles of these codes."""

from __future__ import annotations

from typing import Any

from engine.authored import load_document
from knowledge import BUILTIN


def maps_of(signature_file: str, field: str, source: str) -> list[dict[str, str]]:
    """The value maps of ``field`` that are taken from the group ``source``."""
    document = load_document(BUILTIN / "signatures" / "host" / signature_file)
    entries: list[dict[str, Any]] = document.value["signatures"]
    found = [entry.get("map", {}).get(field) for entry in entries]
    return [rule["values"] for rule in found if rule and rule["from"] == source]


def classes_of(profile: str) -> dict[str, str]:
    """The class of every code of a profile."""
    codes = load_document(BUILTIN / "profiles" / f"{profile}.yaml").value["codes"]
    return {code: entry["class"] for code, entry in codes.items()}


def test_xid_classes() -> None:
    known = {code: name for code, name in classes_of("xid").items() if name != "unknown"}
    maps = maps_of("nvidia_driver.yaml", "class", "xid")
    assert maps
    assert all(values == known for values in maps)


def test_sxid_classes() -> None:
    known = classes_of("sxid")
    maps = maps_of("nvidia_driver.yaml", "class", "sxid") + maps_of("fabric_manager.yaml", "class", "sxid")
    assert maps
    for values in maps:
        assert values.items() <= known.items()
