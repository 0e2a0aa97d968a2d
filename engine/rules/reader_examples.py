"""Reads the ``examples`` of evidence and propagation files."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from engine.authored.document import Document, KeyPath
from engine.authored.problem import did_you_mean, listed
from engine.authored.sheet import Sheet
from engine.facts.vocabulary import SUBJECT_TYPES, Vocabulary
from engine.rules.model import Example
from engine.rules.reader import place
from engine.rules.reader_fields import Fields

NOTATION = ("kind", "at", "clock", "file", "line", "from", "to", "ranks", "scope")
"""Keys of an example fact that are not fields; where a kind has a field of that name, the field is meant."""

SCOPES = ("incident", "outside_window", "other_run", "other_boot")
PAIR = " > "
"""Joins cause kind and effect kind in ``Example.expect`` of a propagation."""


def read_examples(
    document: Document, vocabulary: Vocabulary, rules: Collection[str] | None
) -> tuple[tuple[Example, ...], Sheet]:
    """The examples of a file; ``rules`` are its rule ids, ``None`` for a propagation."""
    sheet = Sheet(document)
    root = document.value
    if not isinstance(root, dict) or "examples" not in root:
        sheet.fail(
            "FF240", (), "the file has no examples", hint="Give each rule an example that matches and a near miss"
        )
        return (), sheet
    reader = _Reader(sheet, Fields(sheet, vocabulary), rules)
    examples = []
    for index, value in enumerate(sheet.sequence(root["examples"], ("examples",), "examples")):
        sheet.where = f"example {index + 1}"
        example = reader.example(value, ("examples", index))
        if example is not None:
            examples.append(example)
    sheet.where = ""
    return tuple(examples), sheet


class _Reader:
    def __init__(self, sheet: Sheet, fields: Fields, rules: Collection[str] | None) -> None:
        self.sheet = sheet
        self.fields = fields
        self.rules = rules

    def example(self, value: Any, path: KeyPath) -> Example | None:
        entry = self.sheet.mapping(value, path, "an example", ("name", "facts", "expect"))
        if entry is None or not {"name", "facts", "expect"} <= entry.keys():
            return None
        name = self.sheet.string(entry["name"], (*path, "name"), "name")
        self.sheet.where = f'example "{name}"'
        facts = [
            fact
            for index, given in enumerate(self.sheet.sequence(entry["facts"], (*path, "facts"), "facts", least=0))
            if (fact := self._fact(given, (*path, "facts", index))) is not None
        ]
        return Example(
            name, tuple(facts), self._expect(entry["expect"], (*path, "expect")), place(self.sheet.document, path)
        )

    def _expect(self, value: Any, path: KeyPath) -> tuple[str, ...]:
        expected = []
        for index, given in enumerate(self.sheet.sequence(value, path, "expect", least=0)):
            at = (*path, index)
            if self.rules is None:
                expected.append(self._pair(given, at))
            elif given not in self.rules:
                self.sheet.fail(
                    "FF242", at, f'the file has no rule "{given}"', label=did_you_mean(given, self.rules),
                    reason=f"its rules: {listed(self.rules)}",
                )  # fmt: skip
            else:
                expected.append(given)
        return tuple(name for name in expected if name)

    def _pair(self, value: Any, path: KeyPath) -> str:
        if not isinstance(value, list) or len(value) != 2:
            self.sheet.fail(
                "FF203", path, "a member of expect is a pair of kinds", hint="Write [cause kind, effect kind]"
            )
            return ""
        kinds = [self.fields.kind(kind, (*path, index)) for index, kind in enumerate(value)]
        return PAIR.join(kinds) if all(kinds) else ""

    def _fact(self, value: Any, path: KeyPath) -> Mapping[str, Any] | None:
        if not isinstance(value, dict):
            self.sheet.wrong_type(value, path, "a fact", dict)
            return None
        if "kind" not in value:
            self.sheet.fail("FF202", path, 'a fact lacks the key "kind"')
            return None
        kind = self.fields.kind(value["kind"], (*path, "kind"))
        if not kind:
            return None
        spec = self.fields.vocabulary[kind]
        own = {key: given for key, given in value.items() if key in spec.fields or key in SUBJECT_TYPES}
        for key, given in value.items():
            if key in own:
                continue
            if key in NOTATION:
                self._notation(key, given, (*path, key))
            else:
                known = [*spec.fields, *SUBJECT_TYPES, *NOTATION]
                self.sheet.fail(
                    "FF211", (*path, key), f'{kind} has no field "{key}"', key=True, label=did_you_mean(key, known),
                    reason=f"its fields: {listed(spec.fields, 24) or 'none'}; the notation adds {', '.join(NOTATION)}",
                )  # fmt: skip
        self.fields.constants(kind, own, path)
        return value

    def _notation(self, key: str, value: Any, path: KeyPath) -> None:
        if key == "at":
            self._time(value, path)
        elif key in ("from", "to"):
            self.sheet.number(value, path, key)
        elif key == "line":
            self.sheet.integer(value, path, key, least=1)
        elif key == "ranks":
            for index, rank in enumerate(self.sheet.sequence(value, path, key)):
                self.sheet.integer(rank, (*path, index), "a rank", least=0)
        elif key == "scope":
            self.sheet.word(value, path, key, SCOPES)
        elif key in ("clock", "file"):
            self.sheet.string(value, path, key)

    def _time(self, value: Any, path: KeyPath) -> None:
        if value == "unknown":
            return
        if isinstance(value, list):
            ends = [self.sheet.number(end, (*path, index), "an end of at") for index, end in enumerate(value)]
            if len(value) != 2 or (ends[0] is not None and ends[1] is not None and ends[0] > ends[1]):
                self.sheet.fail("FF203", path, "a span of time is [earliest, latest] in seconds")
        elif isinstance(value, str):
            self.sheet.fail("FF203", path, "at is seconds, [earliest, latest] or unknown")
        else:
            self.sheet.number(value, path, "at")
