"""Reads questions, profiles, and the head of the fault tree."""

from __future__ import annotations

from typing import Any

from engine.authored.document import Document, KeyPath
from engine.authored.sheet import Sheet
from engine.facts.vocabulary import BRANCHES, WHO, Vocabulary
from engine.rules.model import Answer, Branch, Profile, Question, Text, Tree
from engine.rules.reader import CAUSE_ID, PLAIN_ID, head, identifier, place
from engine.rules.reader_fields import Fields
from engine.rules.reader_texts import text

_ID_FORM = "small-words-and-hyphens"
UNKNOWN = "unknown"
"""The answer that every question has; needs no text."""


def read_questions(document: Document, vocabulary: Vocabulary) -> tuple[tuple[Question, ...], Sheet]:
    """A file of kind ``questions``."""
    sheet = Sheet(document)
    root = head(sheet, "questions", ("schema", "kind", "questions"), ("branch", "lint"))
    if root is None:
        return (), sheet
    branch = sheet.word(root["branch"], ("branch",), "branch", (*BRANCHES, "common")) if "branch" in root else ""
    fields = Fields(sheet, vocabulary)
    questions = []
    entries = sheet.sequence(root["questions"], ("questions",), "questions") if "questions" in root else []
    for index, value in enumerate(entries):
        sheet.where = f"question {index + 1}"
        question = _question(sheet, fields, value, ("questions", index), branch)
        if question is not None:
            questions.append(question)
    sheet.where = ""
    return tuple(questions), sheet


def _question(sheet: Sheet, fields: Fields, value: Any, path: KeyPath, branch: str) -> Question | None:
    entry = sheet.mapping(value, path, "a question", ("id", "asks_for", "text", "who", "answers"), ("command",))
    if entry is None:
        return None
    name = identifier(sheet, entry["id"], (*path, "id"), "a question id", PLAIN_ID, _ID_FORM) if "id" in entry else ""
    sheet.where = f"question {name}"
    asks_for = fields.kind(entry["asks_for"], (*path, "asks_for")) if "asks_for" in entry else ""
    answers = []
    seen: set[str] = set()
    for index, given in enumerate(sheet.sequence(entry.get("answers", [{}]), (*path, "answers"), "answers")):
        answer = _answer(sheet, fields, given, (*path, "answers", index)) if "answers" in entry else None
        if answer is None:
            continue
        if answer.id in seen:
            sheet.fail("FF301", (*path, "answers", index, "id"), f'the answer "{answer.id}" stands twice')
        seen.add(answer.id)
        answers.append(answer)
    return Question(
        id=name,
        branch=branch or asks_for.partition(".")[0],
        asks_for=asks_for,
        text=text(sheet, entry["text"], (*path, "text"), "text") if "text" in entry else Text("", ""),
        who=sheet.word(entry["who"], (*path, "who"), "who", WHO) if "who" in entry else "",
        command=sheet.string(entry["command"], (*path, "command"), "command") if "command" in entry else "",
        answers=tuple(answers),
        place=place(sheet.document, path),
    )


def _answer(sheet: Sheet, fields: Fields, value: Any, path: KeyPath) -> Answer | None:
    entry = sheet.mapping(value, path, "an answer", ("id",), ("text", "emits"))
    if entry is None or "id" not in entry:
        return None
    name = identifier(sheet, entry["id"], (*path, "id"), "an answer id", PLAIN_ID, _ID_FORM)
    words = Text("", "")
    if "text" in entry:
        words = text(sheet, entry["text"], (*path, "text"), "text")
    elif name != UNKNOWN:
        sheet.fail("FF202", path, 'an answer lacks the key "text"', reason=f'only the answer "{UNKNOWN}" needs none')
    if "emits" not in entry:
        return Answer(name, words)
    emits = sheet.mapping(entry["emits"], (*path, "emits"), "emits", ("kind",), ("fields",))
    if emits is None or "kind" not in emits:
        return Answer(name, words)
    kind = fields.kind(emits["kind"], (*path, "emits", "kind"))
    given = emits.get("fields", {})
    if not isinstance(given, dict):
        sheet.wrong_type(given, (*path, "emits", "fields"), "fields", dict)
        given = {}
    constants = fields.constants(kind, given, (*path, "emits", "fields")) if kind else {}
    return Answer(name, words, kind or None, constants)


def read_profile(document: Document) -> tuple[Profile | None, Sheet]:
    """A file of kind ``profile``; only its head is checked here, its readers check the rest."""
    sheet = Sheet(document)
    value = document.value
    if not isinstance(value, dict):
        sheet.wrong_type(value, (), "a file of kind profile", dict)
        return None, sheet
    root = head(sheet, "profile", ("schema", "kind", "id"), tuple(value))
    if root is None or "id" not in root:
        return None, sheet
    name = sheet.string(root["id"], ("id",), "an id")
    return Profile(name, root, place(document, ())), sheet


def read_tree(document: Document) -> tuple[Tree | None, Sheet]:
    """The file of kind ``tree``: the top event, the branches, and the causes that each has to have."""
    sheet = Sheet(document)
    root = head(sheet, "tree", ("schema", "kind", "title", "branches"), ("lint",))
    if root is None or not {"title", "branches"} <= root.keys():
        return None, sheet
    title = text(sheet, root["title"], ("title",), "title")
    given = sheet.mapping(root["branches"], ("branches",), "branches", BRANCHES) or {}
    branches = []
    for name, value in given.items():
        path: KeyPath = ("branches", name)
        entry = sheet.mapping(value, path, "a branch", ("title", "causes"))
        if entry is None or not {"title", "causes"} <= entry.keys():
            continue
        causes = sheet.strings(entry["causes"], (*path, "causes"), "causes", least=0)
        for index, cause in enumerate(causes):
            if not CAUSE_ID.fullmatch(cause) or not cause.startswith(f"{name}."):
                sheet.fail("FF206", (*path, "causes", index), f'"{cause}" is not a cause of the branch {name}')
        branches.append(Branch(name, text(sheet, entry["title"], (*path, "title"), "title"), causes))
    return Tree(title, tuple(branches), place(document, ())), sheet
