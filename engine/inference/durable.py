"""The durable_rules backend; the only module that imports it.

It drives the C core directly: no host, no threads, no batch calls, no retraction. Facts that can prevent a match are
sent before all others, under kinds of their own. Each incident has a state of its own in each ruleset, deleted at its
end. See docs/adr/inference.md for what this avoids.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path

import durable_rules_engine as core

from engine.facts.vocabulary import Vocabulary
from engine.inference.compile import NUMBER_OF_RANK, Conjunction, Plan, Role, compile_rules
from engine.inference.encoding import (
    BOOT_FACT,
    BY_RANK,
    LETTERS,
    HashCollision,
    Schema,
    Sent,
    Writers,
    check_hashes,
    names_used,
    rules_text,
)
from engine.inference.items import Item
from engine.inference.matches import Match, collapsed
from engine.inference.parts import Frame
from engine.inference.ranks import ALL, looked_at
from engine.inference.silence import Silence
from engine.rules.model import Rule


def _version() -> str:
    """The installed version, by the name of the folder beside the module: to import ``importlib.metadata`` is slow."""
    beside = [path.stem for path in Path(core.__file__).parent.glob("durable_rules-*.dist-info")]
    if len(beside) == 1:
        return beside[0].rpartition("-")[2]
    from importlib.metadata import version

    return version("durable_rules")


VERSION = f"durable_rules {_version()}"

MOST_PATTERNS_PER_KIND = 60
"""Patterns on one kind in a ruleset: the C core follows at most 64 at once."""

MOST_KINDS = 250
"""Kinds in a ruleset: the C core never ends a search among 512 alternatives below one node."""

MOST_RULES = 16
"""Conjunctions in a ruleset. A state costs about 10 kB a pattern, so small ones are faster: more can be left out."""

MOST_PROPERTIES = 240
"""Properties of a fact; the C core keeps at most 255, its own among them."""

MOST_WORK = 1_900_000
"""Comparisons that one incident may cost, estimated beforehand; above, the C core takes seconds and gigabytes."""

_STATE = "0"
_RULE = re.compile(r'"r(\d+)":')
_BOUND = re.compile(r'"a(\d+)":\{"id":"([a-z])(\d+)"')
_PREVENTING: tuple[Role, ...] = ("none", "none of each")
_OBSERVED = 2


class DurableFailed(RuntimeError):  # noqa: N818
    """The C core cannot do this, or reported an error; another backend has to decide."""


Shape = tuple[tuple[Role, str, int, tuple[str, ...]], ...]
"""Role, kind, number of ranks looked at and fields in equality joins of each pattern: what a conjunction's cost depends
on."""


@dataclass
class Ruleset:
    """Conjunctions that share a network. The C core compiles it when it is first opened."""

    name: str
    schema: Schema
    conjunctions: dict[int, Conjunction] = field(default_factory=dict)
    patterns: dict[Sent, int] = field(default_factory=dict)
    shapes: dict[frozenset[str], dict[Shape, int]] = field(default_factory=dict)
    """By the kinds that a conjunction cannot do without, how many conjunctions have a shape."""
    handle: int | None = None

    def takes(self, wanted: Mapping[Sent, int]) -> bool:
        """Whether a conjunction with so many patterns of each kind still fits."""
        return (
            len(self.conjunctions) < MOST_RULES
            and len(self.patterns.keys() | wanted.keys()) <= MOST_KINDS
            and all(self.patterns.get(sent, 0) + number <= MOST_PATTERNS_PER_KIND for sent, number in wanted.items())
        )

    def put(self, number: int, conjunction: Conjunction, wanted: Mapping[Sent, int]) -> None:
        """Add a conjunction."""
        self.conjunctions[number] = conjunction
        for sent, more in wanted.items():
            self.patterns[sent] = self.patterns.get(sent, 0) + more
        shape = _shape(conjunction)
        shapes = self.shapes.setdefault(frozenset(kind for role, kind, *_ in shape if role not in _PREVENTING), {})
        shapes[shape] = shapes.get(shape, 0) + 1

    def open(self) -> int:
        """The C core's handle."""
        if self.handle is None:
            encoded = {number: self.schema.conjunction(c) for number, c in self.conjunctions.items()}
            check_hashes(names_used(self.schema, self.conjunctions.values()))
            self.handle = int(core.create_ruleset(self.name, rules_text(encoded)))
        return self.handle

    def close(self) -> None:
        """Free the C core's network."""
        if self.handle is not None:
            core.delete_ruleset(self.handle)
            self.handle = None


@dataclass
class Layer:
    """The rules of one layer: how to put them together, and their rulesets."""

    plans: list[Plan]
    rulesets: list[Ruleset]
    leaf_of: dict[int, int]
    """By conjunction, the leaf that it is evidence for."""
    plan_of: dict[int, int]
    """By leaf, its plan."""
    makes: frozenset[str]
    """Kinds that rules of the layer derive."""


class DurableRules:
    """Rules compiled for durable_rules, for any number of incidents. Not for several threads at once."""

    def __init__(self, layers: Sequence[Sequence[Rule]], vocabulary: Vocabulary) -> None:
        """Raises :class:`DurableFailed` where the rules together go over a limit of the C core."""
        self.schema = Schema(vocabulary)
        self._number = 0
        self.layers = [self._layer(place, rules) for place, rules in enumerate(layers)]

    def session(self, layer: int, items: Sequence[Item], explained: frozenset[str], silence: Silence) -> DurableSession:
        """The rules of a layer over the facts of an incident."""
        return DurableSession(self.layers[layer], Writers(self.schema, explained, silence), items)

    def close(self) -> None:
        """Free everything that the C core holds."""
        for layer in self.layers:
            for ruleset in layer.rulesets:
                ruleset.close()

    def _layer(self, place: int, rules: Sequence[Rule]) -> Layer:
        plans = compile_rules(rules, self.schema.vocabulary)
        flat = [conjunction for plan in plans for conjunction in plan.conjunctions]
        for conjunction in flat:
            self.schema.conjunction(conjunction)  # makes its properties ones that are sent
        rulesets: list[Ruleset] = []
        leaf_of: dict[int, int] = {}
        for conjunction in sorted(flat, key=_neighbours):
            wanted: dict[Sent, int] = {}
            for pattern in conjunction.patterns:
                wanted[pattern.role, pattern.kind] = wanted.get((pattern.role, pattern.kind), 0) + 1
            ruleset = next((one for one in rulesets[-1:] if one.takes(wanted)), None)
            if ruleset is None:
                ruleset = Ruleset(f"layer{place}part{len(rulesets)}", self.schema)
                rulesets.append(ruleset)
            ruleset.put(self._number, conjunction, wanted)
            leaf_of[self._number] = conjunction.leaf
            self._number += 1
        for (_, kind), names in self.schema.properties.items():
            if len(names) > MOST_PROPERTIES:
                raise DurableFailed(f"rules look at {len(names)} properties of {kind}, more than {MOST_PROPERTIES}")
        plan_of = {c.leaf: number for number, plan in enumerate(plans) for c in plan.conjunctions}
        return Layer(plans, rulesets, leaf_of, plan_of, frozenset(rule.emits.kind for rule in rules if rule.emits))


class DurableSession:
    """One layer of rules over the facts of one incident."""

    def __init__(self, layer: Layer, writers: Writers, items: Sequence[Item]) -> None:
        self._layer = layer
        self._writers = writers
        self._records: dict[int, set[Frame]] = {}
        self._items: dict[int, Item] = {}
        self._found: dict[int, list[Match]] = {}
        self._changed: set[int] = set()
        self._open: list[tuple[Ruleset, int, int]] = []
        kinds = {item.fact.kind for item in items} | layer.makes
        live = [ruleset for ruleset in layer.rulesets if any(needed <= kinds for needed in ruleset.shapes)]
        _check_work(live, items)
        try:
            for ruleset in live:
                self._open.append(_boot(ruleset))
            self.add(items)
        except (core.error, HashCollision) as error:
            self.close()
            raise DurableFailed(str(error)) from error
        except BaseException:
            self.close()
            raise

    def matches(self) -> list[Match]:
        """Every match over all facts so far."""
        for number in self._changed:
            plan = self._layer.plans[number]
            found = [
                (tuple(zip(plan.group.aliases, frame, strict=True)), witness)
                for frame, witness in plan.group.solve(self._records).items()
            ]
            by_rank = looked_at(plan.rule.when)
            self._found[number] = collapsed(plan.rule, found) if by_rank else [Match(plan.rule, *one) for one in found]
        self._changed.clear()
        return [match for matches in self._found.values() for match in matches]

    def add(self, items: Sequence[Item]) -> None:
        """Send facts, then collect what fires."""
        self._items.update((item.ordinal, item) for item in items)
        texts: dict[Sent, list[str]] = {}
        for item in items:
            for sent, text in self._writers.texts(item):
                texts.setdefault(sent, []).append(text)
        for ruleset, handle, state in self._open:
            _send(handle, ruleset, texts)
            self._collect(handle, state)

    def _sent(self, letter: str, place: int) -> Item:
        return self._writers.single[place] if letter == LETTERS["each"] else self._items[place]

    def close(self) -> None:
        """Delete the states."""
        while self._open:
            _, handle, _ = self._open.pop()
            core.delete_state(handle, _STATE)

    def _collect(self, handle: int, state: int) -> None:
        started = core.start_action_for_state(handle, state)
        message: str | None = started and started[1]
        while message:
            rule = _RULE.search(message)
            assert rule is not None
            leaf = self._layer.leaf_of[int(rule[1])]
            bound = sorted(
                (int(slot), self._sent(letter, int(place))) for slot, letter, place in _BOUND.findall(message)
            )
            self._records.setdefault(leaf, set()).add(tuple(item for _, item in bound))
            self._changed.add(self._layer.plan_of[leaf])
            message = core.complete_and_start_action(handle, state)


def _boot(ruleset: Ruleset) -> tuple[Ruleset, int, int]:
    handle = ruleset.open()
    _, state = core.assert_fact(handle, BOOT_FACT)
    core.start_action_for_state(handle, state)
    core.complete_and_start_action(handle, state)
    return ruleset, handle, state


def _send(handle: int, ruleset: Ruleset, texts: Mapping[Sent, Iterable[str]]) -> None:
    wanted = sorted(ruleset.patterns.keys() & texts.keys(), key=lambda sent: (sent[0] not in _PREVENTING, sent))
    for sent in wanted:
        for text in texts[sent]:
            code, _ = core.assert_fact(handle, text)
            if code >= _OBSERVED:
                raise DurableFailed(f"the fact {text} was refused with code {code}")


def _neighbours(conjunction: Conjunction) -> tuple[list[str], int]:
    """Sort key that brings conjunctions over the same kinds together."""
    return sorted(
        pattern.kind for pattern in conjunction.patterns if pattern.role in ("fact", "each")
    ), conjunction.leaf


def _shape(conjunction: Conjunction) -> Shape:
    return tuple(
        (
            pattern.role,
            pattern.kind,
            next((int(c.value or 0) for c in pattern.constants if c.property == NUMBER_OF_RANK), ALL),
            tuple(
                str(c.property[-1])
                for c in pattern.comparisons
                if c.operator == "==" and c.property[0] in ("field", "rank")
            ),
        )
        for pattern in conjunction.patterns
    )


def _check_work(rulesets: Iterable[Ruleset], items: Sequence[Item]) -> None:
    """Raise :class:`DurableFailed` where joins could compare too many pairs, whatever the tests leave."""
    sent = _SentFacts(items)
    work = 0
    for shape, number in _shapes(rulesets, {item.fact.kind for item in items}):
        frames = number
        for role, kind, ranks, fields in shape:
            tried = sent.tried(role, kind, ranks, fields)
            work += frames * tried
            frames *= 1 if role in _PREVENTING else tried
        if work > MOST_WORK:
            raise DurableFailed(f"joining {len(items)} facts could take more than {MOST_WORK} comparisons")


def _shapes(rulesets: Iterable[Ruleset], kinds: Set[str]) -> Iterator[tuple[Shape, int]]:
    """The shapes of conjunctions for which there are facts, and how many conjunctions have them."""
    for ruleset in rulesets:
        for needed, shapes in ruleset.shapes.items():
            if needed <= kinds:
                yield from shapes.items()


class _SentFacts:
    """How many facts a pattern can meet; counted when first asked for."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._kinds: dict[str, list[Item]] = {}
        for item in items:
            self._kinds.setdefault(item.fact.kind, []).append(item)
        self._met: dict[tuple[str, int], list[Item]] = {}
        self._equal: dict[tuple[str, int, str], int] = {}

    def tried(self, role: Role, kind: str, ranks: int, fields: Iterable[str]) -> int:
        """At most so many facts, given that those in ``fields`` agree with facts bound before."""
        key = (kind, ranks if role in BY_RANK else 0)
        if key not in self._met:
            own = self._kinds.get(kind, [])
            self._met[key] = [one for item in own for one in item.by_rank(ranks)] if role in BY_RANK else own
        return min([len(self._met[key]), *(self._most_equal(key, name) for name in fields)])

    def _most_equal(self, key: tuple[str, int], name: str) -> int:
        """How many of them share one value of a field, at most."""
        kind, ranks = key
        if (kind, ranks, name) not in self._equal:
            counts = Counter(item.values.get(name) for item in self._met[key])
            self._equal[kind, ranks, name] = max(counts.values(), default=0)
        return self._equal[kind, ranks, name]
