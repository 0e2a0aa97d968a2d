"""Reading counter maps: every complaint points at its place, a faulty map is left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from engine.authored import Document, InvalidDocument, Problem, load_document
from engine.authored.document import KeyPath
from engine.authored.sheet import Sheet
from engine.facts.counters import CounterProfile, read_profile
from engine.facts.model import Scalar
from engine.facts.vocabulary import Vocabulary
from facts_adapters.counter_maps.model import Change, CounterMap, MapSample, Subject, Target, Term
from facts_adapters.text.patterns import Expression
from knowledge import BUILTIN

FOLDER = "counter_maps"
"""Folder of a pack that holds its counter maps."""

READS = ("metrics", "table")
COVERS = ("nic_counters", "switch_counters")
HEAD = ("schema", "kind", "id", "reads")
SUBJECT = ("host", "device", "port", "queue")
COLUMNS = ("time", "name", "value", "family")
OPTIONAL = (
    *(
        "source",
        "verified_on",
        "covers",
        "note",
        "lint",
        "counters",
        "patterns",
        "changes",
        "skip",
        "samples",
        "near_misses",
    ),
    *SUBJECT,
    *COLUMNS,
)
TARGET = ("where", "scale", *SUBJECT)
CHANGE = ("rise", "fall", "least", "from", "to", "but", "value", "set", "labels", "translate", "where", *SUBJECT)

_ID = re.compile(r"[a-z][a-z0-9_-]{0,60}")
_COUNTER = re.compile(r"(?P<family>[a-z][a-z0-9_]*)/(?P<counter>\S.*)")


@dataclass(frozen=True, slots=True)
class MapSet:
    """Maps in a fixed order, and what is wrong with the files they came from."""

    maps: tuple[CounterMap, ...]
    problems: tuple[Problem, ...] = ()


@cache
def builtin_maps() -> tuple[CounterMap, ...]:
    """The maps of the built-in pack; read when the first metrics are met."""
    return load_maps([BUILTIN]).maps


@cache
def builtin_profile() -> CounterProfile:
    """The families and counters that maps can refer to."""
    return read_profile(load_document(BUILTIN / "profiles" / "counters.yaml").value)


def load_maps(
    packs: Iterable[Path], *, profile: CounterProfile | None = None, vocabulary: Vocabulary | None = None
) -> MapSet:
    """The maps of packs (folders with a folder ``counter_maps``), faulty ones left out.

    With ``profile`` and ``vocabulary`` the counters and fact kinds that a map names are looked up too, which takes as
    long as reading those; lint does that.
    """
    maps: list[CounterMap] = []
    problems: list[Problem] = []
    for pack in packs:
        for path in sorted((pack / FOLDER).glob("**/*.yaml")):
            try:
                document = load_document(path)
            except InvalidDocument as error:
                problems += error.problems
                continue
            reader = _Reader(document, profile, vocabulary)
            found = reader.read()
            problems += reader.sheet.problems
            if found is not None and not any(problem.level == "error" for problem in reader.sheet.problems):
                maps.append(found)
    return MapSet(tuple(maps), tuple(problems))


class _Reader:
    def __init__(self, document: Document, profile: CounterProfile | None, vocabulary: Vocabulary | None) -> None:
        self.document = document
        self.sheet = Sheet(document)
        self.profile = profile
        self.vocabulary = vocabulary

    def read(self) -> CounterMap | None:
        sheet = self.sheet
        value = sheet.mapping(self.document.value, (), "a counter map", HEAD, OPTIONAL)
        if value is None:
            return None
        if value.get("schema") != 1 or value.get("kind") != "counter_map":
            sheet.fail("FF106", (), "a counter map starts with schema: 1 and kind: counter_map")
            return None
        name = sheet.string(value.get("id"), ("id",), "id") if "id" in value else ""
        if name and not _ID.fullmatch(name):
            sheet.fail("FF206", ("id",), f'"{name}" is no id', reason="an id is lower case: letters, digits, - and _")
        reads = sheet.word(value["reads"], ("reads",), "reads", READS) if "reads" in value else ""
        if "covers" in value:
            sheet.word(value["covers"], ("covers",), "covers", COVERS)
        found = CounterMap(
            id=name,
            reads=reads,
            covers=str(value.get("covers", "")),
            subject=self._subject(value, ()),
            time=self._term(value["time"], ("time",), "time") if "time" in value else Term(),
            name=self._column(value, "name"),
            value=self._column(value, "value"),
            family=self._column(value, "family"),
            targets=self._targets(value.get("counters")),
            patterns=self._patterns(value.get("patterns")),
            changes=self._changes(value.get("changes")),
            skip=self._skip(value.get("skip")),
            samples=self._samples(value),
            place=(self.document.path, 1),
        )
        self._whole(found, value)
        return found

    def _whole(self, found: CounterMap, value: Mapping[str, Any]) -> None:
        sheet = self.sheet
        if not (found.targets or found.patterns or found.changes or found.family):
            sheet.fail("FF202", (), "a counter map says what something means: counters, patterns, changes or family")
        if found.reads == "metrics":
            for key in COLUMNS:
                if key in value:
                    sheet.fail("FF201", (key,), f'"{key}" is for tables', key=True, reason="this map reads metrics")
            return
        if bool(found.name) != bool(found.value):
            present, absent = ("name", "value") if found.name else ("value", "name")
            sheet.fail("FF202", (present,), f'"{present}" needs "{absent}": rows of one counter name it and give it')
        if found.family and not found.name:
            sheet.fail("FF202", ("family",), '"family" needs "name" and "value"')
        if found.changes:
            sheet.fail("FF201", ("changes",), '"changes" is for metrics', key=True, reason="this map reads a table")

    def _column(self, value: Mapping[str, Any], key: str) -> str:
        return self.sheet.string(value[key], (key,), key) if key in value else ""

    def _term(self, value: Any, path: KeyPath, what: str) -> Term:
        return Term(tuple(text for text in self.sheet.strings(value, path, what) if text))

    def _subject(self, value: Mapping[str, Any], path: KeyPath) -> Subject:
        terms = {key: self._term(value[key], (*path, key), key) for key in SUBJECT if key in value}
        return Subject(**terms)

    def _reference(self, value: Any, path: KeyPath) -> tuple[str, str] | None:
        text = self.sheet.string(value, path, "a counter")
        match = _COUNTER.fullmatch(text)
        if not match:
            if text:
                self.sheet.fail(
                    "FF203", path, f'"{text}" is no counter', reason="a counter is family/name, as ib_port/link_downed"
                )
            return None
        family, counter = match["family"], match["counter"]
        if self.profile is not None:
            if not self.sheet.word(family, path, "the families of profiles/counters.yaml", sorted(self.profile)):
                return None
            spec = self.profile[family]
            if "{" not in counter and spec.lookup(counter)[0] is None and spec.counters.get(counter, 0) == 0:
                self.sheet.word(counter, path, f"the counters of {family}", sorted(spec.counters))
                return None
        return family, counter

    def _target(self, value: Any, path: KeyPath) -> Target | None:
        if not isinstance(value, dict):
            found = self._reference(value, path)
            return Target(*found) if found else None
        body = self.sheet.mapping(value, path, "a counter", ("counter",), TARGET)
        if body is None or "counter" not in body:
            return None
        found = self._reference(body["counter"], (*path, "counter"))
        scale = self.sheet.number(body.get("scale", 1), (*path, "scale"), "scale", least=0)
        if found is None or scale is None:
            return None
        where = self._where(body.get("where"), (*path, "where"))
        return Target(*found, where=where, subject=self._subject(body, path), scale=scale)

    def _where(self, value: Any, path: KeyPath) -> dict[str, tuple[str, ...]]:
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.sheet.wrong_type(value, path, "where", dict)
            return {}
        return {name: self.sheet.strings(texts, (*path, name), f"where {name}") for name, texts in value.items()}

    def _each(self, value: Any, path: KeyPath) -> Sequence[tuple[KeyPath, Any]]:
        if isinstance(value, list):
            return [((*path, index), item) for index, item in enumerate(value)]
        return [(path, value)]

    def _entries(self, value: Any, name: str) -> dict[str, Any]:
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.sheet.wrong_type(value, (name,), name, dict)
            return {}
        return value

    def _targets(self, value: Any) -> dict[str, tuple[Target, ...]]:
        found: dict[str, tuple[Target, ...]] = {}
        for name, entry in self._entries(value, "counters").items():
            targets = [self._target(item, path) for path, item in self._each(entry, ("counters", name))]
            found[name] = tuple(target for target in targets if target is not None)
        return found

    def _patterns(self, value: Any) -> tuple[tuple[Expression, Target], ...]:
        found: list[tuple[Expression, Target]] = []
        for text, entry in self._entries(value, "patterns").items():
            pattern = Expression(text)
            if pattern.fault:
                self.sheet.fail(_fault(pattern), ("patterns", text), f"the pattern {pattern.fault}", key=True)
                continue
            target = self._target(entry, ("patterns", text))
            if target is not None:
                found.append((pattern, target))
        return tuple(found)

    def _skip(self, value: Any) -> dict[str, Expression]:
        found: dict[str, Expression] = {}
        for name, text in self._entries(value, "skip").items():
            pattern = Expression(self.sheet.string(text, ("skip", name), "a pattern"))
            if pattern.fault:
                self.sheet.fail(_fault(pattern), ("skip", name), f"the pattern {pattern.fault}")
            else:
                found[name] = pattern
        return found

    def _changes(self, value: Any) -> dict[str, tuple[Change, ...]]:
        found: dict[str, tuple[Change, ...]] = {}
        for name, entry in self._entries(value, "changes").items():
            changes = [self._change(item, path) for path, item in self._each(entry, ("changes", name))]
            found[name] = tuple(change for change in changes if change is not None)
        return found

    def _change(self, value: Any, path: KeyPath) -> Change | None:
        body = self.sheet.mapping(value, path, "a change", ("emits",), CHANGE)
        if body is None or "emits" not in body:
            return None
        kind = self.sheet.string(body["emits"], (*path, "emits"), "emits")
        labels = self._entries_at(body, "labels", path)
        change = Change(
            emits=kind,
            rise=self.sheet.flag(body.get("rise", False), (*path, "rise"), "rise"),
            fall=self.sheet.flag(body.get("fall", False), (*path, "fall"), "fall"),
            least=self.sheet.number(body.get("least", 0), (*path, "least"), "least", least=0) or 0.0,
            before=self._levels(body, "from", path),
            after=self._levels(body, "to", path),
            but=self._levels(body, "but", path),
            value=self.sheet.string(body["value"], (*path, "value"), "value") if "value" in body else "",
            constants=self._entries_at(body, "set", path),
            labels={name: self._term(term, (*path, "labels", name), name) for name, term in labels.items()},
            translate=self._translate(self._entries_at(body, "translate", path), path),
            where=self._where(body.get("where"), (*path, "where")),
            subject=self._subject(body, path),
        )
        self._fields(change, path)
        return change

    def _entries_at(self, body: Mapping[str, Any], key: str, path: KeyPath) -> dict[str, Any]:
        value = body.get(key)
        if value is not None and not isinstance(value, dict):
            self.sheet.wrong_type(value, (*path, key), key, dict)
        return value if isinstance(value, dict) else {}

    def _levels(self, body: Mapping[str, Any], key: str, path: KeyPath) -> tuple[float, ...]:
        value = body.get(key)
        if value is None:
            return ()
        members = value if isinstance(value, list) else [value]
        numbers = [self.sheet.number(item, (*path, key), key) for item in members]
        return tuple(number for number in numbers if number is not None)

    def _translate(
        self, value: Mapping[str, Any], path: KeyPath
    ) -> dict[str, tuple[Mapping[str, Scalar], Scalar | None]]:
        found: dict[str, tuple[Mapping[str, Scalar], Scalar | None]] = {}
        for name, entry in value.items():
            place: KeyPath = (*path, "translate", name)
            body = self.sheet.mapping(entry, place, "a translation", (), ("values", "codes_of", "take", "default"))
            if body is None:
                continue
            if "codes_of" in body:
                found[name] = (self._codes(body, place), body.get("default"))
            elif isinstance(body.get("values"), dict):
                found[name] = (body["values"], body.get("default"))
            else:
                self.sheet.fail("FF202", place, "a translation has values, or codes_of (a profile) and take (a key)")
        return found

    def _codes(self, body: Mapping[str, Any], path: KeyPath) -> dict[str, Scalar]:
        """What a built-in profile says of each code."""
        word = self.sheet.word(body["codes_of"], (*path, "codes_of"), "codes_of", ("xid", "sxid"))
        take = self.sheet.string(body.get("take"), (*path, "take"), "take")
        if not word or not take:
            return {}
        codes = load_document(BUILTIN / "profiles" / f"{word}.yaml").value["codes"]
        return {code: entry[take] for code, entry in codes.items() if take in entry}

    def _fields(self, change: Change, path: KeyPath) -> None:
        """The fields that a change gives are those of its kind, where the vocabulary is at hand."""
        if self.vocabulary is None:
            return
        kinds = sorted(self.vocabulary.kinds)
        if not self.sheet.word(change.emits, (*path, "emits"), "the fact kinds", kinds):
            return
        known = sorted(self.vocabulary[change.emits].fields)
        given = {"set": change.constants, "labels": change.labels, "translate": change.translate}
        for key, fields in given.items():
            for name in fields:
                self.sheet.word(name, (*path, key, name), f"the fields of {change.emits}", known)
        if change.value:
            self.sheet.word(change.value, (*path, "value"), f"the fields of {change.emits}", known)

    def _samples(self, value: Mapping[str, Any]) -> tuple[MapSample, ...]:
        found: list[MapSample] = []
        for index, entry in enumerate(self.sheet.sequence(value.get("samples", []), ("samples",), "samples", least=0)):
            path: KeyPath = ("samples", index)
            body = self.sheet.mapping(entry, path, "a sample", ("text", "expect"))
            if body is None or not {"text", "expect"} <= body.keys():
                continue
            expected = self.sheet.sequence(body["expect"], (*path, "expect"), "expect")
            rows = [item for item in expected if isinstance(item, dict)]
            found.append(MapSample(self.sheet.string(body["text"], (*path, "text"), "text"), tuple(rows)))
        misses = self.sheet.sequence(value.get("near_misses", []), ("near_misses",), "near_misses", least=0)
        for index, miss in enumerate(misses):
            found.append(MapSample(self.sheet.string(miss, ("near_misses", index), "a near miss")))
        if not any(sample.expect for sample in found):
            self.sheet.fail("FF415", (), "at least one sample is required: an input and what must come out of it")
        if not any(not sample.expect for sample in found):
            self.sheet.fail("FF415", (), "at least one near miss is required: a similar input that must give nothing")
        return tuple(found)


def _fault(pattern: Expression) -> str:
    return "FF411" if "compile" in pattern.fault else "FF412"
