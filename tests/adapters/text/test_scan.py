"""The scanner never misses a literal, whatever stands around it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from facts_adapters.text.scan import COMMON, Hit, Lines, Literals, scan

texts = st.text(alphabet="abcXY 12:/[]é", min_size=1, max_size=14)


@given(st.lists(texts, min_size=1, max_size=12), st.lists(st.tuples(texts, st.integers(0, 11), texts), max_size=8))
def test_every_literal_is_found(literals: list[str], lines: list[tuple[str, int, str]]) -> None:
    scanner = Literals((text, index) for index, text in enumerate(literals))
    for before, index, after in lines:
        chosen = index % len(literals)
        line = before + literals[chosen] + after
        expected = {i for i, literal in enumerate(literals) if literal in line}
        assert expected <= set(scanner.owners(line.encode()))
        assert expected <= set(scanner.owners(line.encode())), "also from memory"


@given(
    st.lists(texts, min_size=1, max_size=6),
    st.lists(st.lists(texts, max_size=3), min_size=6, max_size=6),
    st.lists(texts, min_size=1, max_size=6),
)
def test_nothing_is_missed_after_rarer_texts_took_the_place_of_literals(
    literals: list[str], rarer: list[list[str]], lines: list[str]
) -> None:
    scanner = Literals(((text, index) for index, text in enumerate(literals)), lambda owner: rarer[owner])
    for line in (*literals, *lines):
        scanner.owners(line.encode())
    for index in (0, len(literals) - 1):
        scanner.narrow([Hit(1, 0, 1, (index,))] * (COMMON + 1))
    for index, literal in enumerate(literals):
        digits_only = any(text.isdigit() for text in rarer[index])
        replaced = index in (0, len(literals) - 1) and rarer[index] and not digits_only
        for text in rarer[index] if replaced else [literal]:
            assert index in scanner.owners(f"{lines[0]}{text}".encode())


def test_ordinary_lines_have_no_owners() -> None:
    scanner = Literals([("Got completion from peer", 0), ("Xid", 1)])
    assert scanner.owners(b"step 12 loss 3.4\n") == ()
    assert scanner.owners(b"NVRM: Xid (PCI:0000): 79\n") == (1,)


def test_escapes_inside_a_literal() -> None:
    assert Literals([("No space left", 0)]).owners(b"No \x1b[31mspace\x1b[0m left") == (0,)


def test_quotes_inside_json() -> None:
    assert Literals([('name "x"', 0)]).owners(b'{"MESSAGE":"name \\"x\\""}') == (0,)


def test_numbers_and_places() -> None:
    data = b"aa\nneedle1\r\nbar 1%\rneedle2\rbar 3%\n\nneedle3"
    starts, hits = scan(data, Literals([("needle", 7)]))
    assert [(hit.number, data[hit.start : hit.end].strip(), hit.owners) for hit in hits] == [
        (2, b"needle1", (7,)),
        (3, b"needle2", (7,)),
        (5, b"needle3", (7,)),
    ]
    lines = Lines(data, starts)
    assert len(lines) == 5
    assert [lines.raw(number) for number in range(1, 6)] == [
        b"aa",
        b"needle1",
        b"bar 1%\rneedle2\rbar 3%",
        b"",
        b"needle3",
    ]


@given(st.binary(max_size=400))
def test_any_bytes(data: bytes) -> None:
    starts, hits = scan(data, Literals([("ab", 0), ("\n", 1), ("é", 2)]))
    assert starts[-1] == len(data)
    assert all(0 <= hit.start <= hit.end <= len(data) for hit in hits)
