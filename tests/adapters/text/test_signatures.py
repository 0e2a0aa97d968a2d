"""Signature files say what is wrong with them, and sound ones do what they say."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from engine.facts.vocabulary import FieldSpec, load_vocabulary
from facts_adapters.text.check import check
from facts_adapters.text.patterns import Expression, UnfitPattern, anchored, required, unsafe
from facts_adapters.text.reader import TextReader
from facts_adapters.text.result import TextResult
from facts_adapters.text.signatures import SignatureSet, load_signatures
from facts_adapters.text.values import convert
from knowledge import BUILTIN
from tests.adapters.text.conftest import Notes

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
        ("    pattern: 'lost (?P<status>\\\\d+)'\n", "", "FF208", "in quotes"),
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


@pytest.mark.parametrize(
    ("pattern", "code", "words"),
    [
        (r"(lost (?P<status>\d+)", "FF208", "does not compile"),
        (r"lost (?=x)(?P<status>\d+)", "FF209", "look-around"),
        (r"lost (?P<status>(?:\d+)*)", "FF209", "nested repeats"),
        (r"(?P<status>\d+)?", "FF209", "an empty text"),
    ],
)
def test_an_unfit_pattern_is_refused_by_the_check_and_left_out_by_the_reader(
    load: Load, notes: Notes, pattern: str, code: str, words: str
) -> None:
    found = load(ENTRY.replace(r"lost (?P<status>\d+)", pattern))
    assert not found.problems
    (problem,) = check(found.signatures)
    assert (problem.code, problem.level) == (code, "error")
    assert words in problem.message
    assert problem.line == ENTRY[: ENTRY.index("- id")].count("\n") + 1

    result = TextReader(found.signatures).read("f.log", b"found 1\nlost 1\nlost 2\n", notes)
    assert not result.observations
    ((path, line, reason),) = notes.warnings
    assert (path, line) == ("f.log", 2)
    assert "toy/a" in reason
    assert words in reason


def test_loading_looks_into_no_pattern(load: Load, notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a pattern is looked into")

    vocabulary = load_vocabulary()
    with monkeypatch.context() as patch:
        patch.setattr(re, "compile", refuse)
        patch.setattr("facts_adapters.text.patterns.parser.parse", refuse)
        builtin = load_signatures([BUILTIN / "signatures"], vocabulary)
        assert not [problem for problem in builtin.problems if problem.level == "error"]
        TextReader(builtin.signatures)
        reader = TextReader(load(ENTRY).signatures)
    assert not reader.read("f.log", b"found 1\n", notes).observations
    assert "compiled" not in vars(reader.signatures[0].pattern)
    assert len(reader.read("f.log", b"lost 1\n", notes).observations) == 1
    assert "compiled" in vars(reader.signatures[0].pattern)


def test_an_expression() -> None:
    expression = Expression(r"\\(?P<a>x)\(?P<b>(?P<c>y)[(?P<d>]*")
    assert expression.groups == {"a", "c", "d"}
    with pytest.raises(UnfitPattern, match="look-around"):
        _ = Expression("(?=a)b").compiled


def common_words(least: int) -> list[bytes]:
    """Lines of which every one holds a literal that is common there, and every tenth what the pattern asks for."""
    return [b"lost %d packets of many\n" % n if n % 10 == 0 else b"lost and found %d\n" % n for n in range(least)]


def test_common_literals_are_replaced_by_what_the_pattern_requires(load: Load, notes: Notes) -> None:
    text = ENTRY.replace(r"lost (?P<status>\d+)", r"lost (?P<status>\d+) packets of many")
    text = text.replace("line: lost 1,", "line: lost 1 packets of many,")
    found = load(text)
    assert not check(found.signatures)

    def numbers(result: TextResult) -> list[object]:
        return [observation.fields["status"] for observation in result.observations]

    reader = TextReader(found.signatures)
    whole = b"".join(common_words(2000))
    assert numbers(reader.read("f.log", whole, notes)) == [*range(0, 2000, 10)]
    assert reader.read("f.log", whole, notes).hits == {"toy/a": 200}
    assert numbers(TextReader(found.signatures).read("f.log", b"".join(common_words(50)), notes)) == [0, 10, 20, 30, 40]


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
                for match in signature.pattern.compiled.finditer(line):
                    texts = signature.pattern.required
                    assert not texts or any(text in match[0] for text in texts), signature.name


def test_anchors() -> None:
    assert anchored(r"^a")
    assert anchored(r"(?:x|y$)")
    assert not anchored(r"[^a]\b")
    assert not anchored(r"a\$ [$]")
    assert anchored(r"\[^a")
