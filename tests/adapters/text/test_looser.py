"""A loosened pattern is found wherever the pattern matches, however the line is written."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from facts_adapters.reader import builtin_reader
from facts_adapters.text.envelope import Profile
from facts_adapters.text.looser import looser
from facts_adapters.text.match import segments
from facts_adapters.text.matchers import Hyperscan, hyperscan_version, searchable
from facts_adapters.text.signatures import Signature

SIGNATURES = builtin_reader().signatures

pytestmark = pytest.mark.skipif(hyperscan_version() is None, reason="hyperscan is not installed")


def test_most_patterns_can_be_loosened() -> None:
    without = [signature.name for signature in SIGNATURES if looser(signature.pattern.text) is None]
    assert len(without) < len(SIGNATURES) // 50, without


def test_every_sample_of_every_signature() -> None:
    known = [(signature, looser(signature.pattern.text)) for signature in SIGNATURES]
    usable = [(signature, expression) for signature, expression in known if expression is not None]
    together = Hyperscan([expression for _, expression in usable], literal=False)
    for index, (signature, _) in enumerate(usable):
        for sample in signature.samples:
            for line in sample.line.split("\n"):
                if matching(signature, line):
                    for written in (line, json.dumps({"log": line}), f"\x1b[31m{line}\x1b[0m"):
                        assert index in together.present(searchable(written.encode())), (signature.name, written)


def matching(signature: Signature, line: str) -> bool:
    found = signature.pattern.compiled
    return any(found.search(s.envelope.message) or found.search(s.text) for s in segments(line, Profile()))


PATTERNS = [
    r"step (?P<step>\d+) of (?:(\w+)|-) lost",
    r"(?i)ERROR: [^:]{2,9}: (?:a|b|cd)+ end",
    r"^\[(?P<x>[\w.-]+)\] \"quoted\" <tag> .*? (?:one|two(?: three)?)$",
    r"é+ value=\s*(?P<v>[-+]?\d+(?:\.\d+)?)",
]


@given(st.sampled_from(PATTERNS).flatmap(lambda p: st.tuples(st.just(p), st.from_regex(p))), st.booleans())
def test_whatever_matches(case: tuple[str, str], as_json: bool) -> None:
    pattern, text = case
    expression = looser(pattern)
    assert expression is not None
    if "\n" in text or "\r" in text or re.search(r"\\[u\"]", text):
        return  # a logical line has none, and what looks like an escape is taken for one
    written = json.dumps({"log": text}) if as_json else text
    assert Hyperscan([expression], literal=False).present(searchable(written.encode("utf-8", "replace"))) == (0,)
