"""Walking through documents (JSON, YAML) of other programs, in which anything may be missing or of another type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def at(value: Any, *keys: str) -> Any:
    """The value behind a path of keys, ``None`` where it does not exist."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def mapping(value: Any) -> Mapping[str, Any]:
    """``value`` where it is a mapping, else an empty one (damaged or foreign documents)."""
    return value if isinstance(value, dict) else {}


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """The mappings in a list; whatever else is there is left out."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
