"""Checks of a pack as a whole: gaps and contradictions between files that are right by themselves."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from engine.authored.document import Document
from engine.authored.problem import Problem
from engine.authored.sheet import Sheet
from engine.facts.vocabulary import KindSpec
from engine.rules.conditions import fact_kinds, simple
from engine.rules.loading import EvidenceFile, Loaded
from engine.rules.model import Condition, EvidenceRule, FactCondition, Leaf

NETWORK_BRANCHES = ("nic", "switch")
_MADE_BY_THE_ENGINE = ("coverage", "derived")
_USED_BY_THE_ENGINE = ("coverage", "derived", "activity")


def pack_problems(loaded: Loaded, emitted: Collection[str] | None) -> list[Problem]:
    """All problems between files; ``emitted`` as of :func:`engine.rules.lint.lint`."""
    check = _PackCheck(loaded)
    check.tree()
    for leaf, document in loaded.leaves.values():
        check.leaf(leaf, document)
    for file in loaded.evidence.values():
        check.network(file)
    check.kinds(emitted)
    check.questions()
    return check.problems


class _PackCheck:
    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded
        self.problems: list[Problem] = []
        self.used = used_kinds(loaded)
        self.asked = {question.asks_for for question, _ in loaded.questions.values()}

    def tree(self) -> None:
        """Causes that the tree promises and no leaf describes."""
        if self.loaded.tree is None:
            return
        tree, document = self.loaded.tree
        sheet = Sheet(document)
        for branch in tree.branches:
            for index, cause in enumerate(branch.causes):
                if cause not in self.loaded.leaves:
                    sheet.fail(
                        "FF304",
                        ("branches", branch.id, "causes", index),
                        f"the cause {cause} has no leaf",
                        hint=f"Write tree/{cause.replace('.', '/', 1)}.yaml",
                    )
        self.problems += sheet.problems

    def leaf(self, leaf: Leaf, document: Document) -> None:
        """Causes that nothing can make likely, and minimal evidence that is not used or cannot be had."""
        file = self.loaded.evidence.get(leaf.id)
        supports = [rule for rule in file.rules if rule.effect == "supports"] if file else []
        sheet = Sheet(document)
        if file is None or not supports:
            place = leaf.id.replace(".", "/", 1)
            sheet.fail("FF303", ("id",), f"no rule supports the cause {leaf.id}", hint=f"Write evidence/{place}.yaml")
        elif all(rule.strength == "weak" for rule in supports):
            self._warn(file.document, "FF313", ("rules",), f"{leaf.id} has only weak support and can never be likely")
        used = {kind for rule in supports for kind in fact_kinds(rule.when, *rule.variants)}
        for index, entry in enumerate(document.value.get("minimal_evidence", [])):
            kinds = entry["fact"] if isinstance(entry["fact"], list) else [entry["fact"]]
            path = ("minimal_evidence", index, "fact")
            if supports and not used.intersection(kinds):
                message = f"no supporting rule of {leaf.id} uses its minimal evidence {' or '.join(kinds)}"
                sheet.fail("FF308", path, message, level="warning")
            for kind in kinds:
                if self.loaded.vocabulary[kind].collect is None and kind not in self.asked:
                    sheet.fail(
                        "FF310",
                        path,
                        f"nobody is told how to get {kind}",
                        level="warning",
                        hint="Give the kind `collect` in the vocabulary, or write a question that asks for it",
                    )
        self.problems += sheet.problems

    def network(self, file: EvidenceFile) -> None:
        """A network cause must rest on more than symptoms: a time-out does not say who is at fault."""
        if file.cause.partition(".")[0] not in NETWORK_BRANCHES:
            return
        sheet = Sheet(file.document)
        supports = [(i, rule) for i, rule in enumerate(file.rules) if rule.effect == "supports"]
        alone = [(i, rule) for i, rule in supports if self._only_symptoms(rule)]
        for index, rule in alone:
            if rule.strength in ("decisive", "strong") or len(alone) == len(supports):
                sheet.where = f"rule {rule.id.rpartition('/')[2]}"
                sheet.fail(
                    "FF309",
                    ("rules", index, "strength"),
                    f"{rule.strength} support of a network cause by nothing but symptoms",
                    reason="time-outs, closed connections and flushed work look the same whatever failed first",
                    hint="Ask for a fact of the network as well, or lower the strength beside better support",
                )
        self.problems += sheet.problems

    def _only_symptoms(self, rule: EvidenceRule) -> bool:
        """Whether some choice of the rule's alternatives asks for symptoms only."""
        for when in (rule.when, *rule.variants):
            kinds = [part.kind for part in simple(when) if isinstance(part, FactCondition)]
            if kinds and all(self.loaded.vocabulary[kind].nature == "symptom" for kind in kinds):
                return True
        return False

    def kinds(self, emitted: Collection[str] | None) -> None:
        """Fact kinds that no rule uses, and, where the emitters are known, that nothing yields."""
        answers = {answer.emits for question, _ in self.loaded.questions.values() for answer in question.answers}
        yielded = None if emitted is None else {*emitted, *self.loaded.signature_emits, *answers}
        for document, specs in self.loaded.vocabulary_files:
            for spec in specs:
                self._kind(document, spec, yielded)

    def _kind(self, document: Document, spec: KindSpec, yielded: Collection[str | None] | None) -> None:
        path = ("facts", spec.kind)
        waiting = spec.kind in self.used
        by_engine = spec.branch == "common" or spec.nature in _USED_BY_THE_ENGINE or spec.compare is not None
        if not waiting and not by_engine:
            self._warn(document, "FF306", path, f"no rule uses the kind {spec.kind}")
        if yielded is not None and spec.kind not in yielded and spec.nature not in _MADE_BY_THE_ENGINE:
            reason = "rules wait for it in vain" if waiting else ""
            self._warn(document, "FF305", path, f"nothing yields the kind {spec.kind}", reason)

    def questions(self) -> None:
        """Questions whose answer no rule looks at."""
        for name, (question, document) in self.loaded.questions.items():
            if question.asks_for not in self.used:
                index = next(i for i, given in enumerate(document.value["questions"]) if given["id"] == name)
                message = f"the answer changes nothing: no rule uses {question.asks_for}"
                self._warn(document, "FF307", ("questions", index, "asks_for"), message)

    def _warn(self, document: Document, code: str, path: tuple[str | int, ...], message: str, reason: str = "") -> None:
        key = path[-1] != "asks_for"
        self.problems.append(document.problem(code, path, message, key=key, level="warning", reason=reason))


def used_kinds(loaded: Loaded) -> set[str]:
    """Kinds that any rule, leaf or profile names."""
    kinds = {kind for leaf, _ in loaded.leaves.values() for kind, _ in leaf.minimal_evidence}
    conjunctions: list[Sequence[Condition]] = []
    for file in loaded.evidence.values():
        conjunctions += [when for rule in file.rules for when in (rule.when, *rule.variants)]
    for propagation, _ in loaded.propagation.values():
        conjunctions += [propagation.when, *propagation.variants]
    kinds |= {part.kind for when in conjunctions for part in simple(when)}
    words = {word for profile, _ in loaded.profiles.values() for word in _words(profile.values)}
    return kinds | (words & loaded.vocabulary.kinds.keys())


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for member in value:
            yield from _words(member)
    elif hasattr(value, "values"):
        for member in value.values():
            yield from _words(member)
