"""Checks of a pack as a whole."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from engine.authored.document import Document, KeyPath
from engine.authored.problem import Problem, listed
from engine.rules.loading import EvidenceFile, Loaded
from engine.rules.model import AbsentCondition, AnyCondition, Condition, EvidenceRule, FactCondition

NETWORK_BRANCHES = ("nic", "switch")
_NATURES_EMITTED_BY_THE_ENGINE = ("coverage", "derived")


def pack_problems(loaded: Loaded, emitted: Collection[str] | None) -> list[Problem]:
    """Gaps and contradictions between files; meaningful only where every file by itself is right."""
    problems: list[Problem] = []
    problems += _causes_without_leaf(loaded)
    problems += _leaves_without_support(loaded)
    for file in loaded.evidence.values():
        problems += _network_from_timeouts(loaded, file)
    problems += _unused(loaded)
    if emitted is not None:
        problems += _never_emitted(loaded, {*emitted, *loaded.signature_emits})
    return problems


def _at(
    document: Document,
    code: str,
    path: KeyPath,
    message: str,
    *,
    level: str = "error",
    key: bool = False,
    reason: str = "",
    hint: str = "",
    where: str = "",
) -> Problem:
    return document.problem(code, path, message, level=level, key=key, reason=reason, help=hint, where=where)


def _causes_without_leaf(loaded: Loaded) -> list[Problem]:
    if loaded.tree is None:
        return []
    tree, document = loaded.tree
    return [
        _at(
            document,
            "FF304",
            ("branches", branch.id, "causes", index),
            f"the cause {cause} has no leaf",
            hint=f"Write tree/{branch.id}/{cause.partition('.')[2]}.yaml",
        )
        for branch in tree.branches
        for index, cause in enumerate(branch.causes)
        if cause not in loaded.leaves
    ]


def _leaves_without_support(loaded: Loaded) -> list[Problem]:
    problems = []
    for name, (leaf, document) in loaded.leaves.items():
        file = loaded.evidence.get(name)
        supports = [rule for rule in file.rules if rule.effect == "supports"] if file else []
        if not supports:
            problems.append(
                _at(
                    document,
                    "FF303",
                    ("id",),
                    f"no evidence supports the cause {name}",
                    hint=f"Write evidence/{name.replace('.', '/', 1)}.yaml",
                )
            )
            continue
        if all(rule.strength == "weak" for rule in supports):
            assert file is not None
            problems.append(
                _at(
                    file.document,
                    "FF313",
                    ("rules",),
                    f"{name} has only weak support and can never be likely",
                    level="warning",
                    key=True,
                )
            )
        used = _positive_kinds(rule for rule in supports)
        for index, (kind, _) in enumerate(leaf.minimal_evidence):
            if kind not in used:
                problems.append(
                    _at(
                        document,
                        "FF308",
                        ("minimal_evidence",),
                        f"no supporting rule of {name} uses its minimal evidence {kind}",
                        level="warning",
                        key=True,
                        reason=f"member {index + 1}",
                    )
                )
    return problems


def _positive_kinds(rules: Iterable[EvidenceRule]) -> set[str]:
    return {
        condition.kind
        for rule in rules
        for when in (rule.when, *rule.variants)
        for condition in simple(when)
        if isinstance(condition, FactCondition)
    }


def simple(when: Iterable[Condition]) -> Iterable[FactCondition | AbsentCondition]:
    """The conditions of a conjunction, those inside ``any`` included."""
    for condition in when:
        if isinstance(condition, AnyCondition):
            for branch in condition.branches:
                yield from branch
        else:
            yield condition


def _network_from_timeouts(loaded: Loaded, file: EvidenceFile) -> list[Problem]:
    """A network cause must rest on more than symptoms: a time-out says nothing about who is at fault."""
    if file.cause.partition(".")[0] not in NETWORK_BRANCHES:
        return []
    problems = []
    for index, rule in enumerate(file.rules):
        if rule.effect != "supports" or rule.strength not in ("decisive", "strong"):
            continue
        for when in (rule.when, *rule.variants):
            if only_symptoms(loaded, when):
                name = rule.id.rpartition("/")[2]
                problems.append(
                    _at(file.document, "FF309", ("rules", index, "strength"), f"{rule.strength} support of a network cause by nothing but symptoms", where=f"rule {name}", reason="time-outs, closed connections and flushed work look the same whatever failed first", hint="Ask for a fact of the network as well, or lower the strength"),
                )  # fmt: skip
                break
    return problems


def only_symptoms(loaded: Loaded, when: Sequence[Condition]) -> bool:
    """Whether every fact that the conjunction asks for is a symptom."""
    kinds = [c.kind for c in simple(when) if isinstance(c, FactCondition)]
    return bool(kinds) and all(loaded.vocabulary[kind].nature == "symptom" for kind in kinds)


def used_kinds(loaded: Loaded) -> set[str]:
    """Kinds that any rule or leaf names."""
    kinds = {kind for leaf, _ in loaded.leaves.values() for kind, _ in leaf.minimal_evidence}
    for file in loaded.evidence.values():
        for rule in file.rules:
            kinds |= {c.kind for when in (rule.when, *rule.variants) for c in simple(when)}
    for propagation, _ in loaded.propagation.values():
        kinds |= {c.kind for when in (propagation.when, *propagation.variants) for c in simple(when)}
    return kinds


def _unused(loaded: Loaded) -> list[Problem]:
    used = used_kinds(loaded)
    problems = []
    for document, specs in loaded.vocabulary_files:
        for spec in specs:
            if spec.kind in used or spec.nature in ("coverage", "derived", "activity"):
                continue
            problems.append(
                _at(
                    document,
                    "FF306",
                    ("facts", spec.kind),
                    f"no rule uses the kind {spec.kind}",
                    level="warning",
                    key=True,
                )
            )
    for name, (question, document) in loaded.questions.items():
        if question.asks_for not in used:
            index = next(i for i, q in enumerate(document.value["questions"]) if q["id"] == name)
            problems.append(
                _at(
                    document,
                    "FF307",
                    ("questions", index, "asks_for"),
                    f"the answer changes nothing: no rule uses {question.asks_for}",
                    level="warning",
                    where=f"question {name}",
                )
            )
    return problems


def _never_emitted(loaded: Loaded, emitted: Collection[str]) -> list[Problem]:
    from_answers = {answer.emits for question, _ in loaded.questions.values() for answer in question.answers}
    used = used_kinds(loaded)
    problems = []
    for document, specs in loaded.vocabulary_files:
        for spec in specs:
            if spec.nature in _NATURES_EMITTED_BY_THE_ENGINE or spec.kind in emitted or spec.kind in from_answers:
                continue
            waiting = "rules wait for it in vain" if spec.kind in used else "nothing uses it either"
            problems.append(
                _at(
                    document,
                    "FF305",
                    ("facts", spec.kind),
                    f"nothing emits the kind {spec.kind}",
                    level="warning",
                    key=True,
                    reason=waiting,
                    hint=f"known emitters: signatures, adapters, answers ({listed(emitted, 0)} kinds)"
                    if not emitted
                    else "",
                )
            )
    return problems
