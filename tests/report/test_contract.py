from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import knowledge
from engine.report.contract import empty_report, iso
from engine.report.words import WORDS, when, word
from tests.report.reports import hostile, killed, report, thousand_ranks

SCHEMA = json.loads((Path(knowledge.__file__).parent / "schema" / "report.schema.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "made", [killed(), killed("zh"), hostile(), thousand_ranks(), report(), empty_report("x", "broken", "en", "0")]
)
def test_every_report_keeps_the_contract(made: dict[str, Any]) -> None:
    jsonschema.Draft7Validator(SCHEMA).validate(made)


def test_the_schema_notices_a_broken_report() -> None:
    made = killed()
    made["verdict"]["outcome"] = "perhaps"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(made, SCHEMA)


def test_both_languages_have_every_word() -> None:
    assert WORDS["en"].keys() == WORDS["zh"].keys()


def test_chinese_reports_speak_chinese() -> None:
    made = killed("zh")
    assert made["hypotheses"][0]["title"] == "host.oom-kill 的标题"
    assert made["first_fault"]["meaning"] != killed()["first_fault"]["meaning"]


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (None, None),
        (0, "1970-01-01T00:00:00.000Z"),
        (1_500, "1970-01-01T00:00:00.001Z"),
        (2**62, None),
        (-(2**62), None),
    ],
)
def test_moments_are_utc_with_milliseconds(moment: int | None, text: str | None) -> None:
    assert iso(moment) == text


@pytest.mark.parametrize(
    ("earliest", "latest", "text"),
    [
        (None, None, word("en", "unknown_time")),
        ("2026-03-01T10:00:00.000Z", "2026-03-01T10:00:00.000Z", "2026-03-01 10:00:00.000 UTC"),
        ("2026-03-01T10:00:00.000Z", "2026-03-01T10:00:04.000Z", "2026-03-01 10:00:02.000 UTC ±2.0 s"),
        ("2026-03-01T10:00:00.000Z", None, "≥ 2026-03-01 10:00:00.000 UTC"),
        (None, "2026-03-01T10:00:00.000Z", "≤ 2026-03-01 10:00:00.000 UTC"),
        (
            "2026-03-01T00:00:00.000Z",
            "2026-03-01T10:00:00.000Z",
            "2026-03-01 00:00:00.000 UTC … 2026-03-01 10:00:00.000 UTC",
        ),
    ],
)
def test_intervals_for_people(earliest: str | None, latest: str | None, text: str) -> None:
    assert when({"earliest": earliest, "latest": latest}, "en") == text
