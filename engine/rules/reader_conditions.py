"""Reads the conditions of a rule: ``fact``, ``absent`` and ``any``."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from engine.authored.document import KeyPath
from engine.authored.problem import did_you_mean, listed
from engine.authored.sheet import Sheet
from engine.facts.vocabulary import Vocabulary
from engine.rules.model import (
    AbsentCondition,
    AnyCondition,
    Condition,
    Count,
    FactCondition,
    Join,
    Precedes,
    Test,
    Within,
)
from engine.rules.reader_fields import Fields
from engine.rules.reader_tests import Tests

ALIAS = re.compile(r"[a-z][a-z0-9_]*")
MOST_VARIANTS = 256
"""Choices of kinds that one rule may stand for."""

RELATION_KEYS = ("where", "same", "differ", "after", "before", "within")
_RELATIONS: tuple[Literal["before"], Literal["after"]] = ("before", "after")
_JOINS: tuple[tuple[str, Literal["==", "!="]], ...] = (("same", "=="), ("differ", "!="))
FACT_KEYS = ("as", *RELATION_KEYS, "count", "unexplained")
ABSENT_KEYS = ("anchor", *RELATION_KEYS)

Simple = FactCondition | AbsentCondition
Conjunction = tuple[Condition, ...]


@dataclass
class Scope:
    """Aliases bound so far, each with the kinds that it may stand for."""

    kinds: dict[str, tuple[str, ...]] = field(default_factory=dict)
    counted: set[str] = field(default_factory=set)
    outer_counted: frozenset[str] = frozenset()
    incomplete: bool = False
    """A condition could not be read: that an alias is not bound may be due to that and is not reported."""

    def inner(self) -> Scope:
        """A scope that sees the same aliases and keeps its own to itself."""
        return Scope(dict(self.kinds), set(self.counted), frozenset(self.counted), self.incomplete)

    @property
    def first(self) -> str | None:
        """The alias bound first."""
        return next(iter(self.kinds), None)


@dataclass(frozen=True)
class Relations:
    """The parts that ``fact`` and ``absent`` share."""

    tests: tuple[Test, ...] = ()
    joins: tuple[Join, ...] = ()
    order: tuple[Precedes, ...] = ()
    within: tuple[Within, ...] = ()

    @property
    def names(self) -> set[str]:
        """The aliases that the condition refers to."""
        relations: list[Join | Precedes | Within] = [*self.joins, *self.order, *self.within]
        return {relation.alias for relation in relations}


class Conditions:
    """Reads conditions of one document; ``sheet.where`` is set by the caller up to the rule."""

    def __init__(self, sheet: Sheet, vocabulary: Vocabulary) -> None:
        self.sheet = sheet
        self.fields = Fields(sheet, vocabulary)
        self.tests = Tests(sheet, self.fields)
        self.vocabulary = vocabulary

    def read(self, value: Any, path: KeyPath, scope: Scope) -> tuple[Conjunction, ...]:
        """The conjunctions that a list of conditions stands for: one for each choice of alternative kinds."""
        parts: list[list[Condition]] = []
        outer = self.sheet.where
        for index, entry in enumerate(self.sheet.sequence(value, path, "a list of conditions")):
            self.sheet.where = f"{outer} › {index + 1}"
            parts.append(self._condition(entry, (*path, index), scope))
        self.sheet.where = outer
        return self._choices(parts, path)

    def _choices(self, parts: Sequence[Sequence[Condition]], path: KeyPath) -> tuple[Conjunction, ...]:
        number = 1
        for part in parts:
            number *= max(len(part), 1)
        if number > MOST_VARIANTS:
            self.sheet.fail(
                "FF227", path, f"the alternative kinds make {number} combinations; at most {MOST_VARIANTS} are allowed",
                hint="Split the rule",
            )  # fmt: skip
            return ()
        return tuple(tuple(_flattened(choice)) for choice in itertools.product(*(part for part in parts if part)))

    def _condition(self, value: Any, path: KeyPath, scope: Scope) -> list[Condition]:
        if not isinstance(value, dict):
            scope.incomplete = True
            self.sheet.wrong_type(value, path, "a condition", dict)
            return []
        heads = [key for key in ("fact", "absent", "any") if key in value]
        if len(heads) != 1:
            scope.incomplete = True
            near = next((did_you_mean(key, ("fact", "absent", "any")) for key in value), "")
            self.sheet.fail(
                "FF202", path, "a condition needs exactly one of the keys fact, absent and any",
                label=near if not heads else "", reason=f"it has: {listed(value)}",
            )  # fmt: skip
            return []
        if heads[0] == "any":
            return self._any(value, path, scope)
        if heads[0] == "absent":
            return self._absent(value, path, scope)
        return list(self.fact(value, path, scope))

    def fact(self, value: dict[str, Any], path: KeyPath, scope: Scope, alias: str = "") -> list[FactCondition]:
        """One condition for each alternative kind; binds the alias (given, or the key ``as``) in ``scope``."""
        self.sheet.mapping(value, path, "a fact condition", ("fact",), FACT_KEYS)
        kinds = self.fields.kinds(value.get("fact"), (*path, "fact"))
        alias = alias or self._alias(value, path, scope)
        relations = self.relations(value, path, kinds, scope, alias)
        count = self._count(value["count"], (*path, "count"), kinds) if "count" in value else None
        unexplained = "unexplained" in value and self.sheet.flag(
            value["unexplained"], (*path, "unexplained"), "unexplained"
        )
        self._counted(relations.names, path, scope, "count" if count is not None else "fact")
        scope.kinds[alias] = kinds
        if count is not None:
            scope.counted.add(alias)
        return [
            FactCondition(
                kind, alias, relations.tests, relations.joins, relations.order, relations.within, unexplained, count
            )
            for kind in kinds
        ]

    def _alias(self, value: dict[str, Any], path: KeyPath, scope: Scope) -> str:
        if "as" not in value:
            return f"_{len(scope.kinds) + 1}"
        alias = self.sheet.string(value["as"], (*path, "as"), "an alias")
        if not ALIAS.fullmatch(alias):
            scope.incomplete = True
        if alias and not ALIAS.fullmatch(alias):
            self.sheet.fail(
                "FF206",
                (*path, "as"),
                f'"{alias}" cannot be an alias',
                reason="it is a letter, then letters, digits and _",
            )
        if alias in scope.kinds:
            self.sheet.fail("FF221", (*path, "as"), f'the alias "{alias}" is bound already', hint="Choose another name")
            scope.incomplete = True
            alias = ""
        return alias or f"_{len(scope.kinds) + 1}"

    def _absent(self, value: dict[str, Any], path: KeyPath, scope: Scope) -> list[Condition]:
        self.sheet.mapping(value, path, "an absent condition", ("absent",), ABSENT_KEYS)
        kinds = self.fields.kinds(value.get("absent"), (*path, "absent"))
        for kind in kinds:
            if self.vocabulary[kind].absence is None and self.vocabulary[kind].nature != "derived":
                self.sheet.fail(
                    "FF224", (*path, "absent"), f"nothing can show that {kind} is absent",
                    reason="the vocabulary gives this kind no class of coverage (`absence`)",
                    hint="Drop the condition, or give the kind an `absence` class if its log would show it for certain",
                )  # fmt: skip
        anchor = scope.first or ""
        if "anchor" in value:
            anchor = self.alias(value["anchor"], (*path, "anchor"), scope) or anchor
        if not anchor:
            self.sheet.fail(
                "FF226", path, "an absent condition needs a fact condition before it",
                reason="its anchor says when the absence is asked for",
            )  # fmt: skip
        relations = self.relations(value, path, kinds, scope, "")
        self._counted(relations.names | {anchor}, path, scope, "absent")
        conditions = [
            AbsentCondition(kind, anchor, relations.tests, relations.joins, relations.order, relations.within)
            for kind in kinds
        ]
        if len(conditions) > 1:  # none of the kinds: a conjunction, which a rule's list of conditions cannot nest
            return [AnyCondition((tuple(conditions),))]
        return list(conditions)

    def alternatives(self, value: dict[str, Any], path: KeyPath, scope: Scope) -> tuple[Conjunction, ...]:
        """A rule that is nothing but ``any``: one conjunction for each branch.

        Aliases that every branch binds can be referred to, and stand for what the branch at hand binds.
        """
        conjunctions: list[Conjunction] = []
        scopes: list[Scope] = []
        for found, inner in self._branches(value, path, scope):
            scopes.append(inner)
            conjunctions += found
        for alias in scopes[0].kinds if scopes else ():
            if all(alias in inner.kinds for inner in scopes):
                scope.kinds[alias] = tuple(dict.fromkeys(kind for inner in scopes for kind in inner.kinds[alias]))
        scope.incomplete = any(inner.incomplete for inner in scopes)
        return tuple(conjunctions)

    def _branches(
        self, value: dict[str, Any], path: KeyPath, scope: Scope
    ) -> Iterator[tuple[tuple[Conjunction, ...], Scope]]:
        self.sheet.mapping(value, path, "an any condition", ("any",))
        outer = self.sheet.where
        for index, branch in enumerate(self.sheet.sequence(value["any"], (*path, "any"), "any", least=2)):
            at = (*path, "any", index)
            if isinstance(branch, dict):
                self.sheet.fail("FF203", at, "a branch of any is a list of conditions", hint="Write - [{fact: …}]")
                continue
            self.sheet.where = f"{outer} › any › {index + 1}"
            inner = scope.inner()
            conjunctions = self.read(branch, at, inner)
            if any(isinstance(condition, AnyCondition) for found in conjunctions for condition in found):
                self.sheet.fail("FF227", at, "any inside any is not allowed", hint="Write out the branches")
                continue
            yield conjunctions, inner
        self.sheet.where = outer

    def _any(self, value: dict[str, Any], path: KeyPath, scope: Scope) -> list[Condition]:
        conjunctions = [found for branch, _ in self._branches(value, path, scope) for found in branch]
        return (
            [AnyCondition(tuple(cast("tuple[Simple, ...]", found) for found in conjunctions))] if conjunctions else []
        )

    def alias(self, value: Any, path: KeyPath, scope: Scope, *, itself: str = "") -> str:
        """A bound alias, else ``""`` and a problem."""
        if not isinstance(value, str):
            self.sheet.fail(
                "FF203", path, "an alias must be text", hint="Name what an earlier condition gives with as:"
            )
            return ""
        if itself and value == itself:
            self.sheet.fail("FF222", path, f'"{value}" is the condition itself', hint="Name an earlier alias")
            return ""
        if value not in scope.kinds:
            named = [name for name in scope.kinds if not name.startswith("_")]
            if scope.incomplete:
                return ""
            self.sheet.fail(
                "FF220", path, f'unknown alias "{value}"', label=did_you_mean(value, named),
                reason=f"bound before: {listed(named) or 'none'}; aliases inside any are not visible outside",
            )  # fmt: skip
            return ""
        return value

    def relations(
        self, value: dict[str, Any], path: KeyPath, kinds: tuple[str, ...], scope: Scope, itself: str
    ) -> Relations:
        """Field tests, joins, order and distance of one condition."""
        joins: list[Join] = []
        for name, operator in _JOINS:
            if name in value:
                joins += self._joins(value[name], (*path, name), kinds, scope, itself, operator)
        order: list[Precedes] = []
        for relation in _RELATIONS:
            order += [Precedes(relation, alias) for alias in self._aliases(value, path, relation, scope, itself)]
        both = {p.alias for p in order if p.relation == "before"} & {p.alias for p in order if p.relation == "after"}
        for alias in sorted(both):
            self.sheet.fail("FF225", (*path, "before"), f'nothing is both before and after "{alias}"', key=True)
            order = [precedes for precedes in order if precedes.alias != alias]
        return Relations(
            self.tests.read(value["where"], (*path, "where"), kinds) if "where" in value else (),
            tuple(joins),
            tuple(order),
            self._within(value["within"], (*path, "within"), scope, itself) if "within" in value else (),
        )

    def _counted(self, names: set[str], path: KeyPath, scope: Scope, head: Literal["fact", "count", "absent"]) -> None:
        """Report references to counted aliases that have no meaning."""
        named = names & scope.counted
        if named & scope.outer_counted:
            message = f"inside any nothing can refer to the counted {listed(named & scope.outer_counted)}"
        elif named and head == "count":
            message = f"a count cannot refer to the counted {listed(named)}"
        elif len(named) > 1 and head == "absent":
            message = f"an absence cannot refer to the counted {listed(named)} together"
        else:
            return
        self.sheet.fail("FF228", path, message, reason="a counted alias stands for several facts")

    def _aliases(self, value: dict[str, Any], path: KeyPath, key: str, scope: Scope, itself: str) -> list[str]:
        if key not in value:
            return []
        given, at = value[key], (*path, key)
        entries = [(entry, (*at, i)) for i, entry in enumerate(given)] if isinstance(given, list) else [(given, at)]
        return [name for entry, place in entries if (name := self.alias(entry, place, scope, itself=itself))]

    def _joins(
        self,
        value: Any,
        path: KeyPath,
        kinds: tuple[str, ...],
        scope: Scope,
        itself: str,
        operator: Literal["==", "!="],
    ) -> list[Join]:
        if not isinstance(value, dict):
            self.sheet.fail(
                "FF203", path, f"{path[-1]} must be a mapping", hint="Write {host: alias} or {peer: alias.host}"
            )
            return []
        joins = []
        for name, given in value.items():
            own = self.fields.type_of(kinds, name, (*path, name), key=True) if kinds else None
            targets = (
                [(t, (*path, name, i)) for i, t in enumerate(given)]
                if isinstance(given, list)
                else [(given, (*path, name))]
            )
            for target, at in targets:
                found = self.reference(target, at, scope, name, itself)
                if found is None:
                    continue
                alias, other, other_type = found
                if own is not None and other_type is not None and own != other_type:
                    self.sheet.fail(
                        "FF223", at, f'"{name}" ({own}) cannot equal "{alias}.{other}" ({other_type})',
                        reason="a join compares fields of one type",
                    )  # fmt: skip
                    continue
                joins.append(Join(name, operator, alias, other))
        return joins

    def reference(
        self, value: Any, path: KeyPath, scope: Scope, name: str = "", itself: str = ""
    ) -> tuple[str, str, str | None] | None:
        """``alias.field`` (or ``alias`` for its field ``name``): alias, field and the field's type."""
        if not isinstance(value, str):
            self.sheet.wrong_type(value, path, "a reference alias.field", str)
            return None
        alias, dot, other = value.partition(".")
        if not dot and not name:
            self.sheet.fail("FF203", path, f'"{value}" is not of the form alias.field')
            return None
        if not self.alias(alias, path, scope, itself=itself):
            return None
        other = other or name
        kinds = scope.kinds[alias]
        return alias, other, self.fields.type_of(kinds, other, path) if kinds else None

    def _within(self, value: Any, path: KeyPath, scope: Scope, itself: str) -> tuple[Within, ...]:
        entries = [(entry, (*path, i)) for i, entry in enumerate(value)] if isinstance(value, list) else [(value, path)]
        result = []
        for entry, at in entries:
            checked = self.sheet.mapping(entry, at, "within", ("of", "s"))
            if checked is None or not {"of", "s"} <= checked.keys():
                continue
            alias = self.alias(checked["of"], (*at, "of"), scope, itself=itself)
            seconds = self.sheet.number(checked["s"], (*at, "s"), "s", least=0)
            if alias and seconds is not None:
                result.append(Within(alias, round(seconds * 1_000_000)))
        return tuple(result)

    def _count(self, value: Any, path: KeyPath, kinds: tuple[str, ...]) -> Count | None:
        entry = self.sheet.mapping(value, path, "count", ("at_least",), ("distinct",))
        if entry is None or "at_least" not in entry:
            return None
        if len(kinds) > 1:
            self.sheet.fail(
                "FF227", path, "count works on one kind, not on a list of alternatives", key=True,
                hint="Write one rule per kind and give them the same group",
            )  # fmt: skip
        at_least = self.sheet.integer(entry["at_least"], (*path, "at_least"), "at_least", least=2)
        distinct = self.sheet.strings(entry["distinct"], (*path, "distinct"), "distinct") if "distinct" in entry else ()
        if len(distinct) > 2:
            self.sheet.fail("FF203", (*path, "distinct"), "facts are counted as distinct in at most two fields")
        for name in distinct:
            if kinds:
                self.fields.type_of(kinds, name, (*path, "distinct"))
        return Count(at_least or 2, distinct)


def _flattened(conjunction: Sequence[Condition]) -> list[Condition]:
    """``any`` of a single branch is that branch."""
    flat: list[Condition] = []
    for condition in conjunction:
        if isinstance(condition, AnyCondition) and len(condition.branches) == 1:
            flat += condition.branches[0]
        else:
            flat.append(condition)
    return flat
