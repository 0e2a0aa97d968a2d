"""The section on who waits for whom, in every format, for four ranks and for ten thousand."""

from __future__ import annotations

import json
from array import array
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import pytest

import knowledge
from engine.facts.collectives import COMPLETED, STARTED, GroupState, call_number
from engine.facts.model import Source
from engine.facts.waits import analyse
from engine.report.html import to_html
from engine.report.markdown import to_markdown
from engine.report.waiting import MOST_ROWS, waits_section
from engine.rules.model import Text
from tests.facts.waits.dumps import Recorder
from tests.facts.waits.reading import analysed
from tests.facts.waits.scenarios import SCENARIOS, SMALL, run_of, take_dumps
from tests.report.reports import HOSTILE, killed
from tests.report.test_renderers import text_of

SCHEMA = json.loads((Path(knowledge.__file__).parent / "schema" / "report.schema.json").read_text(encoding="utf-8"))


def english(text: Text) -> str:
    return text.en


def chinese(text: Text) -> str:
    return text.zh


def with_section(scenario: str, language: str = "en") -> dict[str, Any]:
    random = Random(scenario)
    case = take_dumps(run_of(scenario, SMALL[1], random), Recorder(), random)
    say = chinese if language == "zh" else english
    return {**killed(language), "waits": waits_section(analysed(case.dumps), say)}


def wide(groups: int, size: int = 8) -> list[GroupState]:
    """Tensor groups and a world of ``groups * size`` ranks; one rank of the last group launched less."""
    world, call = groups * size, "all_reduce 8 Float"
    states = []
    for rank in range(world):
        first = rank - rank % size
        for name, members, open_one in (
            ("0", f"0-{world - 1}", first != world - size),
            (str(1 + first // size), f"{first}-{first + size - 1}", first == world - size and rank != world - 1),
        ):
            made = GroupState(
                Source(f"dumps/{rank}", 1), name, rank, "default_pg" if name == "0" else "TENSOR", members
            )
            came = [COMPLETED] * 3 + [STARTED] * open_one
            made.seqs, made.states = array("q", range(1, len(came) + 1)), bytearray(came)
            made.calls = array("Q", [call_number(call)] * len(came))
            made.records = array("q", range(len(came)))
            made.words = {call_number(call): call}
            made.last_enqueued, made.last_completed = len(came), 3
            states.append(made)
    return states


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_format_shows_conclusion_fronts_and_suspects(scenario: str, language: str) -> None:
    made = with_section(scenario, language)
    jsonschema.Draft7Validator(SCHEMA).validate(made)
    section = made["waits"]
    for shown in (text_of(made), to_markdown(made), to_html(made)):
        flat = " ".join(shown.split())
        assert section["conclusion"].split(";")[0].split("；")[0][:40] in flat
        assert "TENSOR" in flat
        for item in section["suspects"]:
            assert f"rank {item['rank']}" in flat
    if scenario == "stall of one operation":
        assert section["suspects"] == []
        assert len(section["separating"]) == 3
        assert section["separating"][0][:30] in " ".join(text_of(made).split())


def test_suspects_come_before_fronts_and_fronts_that_hold_others_up_first() -> None:
    made = with_section("rank blocked in user code")
    text = text_of(made)
    (suspect,) = made["waits"]["suspects"]
    assert text.index("The chains of waiting end in") < text.index("never launched") < text.index("launched  begun")
    assert str(suspect["rank"]) in made["waits"]["fronts"][0]["late"].replace("-", ",").split(",")
    assert made["waits"]["fronts"][0]["standing"] == "late"


def test_a_report_without_states_has_no_section() -> None:
    assert killed()["waits"] is None
    assert "Who waits for whom" not in text_of(killed())


def test_names_from_dumps_cannot_break_out() -> None:
    states = wide(2, 2)
    for state in states:
        state.group, state.description = f"{HOSTILE}{state.group}", HOSTILE
        state.words = dict.fromkeys(state.words, HOSTILE)
    made = {**killed(), "waits": waits_section(analyse(states), english)}
    assert "<script>" not in to_html(made)
    rows = [line for line in to_markdown(made).splitlines() if "alert" in line and line.startswith("|")]
    assert rows
    assert all(line.replace("\\|", "").count("|") == 7 for line in rows)


def test_ten_thousand_ranks_stay_readable() -> None:
    waits = analyse(wide(1_250))
    assert [(item.rank, item.how, item.waiting) for item in waits.suspects] == [(9_999, "never_entered", 9_999)]
    section = waits_section(waits, english)
    assert section is not None
    assert len(section["fronts"]) == 3
    assert len(section["waits"]) == 2
    made = {**killed(), "waits": section}
    text = text_of(made)
    part = text[text.index("Who waits") : text.index("Hypotheses")]
    assert len(part.splitlines()) < 20
    assert len(json.dumps(section)) < 4_000


def test_rows_are_bounded() -> None:
    states = wide(400, 2)
    for state in states:
        if state.group != "0":
            state.description = f"own {state.group}"
    section = waits_section(analyse(states), english)
    assert section is not None
    assert len(section["fronts"]) == MOST_ROWS
    assert section["more_rows"] > 100
