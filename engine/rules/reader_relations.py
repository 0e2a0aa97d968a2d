"""Reads the conditions of a propagation: the cause, the effect, and what must hold also."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.authored.document import KeyPath
from engine.rules.model import FactCondition, Precedes, Within
from engine.rules.reader_conditions import Conditions, Conjunction, Scope

ORDERS = ("cause_first", "any")
_CAUSE_KEYS = ("where",)
_EFFECT_KEYS = ("where", "same", "differ", "within_s", "order")


def read_relation(conditions: Conditions, root: Mapping[str, Any], scope: Scope) -> tuple[Conjunction, ...]:
    """The conjunctions that the file stands for; binds the aliases ``cause`` and ``effect``."""
    causes = _side(conditions, root, "cause", _CAUSE_KEYS, scope)
    effects = [_timed(conditions, root, effect) for effect in _side(conditions, root, "effect", _EFFECT_KEYS, scope)]
    also: tuple[Conjunction, ...] = ((),)
    if root.get("also"):
        outer, conditions.sheet.where = conditions.sheet.where, f"{conditions.sheet.where} › also"
        also = conditions.read(root["also"], ("also",), scope)
        conditions.sheet.where = outer
    return tuple((cause, effect, *rest) for cause, effect, rest in itertools.product(causes, effects, also))


def _side(
    conditions: Conditions, root: Mapping[str, Any], name: str, keys: tuple[str, ...], scope: Scope
) -> list[FactCondition]:
    if name not in root:
        scope.kinds[name] = ()
        return []
    value, path = root[name], (name,)
    entry = conditions.sheet.mapping(value, path, f"the {name}", ("fact",), keys)
    if entry is None or "fact" not in entry:
        scope.kinds[name] = ()
        return []
    plain = {key: part for key, part in entry.items() if key in ("fact", "where", "same", "differ")}
    found = conditions.fact(plain, path, scope, alias=name)
    for kind in scope.kinds[name]:
        if conditions.vocabulary[kind].nature in ("coverage", "derived"):
            conditions.sheet.fail("FF229", (name, "fact"), f"{kind} is not something that happens")
    return found


def _timed(conditions: Conditions, root: Mapping[str, Any], effect: FactCondition) -> FactCondition:
    sheet, path = conditions.sheet, ("effect",)
    entry = root["effect"]
    order: KeyPath = (*path, "order")
    chosen = sheet.word(entry["order"], order, "order", ORDERS) if "order" in entry else "cause_first"
    within: tuple[Within, ...] = ()
    if "within_s" in entry:
        seconds = sheet.number(entry["within_s"], (*path, "within_s"), "within_s", least=0)
        within = (Within("cause", round((seconds or 0) * 1_000_000)),)
    precedes = () if chosen == "any" else (Precedes("after", "cause"),)
    return replace(effect, order=precedes, within=within)
