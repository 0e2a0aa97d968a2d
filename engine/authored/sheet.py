"""Typed access to a document's values; whatever is not as it should be becomes a problem at its place."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any

from engine.authored.document import Document, KeyPath
from engine.authored.problem import Problem, did_you_mean, listed

_PLACEHOLDER = re.compile(r"\b(?:TODO|FIXME)\b")

NAMES = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a mapping",
}


class Sheet:
    """Reads one document and collects its problems."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.problems: list[Problem] = []
        self.where = ""

    def fail(
        self,
        code: str,
        path: KeyPath,
        message: str,
        *,
        key: bool = False,
        level: str = "error",
        label: str = "",
        reason: str = "",
        hint: str = "",
        part: str = "",
    ) -> None:
        """Add a problem at ``path``, at its key where ``key``, at ``part`` of its text where that is given."""
        self.problems.append(
            self.document.problem(
                code,
                path,
                message,
                key=key,
                level=level,
                label=label,
                where=self.where,
                reason=reason,
                help=hint,
                part=part,
            )
        )

    def mapping(
        self, value: Any, path: KeyPath, what: str, required: Collection[str], optional: Collection[str] = ()
    ) -> dict[str, Any] | None:
        """``value`` where it is a mapping, with unknown and missing keys reported; ``None`` where it is not one."""
        if not isinstance(value, dict):
            self.wrong_type(value, path, what, dict)
            return None
        for key in value:
            if key not in required and key not in optional:
                known = [*required, *optional]
                self.fail(
                    "FF201", (*path, key), f'unknown key "{key}" in {what}', key=True,
                    label=did_you_mean(key, known), reason=f"{what} has the keys: {', '.join(known)}",
                )  # fmt: skip
        for key in required:
            if key not in value:
                self.fail("FF202", path, f'{what} lacks the key "{key}"', key=bool(path))
        return value

    def wrong_type(self, value: Any, path: KeyPath, what: str, *wanted: type) -> None:
        """Report that ``value`` has none of the ``wanted`` types."""
        names = " or ".join(NAMES[kind] for kind in wanted)
        found = "nothing" if value is None else f"{NAMES.get(type(value), 'something else')}"
        hint = ""
        if str in wanted and isinstance(value, (int, float, bool)):
            hint = "Put quotes around it"
        elif str not in wanted and isinstance(value, str) and value.lower() in {"yes", "no", "on", "off"}:
            hint = "The only words for yes and no are true and false"
        elif {int, float} & {*wanted} and isinstance(value, str) and re.fullmatch(r"0[0-9]+", value):
            hint = "Numbers are decimal and have no leading zero"
        self.fail("FF203", path, f"{what} must be {names}, not {found}", hint=hint)

    def string(self, value: Any, path: KeyPath, what: str, *, empty: bool = False) -> str:
        """``value`` where it is text (not empty unless allowed), else ``""`` and a problem."""
        if not isinstance(value, str):
            self.wrong_type(value, path, what, str)
            return ""
        if not value.strip() and not empty:
            self.fail("FF203", path, f"{what} is empty")
        elif "TODO" in value or "FIXME" in value:
            self.placeholder(value, path, what)
        return value

    def placeholder(self, value: str, path: KeyPath, what: str, level: str = "error") -> None:
        """Report a word that only marks unfinished work."""
        found = _PLACEHOLDER.search(value)
        if found:
            word = found.group()
            self.fail("FF108", path, f"{what} still holds the placeholder {word}", level=level, part=word)

    def word(self, value: Any, path: KeyPath, what: str, allowed: Collection[str]) -> str:
        """``value`` where it is one of ``allowed``, else ``""`` and a problem."""
        if not isinstance(value, str):
            self.wrong_type(value, path, what, str)
            return ""
        if value not in allowed:
            self.fail(
                "FF204", path, f'"{value}" is not a value of {what}', label=did_you_mean(value, allowed),
                reason=f"{what} is one of: {listed(allowed, 24)}",
            )  # fmt: skip
            return ""
        return value

    def number(self, value: Any, path: KeyPath, what: str, *, least: float | None = None) -> float | None:
        """``value`` where it is a number of at least ``least``."""
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.wrong_type(value, path, what, float)
            return None
        if least is not None and value < least:
            self.fail("FF203", path, f"{what} must be at least {least:g}, not {value:g}")
            return None
        return value

    def integer(self, value: Any, path: KeyPath, what: str, *, least: int | None = None) -> int | None:
        """``value`` where it is a whole number of at least ``least``."""
        if isinstance(value, bool) or not isinstance(value, int):
            self.wrong_type(value, path, what, int)
            return None
        if least is not None and value < least:
            self.fail("FF203", path, f"{what} must be at least {least}, not {value}")
            return None
        return value

    def flag(self, value: Any, path: KeyPath, what: str) -> bool:
        """``value`` where it is a boolean, else ``False`` and a problem."""
        if not isinstance(value, bool):
            self.wrong_type(value, path, what, bool)
            return False
        return value

    def sequence(self, value: Any, path: KeyPath, what: str, *, least: int = 1) -> list[Any]:
        """``value`` where it is a list of at least ``least`` members, else ``[]`` and a problem."""
        if not isinstance(value, list):
            self.wrong_type(value, path, what, list)
            return []
        if len(value) < least:
            self.fail("FF203", path, f"{what} must have at least {least} member{'s' if least > 1 else ''}")
        return value

    def strings(self, value: Any, path: KeyPath, what: str, *, least: int = 1) -> tuple[str, ...]:
        """A list of texts; a single text stands for a list of one."""
        if isinstance(value, str):
            return (self.string(value, path, what),)
        members = self.sequence(value, path, what, least=least)
        return tuple(self.string(member, (*path, index), f"a member of {what}") for index, member in enumerate(members))

    def sentence(self, value: Any, path: KeyPath, what: str) -> tuple[str, str]:
        """A text in both languages, ``{en, zh}``; returns (English, Chinese)."""
        if not isinstance(value, dict):
            self.fail("FF205", path, f"{what} must be given in both languages", hint='Write {en: "…", zh: "…"}')
            return "", ""
        for key in value:
            if key not in ("en", "zh"):
                self.fail(
                    "FF201", (*path, key), f'unknown key "{key}" in {what}', key=True,
                    reason=f"{what} has the keys: en, zh",
                )  # fmt: skip
        return self._language(value, "en", path, what), self._language(value, "zh", path, what)

    def _language(self, value: dict[str, Any], language: str, path: KeyPath, what: str) -> str:
        name = "English" if language == "en" else "Chinese"
        if language not in value:
            self.fail(
                "FF205",
                path,
                f"{what} lacks its {name} text",
                key=isinstance(path[-1], str),
                hint=f'Add {language}: "…"',
            )
            return ""
        text = value[language]
        if (isinstance(text, str) and not text.strip()) or text is None:
            self.fail("FF205", (*path, language), f"{what} lacks its {name} text")
            return ""
        return self.string(text, (*path, language), f"the {name} text of {what}")


def matches(value: str, pattern: re.Pattern[str]) -> bool:
    """Whether the whole of ``value`` has the form ``pattern``."""
    return pattern.fullmatch(value) is not None


def unique(words: Iterable[str]) -> list[str]:
    """The words without repetition, in order."""
    return list(dict.fromkeys(words))
