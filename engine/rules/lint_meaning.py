"""Checks of what rules mean: whether inference takes them all together, and whether their facts have a relation."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any

from engine.authored.document import Document, KeyPath
from engine.authored.problem import Problem
from engine.authored.sheet import Sheet
from engine.facts.vocabulary import Vocabulary
from engine.rules.loading import Loaded
from engine.rules.model import Condition, FactCondition, Rule
from engine.rules.pack import Pack, pack_of

MANY = ("fault", "symptom", "activity")
"""Natures of which an incident may have hundreds of facts."""


def meaning_problems(loaded: Loaded) -> list[Problem]:
    """All such problems of packs that have no other errors."""
    return [*_refusals(loaded), *_unrelated(loaded), *unreadable_profiles(loaded)]


# --- profiles that their readers refuse ---

_READERS = {
    "nccl_retry_windows": ("engine.facts.retries", "read_windows"),
    "log_ends": ("engine.facts.log_ends", "read_log_ends"),
    "standstill": ("engine.facts.waits.standstill", "read_standstill"),
    "defects": ("engine.facts.defects", "read_defects"),
    "priors": ("engine.diagnosis.priors", "read_priors"),
}
"""Profiles that the engine reads, with module and function; taken at run time, for some lie above this layer."""


def unreadable_profiles(loaded: Loaded) -> Iterator[Problem]:
    """Profiles that the parts of the engine which read them refuse."""
    for name, (module, function) in _READERS.items():
        if name not in loaded.profiles:
            continue
        profile, document = loaded.profiles[name]
        try:
            getattr(importlib.import_module(module), function)(profile.values)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            yield document.problem("FF244", ("id",), f"the profile {name} cannot be read", reason=f"{error!r}")


# --- what inference refuses ---


def _refusals(loaded: Loaded) -> Iterator[Problem]:
    """What keeps inference from taking the pack as diagnosis gives it; one problem for a rule and a reason."""
    pack = pack_of(loaded)
    try:
        rules = _as_evaluated(pack)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        document = loaded.profiles["phases"][1]
        yield document.problem(
            "FF244", ("phases",), "the phases cannot be read as rules", key=True, reason=f"{error!r}"
        )
        return
    for refusal in importlib.import_module("engine.inference").problems(rules, loaded.vocabulary):
        document, path, where = _place(loaded, refusal.rule_id)
        yield document.problem(
            "FF244", path, "inference cannot take this rule", key=path != ("id",), where=where, reason=refusal.reason
        )


def _as_evaluated(pack: Pack) -> Sequence[Rule]:
    """All rules that a diagnosis evaluates; the layer above this one says which, so it is taken at run time."""
    found: Callable[[Pack], Sequence[Rule]] = importlib.import_module("engine.diagnosis.diagnose").rules_of
    return found(pack)


def _place(loaded: Loaded, rule_id: str) -> tuple[Document, KeyPath, str]:
    """Where a rule stands that inference knows by its id."""
    if rule_id in loaded.propagation:
        return loaded.propagation[rule_id][1], ("id",), f"propagation {rule_id}"
    cause, _, name = rule_id.rpartition("/")
    if cause in loaded.evidence:
        file = loaded.evidence[cause]
        index = next(index for index, rule in enumerate(file.rules) if rule.id == rule_id)
        return file.document, ("rules", index, "when"), f"rule {name}"
    return loaded.profiles["phases"][1], ("phases",), f"the phase of {rule_id}"


# --- facts that have nothing to do with each other ---


def _unrelated(loaded: Loaded) -> Iterator[Problem]:
    for file in loaded.evidence.values():
        sheet = Sheet(file.document)
        for index, rule in enumerate(file.rules):
            pair = None if rule.apart else _strangers((rule.when, *rule.variants), loaded.vocabulary)
            if pair is not None:
                sheet.where = f"rule {rule.id.rpartition('/')[2]}"
                sheet.fail(
                    "FF251", ("rules", index, "when"), f"nothing relates {pair[0]} to {pair[1]}",
                    key=True, level="warning",
                    reason="any two of an incident would do: they may have nothing to do with each other, and multiply",
                    hint="Add same, differ, after, before or within; if any two are meant, apart: true to the rule",
                )  # fmt: skip
        yield from sheet.problems
    for propagation, document in loaded.propagation.values():
        if not propagation.apart and not all(_joined(when) for when in (propagation.when, *propagation.variants)):
            sheet = Sheet(document)
            sheet.where = f"propagation {propagation.id}"
            sheet.fail(
                "FF251", ("effect",), "cause and effect need have no host, rank or other field in common",
                key=True, level="warning",
                reason="each such cause of an incident explains each such effect, and their numbers multiply",
                hint="Add same: to the effect; if it may strike anywhere, apart: true to the file",
            )  # fmt: skip
            yield from sheet.problems


def _strangers(conjunctions: Sequence[Sequence[Condition]], vocabulary: Vocabulary) -> tuple[str, str] | None:
    """The first two kinds, of each of which there may be many, that no relation brings together."""
    for when in conjunctions:
        groups = _groups(when, lambda condition: (*condition.joins, *condition.order, *condition.within))
        many = [group for group in groups if all(vocabulary[condition.kind].nature in MANY for condition in group)]
        for first, second in combinations(many, 2):
            return first[0].kind, second[0].kind
    return None


def _joined(when: Sequence[Condition]) -> bool:
    """Whether cause and effect, the first two conditions, must agree in some field."""
    groups = _groups(when, lambda condition: [join for join in condition.joins if join.operator == "=="])
    return any({"cause", "effect"} <= {condition.alias for condition in group} for group in groups)


def _groups(
    when: Sequence[Condition], relations: Callable[[FactCondition], Sequence[Any]]
) -> list[list[FactCondition]]:
    """Conditions on single facts, brought together where one relates to another."""
    groups: list[list[FactCondition]] = []
    for condition in when:
        if not isinstance(condition, FactCondition) or condition.count is not None:
            continue
        names = {relation.alias for relation in relations(condition)}
        near = [group for group in groups if names & {other.alias for other in group}]
        groups = [group for group in groups if group not in near]
        groups.append([*(other for group in near for other in group), condition])
    return groups
