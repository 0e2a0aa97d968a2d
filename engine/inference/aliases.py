"""Aliases: which ones a condition names, and names of their own for those inside ``any``."""

from __future__ import annotations

from dataclasses import replace

from engine.rules.model import AbsentCondition, AnyCondition, FactCondition, Rule

Simple = FactCondition | AbsentCondition


def named(condition: Simple) -> list[str]:
    """The aliases to which a condition relates its fact, the anchor of an absence included; some more than once."""
    names = [join.alias for join in condition.joins]
    names += [order.alias for order in condition.order]
    names += [within.alias for within in condition.within]
    return [*names, condition.anchor] if isinstance(condition, AbsentCondition) else names


def told_apart(rule: Rule) -> Rule:
    """The same rule, where an alias bound inside ``any`` carries a number if its name is bound outside as well."""
    if not any(isinstance(condition, AnyCondition) for condition in rule.when):
        return rule
    outside = {condition.alias for condition in rule.when if isinstance(condition, FactCondition)}
    when = tuple(
        AnyCondition(tuple(_renamed(branch, outside) for branch in condition.branches))
        if isinstance(condition, AnyCondition)
        else condition
        for condition in rule.when
    )
    return rule if when == rule.when else replace(rule, when=when)


def _renamed(branch: tuple[Simple, ...], outside: set[str]) -> tuple[Simple, ...]:
    own = [condition.alias for condition in branch if isinstance(condition, FactCondition)]
    taken = outside | {*own}
    names: dict[str, str] = {}
    for alias in own:
        if alias in outside:
            number = next(n for n in range(2, len(taken) + 3) if f"{alias}#{n}" not in taken)
            names[alias] = f"{alias}#{number}"
            taken.add(names[alias])
    return tuple(_with(condition, names) for condition in branch) if names else branch


def _with(condition: Simple, names: dict[str, str]) -> Simple:
    joins = tuple(replace(join, alias=names.get(join.alias, join.alias)) for join in condition.joins)
    order = tuple(replace(order, alias=names.get(order.alias, order.alias)) for order in condition.order)
    within = tuple(replace(within, alias=names.get(within.alias, within.alias)) for within in condition.within)
    if isinstance(condition, FactCondition):
        alias = names.get(condition.alias, condition.alias)
        return replace(condition, alias=alias, joins=joins, order=order, within=within)
    anchor = names.get(condition.anchor, condition.anchor)
    return replace(condition, anchor=anchor, joins=joins, order=order, within=within)
