"""Which facts of a report its conclusions rest on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Report = Mapping[str, Any]
"""A report as :func:`engine.report.contract.to_report` makes it."""


def cited(hypotheses: Iterable[Mapping[str, Any]]) -> set[str]:
    """Ids of the facts that speak for or against some hypotheses of a report."""
    return {fact for item in hypotheses for part in ("for", "against") for e in item[part] for fact in e["facts"]}


def linked(consequences: Iterable[Mapping[str, Any]]) -> set[str]:
    """Ids of the facts on either side of some consequences of a report."""
    return {side for item in consequences for side in (item["fact"], item["cause"])}
