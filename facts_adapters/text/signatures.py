"""Signatures: what one log line means, written in YAML.

A signature names the fact kind it emits, literals of which one must stand in the line, a pattern whose named groups
become fields, and samples and near misses that prove it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.authored import Document, InvalidDocument, Problem, load_document
from engine.authored.problem import did_you_mean
from engine.facts.model import SECOND, SUBJECT_FIELDS, Scalar
from engine.facts.vocabulary import SUBJECT_TYPES, FieldSpec, FieldType, Vocabulary
from facts_adapters.text.patterns import Expression
from facts_adapters.text.values import convert, number

RESERVED_GROUPS = ("when", "pid")
"""Groups that are no fields: a stamp that replaces the line's own, and a process whose rank other lines tell."""

ENVELOPES = (
    *("kernel", "syslog", "journal", "switch", "fabricmanager", "opensm", "c10", "torch_python", "glog", "nccl"),
    *("plog", "python", "hf", "loguru", "megatron", "submitit", "slurm", "libfabric", "ucx"),
    *("k8s", "ray", "mpi", "plain"),
)
"""Kinds of envelope that ``only_in`` may name."""

_SUBJECT: Mapping[str, FieldSpec] = {name: FieldSpec(SUBJECT_TYPES[name]) for name in SUBJECT_FIELDS}
_ACCEPTED: Mapping[FieldType, type | tuple[type, ...]] = {
    "str": str,
    "int": int,
    "float": (int, float),
    "bool": bool,
}
_UNITS = {"s": SECOND, "ms": 1000, "us": 1, "min": 60 * SECOND}
_KEYS = (
    *("id", "emits", "literals", "pattern", "set", "map", "lag", "lag_from", "only_in"),
    *("samples", "near_misses", "note"),
)


@dataclass(frozen=True, slots=True)
class Mapped:
    """A field whose value is translated from a group."""

    group: str
    values: Mapping[str, Scalar]
    default: Scalar | None = None


@dataclass(frozen=True, slots=True)
class LineSample:
    """A whole line as it stands in a file, and fields that must come out."""

    line: str
    fields: Mapping[str, Scalar]


@dataclass(frozen=True, slots=True)
class Signature:
    """One signature; ``name`` is ``source/id``. ``lag`` is (least, most) microseconds from onset to report."""

    name: str
    emits: str
    literals: tuple[str, ...]
    pattern: Expression
    types: Mapping[str, FieldSpec]
    constants: Mapping[str, Scalar] = field(default_factory=dict)
    mapped: Mapping[str, Mapped] = field(default_factory=dict)
    lag: tuple[int, int] | None = None
    lag_from: tuple[str, int] | None = None
    only_in: frozenset[str] = frozenset()
    samples: tuple[LineSample, ...] = ()
    near_misses: tuple[str, ...] = ()
    place: tuple[str, int] = ("", 0)

    @property
    def source(self) -> str:
        """Name of the source that the signature belongs to."""
        return self.name.partition("/")[0]

    def fits(self, kinds: Iterable[str]) -> bool:
        """Whether the signature may match in a line whose envelope has these kinds."""
        return not self.only_in or any(kind in self.only_in for kind in kinds)

    def fields(self, match: re.Match[str]) -> dict[str, Scalar]:
        """Fields and subject fields of a match in the types of the kind; what does not convert is left out."""
        found: dict[str, Scalar] = dict(self.constants)
        groups = match.groupdict()
        for name, text in groups.items():
            spec = self.types.get(name)
            if spec is not None and text is not None:
                value = convert(text, spec)
                if value is not None:
                    found[name] = value
        for name, mapped in self.mapped.items():
            text = groups.get(mapped.group)
            value = mapped.default if text is None else _translate(mapped, text)
            if value is not None:
                found[name] = value
        return found

    def lag_of(self, match: re.Match[str]) -> tuple[int, int] | None:
        """The lag that the match itself states, else the signature's."""
        if self.lag_from:
            text = match.groupdict().get(self.lag_from[0])
            value = number(text) if text else None
            if value is not None and 0 <= value < 1e9:
                exact = int(value * self.lag_from[1])
                return (exact, exact)
        return self.lag


def _translate(mapped: Mapped, text: str) -> Scalar | None:
    if text in mapped.values:
        return mapped.values[text]
    folded = {key.lower(): value for key, value in mapped.values.items()}
    return folded.get(text.strip().lower(), mapped.default)


@dataclass(frozen=True, slots=True)
class SignatureSet:
    """All signatures in a fixed order, and what is wrong with the files they came from."""

    signatures: tuple[Signature, ...]
    problems: tuple[Problem, ...] = ()


def load_signatures(paths: Iterable[Path], vocabulary: Vocabulary) -> SignatureSet:
    """Read signature files (and folders of them, in the order of their names). Faulty entries are left out.

    The patterns themselves are not looked at: :func:`facts_adapters.text.check.check` does that, and the reader when
    it first needs one.
    """
    signatures: list[Signature] = []
    problems: list[Problem] = []
    types: dict[str, Mapping[str, FieldSpec]] = {}
    for path in _files(paths):
        try:
            document = load_document(path)
        except InvalidDocument as error:
            problems.extend(error.problems)
            continue
        found, wrong = _Reader(document, vocabulary, types).read()
        signatures.extend(found)
        problems.extend(wrong)
    return SignatureSet(tuple(signatures), tuple(problems))


def _files(paths: Iterable[Path]) -> Iterable[Path]:
    for path in paths:
        yield from sorted(path.rglob("*.yaml")) if path.is_dir() else (path,)


class _Reader:
    """Turns one document into signatures; every complaint points at its place."""

    def __init__(self, document: Document, vocabulary: Vocabulary, types: dict[str, Mapping[str, FieldSpec]]) -> None:
        self.document = document
        self.vocabulary = vocabulary
        self.types = types
        self.problems: list[Problem] = []
        self.way: tuple[str | int, ...] = ()
        self.label = ""

    def read(self) -> tuple[list[Signature], list[Problem]]:
        value = self.document.value
        if not isinstance(value, dict) or value.get("kind") != "signatures" or value.get("schema") != 1:
            self._wrong("FF201", (), "a signature file starts with schema: 1 and kind: signatures")
            return [], self.problems
        source = value.get("source")
        entries = value.get("signatures")
        if not isinstance(source, str) or not isinstance(entries, list):
            self._wrong("FF201", (), "source (a name) and signatures (a list) are required")
            return [], self.problems
        found: list[Signature] = []
        seen: set[str] = set()
        for index, entry in enumerate(entries):
            self.way, self.label = ("signatures", index), f"signature {index + 1}"
            if not isinstance(entry, dict):
                self._wrong("FF201", (), "a signature is a mapping")
                continue
            before = len(self.problems)
            name = str(entry.get("id", ""))
            self.label = f"signature {name or index + 1}"
            if not name or name in seen:
                self._wrong("FF202", ("id",), "every signature has an id that is unique in its file")
            seen.add(name)
            signature = self._signature(entry, source, name)
            if signature is not None and not any(p.level == "error" for p in self.problems[before:]):
                found.append(signature)
        return found, self.problems

    def _wrong(
        self, code: str, where: tuple[str | int, ...], message: str, hint: str = "", level: str = "error"
    ) -> None:
        self.problems.append(
            self.document.problem(code, self.way + where, message, help=hint, where=self.label, level=level)
        )

    def _signature(self, entry: dict[str, Any], source: str, name: str) -> Signature | None:
        for key in entry:
            if key not in _KEYS:
                self._wrong("FF203", (key,), f"unknown key {key}", did_you_mean(key, _KEYS))
        kind = entry.get("emits")
        if not isinstance(kind, str) or kind not in self.vocabulary:
            self._wrong("FF204", ("emits",), f"no fact kind {kind!r}", did_you_mean(kind, self.vocabulary.kinds))
            return None
        types = self._types(kind)
        pattern = self._pattern(entry.get("pattern"))
        literals = entry.get("literals")
        if not isinstance(literals, list) or not literals or not all(isinstance(x, str) and x for x in literals):
            self._wrong("FF205", ("literals",), "literals is a list of texts of which one must stand in the line")
            literals = []
        for index, literal in enumerate(literals):
            if len(re.sub(r"\d", "", literal)) < 3:
                message = "a literal without digits needs three characters to spare lines the pattern"
                self._wrong("FF205", ("literals", index), message, level="warning")
        if pattern is None:
            return None
        constants, mapped = self._set(entry.get("set"), types), self._map(entry.get("map"), types, pattern)
        lag_from = self._lag_from(entry.get("lag_from"), pattern)
        used = {m.group for m in mapped.values()} | ({lag_from[0]} if lag_from else set()) | set(RESERVED_GROUPS)
        for group in sorted(pattern.groups):
            if group not in types and group not in used:
                hint = did_you_mean(group, types) or "Use (?:...) for a group that is not kept"
                self._wrong("FF206", ("pattern",), f"the group {group} is no field of {kind}", hint)
        only = entry.get("only_in") or []
        for word in only if isinstance(only, list) else [only]:
            if word not in ENVELOPES:
                self._wrong("FF207", ("only_in",), f"no envelope {word!r}", did_you_mean(word, ENVELOPES))
        samples, misses = self._samples(entry, types)
        return Signature(
            name=f"{source}/{name}", emits=kind, literals=tuple(literals), pattern=pattern, types=types,
            constants=constants, mapped=mapped, lag=self._lag(entry.get("lag")), lag_from=lag_from,
            only_in=frozenset(only) if isinstance(only, list) else frozenset(), samples=samples, near_misses=misses,
            place=(self.document.path, self.document.position(self.way)[0]),
        )  # fmt: skip

    def _types(self, kind: str) -> Mapping[str, FieldSpec]:
        known = self.types.get(kind)
        if known is None:
            known = self.types[kind] = {**_SUBJECT, **self.vocabulary[kind].fields}
        return known

    def _pattern(self, text: object) -> Expression | None:
        if not isinstance(text, str) or not text:
            self._wrong("FF208", ("pattern",), "pattern is a regular expression in quotes")
            return None
        return Expression(text)

    def _value(self, name: str, value: object, spec: FieldSpec | None, where: tuple[str | int, ...]) -> Scalar | None:
        if spec is None:
            self._wrong("FF206", where, f"{name} is no field of this kind")
            return None
        if not isinstance(value, _ACCEPTED[spec.type]) or (spec.type != "bool" and isinstance(value, bool)):
            hint = "Put quotes around text that looks like a number"
            self._wrong("FF210", where, f"{name} must be {spec.type}, not {value!r}", hint)
            return None
        assert isinstance(value, str | int | float | bool)
        if spec.values and value not in spec.values:
            self._wrong("FF210", where, f"{name} has no value {value!r}", did_you_mean(value, spec.values))
            return None
        return value

    def _set(self, value: object, types: Mapping[str, FieldSpec]) -> dict[str, Scalar]:
        found: dict[str, Scalar] = {}
        for name, constant in value.items() if isinstance(value, dict) else ():
            checked = self._value(name, constant, types.get(name), ("set", name))
            if checked is not None:
                found[name] = checked
        if value is not None and not isinstance(value, dict):
            self._wrong("FF210", ("set",), "set is a mapping of fields to constants")
        return found

    def _map(self, value: object, types: Mapping[str, FieldSpec], pattern: Expression) -> dict[str, Mapped]:
        found: dict[str, Mapped] = {}
        if value is not None and not isinstance(value, dict):
            self._wrong("FF211", ("map",), "map is a mapping of fields to {from, values, default}")
        for name, rule in value.items() if isinstance(value, dict) else ():
            group = rule.get("from") if isinstance(rule, dict) else None
            values = rule.get("values") if isinstance(rule, dict) else None
            if not isinstance(group, str) or group not in pattern.groups or not isinstance(values, dict):
                self._wrong("FF211", ("map", name), "a mapped field needs from (a group of the pattern) and values")
                continue
            checked = {k: self._value(name, v, types.get(name), ("map", name, "values", k)) for k, v in values.items()}
            default = rule.get("default")
            if default is not None:
                default = self._value(name, default, types.get(name), ("map", name, "default"))
            found[name] = Mapped(group, {k: v for k, v in checked.items() if v is not None}, default)
        return found

    def _lag(self, value: object) -> tuple[int, int] | None:
        if value is None:
            return None
        least, most = (value.get("min_s"), value.get("max_s")) if isinstance(value, dict) else (None, None)
        if not isinstance(least, int | float) or not isinstance(most, int | float) or not 0 <= least <= most:
            self._wrong("FF212", ("lag",), "lag is {min_s: number, max_s: number}")
            return None
        return int(least * SECOND), int(most * SECOND)

    def _lag_from(self, value: object, pattern: Expression) -> tuple[str, int] | None:
        if value is None:
            return None
        group, unit = (value.get("group"), value.get("unit", "s")) if isinstance(value, dict) else (None, None)
        if not isinstance(group, str) or group not in pattern.groups or unit not in _UNITS:
            self._wrong("FF212", ("lag_from",), "lag_from is {group: a group of the pattern, unit: s, ms, us or min}")
            return None
        return group, _UNITS[str(unit)]

    def _samples(
        self, entry: dict[str, Any], types: Mapping[str, FieldSpec]
    ) -> tuple[tuple[LineSample, ...], tuple[str, ...]]:
        samples: list[LineSample] = []
        for index, sample in enumerate(entry.get("samples") or []):
            if not isinstance(sample, dict) or not isinstance(sample.get("line"), str):
                self._wrong("FF213", ("samples", index), "a sample has a line and the fields that it must give")
                continue
            expected = sample.get("fields") or {}
            for name in expected if isinstance(expected, dict) else ():
                if name not in types:
                    message = f"{name} is no field of {entry['emits']}"
                    self._wrong("FF206", ("samples", index), message, did_you_mean(name, types))
            samples.append(LineSample(sample["line"], expected if isinstance(expected, dict) else {}))
        misses = [miss for miss in entry.get("near_misses") or [] if isinstance(miss, str)]
        if not samples:
            self._wrong("FF213", ("samples",), "at least one sample line is required")
        if not misses:
            message = "at least one near miss is required: a similar line that must not match"
            self._wrong("FF213", ("near_misses",), message)
        return tuple(samples), tuple(misses)
