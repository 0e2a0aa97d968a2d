"""The JSON Schemas for editors accept what the loader accepts and are up to date."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import knowledge
from engine.authored.document import load_document
from engine.facts.vocabulary import load_vocabulary
from engine.rules.schemas import schemas

FOLDER = Path(knowledge.__file__).resolve().parent / "schema"
SMALL = Path(__file__).resolve().parent / "pack"
BAD = Path(__file__).resolve().parents[1] / "bad_rules"
FILES = sorted(path for root in (SMALL, knowledge.BUILTIN) for path in root.rglob("*.yaml"))


def schema_of(document: Any) -> Any:
    kind = document.get("kind", "pack")
    return json.loads((FOLDER / f"{kind}.schema.json").read_text(encoding="utf-8"))


def test_files_are_up_to_date() -> None:
    for name, schema in schemas(load_vocabulary()).items():
        stored = json.loads((FOLDER / name).read_text(encoding="utf-8"))
        assert stored == schema, f"{name} is stale: run `python -m engine.rules schema`"
        jsonschema.Draft7Validator.check_schema(schema)


@pytest.mark.parametrize("path", FILES, ids=lambda path: "/".join(path.parts[-3:]))
def test_accepts_valid_files(path: Path) -> None:
    value = load_document(path).value
    jsonschema.validate(value, schema_of(value), jsonschema.Draft7Validator)


@pytest.mark.parametrize(
    "name",
    ["FF201-unknown-keys", "FF202-missing-keys", "FF203-wrong-types", "FF204-words", "FF205-language", "FF206-ids"],
)
def test_refuses_what_the_loader_refuses(name: str) -> None:
    value = load_document(BAD / f"{name}.yaml").value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(value, schema_of(value), jsonschema.Draft7Validator)
