"""Reads ``where``: tests of fields against constants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.authored.document import KeyPath
from engine.authored.problem import listed
from engine.authored.sheet import Sheet
from engine.facts.model import Scalar
from engine.facts.vocabulary import FieldType
from engine.rules.model import Operator, Test
from engine.rules.reader_fields import Fields, allowed_values

_BOUNDS: Mapping[str, Operator] = {"min": ">=", "max": "<=", "above": ">", "below": "<"}
KEYS = ("not", *_BOUNDS, "known")


class Tests:
    """Reads the tests of one condition."""

    __test__ = False

    def __init__(self, sheet: Sheet, fields: Fields) -> None:
        self.sheet = sheet
        self.fields = fields

    def read(self, value: Any, path: KeyPath, kinds: tuple[str, ...]) -> tuple[Test, ...]:
        """The tests of ``where``; those with problems are left out."""
        if not isinstance(value, dict):
            self.sheet.wrong_type(value, path, "where", dict)
            return ()
        if not kinds:
            return ()
        tests: list[Test] = []
        for name, given in value.items():
            at = (*path, name)
            field_type = self.fields.type_of(kinds, name, at, key=True)
            if field_type is None:
                continue
            if isinstance(given, dict):
                found = self._operators(kinds, name, given, at, field_type)
                self._contradictions(name, found, at)
                tests += found
            elif isinstance(given, list):
                tests += self._one_of(kinds, name, given, at, field_type, "in")
            else:
                constant = self.fields.value(kinds, name, given, at, field_type)
                tests += [] if constant is None else [Test(name, "==", constant)]
        return tuple(tests)

    def _one_of(
        self, kinds: tuple[str, ...], name: str, given: Any, path: KeyPath, field_type: FieldType, operator: Operator
    ) -> list[Test]:
        members = self.sheet.sequence(given, path, f'the list for "{name}"')
        values = [self.fields.value(kinds, name, v, (*path, i), field_type) for i, v in enumerate(members)]
        constants: tuple[Scalar, ...] = tuple(v for v in values if v is not None)
        closed = allowed_values([self.fields.vocabulary[kind] for kind in kinds], name)
        if closed and set(closed) <= set(constants):
            always = "true of every fact that has the field" if operator == "in" else "never true"
            hint = f"Write {name}: {{known: true}} if you mean it" if operator == "in" else ""
            self.sheet.fail(
                "FF250", path, f'the list holds every value of "{name}": the test is {always}',
                level="warning" if operator == "in" else "error", hint=hint,
            )  # fmt: skip
        return [Test(name, operator, constants)] if constants else []

    def _operators(
        self, kinds: tuple[str, ...], name: str, given: dict[str, Any], path: KeyPath, field_type: FieldType
    ) -> list[Test]:
        self.sheet.mapping(given, path, f'the test of "{name}"', (), KEYS)
        if not given:
            self.sheet.fail(
                "FF203", path, f'the test of "{name}" is empty', reason=f"it has the keys: {', '.join(KEYS)}"
            )
        tests: list[Test] = []
        for key, value in given.items():
            at = (*path, key)
            if key == "known":
                tests.append(Test(name, "known", self.sheet.flag(value, at, "known")))
            elif key == "not" and isinstance(value, list):
                tests += self._one_of(kinds, name, value, at, field_type, "not_in")
            elif key == "not":
                constant = self.fields.value(kinds, name, value, at, field_type)
                tests += [] if constant is None else [Test(name, "!=", constant)]
            elif key in _BOUNDS:
                tests += self._bound(kinds, name, key, value, at, field_type)
        return tests

    def _bound(
        self, kinds: tuple[str, ...], name: str, key: str, value: Any, path: KeyPath, field_type: FieldType
    ) -> list[Test]:
        if field_type not in ("int", "float"):
            self.sheet.fail(
                "FF213",
                path,
                f'"{key}" compares numbers; the field "{name}" of {listed(kinds)} is {field_type}',
                key=True,
            )
            return []
        constant = self.fields.value(kinds, name, value, path, field_type)
        return [] if constant is None else [Test(name, _BOUNDS[key], constant)]

    def _contradictions(self, name: str, tests: list[Test], path: KeyPath) -> None:
        low = [(t.value, t.operator) for t in tests if t.operator in (">", ">=")]
        high = [(t.value, t.operator) for t in tests if t.operator in ("<", "<=")]
        for least, low_operator in low:
            for most, high_operator in high:
                assert isinstance(least, (int, float))
                assert isinstance(most, (int, float))
                if least > most or (least == most and (low_operator, high_operator) != (">=", "<=")):
                    self.sheet.fail(
                        "FF214", path, f'no value of "{name}" lies between {least:g} and {most:g}', key=True
                    )
        if len(tests) > 1 and any(t.operator == "known" and t.value is False for t in tests):
            self.sheet.fail("FF214", path, f'"{name}" cannot be unknown and pass another test', key=True)
