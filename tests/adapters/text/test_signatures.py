"""Signature files say what is wrong with them, and sound ones do what they say."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine.facts.vocabulary import FieldSpec, load_vocabulary
from facts_adapters.text.check import check
from facts_adapters.text.patterns import anchored, required, unsafe
from facts_adapters.text.signatures import SignatureSet, load_signatures
from facts_adapters.text.values import convert
from knowledge import BUILTIN

Load = Callable[[str], SignatureSet]

ENTRY = """\
schema: 1
kind: signatures
source: toy
signatures:
  - id: a
    emits: comm.lost
    literals: [lost]
    pattern: 'lost (?P<status>\\d+)'
    samples: [{line: lost 1, fields: {status: 1}}]
    near_misses: [lost x]
"""


def test_the_built_in_signatures_keep_their_word() -> None:
    loaded = load_signatures([BUILTIN / "signatures"], load_vocabulary())
    errors = [p for p in (*loaded.problems, *check(loaded.signatures)) if p.level == "error"]
    assert not errors
    assert loaded.signatures


def test_a_sound_file(load: Load) -> None:
    loaded = load(ENTRY)
    assert not loaded.problems
    assert [s.name for s in loaded.signatures] == ["toy/a"]
    assert not check(loaded.signatures)


@pytest.mark.parametrize(
    ("old", "new", "code", "words"),
    [
        ("schema: 1", "schema: 2", "FF201", "schema: 1"),
        ("source: toy", "sauce: toy", "FF201", "source"),
        ("    emits: comm.lost\n", "    emits: comm.lsot\n", "FF204", "no fact kind"),
        ("literals: [lost]", "literals: []", "FF205", "literals"),
        ("(?P<status>", "(?P<state>", "FF206", "no field"),
        ("pattern: 'lost", "pattern: '(lost", "FF208", "compile"),
        ("lost (?P<status>\\\\d+)", "lost (?=x)(?P<status>\\\\d+)", "FF209", "look-around"),
        ("lost (?P<status>\\\\d+)", "(?P<status>(?:\\\\d+)*)", "FF209", "nested repeats"),
        ("literals: [lost]", "literals: [lost]\n    only_in: [kernle]", "FF207", "envelope"),
        ("literals: [lost]", "literals: [lost]\n    set: {way: sideways}", "FF210", "no value"),
        ("literals: [lost]", "literals: [lost]\n    set: {share: much}", "FF210", "must be float"),
        ("literals: [lost]", "literals: [lost]\n    map: {way: {from: nothing, values: {}}}", "FF211", "from"),
        ("literals: [lost]", "literals: [lost]\n    lag: {min_s: 3, max_s: 1}", "FF212", "lag"),
        ("literals: [lost]", "literals: [lost]\n    lag_from: {group: x}", "FF212", "lag_from"),
        ("    near_misses: [lost x]\n", "", "FF213", "near miss"),
        ("    samples: [{line: lost 1, fields: {status: 1}}]\n", "", "FF213", "sample"),
        ("literals: [lost]", "literals: [lost]\n    litterals: [x]", "FF203", "unknown key"),
    ],
)
def test_problems_have_a_place(load: Load, old: str, new: str, code: str, words: str) -> None:
    text = ENTRY.replace(old.replace("\\\\", "\\"), new.replace("\\\\", "\\"))
    assert text != ENTRY
    found = load(text)
    matching = [p for p in found.problems if p.code == code and words in p.message]
    assert matching, found.problems
    assert matching[0].line >= 1
    if matching[0].level == "error":
        assert not found.signatures


def test_an_id_stands_once(load: Load) -> None:
    twice = ENTRY + ENTRY.partition("signatures:\n")[2].partition("signatures:\n")[2]
    doubled = ENTRY + "\n".join(ENTRY.splitlines()[4:]) + "\n"
    assert twice
    assert any(p.code == "FF202" for p in load(doubled).problems)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("fields: {status: 1}", "fields: {status: 2}", "status is 1, expected 2"),
        ("line: lost 1", "line: lost one", "does not match"),
        ("near_misses: [lost x]", "near_misses: [lost 3]", "near miss 1 matches"),
    ],
)
def test_samples_are_run(load: Load, old: str, new: str, words: str) -> None:
    found = check(load(ENTRY.replace(old, new)).signatures)
    assert [words in p.message for p in found] == [True]


@pytest.mark.parametrize(
    ("text", "spec", "value"),
    [
        ("12", FieldSpec("int"), 12),
        ("0x1f", FieldSpec("int"), 31),
        ("1,234", FieldSpec("int"), 1234),
        ("12.0", FieldSpec("int"), 12),
        ("nan", FieldSpec("int"), None),
        ("1e400", FieldSpec("int"), None),
        ("twelve", FieldSpec("int"), None),
        ("1.5", FieldSpec("float"), 1.5),
        ("Enabled", FieldSpec("bool"), True),
        ("off", FieldSpec("bool"), False),
        ("maybe", FieldSpec("bool"), None),
        (" text ", FieldSpec("str"), "text"),
        ("", FieldSpec("str"), None),
        ("Port Error", FieldSpec("str", ("port_error", "other")), "port_error"),
        ("strange", FieldSpec("str", ("port_error", "other")), "other"),
        ("strange", FieldSpec("str", ("port_error",)), None),
    ],
)
def test_values(text: str, spec: FieldSpec, value: object) -> None:
    found = convert(text, spec)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "pattern", [r"(a+)+", r"(?:a|b+)*", r"(?=x)y", r"(?<!x)y", r"(\w+) \1", r"(?:x*y?)*", r"(?>a)b"]
)
def test_patterns_that_are_refused(pattern: str) -> None:
    assert unsafe(pattern)


@pytest.mark.parametrize("pattern", [r"(?:\d+, )*\d+", r"a.*b.*c", r"\[(?P<x>[^\]]+)\](?:: (?P<y>.*))?"])
def test_patterns_that_are_fine(pattern: str) -> None:
    assert not unsafe(pattern)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"Got completion from (?P<peer>\S+) status", ("Got completion from ",)),
        (r"(?:a|\d)", ()),
        (r"(?i)lost peer", ()),
        (r"x(?P<g>yz)+w", ("xyz",)),
        (r"^\bkilled (?:it )?by", ("killed ",)),
        (r"(?:GPU|NPU).*(?:fell off|is (?:now )?lost)", ("fell off", "lost")),
        (r"(?:long text|x\d)?short", ("short",)),
    ],
)
def test_what_a_pattern_requires(pattern: str, text: tuple[str, ...]) -> None:
    assert required(pattern) == text


def test_what_is_required_stands_in_every_match() -> None:
    for signature in load_signatures([BUILTIN / "signatures"], load_vocabulary()).signatures:
        for sample in signature.samples:
            for line in sample.line.split("\n"):
                for match in signature.pattern.finditer(line):
                    texts = required(signature.pattern.pattern)
                    assert not texts or any(text in match[0] for text in texts), signature.name


def test_anchors() -> None:
    assert anchored(r"^a")
    assert anchored(r"(?:x|y$)")
    assert not anchored(r"[^a]\b")
