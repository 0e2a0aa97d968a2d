"""Checks of kinds, fields and values against the vocabulary, shared by everything that names facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from engine.authored.document import KeyPath
from engine.authored.problem import did_you_mean, listed
from engine.authored.sheet import Sheet
from engine.facts.model import Scalar
from engine.facts.vocabulary import SUBJECT_TYPES, FieldType, KindSpec, Vocabulary

_WORDS: Mapping[FieldType, str] = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
}


class Fields:
    """Looks names up in the vocabulary and reports those that are not there."""

    def __init__(self, sheet: Sheet, vocabulary: Vocabulary) -> None:
        self.sheet = sheet
        self.vocabulary = vocabulary

    def kinds(self, value: Any, path: KeyPath) -> tuple[str, ...]:
        """The known ones of a fact kind or a list of alternatives."""
        names = [(value, path)] if isinstance(value, str) else [
            (name, (*path, index)) for index, name in enumerate(self.sheet.sequence(value, path, "fact"))
        ]  # fmt: skip
        found = []
        for name, at in names:
            if not isinstance(name, str):
                self.sheet.wrong_type(name, at, "a fact kind", str)
            elif "TODO" in name:
                self.sheet.placeholder(name, at, "the fact kind")
            elif name not in self.vocabulary.kinds:
                self.sheet.fail(
                    "FF210", at, f'unknown fact kind "{name}"', label=did_you_mean(name, self.vocabulary.kinds),
                    hint="knowledge/builtin/vocabulary lists the kinds; `firstfault facts list` prints them",
                )  # fmt: skip
            elif name in found:
                self.sheet.fail("FF210", at, f'the kind "{name}" stands twice in the list')
            else:
                found.append(name)
        return tuple(found)

    def kind(self, value: Any, path: KeyPath) -> str:
        """One known fact kind, else ``""``."""
        if isinstance(value, list):
            self.sheet.wrong_type(value, path, "a fact kind", str)
            return ""
        found = self.kinds(value, path)
        return found[0] if found else ""

    def type_of(
        self, kinds: Sequence[str], name: str, path: KeyPath, *, key: bool = False, part: str = ""
    ) -> FieldType | None:
        """The type of a field that every one of ``kinds`` has, else ``None`` and a problem."""
        types = set()
        for kind in kinds:
            spec = self.vocabulary[kind]
            field_type = spec.type_of(name)
            if field_type is None:
                own = f"its fields: {listed(spec.fields, 24)}" if spec.fields else "it has no fields of its own"
                self.sheet.fail(
                    "FF211", path, f'{kind} has no field "{name}"', key=key, part=part,
                    label=did_you_mean(name, [*spec.fields, *SUBJECT_TYPES]),
                    reason=f"{own}; every kind has {', '.join(SUBJECT_TYPES)}",
                )  # fmt: skip
                return None
            types.add(field_type)
        if len(types) > 1:
            self.sheet.fail("FF211", path, f'the field "{name}" has different types in {listed(kinds)}', key=key)
            return None
        return types.pop() if types else None

    def value(self, kinds: Sequence[str], name: str, value: Any, path: KeyPath, field_type: FieldType) -> Scalar | None:
        """``value`` as the field's type; ``None`` and a problem where it is of another type or not a listed value."""
        if not fits(value, field_type):
            hint = "Put quotes around it" if field_type == "str" and not isinstance(value, (list, dict)) else ""
            shown = "nothing" if value is None else f"{value!r}" if isinstance(value, str) else f"{value}".lower()
            self.sheet.fail(
                "FF213", path, f'the field "{name}" of {listed(kinds)} is {_WORDS[field_type]}, not {shown}', hint=hint
            )
            return None
        listed_values = allowed_values([self.vocabulary[kind] for kind in kinds], name)
        if listed_values and value not in listed_values:
            self.sheet.fail(
                "FF212", path, f'"{value}" is not a value of the field "{name}" of {listed(kinds)}',
                label=did_you_mean(value, listed_values), reason=f"its values: {listed(listed_values, 24)}",
            )  # fmt: skip
            return None
        result: Scalar = float(value) if field_type == "float" else value
        return result

    def constants(self, kind: str, values: Mapping[str, Any], path: KeyPath) -> dict[str, Scalar]:
        """Fields of one fact as constants; those with problems are left out."""
        result: dict[str, Scalar] = {}
        for name, value in values.items():
            field_type = self.type_of((kind,), name, (*path, name), key=True)
            if field_type is None:
                continue
            checked = self.value((kind,), name, value, (*path, name), field_type)
            if checked is not None:
                result[name] = checked
        return result


def fits(value: Any, field_type: FieldType) -> bool:
    """Whether a plain value is of a field's type; whole numbers are numbers, booleans are neither."""
    if field_type == "str":
        return isinstance(value, str)
    if field_type == "bool":
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    return isinstance(value, int) if field_type == "int" else isinstance(value, (int, float))


def allowed_values(specs: Iterable[KindSpec], name: str) -> tuple[str, ...]:
    """The closed list of a field's values over some kinds; empty where one of them takes any value."""
    values: list[str] = []
    for spec in specs:
        field = spec.fields.get(name)
        if field is None or not field.values:
            return ()
        values += field.values
    return tuple(values)
