"""Reads the YAML kinds of a pack into the dataclasses of :mod:`engine.rules.model`.

Each reader takes a document and returns what it could read; problems collect in the sheet. What a file with errors
yields is not fit for use.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from engine.authored.document import Document, KeyPath
from engine.authored.sheet import Sheet
from engine.facts.vocabulary import BRANCHES, WHO, Vocabulary
from engine.rules.model import Effect, EvidenceRule, Leaf, Place, PropagationRule, Strength, Text
from engine.rules.reader_conditions import Conditions, Conjunction, Scope
from engine.rules.reader_fields import Fields
from engine.rules.reader_order import impossible_order
from engine.rules.reader_relations import read_relation
from engine.rules.reader_texts import template, text, texts

SCHEMA = 1
KINDS = ("cause", "evidence", "propagation", "questions", "profile", "tree", "vocabulary", "signatures", "counter_map")
PHASES = ("startup", "data", "first_sync", "steady", "checkpoint", "recovery")
EFFECTS = ("supports", "weakens", "rules_out")
STRENGTHS = ("decisive", "strong", "moderate", "weak")
SUSPECT_FIELDS = ("host", "rank", "device", "port", "peer")
DEFAULT_PRIOR = -3.0

CAUSE_ID = re.compile(rf"(?:{'|'.join(BRANCHES)})(?:\.[a-z0-9]+(?:-[a-z0-9]+)*){{1,2}}")
PLAIN_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")

CAUSE_FORM = f"branch.name, such as host.oom-kill; the branches are {', '.join(BRANCHES)}"

_CAUSE_KEYS = ("schema", "kind", "id", "owner", "title", "summary", "minimal_evidence", "next_steps", "handover")
_CAUSE_OPTIONAL = ("phase", "rollback", "references", "prior", "lint")
_RULE_KEYS = ("id", "effect", "strength", "when", "reason")
_RULE_OPTIONAL = ("group", "first", "suspects", "verified", "apart")


def place(document: Document, path: KeyPath) -> Place:
    """The position of a value, under the name that reports show."""
    line, column = document.position(path)
    return Place(document.name, line, column)


def head(sheet: Sheet, kind: str, required: tuple[str, ...], optional: tuple[str, ...]) -> dict[str, Any] | None:
    """The root mapping of a file, its keys and schema version checked."""
    root = sheet.mapping(sheet.document.value, (), f"a file of kind {kind}", required, optional)
    if root is not None and "schema" in root and root["schema"] != SCHEMA:
        sheet.fail(
            "FF107", ("schema",), f"this version reads schema {SCHEMA}, not {root['schema']}",
            hint="Update the program, or the file to the documented format",
        )  # fmt: skip
    return root


def identifier(sheet: Sheet, value: Any, path: KeyPath, what: str, pattern: re.Pattern[str], form: str) -> str:
    """An id of the form ``pattern``, described as ``form``."""
    found = sheet.string(value, path, what)
    if found and not pattern.fullmatch(found):
        sheet.fail("FF206", path, f'"{found}" cannot be {what}', reason=f"it has the form {form}")
    return found


def verified(sheet: Sheet, value: Any, path: KeyPath) -> bool:
    """Whether the rule was verified: ``false``, or a mapping that says on what and from which source."""
    if value is False:
        return False
    if not isinstance(value, dict):
        sheet.fail(
            "FF203", path, "verified is false, or says on what and from which source",
            hint='Write {on: ["nccl 2.18-2.30"], source: "…"}',
        )  # fmt: skip
        return False
    entry = sheet.mapping(value, path, "verified", ("on", "source")) or {}
    if "on" in entry:
        sheet.strings(entry["on"], (*path, "on"), "on")
    if "source" in entry:
        sheet.strings(entry["source"], (*path, "source"), "source")
    return True


def read_leaf(document: Document, vocabulary: Vocabulary) -> tuple[Leaf | None, Sheet]:
    """A file of kind ``cause``."""
    sheet = Sheet(document)
    root = head(sheet, "cause", _CAUSE_KEYS, _CAUSE_OPTIONAL)
    if root is None:
        return None, sheet
    given: dict[str, Any] = root
    name = identifier(sheet, given["id"], ("id",), "a cause id", CAUSE_ID, CAUSE_FORM) if "id" in given else ""
    sheet.where = f"cause {name}"
    phase = given.get("phase")
    prior = sheet.number(given["prior"], ("prior",), "prior") if "prior" in given else DEFAULT_PRIOR
    leaf = Leaf(
        id=name,
        branch=name.partition(".")[0],
        owner=sheet.word(given["owner"], ("owner",), "owner", WHO) if "owner" in given else "",
        phase=sheet.word(phase, ("phase",), "phase", PHASES) or None if phase is not None else None,
        title=_text(sheet, given, "title"),
        summary=_text(sheet, given, "summary"),
        minimal_evidence=_minimal(sheet, given, vocabulary),
        next_steps=texts(sheet, given["next_steps"], ("next_steps",), "next_steps") if "next_steps" in given else (),
        rollback=texts(sheet, given["rollback"], ("rollback",), "rollback", least=0) if "rollback" in given else (),
        handover=_text(sheet, given, "handover"),
        references=_references(sheet, given),
        prior=DEFAULT_PRIOR if prior is None else prior,
        place=place(document, ()),
    )
    return leaf, sheet


def _text(sheet: Sheet, given: Mapping[str, Any], key: str) -> Text:
    return text(sheet, given[key], (key,), key) if key in given else Text("", "")


def _references(sheet: Sheet, given: Mapping[str, Any]) -> tuple[str, ...]:
    return sheet.strings(given["references"], ("references",), "references", least=0) if "references" in given else ()


def _minimal(sheet: Sheet, given: Mapping[str, Any], vocabulary: Vocabulary) -> tuple[tuple[str, Text], ...]:
    if "minimal_evidence" not in given:
        return ()
    fields = Fields(sheet, vocabulary)
    result = []
    entries = sheet.sequence(given["minimal_evidence"], ("minimal_evidence",), "minimal_evidence")
    for index, value in enumerate(entries):
        path: KeyPath = ("minimal_evidence", index)
        entry = sheet.mapping(value, path, "minimal evidence", ("fact", "why"))
        if entry is None:
            continue
        kinds = fields.kinds(entry["fact"], (*path, "fact")) if "fact" in entry else ()
        why = text(sheet, entry["why"], (*path, "why"), "why") if "why" in entry else Text("", "")
        result += [(kind, why) for kind in kinds]
    return tuple(result)


def read_evidence(document: Document, vocabulary: Vocabulary) -> tuple[tuple[EvidenceRule, ...], Sheet]:
    """A file of kind ``evidence``: all rules of one cause."""
    sheet = Sheet(document)
    root = head(sheet, "evidence", ("schema", "kind", "cause", "verified", "rules"), ("examples", "lint"))
    if root is None:
        return (), sheet
    cause = identifier(sheet, root["cause"], ("cause",), "a cause id", CAUSE_ID, CAUSE_FORM) if "cause" in root else ""
    checked = verified(sheet, root["verified"], ("verified",)) if "verified" in root else False
    entries = sheet.sequence(root["rules"], ("rules",), "rules") if "rules" in root else []
    conditions = Conditions(sheet, vocabulary)
    rules: list[EvidenceRule] = []
    seen: set[str] = set()
    for index, value in enumerate(entries):
        sheet.where = f"rule {index + 1}"
        rule = _evidence_rule(sheet, conditions, value, ("rules", index), cause, checked)
        if rule is None:
            continue
        if rule.id in seen:
            sheet.fail(
                "FF301", ("rules", index, "id"), f'the rule id "{rule.id.rpartition("/")[2]}" stands twice in this file'
            )
        seen.add(rule.id)
        rules.append(rule)
    sheet.where = ""
    return tuple(rules), sheet


def _evidence_rule(
    sheet: Sheet, conditions: Conditions, value: Any, path: KeyPath, cause: str, checked: bool
) -> EvidenceRule | None:
    entry = sheet.mapping(value, path, "a rule", _RULE_KEYS, _RULE_OPTIONAL)
    if entry is None:
        return None
    name = (
        identifier(sheet, entry["id"], (*path, "id"), "a rule id", PLAIN_ID, "small-words-and-hyphens")
        if "id" in entry
        else ""
    )
    sheet.where = f"rule {name}"
    effect = sheet.word(entry["effect"], (*path, "effect"), "effect", EFFECTS) if "effect" in entry else ""
    strength = sheet.word(entry["strength"], (*path, "strength"), "strength", STRENGTHS) if "strength" in entry else ""
    if "verified" in entry:
        checked = verified(sheet, entry["verified"], (*path, "verified"))
    if strength == "decisive" and not checked:
        sheet.fail(
            "FF232", (*path, "strength"), "a decisive rule must be verified",
            reason="it says verified: false, or its file does", hint="Say on what it was verified, or use strong",
        )  # fmt: skip
    scope = Scope()
    variants = _when(conditions, entry["when"], (*path, "when"), scope) if "when" in entry else ()
    reason = Text("", "")
    if "reason" in entry:
        reason = template(sheet, conditions.fields, entry["reason"], (*path, "reason"), "reason", scope)
    group = name
    if "group" in entry:
        group = identifier(sheet, entry["group"], (*path, "group"), "a group", PLAIN_ID, "small-words-and-hyphens")
    first = conditions.alias(entry["first"], (*path, "first"), scope) if entry.get("first") is not None else ""
    return EvidenceRule(
        id=f"{cause}/{name}",
        cause=cause,
        effect=cast(Effect, effect),
        strength=cast(Strength, strength),
        group=group,
        when=variants[0] if variants else (),
        reason=reason,
        first=first or None,
        suspects=_suspects(sheet, conditions, entry, path, scope),
        verified=checked,
        place=place(sheet.document, path),
        variants=variants[1:],
        apart=_apart(sheet, entry, path),
    )


def _apart(sheet: Sheet, given: Mapping[str, Any], path: KeyPath) -> bool:
    return "apart" in given and sheet.flag(given["apart"], (*path, "apart"), "apart")


def _when(conditions: Conditions, value: Any, path: KeyPath, scope: Scope) -> tuple[Conjunction, ...]:
    sheet = conditions.sheet
    outer, sheet.where = sheet.where, f"{sheet.where} › when"
    alone = isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict) and "any" in value[0]
    variants = conditions.alternatives(value[0], (*path, 0), scope) if alone else conditions.read(value, path, scope)
    sheet.where = outer
    if variants and not scope.kinds:
        sheet.fail(
            "FF226", path, "a rule needs at least one fact condition outside any", key=True,
            hint="Write one rule for each branch and give them the same group",
        )  # fmt: skip
    check_order(sheet, variants, path)
    return variants


def check_order(sheet: Sheet, variants: Sequence[Conjunction], path: KeyPath) -> None:
    """Report facts that would have to precede each other in a circle."""
    circle = impossible_order(variants[0]) if variants else []
    if circle:
        sheet.fail("FF225", path, f"each of {', '.join(circle)} would have to precede the others", key=True)


def _suspects(
    sheet: Sheet, conditions: Conditions, entry: Mapping[str, Any], path: KeyPath, scope: Scope
) -> tuple[tuple[str, str], ...]:
    if "suspects" not in entry:
        return ()
    suspects = []
    for index, value in enumerate(sheet.sequence(entry["suspects"], (*path, "suspects"), "suspects", least=0)):
        at = (*path, "suspects", index)
        found = conditions.reference(value, at, scope)
        if found is None:
            continue
        if found[1] not in SUSPECT_FIELDS:
            sheet.fail(
                "FF231",
                at,
                f'"{found[1]}" is not a suspect',
                reason=f"a suspect is one of: {', '.join(SUSPECT_FIELDS)}",
            )
        suspects.append((found[0], found[1]))
    return tuple(suspects)


def read_propagation(document: Document, vocabulary: Vocabulary) -> tuple[PropagationRule | None, Sheet]:
    """A file of kind ``propagation``: one way in which a fact leads to another."""
    sheet = Sheet(document)
    required = ("schema", "kind", "id", "verified", "cause", "effect", "reason")
    root = head(sheet, "propagation", required, ("also", "apart", "examples", "lint"))
    if root is None:
        return None, sheet
    name = identifier(sheet, root["id"], ("id",), "an id", PLAIN_ID, "small-words-and-hyphens") if "id" in root else ""
    sheet.where = f"propagation {name}"
    checked = verified(sheet, root["verified"], ("verified",)) if "verified" in root else False
    conditions = Conditions(sheet, vocabulary)
    scope = Scope()
    variants = read_relation(conditions, root, scope)
    check_order(sheet, variants, ("also",))
    reason = Text("", "")
    if "reason" in root:
        reason = template(sheet, conditions.fields, root["reason"], ("reason",), "reason", scope)
    sheet.where = ""
    rule = PropagationRule(
        id=name,
        when=variants[0] if variants else (),
        reason=reason,
        place=place(document, ()),
        verified=checked,
        variants=variants[1:],
        apart=_apart(sheet, root, ()),
    )
    return rule, sheet
