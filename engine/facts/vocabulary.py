"""The vocabulary: every fact kind with its fields, nature and meaning, read from YAML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from engine.authored.document import Document, InvalidDocument, KeyPath, load_document
from engine.authored.problem import Problem, listed
from engine.authored.sheet import Sheet
from knowledge import BUILTIN

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
    """Settings that should be equal: grouped by ``key`` fields, ``value`` compared across hosts or ranks.

    ``unset`` says that a host or rank which states other settings of the kind, but not this one, differs too.
    """

    key: tuple[str, ...]
    value: str
    across: Literal["host", "rank"]
    unset: bool = False


@dataclass(frozen=True, slots=True)
class KindSpec:
    """A fact kind.

    ``lag`` is (least, most) microseconds from onset to report; ``absence`` the coverage class that makes "none was
    seen" a statement; ``fold_by`` the fields that tell episodes of this kind apart; ``ticks`` says that its lines
    repeat as long as all is well: first, last and pauses tell all, and not every line is read.
    """

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
    ticks: bool = False

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


NATURES = ("fault", "symptom", "state", "config", "activity", "coverage", "derived")
TYPES = ("str", "int", "float", "bool")
WHO = ("algorithm", "platform", "host", "network")
BRANCHES = ("job", "comm", "host", "nic", "switch")
COVERAGE_KIND = "coverage.source"
"""The kind whose field ``class`` lists the coverage classes."""

CENTRAL_SOURCES = ("scheduler", "orchestrator")
"""Coverage classes of which one source speaks of all hosts."""


def is_of_switches(source: str) -> bool:
    """Whether sources of this coverage class are read from switches, not from hosts."""
    return source.startswith("switch_")


_KIND_KEYS = ("fields", "absence", "lag", "fold_by", "collect", "compare", "ticks", "lint")


def load_vocabulary(paths: Sequence[Path] = (BUILTIN / "vocabulary",)) -> Vocabulary:
    """Read vocabulary files, or all of a folder; a later file replaces kinds of an earlier one.

    Raises :class:`engine.authored.document.InvalidDocument` with all problems of all files.
    """
    kinds: dict[str, KindSpec] = {}
    problems: list[Problem] = []
    for file in _files(paths):
        try:
            specs, found = read_vocabulary(load_document(file))
        except InvalidDocument as error:
            problems += error.problems
            continue
        kinds.update((spec.kind, spec) for spec in specs)
        problems += [problem for problem in found if problem.level == "error"]
    if problems:
        raise InvalidDocument(sorted(problems))
    return Vocabulary(kinds)


def _files(paths: Iterable[Path]) -> list[Path]:
    files: list[Path] = []
    for path in paths:
        files += sorted(path.rglob("*.yaml")) if path.is_dir() else [path]
    return files


def read_vocabulary(document: Document) -> tuple[list[KindSpec], list[Problem]]:
    """The kinds of one file, and what is wrong with it; kinds with problems are returned as far as they can be read."""
    sheet = Sheet(document)
    root = sheet.mapping(document.value, (), "a vocabulary file", ("schema", "kind", "branch", "facts"), ("lint",))
    if root is None:
        return [], sheet.problems
    branch = sheet.word(root.get("branch"), ("branch",), "branch", (*BRANCHES, "common"))
    facts = root.get("facts")
    if not isinstance(facts, dict):
        sheet.wrong_type(facts, ("facts",), "facts", dict)
        return [], sheet.problems
    specs = []
    for kind, value in facts.items():
        sheet.where = f"kind {kind}"
        spec = _kind(sheet, kind, value, ("facts", kind), branch)
        if spec is not None:
            specs.append(spec)
    return specs, sheet.problems


def _kind(sheet: Sheet, kind: str, value: Any, path: KeyPath, branch: str) -> KindSpec | None:
    entry = sheet.mapping(value, path, "a fact kind", ("nature", "meaning"), _KIND_KEYS)
    if entry is None:
        return None
    prefix, _, tail = kind.partition(".")
    if not tail or (branch not in ("", "common") and prefix != branch):
        sheet.fail(
            "FF401",
            path,
            f'the kind "{kind}" does not begin with its branch',
            key=True,
            hint=f"{branch}.{tail or kind}",
        )
    nature = sheet.word(entry.get("nature"), (*path, "nature"), "nature", NATURES) if "nature" in entry else ""
    meaning = sheet.sentence(entry["meaning"], (*path, "meaning"), "meaning") if "meaning" in entry else ("", "")
    fields = _fields(sheet, entry.get("fields"), (*path, "fields"))
    return KindSpec(
        kind=kind,
        branch=branch,
        nature=cast(Nature, nature or "state"),
        meaning_en=meaning[0],
        meaning_zh=meaning[1],
        fields=fields,
        absence=sheet.string(entry["absence"], (*path, "absence"), "absence") if "absence" in entry else None,
        lag=_lag(sheet, entry["lag"], (*path, "lag")) if "lag" in entry else (0, 0),
        fold_by=_names(sheet, entry["fold_by"], (*path, "fold_by"), fields) if "fold_by" in entry else None,
        collect=_collect(sheet, entry["collect"], (*path, "collect")) if "collect" in entry else None,
        compare=_compare(sheet, entry["compare"], (*path, "compare"), fields) if "compare" in entry else None,
        ticks=sheet.flag(entry["ticks"], (*path, "ticks"), "ticks") if "ticks" in entry else False,
    )


def _fields(sheet: Sheet, value: Any, path: KeyPath) -> dict[str, FieldSpec]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        sheet.wrong_type(value, path, "fields", dict)
        return {}
    fields = {}
    for name, entry in value.items():
        at = (*path, name)
        if name in SUBJECT_TYPES:
            sheet.fail("FF403", at, f'"{name}" is a subject field that every kind has', key=True, hint="Remove it here")
            continue
        spec = sheet.mapping(entry, at, f'the field "{name}"', ("type",), ("values", "unit", "meaning"))
        if spec is None:
            continue
        kind = sheet.word(spec["type"], (*at, "type"), "type", TYPES) if "type" in spec else ""
        values = sheet.strings(spec["values"], (*at, "values"), "values") if "values" in spec else ()
        if values and kind != "str":
            sheet.fail("FF403", (*at, "values"), "only a field of type str has a list of values", key=True)
        meaning = sheet.sentence(spec["meaning"], (*at, "meaning"), "meaning") if "meaning" in spec else ("", "")
        unit = sheet.string(spec["unit"], (*at, "unit"), "unit") if "unit" in spec else ""
        fields[name] = FieldSpec(cast(FieldType, kind or "str"), values, unit, *meaning)
    return fields


def _names(sheet: Sheet, value: Any, path: KeyPath, fields: Mapping[str, FieldSpec], least: int = 0) -> tuple[str, ...]:
    names = sheet.strings(value, path, str(path[-1]), least=least)
    for index, name in enumerate(names):
        if name not in fields and name not in SUBJECT_TYPES:
            reason = f"it has: {listed(fields) or 'none of its own'}, and the subject fields"
            at = (*path, index) if isinstance(value, list) else path
            sheet.fail("FF402", at, f'the kind has no field "{name}"', reason=reason)
    return names


def _lag(sheet: Sheet, value: Any, path: KeyPath) -> tuple[int, int]:
    entry = sheet.mapping(value, path, "lag", ("min_s", "max_s"))
    if entry is None:
        return 0, 0
    ends = [sheet.number(entry.get(key), (*path, key), key, least=0) or 0 for key in ("min_s", "max_s")]
    if ends[0] > ends[1]:
        sheet.fail("FF403", path, "the least lag is larger than the most")
    return round(ends[0] * 1_000_000), round(ends[1] * 1_000_000)


def _collect(sheet: Sheet, value: Any, path: KeyPath) -> Collect:
    entry = sheet.mapping(value, path, "collect", ("en", "zh", "who"), ("command",))
    if entry is None:
        return Collect()
    texts = {key: sheet.string(entry[key], (*path, key), f"{key} of collect") for key in ("en", "zh") if key in entry}
    command = sheet.string(entry["command"], (*path, "command"), "command", empty=True) if "command" in entry else ""
    who = sheet.word(entry["who"], (*path, "who"), "who", WHO) if "who" in entry else ""
    return Collect(texts.get("en", ""), texts.get("zh", ""), command, who)


def _compare(sheet: Sheet, value: Any, path: KeyPath, fields: Mapping[str, FieldSpec]) -> Comparison | None:
    entry = sheet.mapping(value, path, "compare", ("key", "value", "across"), ("unset",))
    if entry is None or not {"key", "value", "across"} <= entry.keys():
        return None
    unset = entry.get("unset", False)
    if not isinstance(unset, bool):
        sheet.wrong_type(unset, (*path, "unset"), "unset", bool)
    key = _names(sheet, entry["key"], (*path, "key"), fields)
    compared = _names(sheet, entry["value"], (*path, "value"), fields, least=1)
    across = sheet.word(entry["across"], (*path, "across"), "across", ("host", "rank"))
    return Comparison(
        key, compared[0] if compared else "", cast(Literal["host", "rank"], across or "host"), unset is True
    )


def coverage_problems(
    documents: Iterable[tuple[Document, Sequence[KindSpec]]], vocabulary: Vocabulary
) -> list[Problem]:
    """Kinds whose ``absence`` names no class of ``coverage.source``; needs the whole vocabulary."""
    coverage = vocabulary.kinds.get(COVERAGE_KIND)
    classes = coverage.fields["class"].values if coverage and "class" in coverage.fields else ()
    problems = []
    for document, specs in documents:
        sheet = Sheet(document)
        for spec in specs:
            if spec.absence and spec.absence not in classes:
                sheet.where = f"kind {spec.kind}"
                sheet.word(spec.absence, ("facts", spec.kind, "absence"), "absence", classes)
        problems += sheet.problems
    return problems
