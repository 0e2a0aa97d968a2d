"""Random rulesets: durable, reference and brute force find the same, and the C core survives it.

The long run is ``python -m tests.inference.fuzz --rulesets 100000``.
"""

from __future__ import annotations

import datetime as dt

import pytest

from tests.inference.fuzz import PARTS, Tally, batch, run

pytest.importorskip("engine.inference.durable")

FIXED = 1
RULESETS = 1000
"""Of the fixed seeds, and as many that change with the day."""


def rotating() -> int:
    """The first seed of the day."""
    return dt.datetime.now(dt.timezone.utc).date().toordinal() * 10_000


@pytest.mark.parametrize("first", [FIXED, rotating()], ids=["fixed seeds", "seeds of the day"])
def test_all_evaluators_agree(first: int) -> None:
    tally = run(first, RULESETS)
    print(f"seeds {first} to {first + RULESETS - 1}: {tally.text()}")  # noqa: T201 - the seeds of the day are news
    assert not tally.findings, "\n".join(tally.findings[:10])
    assert tally.rulesets == RULESETS
    assert_it_was_worth_it(tally)


def assert_it_was_worth_it(tally: Tally) -> None:
    assert tally.firing > 0.5 * tally.rulesets
    assert tally.firings > 10 * tally.rulesets
    assert tally.derived > 0.5 * tally.rulesets
    assert tally.fallbacks < 0.05 * tally.incidents
    assert 0 < tally.unlayered < 0.05 * tally.rulesets
    assert tally.too_large < 0.08 * tally.rulesets
    rare = {name: (tally.parts[name], tally.fired_parts[name]) for name in PARTS if tally.fired_parts[name] < 20}
    assert not rare, f"parts of the model that hardly ever fire: {rare}"


def test_a_crash_is_a_finding_of_its_seed() -> None:
    results = batch(1, 6, crash_at=4)
    assert sum(result["rulesets"] for result in results) == 5
    findings = [finding for result in results for finding in result["findings"]]
    assert len(findings) == 1
    assert findings[0].startswith("child ended with -6")
    assert findings[0].endswith("(seed 4)")
