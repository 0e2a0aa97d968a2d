"""The vocabulary: every fact kind with its fields, nature and meaning, read from YAML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

FieldType = Literal["str", "int", "float", "bool"]
Nature = Literal["fault", "symptom", "state", "config", "activity", "coverage", "derived"]

SUBJECT_TYPES: Mapping[str, FieldType] = {
    "job": "str",
    "host": "str",
    "rank": "int",
    "device": "str",
    "port": "str",
    "peer": "str",
}
"""Types of the subject fields that every kind has."""


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """A field of a kind: its type, the closed list of its values where there is one, its unit and meaning."""

    type: FieldType
    values: tuple[str, ...] = ()
    unit: str = ""
    meaning_en: str = ""
    meaning_zh: str = ""


@dataclass(frozen=True, slots=True)
class Collect:
    """How to get evidence of a kind: a sentence in both languages, a command to paste, who can run it."""

    en: str = ""
    zh: str = ""
    command: str = ""
    who: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Settings that should be equal: grouped by ``key`` fields, ``value`` compared across hosts or ranks."""

    key: tuple[str, ...]
    value: str
    across: Literal["host", "rank"]


@dataclass(frozen=True, slots=True)
class KindSpec:
    """A fact kind. ``lag`` is (least, most) microseconds from onset to report; ``absence`` the coverage class that
    makes "none was seen" a statement; ``fold_by`` the fields that tell episodes of this kind apart."""

    kind: str
    branch: str
    nature: Nature
    meaning_en: str
    meaning_zh: str
    fields: Mapping[str, FieldSpec] = field(default_factory=dict)
    absence: str | None = None
    lag: tuple[int, int] = (0, 0)
    fold_by: tuple[str, ...] | None = None
    collect: Collect | None = None
    compare: Comparison | None = None

    def type_of(self, name: str) -> FieldType | None:
        """The type of a subject field or of one of the kind's own fields, ``None`` where the kind has no such field."""
        if name in SUBJECT_TYPES:
            return SUBJECT_TYPES[name]
        spec = self.fields.get(name)
        return spec.type if spec else None


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """All fact kinds by name."""

    kinds: Mapping[str, KindSpec]

    def __getitem__(self, kind: str) -> KindSpec:
        return self.kinds[kind]

    def __contains__(self, kind: object) -> bool:
        return kind in self.kinds
