"""The safe encoding: what durable_rules is given, in the one form in which it was never seen to err.

Every value is a 64-bit integer: a string is a number in a list, a float the number whose order is the float's, "no
value" a number of its own. So nothing depends on how the C core compares strings, formats floats, converts types or
looks up a property that is not there. Every name is short and private, its 32-bit hash checked. Every condition is one
flat ``$and`` that starts with the kind and, where it compares with earlier facts, ends with a comparison that always
holds, because the C core reads past the end of its terms where the last one fails.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from engine.facts.model import Scalar, Span
from engine.facts.vocabulary import Vocabulary
from engine.inference.checks import LARGEST
from engine.inference.compile import MISSING, Comparison, Conjunction, Constant, Pattern, Property, Role
from engine.inference.items import ID, Item
from engine.inference.ranks import ALL, RANK
from engine.inference.silence import Silence

NO_VALUE = -(2**63) + 1
"""Stands for a missing value; no value of a fact has this number."""

BY_RANK: tuple[Role, ...] = ("each", "none of each")
"""The roles in which a fact is sent once for each of its ranks."""

UNBOUNDED = 2**62
"""Stands for an open end of a span: later, or with a minus earlier, than every time."""

BOOT = 0
"""The kind of a fact that fires once at the start: a state in which nothing ever fired cannot be deleted."""

Sent = tuple[Role, str]
"""What the property ``k`` tells apart: a kind in one of its roles."""

Format = tuple[Sent, str, list[Callable[[Item], int]]]
"""How a kind in a role is written: a %-format and what reads its numbers after the first."""

_OPERATORS = {"!=": "$neq", "<": "$lt", "<=": "$lte", ">": "$gt", ">=": "$gte"}
LETTERS: Mapping[Role, str] = {"fact": "f", "each": "e", "none": "n", "none of each": "m", "coverage": "c"}
"""The first letters of the ids of what is sent."""


class HashCollision(RuntimeError):  # noqa: N818
    """Two names have the same 32-bit hash, so the C core would take one for the other."""


def fnv(name: str) -> int:
    """The hash by which the C core tells names apart."""
    value = 0x811C9DC5
    for byte in name.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value


def check_hashes(names: Iterable[str]) -> None:
    """Raise :class:`HashCollision` where two of the names would be one to the C core."""
    seen: dict[int, str] = {}
    for name in dict.fromkeys(names):
        other = seen.setdefault(fnv(name), name)
        if other != name:
            raise HashCollision(f"{other} and {name} have the same hash")


class Codes:
    """Numbers for values. Those of the rules stay; an incident's own come after them, in a copy."""

    def __init__(self, known: Mapping[Scalar, int] | None = None) -> None:
        self._known: dict[Scalar, int] = dict(known or {})

    def copy(self) -> Codes:
        """Codes that can grow without the original growing."""
        return Codes(self._known)

    def number(self, value: Scalar | None) -> int:
        """The number that stands for a value; of values of one type, equal ones only have equal numbers.

        Numbers keep the order of integers and of floats as far as it matters: between a fact's value and a rule's.
        """
        if value is None:
            return NO_VALUE
        if isinstance(value, float):
            bits: int = struct.unpack("<q", struct.pack("<d", value))[0]
            return bits if bits >= 0 else -(bits & 0x7FFFFFFFFFFFFFFF)
        if isinstance(value, int) and -LARGEST < value < LARGEST:
            return int(value)
        code = self._known.setdefault(value, len(self._known) + 1)
        if isinstance(value, str):
            return code
        return LARGEST + code if value > 0 else -LARGEST - code


@dataclass
class Schema:
    """Which properties are sent of which kind, under which names."""

    vocabulary: Vocabulary
    codes: Codes = field(default_factory=Codes)
    kinds: dict[Sent, int] = field(default_factory=dict)
    properties: dict[Sent, dict[Property, str]] = field(default_factory=dict)

    def kind(self, role: Role, kind: str) -> int:
        """The number of a kind in a role."""
        return self.kinds.setdefault((role, kind), len(self.kinds) + BOOT + 1)

    def name(self, role: Role, kind: str, wanted: Property) -> str:
        """The name of a property; asking for it makes it one that is sent."""
        names = self.properties.setdefault((role, kind), {})
        return names.setdefault(wanted, f"p{len(names)}")

    def constant(self, kind: str, constant: Constant) -> int:
        """The number of a constant, taken as the type of the field that it is compared with."""
        value = constant.value
        name = constant.property[1] if constant.property[0] == "field" else None
        if isinstance(name, str) and value is not None and self.vocabulary[kind].type_of(name) == "float":
            value = float(value)
        return self.codes.number(value)

    def conjunction(self, conjunction: Conjunction) -> dict[str, object]:
        """A conjunction as a rule of durable_rules."""
        sent = {pattern.slot: (pattern.role, pattern.kind) for pattern in conjunction.patterns if pattern.slot >= 0}
        first = conjunction.patterns[0].slot
        patterns: list[dict[str, object]] = []
        for number, pattern in enumerate(conjunction.patterns):
            alias = f"a{pattern.slot}" if pattern.slot >= 0 else f"n{number}$not"
            patterns.append({alias: self.pattern(pattern, sent, first)})
        return {"all": patterns}

    def pattern(self, pattern: Pattern, sent: Mapping[int, Sent], first: int) -> dict[str, object]:
        """One condition: the kind, constants, comparisons and, after these, the sentinel."""
        role, kind = pattern.role, pattern.kind
        terms: list[dict[str, object]] = [{"k": self.kind(role, kind)}]
        terms += [
            _term(self.name(role, kind, constant.property), constant.operator, self.constant(kind, constant))
            for constant in pattern.constants
        ]
        terms += [self._comparison(role, kind, c, sent[c.slot]) for c in pattern.comparisons]
        if pattern.comparisons:
            terms.append({"z": {f"a{first}": "z"}})
        return {"$and": terms} if len(terms) > 1 else terms[0]

    def _comparison(self, role: Role, kind: str, comparison: Comparison, other: Sent) -> dict[str, object]:
        right: dict[str, object] = {f"a{comparison.slot}": self.name(*other, comparison.other)}
        if comparison.offset:
            right = {"$add": {"$l": right, "$r": comparison.offset}}
        return _term(self.name(role, kind, comparison.property), comparison.operator, right)


def _term(name: str, operator: str, right: object) -> dict[str, object]:
    return {name: right} if operator == "==" else {_OPERATORS[operator]: {name: right}}


def rules_text(conjunctions: Mapping[int, dict[str, object]]) -> str:
    """A ruleset as JSON: rule ``r<number>`` for each conjunction, and the boot rule."""
    rules: dict[str, object] = {f"r{number}": rule for number, rule in conjunctions.items()}
    rules["boot"] = {"all": [{"a0": {"k": BOOT}}]}
    return json.dumps(rules, separators=(",", ":"))


BOOT_FACT = f'{{"id":"boot","k":{BOOT},"z":1}}'


class Writers:
    """Writes the facts of one incident as JSON, each once for each role that its kind has."""

    def __init__(self, schema: Schema, explained: frozenset[str], silence: Silence) -> None:
        self._schema = schema
        self._codes = schema.codes.copy()
        self._explained = explained
        self._silence = silence
        self._formats: dict[str, list[Format]] = {}
        self.single: list[Item] = []
        """What was sent by rank, in the order of its numbers."""

    def texts(self, item: Item) -> Iterator[tuple[Sent, str]]:
        """The texts of a fact; its id there is the role's letter and its place, or by rank its number in ``single``."""
        formats = self._formats.get(item.fact.kind)
        if formats is None:
            formats = self._formats[item.fact.kind] = self._formats_of(item.fact.kind)
        for sent, pattern, readers in formats:
            if sent[0] not in BY_RANK:
                yield sent, pattern % (item.ordinal, *[read(item) for read in readers])
                continue
            for one in item.by_rank(ALL):
                yield sent, pattern % (len(self.single), *[read(one) for read in readers])
                self.single.append(one)

    def _formats_of(self, kind: str) -> list[Format]:
        formats: list[Format] = []
        for role, letter in LETTERS.items():
            code = self._schema.kinds.get((role, kind))
            if code is not None:
                properties = self._schema.properties.get((role, kind), {})
                values = "".join(f',"{name}":%d' for name in properties.values())
                readers = [reader(wanted, self._codes, self._explained, self._silence) for wanted in properties]
                formats.append(((role, kind), f'{{"id":"{letter}%d","k":{code},"z":1{values}}}', readers))
        return formats


def reader(wanted: Property, codes: Codes, explained: frozenset[str], silence: Silence) -> Callable[[Item], int]:
    """The function that reads a property's number from a fact."""
    what, *rest = wanted
    if what == "field":
        name = str(rest[0])
        return lambda item: codes.number(item.whole.values.get(name))
    if what == "in":
        field_name, values = str(rest[0]), frozenset(rest[1:])
        return lambda item: int(item.whole.values.get(field_name) in values)
    if what == "everywhere":
        return lambda item: int(silence.everywhere(str(rest[0]), item.fact))
    if what == "unexplained":
        return lambda item: int(item.id not in explained)
    if wanted == MISSING:
        return lambda _: NO_VALUE
    if what in ("local", "onset"):
        return lambda item: _end(getattr(item.fact, str(what)), str(rest[0]), 1)
    if what in ("covers local", "covers onset"):
        return lambda item: _end(getattr(item.fact, str(what).split()[1]), str(rest[0]), -1)
    return {
        ID: lambda item: codes.number(item.id),
        "ordinal": lambda item: item.ordinal,
        "rank": lambda item: codes.number(item.values.get(RANK)),
        "number of rank": lambda item: item.whole.by_rank(ALL).index(item),
        "file": lambda item: codes.number(item.fact.source.path),
        "line": lambda item: item.fact.source.line,
        "sequence": lambda item: -UNBOUNDED if item.fact.sequence is None else item.fact.sequence,
        "clock": lambda item: codes.number(item.fact.clock),
    }[str(what)]


def _end(span: Span, which: str, sign: int) -> int:
    """An end of a span. An open one is outside every time; for a span that covers (``sign`` -1) it covers none."""
    end: int | None = getattr(span, which)
    if end is not None:
        return end
    return sign * (-UNBOUNDED if which == "earliest" else UNBOUNDED)


def names_used(schema: Schema, conjunctions: Iterable[Conjunction]) -> Sequence[str]:
    """All names that the C core hashes: properties, aliases."""
    properties = {name for names in schema.properties.values() for name in names.values()}
    slots = {pattern.slot for conjunction in conjunctions for pattern in conjunction.patterns if pattern.slot >= 0}
    longest = max((len(conjunction.patterns) for conjunction in conjunctions), default=0)
    own = ("k", "z", "id", "sid", "$s", "m", "$forward")
    return [*own, *sorted(properties), *(f"a{slot}" for slot in sorted(slots)), *(f"n{n}" for n in range(longest))]
