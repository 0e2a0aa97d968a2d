"""A quick look never leaves out what may match, and leaves out the rest soon."""

from __future__ import annotations

import pytest

from facts_adapters.text.matchers import hyperscan_version
from facts_adapters.text.patterns import Expression
from facts_adapters.text.quick_look import HyperscanLook, PlainLook, QuickLook


@pytest.fixture(params=["plain", "fast"])
def look(request: pytest.FixtureRequest) -> QuickLook:
    if request.param == "plain":
        return PlainLook()
    if hyperscan_version() is None:
        pytest.skip("hyperscan is not installed")
    return HyperscanLook()


def test_every_owner_is_looked_for_soon_whoever_came_before(look: QuickLook) -> None:
    for owner, word in enumerate(("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "theta")):
        look.add(owner, Expression(rf"step \d+ {word} failed"))
        for _ in range(8):
            held = look.held(f"step 7 {word} failed\n".encode())
            assert held is not None
            assert owner in held
        assert look.held(b"step 7 went well\n") == set()
    assert look.owners == set(range(7))


def test_bytes_that_a_line_loses_make_the_look_unsafe(look: QuickLook) -> None:
    look.add(0, Expression("worker was lost"))
    assert look.held(b"worker was \x00lost") is None
    assert look.held(b"worker \x1b[1mwas lost") is None


def test_a_pattern_that_asks_for_too_little_is_not_looked_for(look: QuickLook) -> None:
    look.add(0, Expression(r"\d+"))
    assert look.owners == set()
