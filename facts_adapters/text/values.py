"""Captured texts as values of a field's type."""

from __future__ import annotations

from engine.facts.model import Scalar
from engine.facts.vocabulary import FieldSpec

_YES = ("true", "yes", "on", "enabled", "enable", "1", "active")
_NO = ("false", "no", "off", "disabled", "disable", "0", "inactive")


def number(text: str) -> float | None:
    """A decimal number, thousands separators allowed; ``None`` where the text is none."""
    try:
        return float(text.strip().replace(",", ""))
    except ValueError:
        return None


def convert(text: str, spec: FieldSpec) -> Scalar | None:
    """A captured text as a value of the field's type, ``None`` where it is none or not among the closed values."""
    stripped = text.strip()
    if spec.type == "str":
        return _closed(stripped, spec.values) if spec.values else stripped or None
    if spec.type == "bool":
        folded = stripped.lower()
        return True if folded in _YES else False if folded in _NO else None
    if spec.type == "int":
        return _integer(stripped)
    return number(stripped)


def _integer(text: str) -> int | None:
    cleaned = text.replace(",", "").replace("_", "")
    try:
        return int(cleaned, 16) if cleaned.lower().startswith(("0x", "-0x")) else int(cleaned)
    except ValueError:
        value = number(cleaned)
        return int(value) if value is not None and value == value and abs(value) < 2**63 else None


def _closed(text: str, values: tuple[str, ...]) -> str | None:
    if text in values:
        return text
    folded = text.lower().replace(" ", "_").replace("-", "_")
    match = next((value for value in values if value.lower() == folded), None)
    return match or ("other" if "other" in values else None)
