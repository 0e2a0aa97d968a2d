"""Packs: the built-in knowledge and overlays over it, checked and ready for inference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.authored.problem import Problem, did_you_mean, summary
from engine.facts.vocabulary import Vocabulary
from engine.rules.conditions import EXPLAINED
from engine.rules.loading import Loaded, load
from engine.rules.model import Emission, EvidenceRule, Leaf, PropagationRule, Question, Rule, Tree
from engine.rules.reader import CAUSE_ID
from knowledge import BUILTIN


class InvalidPack(Exception):  # noqa: N818 - it is the pack that is invalid
    """The packs hold errors; ``problems`` are all of them, sorted."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(summary(problems))
        self.problems = tuple(sorted(problems))


@dataclass(frozen=True)
class Pack:
    """Knowledge to diagnose with; mappings are by id and sorted.

    ``hash`` is the SHA-256 of all files; ``roots`` are the folders, the built-in one first.
    """

    name: str
    version: str
    hash: str
    vocabulary: Vocabulary
    leaves: Mapping[str, Leaf]
    evidence: Mapping[str, EvidenceRule]
    propagation: Mapping[str, PropagationRule]
    questions: tuple[Question, ...]
    profiles: Mapping[str, Mapping[str, Any]]
    tree: Tree | None = None
    roots: tuple[Path, ...] = field(default=(), compare=False)

    def rule(self, rule_id: str) -> EvidenceRule | PropagationRule | None:
        """The rule behind the id of a firing."""
        return self.evidence.get(rule_id) or self.propagation.get(rule_id)


def load_packs(extra: Sequence[Path] = (), *, builtin: Path | None = BUILTIN) -> Pack:
    """The built-in pack with the packs ``extra`` over it, later ones over earlier ones.

    Raises :class:`InvalidPack`.
    """
    roots = ([] if builtin is None else [builtin]) + list(extra)
    loaded = load(roots, examples=False)
    found = [*loaded.problems, *cause_problems(loaded)]
    if extra:  # the tests hold the built-in profiles readable
        from engine.rules.lint_meaning import unreadable_profiles

        found += unreadable_profiles(loaded)
    problems = [problem for problem in found if problem.level == "error"]
    if problems:
        raise InvalidPack(problems)
    return pack_of(loaded)


def pack_of(loaded: Loaded) -> Pack:
    """What was read as a pack."""
    rules = {rule.id: rule for file in loaded.evidence.values() for rule in file.rules}
    return Pack(
        name="+".join(head.name for head in loaded.heads),
        version="+".join(head.version for head in loaded.heads),
        hash=loaded.hash,
        vocabulary=loaded.vocabulary,
        leaves={name: loaded.leaves[name][0] for name in sorted(loaded.leaves)},
        evidence={name: rules[name] for name in sorted(rules)},
        propagation={name: loaded.propagation[name][0] for name in sorted(loaded.propagation)},
        questions=tuple(loaded.questions[name][0] for name in sorted(loaded.questions)),
        profiles={name: loaded.profiles[name][0].values for name in sorted(loaded.profiles)},
        tree=loaded.tree[0] if loaded.tree else None,
        roots=tuple(head.root for head in loaded.heads),
    )


def cause_problems(loaded: Loaded) -> list[Problem]:
    """Evidence of causes that have no leaf."""
    return [
        file.document.problem(
            "FF302",
            ("cause",),
            f'there is no cause "{cause}"',
            label=did_you_mean(cause, loaded.leaves),
            reason="every cause has a leaf below tree/",
            help=f"Write tree/{cause.replace('.', '/', 1)}.yaml, or correct the id",
        )
        for cause, file in loaded.evidence.items()
        if cause not in loaded.leaves and CAUSE_ID.fullmatch(cause)
    ]


def compile_rules(pack: Pack) -> tuple[Rule, ...]:
    """The rules that inference evaluates, in the order of their ids, propagations first.

    A rule whose conditions name alternative kinds becomes several with the same id, one for each choice.
    ``pack.rule(id)`` finds what a firing came from.
    """
    rules: list[Rule] = []
    for propagation in pack.propagation.values():
        rules += compile_propagation(propagation)
    for evidence in pack.evidence.values():
        rules += [Rule(evidence.id, when) for when in (evidence.when, *evidence.variants)]
    return tuple(rules)


def compile_propagation(rule: PropagationRule) -> list[Rule]:
    """The rules that derive ``causal.explained`` for one propagation."""
    emission = Emission(
        EXPLAINED, constants=(("rule", rule.id),), copies=(("effect", "effect", "id"), ("cause", "cause", "id"))
    )
    return [Rule(rule.id, when, emission) for when in (rule.when, *rule.variants)]
