"""Reads sentences in both languages, and checks the ``{alias.field}`` in them."""

from __future__ import annotations

import re
from typing import Any

from engine.authored.document import KeyPath
from engine.authored.problem import did_you_mean, listed
from engine.authored.sheet import Sheet
from engine.rules.model import Text
from engine.rules.reader_conditions import Scope
from engine.rules.reader_fields import Fields

_REFERENCE = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*")


def text(sheet: Sheet, value: Any, path: KeyPath, what: str) -> Text:
    """A sentence without references."""
    return Text(*sheet.sentence(value, path, what))


def texts(sheet: Sheet, value: Any, path: KeyPath, what: str, *, least: int = 1) -> tuple[Text, ...]:
    """A list of sentences."""
    members = sheet.sequence(value, path, what, least=least)
    return tuple(text(sheet, member, (*path, index), f"a member of {what}") for index, member in enumerate(members))


def template(sheet: Sheet, fields: Fields, value: Any, path: KeyPath, what: str, scope: Scope) -> Text:
    """A sentence whose references must name bound aliases and their fields, the same ones in both languages."""
    sentence = text(sheet, value, path, what)
    before = len(sheet.problems)
    found = {}
    for language, words in (("en", sentence.en), ("zh", sentence.zh)):
        if words:
            found[language] = _references(sheet, fields, words, (*path, language), scope)
    if len(found) == 2 and found["en"] != found["zh"] and len(sheet.problems) == before:
        only = {key: listed(found[key] - found[other]) for key, other in (("en", "zh"), ("zh", "en"))}
        reason = "; ".join(f"only in {key}: {names}" for key, names in only.items() if names)
        sheet.fail(
            "FF233", path, f"the two texts of {what} use different references", key=True, level="warning", reason=reason
        )
    return sentence


def _references(sheet: Sheet, fields: Fields, words: str, path: KeyPath, scope: Scope) -> set[str]:
    names = set(_REFERENCE.findall(words))
    rest = _REFERENCE.sub("", words)
    if "{" in rest or "}" in rest:
        brace = "{" if "{" in rest else "}"
        sheet.fail(
            "FF230",
            path,
            "a brace without its partner",
            part=_lonely(words, brace),
            reason="braces enclose references such as {kill.host}",
        )
    for name in sorted(names):
        _check(sheet, fields, name, path, scope)
    return names


def _check(sheet: Sheet, fields: Fields, name: str, path: KeyPath, scope: Scope) -> None:
    if not _NAME.fullmatch(name):
        sheet.fail("FF230", path, f"{{{name}}} is not of the form {{alias.field}}", part=f"{{{name}}}")
        return
    alias, _, field = name.partition(".")
    if alias not in scope.kinds and scope.incomplete:
        return
    if alias not in scope.kinds:
        named = [known for known in scope.kinds if not known.startswith("_")]
        sheet.fail(
            "FF230", path, f'{{{name}}} names the unknown alias "{alias}"', part=f"{{{name}}}",
            label=did_you_mean(alias, named),
            reason=f"bound in this rule: {listed(named) or 'none'}; aliases inside any are not visible outside",
        )  # fmt: skip
    elif scope.kinds[alias] and field != "count":
        fields.type_of(scope.kinds[alias], field, path, part=f"{{{name}}}")


def _lonely(words: str, brace: str) -> str:
    """The lone brace with a little of what follows, so that it can be found in the line."""
    rest = _REFERENCE.sub(lambda match: " " * len(match[0]), words)
    start = rest.index(brace)
    return words[start : start + 8]
