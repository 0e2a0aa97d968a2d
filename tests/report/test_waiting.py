"""The section on who waits for whom, in every format, for four ranks and for ten thousand."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
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
from engine.report.drawing import GUILTY
from engine.report.html import to_html
from engine.report.markdown import to_markdown
from engine.report.reasoning import to_dot, to_svg
from engine.report.waiting import MOST_ROWS, waits_section
from engine.report.waiting_graph import DRAWN_ROWS, waits_svg
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


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_drawing_leads_along_the_chain_to_the_suspects(scenario: str) -> None:
    made = with_section(scenario)
    section, dot = made["waits"], to_dot(made)
    assert "subgraph cluster_waits" in dot
    for number, row in enumerate(section["waits"][:DRAWN_ROWS]):
        assert all(f'"wait {number}" -> "wait {ahead}"' in dot for ahead in row["leads_to"] if ahead < DRAWN_ROWS)
        assert all(f'"wait {number}" -> "suspect {rank}"' in dot for rank in row["suspects"])
        assert set(row["suspects"]) <= {item["rank"] for item in section["suspects"]}
    suspects = {item["rank"] for item in section["suspects"]}
    assert suspects == {rank for row in section["waits"] for rank in row["suspects"]}
    reached, work = set(), [0]
    while work:
        number = work.pop()
        if number not in reached:
            reached.add(number)
            work += section["waits"][number]["leads_to"]
    if scenario == "rank blocked in user code":
        assert any(row["leads_to"] for row in section["waits"])
        assert any(section["waits"][number]["suspects"] for number in reached)
    elif scenario == "rank killed":
        assert "nothing known" in dot


def test_the_drawing_stands_folded_in_the_page_and_apart_in_the_svg() -> None:
    made = with_section("rank blocked in user code")
    page = to_html(made)
    drawing = page[page.index("<details><summary>Drawing of who waits for whom") :]
    drawing = drawing[: drawing.index("</details>")]
    (suspect,) = made["waits"]["suspects"]
    ET.fromstring(drawing[drawing.index("<svg") : drawing.index("</svg>") + 6])
    assert f"rank {suspect['rank']}" in drawing
    assert GUILTY in drawing
    rest = page[page.index("</details>") :]
    assert "suspect " not in rest
    assert "cluster_waits" in to_svg(made)
    assert "cluster_waits" not in to_dot(killed())
    assert "Drawing of who" not in to_html(killed())


def test_names_from_dumps_cannot_break_out_of_the_drawing() -> None:
    states = wide(2, 2)
    for state in states:
        state.group, state.description = f'{HOSTILE}"];x[{state.group}', HOSTILE * 40
        state.words = dict.fromkeys(state.words, "\\N<b>" + HOSTILE)
    made = {**killed(), "waits": waits_section(analyse(states), english)}
    drawing = waits_svg(made)
    assert drawing is not None
    root = ET.fromstring(drawing)
    assert not [item for item in root.iter() if "script" in item.tag]
    assert len([item for item in root.iter() if item.get("class") == "node"]) == 2


def test_the_drawing_of_ten_thousand_ranks_is_small() -> None:
    made = {**killed(), "waits": waits_section(analyse(wide(1_250)), english)}
    dot = to_dot(made)
    part = dot[dot.index("subgraph cluster_waits") :]
    assert part.count("[") < 12
    assert '"suspect 9999"' in part
    assert max(map(len, part.splitlines())) < 600


def test_a_drawing_of_many_rows_is_cut_and_says_so() -> None:
    states = wide(300, 2)
    for state in states:
        if state.group != "0":
            state.description = f"own {state.group}"
            state.last_completed = 2
            state.states[2] = STARTED
    made = {**killed(), "waits": waits_section(analyse(states), english)}
    part = to_dot(made)
    assert part.count('"wait 11" [') == 1
    assert '"wait 12" [' not in part
    assert "… " in part[part.index("more waits") :]


def test_rows_are_bounded() -> None:
    states = wide(400, 2)
    for state in states:
        if state.group != "0":
            state.description = f"own {state.group}"
    section = waits_section(analyse(states), english)
    assert section is not None
    assert len(section["fronts"]) == MOST_ROWS
    assert section["more_rows"] > 100
