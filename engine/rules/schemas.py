"""JSON Schemas of the YAML kinds, for editors: completion, hover, and first mistakes while typing.

The linter is stricter. Draft-07, which yaml-language-server understands. Kinds, ids and fields of the vocabulary are
offered, not enforced, because an overlay may add some.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.authored.codes import CODES
from engine.facts.vocabulary import BRANCHES, NATURES, SUBJECT_TYPES, TYPES, WHO, Vocabulary
from engine.rules import reader, reader_conditions, reader_examples, reader_tests
from engine.rules.reader_relations import ORDERS

Schema = dict[str, Any]

_DRAFT = "http://json-schema.org/draft-07/schema#"
_TEXT: Schema = {"type": "string", "minLength": 1}
_SCALAR: Schema = {"type": ["string", "number", "boolean"]}
_NUMBER: Schema = {"type": "number"}
_FLAG: Schema = {"type": "boolean"}
_ALIAS: Schema = {"type": "string", "pattern": f"^{reader_conditions.ALIAS.pattern}$"}
_ID: Schema = {"type": "string", "pattern": f"^{reader.PLAIN_ID.pattern}$"}
_CAUSE: Schema = {"type": "string", "pattern": f"^{reader.CAUSE_ID.pattern}$"}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/definitions/{name}"}


def _list(member: Schema, least: int = 1) -> Schema:
    return {"type": "array", "items": member, "minItems": least}


def _or_list(member: Schema) -> Schema:
    return {"anyOf": [member, _list(member)]}


def _one_of(words: Iterable[str]) -> Schema:
    return {"enum": list(words)}


def _object(required: Sequence[str], properties: Mapping[str, Schema], about: str = "") -> Schema:
    schema: Schema = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    if required:
        schema["required"] = list(required)
    if about:
        schema["description"] = about
    return schema


def _said(about: str, schema: Schema) -> Schema:
    return {**schema, "description": about}


def _root(kind: str, required: Sequence[str], properties: Mapping[str, Schema]) -> Schema:
    head: dict[str, Schema] = {"schema": {"const": reader.SCHEMA}}
    if kind != "pack":
        head["kind"] = {"const": kind}
    body = _object([*head, *required], {**head, **properties, "lint": _ref("lint")})
    return {"$schema": _DRAFT, "title": f"firstfault {kind}", **body}


def _definitions(vocabulary: Vocabulary) -> dict[str, Schema]:
    sentence = _object(("en", "zh"), {"en": _TEXT, "zh": _TEXT}, "A text in English and in Chinese")
    codes = [code.code for code in CODES.values() if code.ignorable]
    suppression = {"code": _one_of(codes), "reason": _TEXT, "until": {"type": "string", "format": "date"}}
    return {
        "sentence": sentence,
        "kind": {"anyOf": [_one_of(sorted(vocabulary.kinds)), {"type": "string", "pattern": "^[a-z]+\\.[a-z0-9_]+$"}]},
        "verified": {
            "anyOf": [
                {"const": False},
                _object(("on", "source"), {"on": _or_list(_TEXT), "source": _or_list(_TEXT)}),
            ],
            "description": "On what the rules were verified and where that is written; false: not verified",
        },
        "lint": _object((), {"ignore": _list(_object(("code", "reason"), suppression), 0)}, "Problems to ignore here"),
        "where": _where(),
        "join": _said(
            "field of this fact: alias, or alias.field of an earlier one",
            {"type": "object", "additionalProperties": _or_list({"type": "string"})},
        ),
        "within": _object(("of", "s"), {"of": _ALIAS, "s": {"type": "number", "minimum": 0}}),
        "condition": _condition(),
        "conditions": _list(_ref("condition")),
        "example_fact": _example_fact(),
    }


def _where() -> Schema:
    operators: dict[str, Schema] = dict.fromkeys(reader_tests.KEYS, _NUMBER)
    operators |= {"not": _or_list(_SCALAR), "known": _FLAG}
    return {
        "type": "object",
        "additionalProperties": {"anyOf": [_SCALAR, _list(_SCALAR), _object((), operators)]},
        "description": "Tests of fields: a value, a list (one of), or {not, min, max, above, below, known}",
    }


def _relations() -> dict[str, Schema]:
    return {
        "where": _ref("where"),
        "same": _ref("join"),
        "differ": _ref("join"),
        "after": _said("Certainly began after these", _or_list(_ALIAS)),
        "before": _said("Certainly began before these", _or_list(_ALIAS)),
        "within": _or_list(_ref("within")),
    }


def _condition() -> Schema:
    """One object with all keys: editors then offer them, where alternatives would only confuse their messages."""
    count = {"at_least": {"type": "integer", "minimum": 2}, "distinct": _or_list(_TEXT)}
    properties = {
        "fact": _said("A fact of this kind, or of one of these, exists", _or_list(_ref("kind"))),
        "absent": _said("No such fact, shown by a source that covers the anchor", _or_list(_ref("kind"))),
        "any": _said("One of these lists of conditions holds", _list(_ref("conditions"), 2)),
        "anchor": _said("With absent: alias that says when; the first one where not given", _ALIAS),
        "as": _said("Name of the fact in the rest of the rule", _ALIAS),
        **_relations(),
        "count": _object(("at_least",), count, "Several facts, pairwise different in the fields of distinct"),
        "unexplained": _said("No propagation explains the fact", _FLAG),
    }
    heads = [{"required": [head]} for head in ("fact", "absent", "any")]
    return {**_object((), properties), "oneOf": heads}


def _example_fact() -> Schema:
    moment = {"anyOf": [_NUMBER, {"const": "unknown"}, {"type": "array", "minItems": 2, "maxItems": 2}]}
    notation: dict[str, Schema] = {
        "kind": _ref("kind"),
        "at": _said("Onset in seconds, [earliest, latest] or unknown", moment),
        "clock": _said("Clock; one for each host where not given", {}),
        "file": _said("With line: order in one file", {}),
        "from": _said("Of coverage.source: start of what was read, in seconds", {}),
        "to": _said("Of coverage.source: end of what was read, in seconds", {}),
        "scope": _said(f"{', '.join(reader_examples.SCOPES)}; or a field of that name", {}),
        **{name: {"type": "integer" if kind == "int" else "string"} for name, kind in SUBJECT_TYPES.items()},
    }
    return {"type": "object", "required": ["kind"], "properties": notation}


def _example(expect: Schema) -> Schema:
    facts = _list(_ref("example_fact"), 0)
    return _object(
        ("name", "facts", "expect"), {"name": _TEXT, "facts": facts, "expect": {"type": "array", "items": expect}}
    )


def _cause() -> Schema:
    sentences = _list(_ref("sentence"))
    minimal = _object(("fact", "why"), {"fact": _or_list(_ref("kind")), "why": _ref("sentence")})
    required = ("id", "owner", "title", "summary", "minimal_evidence", "next_steps", "handover")
    properties = {
        "id": _CAUSE,
        "owner": _said("Who takes the next step", _one_of(WHO)),
        "phase": _said("Where the cause implies the phase", {"enum": [*reader.PHASES, None]}),
        "title": _ref("sentence"),
        "summary": _ref("sentence"),
        "minimal_evidence": _said("What a verdict needs at least", _list(minimal)),
        "next_steps": sentences,
        "rollback": _said("Way back to a known good state", {**sentences, "minItems": 0}),
        "handover": _said("What the owner needs from us", _ref("sentence")),
        "references": _or_list(_TEXT),
        "prior": _said("Log-odds before any evidence; -3 where not given", _NUMBER),
    }
    return _root("cause", required, properties)


def _evidence() -> Schema:
    suspect = {"type": "string", "pattern": f"^[a-z][a-z0-9_]*\\.({'|'.join(reader.SUSPECT_FIELDS)})$"}
    rule = {
        "id": _ID,
        "effect": _one_of(reader.EFFECTS),
        "strength": _one_of(reader.STRENGTHS),
        "group": _said("Of the rules of one group only the strongest counts", _ID),
        "when": _ref("conditions"),
        "reason": _said("{alias.field} is replaced by the fact's value", _ref("sentence")),
        "first": _said("Alias of the fact that would be the first fault", _ALIAS),
        "suspects": _list(suspect, 0),
        "verified": _ref("verified"),
        "apart": _said("It is meant that nothing relates the facts to each other", _FLAG),
    }
    properties = {
        "cause": _CAUSE,
        "verified": _ref("verified"),
        "rules": _list(_object(("id", "effect", "strength", "when", "reason"), rule)),
        "examples": _said("A match and a near miss for every rule", _list(_example(_ID))),
    }
    return _root("evidence", ("cause", "verified", "rules", "examples"), properties)


def _propagation() -> Schema:
    effect: dict[str, Schema] = {
        "fact": _or_list(_ref("kind")),
        "where": _ref("where"),
        "same": _ref("join"),
        "differ": _ref("join"),
        "within_s": {"type": "number", "minimum": 0},
        "order": _said("any: cause and effect are one event seen twice", _one_of(ORDERS)),
    }
    pair = {"type": "array", "items": _ref("kind"), "minItems": 2, "maxItems": 2}
    properties = {
        "id": _ID,
        "verified": _ref("verified"),
        "cause": _object(("fact",), {"fact": _or_list(_ref("kind")), "where": _ref("where")}),
        "effect": _object(("fact",), effect),
        "also": _said("Further conditions; the aliases are cause and effect", {**_ref("conditions")}),
        "apart": _said("It is meant that cause and effect need have no field in common", _FLAG),
        "reason": _ref("sentence"),
        "examples": _list(_example(pair)),
    }
    return _root("propagation", ("id", "verified", "cause", "effect", "reason", "examples"), properties)


def _questions() -> Schema:
    emits = _object(("kind",), {"kind": _ref("kind"), "fields": {"type": "object", "additionalProperties": _SCALAR}})
    answer = _object(("id",), {"id": _ID, "text": _ref("sentence"), "emits": emits})
    question = {
        "id": _ID,
        "asks_for": _ref("kind"),
        "text": _ref("sentence"),
        "who": _one_of(WHO),
        "command": _said("To run and paste from", _TEXT),
        "answers": _list(answer),
    }
    member = _object(("id", "asks_for", "text", "who", "answers"), question)
    return _root("questions", ("questions",), {"branch": _one_of((*BRANCHES, "common")), "questions": _list(member)})


def _tree() -> Schema:
    branch = _object(("title", "causes"), {"title": _ref("sentence"), "causes": _list(_CAUSE, 0)})
    properties = {"title": _ref("sentence"), "branches": _object(BRANCHES, dict.fromkeys(BRANCHES, branch))}
    return _root("tree", ("title", "branches"), properties)


def _vocabulary() -> Schema:
    field = {"type": _one_of(TYPES), "values": _list(_TEXT), "unit": _TEXT, "meaning": _ref("sentence")}
    names = _or_list(_TEXT)
    kind = {
        "nature": _one_of(NATURES),
        "meaning": _ref("sentence"),
        "fields": {"type": "object", "additionalProperties": _object(("type",), field)},
        "absence": _said("Class of coverage that shows an absence", _TEXT),
        "lag": _said("From onset to report", _object(("min_s", "max_s"), {"min_s": _NUMBER, "max_s": _NUMBER})),
        "fold_by": _said("Fields that tell episodes apart", {"anyOf": [_TEXT, _list(_TEXT, 0)]}),
        "ticks": _said("Whether its lines repeat as long as all is well", {"type": "boolean"}),
        "collect": _object(
            ("en", "zh", "who"), {"en": _TEXT, "zh": _TEXT, "command": {"type": "string"}, "who": _one_of(WHO)}
        ),
        "compare": _object(
            ("key", "value", "across"),
            {
                "key": {"anyOf": [_TEXT, _list(_TEXT, 0)]},
                "value": names,
                "across": _one_of(("host", "rank")),
                "unset": _said("Whether a missing setting differs too", {"type": "boolean"}),
            },
        ),
    }
    facts = {"type": "object", "additionalProperties": _object(("nature", "meaning"), kind)}
    return _root("vocabulary", ("branch", "facts"), {"branch": _one_of((*BRANCHES, "common")), "facts": facts})


def _signatures() -> Schema:
    constants = {"type": "object", "additionalProperties": _SCALAR}
    translation = _object(("from", "values"), {"from": _TEXT, "values": constants, "default": _SCALAR})
    signature = {
        "id": _TEXT,
        "emits": _ref("kind"),
        "literals": _said("One of them must stand in the line", _list(_TEXT)),
        "pattern": _said("Named groups are fields of the kind", _TEXT),
        "set": _said("Constants", constants),
        "map": {"type": "object", "additionalProperties": translation},
        "lag": _object(("min_s", "max_s"), {"min_s": _NUMBER, "max_s": _NUMBER}),
        "lag_from": _object(("group",), {"group": _TEXT, "unit": _one_of(("s", "ms", "us", "min"))}),
        "only_in": _said("Envelopes in which it may match", _or_list(_TEXT)),
        "samples": _list(_object(("line",), {"line": _TEXT, "fields": constants})),
        "near_misses": _list(_TEXT),
        "note": _TEXT,
    }
    required = ("id", "emits", "literals", "pattern", "samples", "near_misses")
    return _root(
        "signatures", ("source", "signatures"), {"source": _TEXT, "signatures": _list(_object(required, signature))}
    )


def _counter_map() -> Schema:
    """The shape of :mod:`facts_adapters.counter_maps`, which looks at counters, kinds and samples too."""
    texts = _or_list(_TEXT)
    subject = {
        name: _said(f"Label or column that names the {name}; several in order of preference, {{label}} composes", texts)
        for name in ("host", "device", "port", "queue")
    }
    where = {"type": "object", "additionalProperties": texts}
    counter = _said(
        "family/counter of profiles/counters.yaml", {"type": "string", "pattern": "^[a-z][a-z0-9_]*/\\S.*$"}
    )
    long_target = _object(("counter",), {"counter": counter, "where": where, "scale": _NUMBER, **subject})
    target = {"anyOf": [counter, long_target, _list(long_target)]}
    numbers = _or_list(_NUMBER)
    translation = _object(
        (), {"values": {"type": "object"}, "codes_of": _one_of(("xid", "sxid")), "take": _TEXT, "default": _SCALAR}
    )
    change = _object(
        ("emits",),
        {
            "emits": _ref("kind"),
            "rise": _FLAG,
            "fall": _FLAG,
            "least": _said("Smallest difference that is a change", _NUMBER),
            "from": numbers,
            "to": numbers,
            "but": _said("Levels that mean nothing", numbers),
            "value": _said("Field that the new level goes into", _TEXT),
            "set": {"type": "object", "additionalProperties": _SCALAR},
            "labels": {"type": "object", "additionalProperties": texts},
            "translate": {"type": "object", "additionalProperties": translation},
            "where": where,
            **subject,
        },
    )
    sample = _object(("text", "expect"), {"text": _TEXT, "expect": _list({"type": "object"})})
    properties: dict[str, Schema] = {
        "id": _TEXT,
        "reads": _said("metrics: Prometheus; table: CSV or JSON lines", _one_of(("metrics", "table"))),
        "source": _or_list(_TEXT),
        "verified_on": {"anyOf": [_TEXT, _list(_TEXT, 0)]},
        "covers": _one_of(("nic_counters", "switch_counters")),
        "note": _TEXT,
        "time": _said("Column with the time of the row", texts),
        "name": _said("Column that names the counter of the row", _TEXT),
        "value": _said("Column with its value", _TEXT),
        "family": _said("Column that names the family of the counter", _TEXT),
        "counters": {"type": "object", "additionalProperties": target},
        "patterns": {"type": "object", "additionalProperties": target},
        "changes": {"type": "object", "additionalProperties": {"anyOf": [change, _list(change)]}},
        "skip": _said("Expressions for values of labels that are of no interest", {"type": "object"}),
        "samples": _list(sample),
        "near_misses": _list(_TEXT),
        **subject,
    }
    return _root("counter_map", ("id", "reads", "samples", "near_misses"), properties)


def _profile() -> Schema:
    schema = _root("profile", ("id",), {"id": _TEXT, "verified_on": _or_list(_TEXT), "source": _or_list(_TEXT)})
    return {**schema, "additionalProperties": True}


def _pack() -> Schema:
    properties = {"name": _TEXT, "version": _TEXT, "description": _TEXT, "disable": _list(_TEXT, 0)}
    return _root("pack", ("name", "version"), properties)


def schemas(vocabulary: Vocabulary) -> dict[str, Schema]:
    """File name to schema, each complete in itself: only the definitions that it uses."""
    roots = {
        "cause": _cause(),
        "counter_map": _counter_map(),
        "evidence": _evidence(),
        "pack": _pack(),
        "profile": _profile(),
        "propagation": _propagation(),
        "questions": _questions(),
        "signatures": _signatures(),
        "tree": _tree(),
        "vocabulary": _vocabulary(),
    }
    definitions = _definitions(vocabulary)
    return {
        f"{name}.schema.json": {**root, "definitions": {key: definitions[key] for key in _used(root, definitions)}}
        for name, root in roots.items()
    }


def _used(schema: Schema, definitions: Mapping[str, Schema]) -> list[str]:
    found: set[str] = set()
    waiting: list[Any] = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            name = str(value.get("$ref", "")).rpartition("/")[2]
            if name and name not in found:
                found.add(name)
                waiting.append(definitions[name])
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return sorted(found)


def write_schemas(folder: Path, vocabulary: Vocabulary) -> list[Path]:
    """Write the schemas; returns the files that were missing or differed."""
    changed = []
    for name, schema in schemas(vocabulary).items():
        text = json.dumps(schema, ensure_ascii=False, indent=1) + "\n"
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            changed.append(path)
    return changed
