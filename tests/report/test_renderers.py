from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET

import pytest
from rich.console import Console

from engine.report import html as html_module
from engine.report.html import to_html
from engine.report.lanes import draw
from engine.report.markdown import code, escape, to_markdown
from engine.report.reasoning import DotMissingError, to_dot, to_svg
from engine.report.text import print_report
from tests.report.reports import HOSTILE, hostile, killed, report, thousand_ranks


def text_of(made: dict[str, object]) -> str:
    console = Console(file=io.StringIO(), width=100)
    print_report(made, console)
    output = console.file
    assert isinstance(output, io.StringIO)
    return output.getvalue()


def test_the_terminal_report_says_cause_owner_place_and_line() -> None:
    text = text_of(killed())
    first_lines = "\n".join(text.splitlines()[:3])
    assert "CAUSE FOUND" in first_lines
    assert "host.oom-kill" in first_lines
    assert "owner: host" in first_lines
    assert "dmesg:7" in text
    assert "host.oom_kill line" in text
    assert re.search(r"1 × .*process", text)


def test_the_terminal_report_in_chinese() -> None:
    text = text_of(killed("zh"))
    assert "已找到原因" in text
    assert "首个故障" in text


def test_no_hypothesis_is_no_crash() -> None:
    assert "NOT ENOUGH EVIDENCE" in text_of(report())


def test_markdown_quotes_cannot_break_out() -> None:
    text = to_markdown(hostile())
    assert "<script>" not in re.sub(r"(`+).*?\1", "", text)
    assert not re.search(r"(?<!\\)\]\(javascript", re.sub(r"(`+).*?\1", "", text))


def test_code_spans_survive_backticks() -> None:
    assert code("a ``b`` c") == "```a ``b`` c```"
    assert code("`x`") == "`` `x` ``"
    assert code("") == ""
    assert escape("a_b*c|d\ne") == "a\\_b\\*c\\|d e"


def test_html_escapes_what_it_quotes_and_needs_no_network() -> None:
    page = to_html(hostile())
    assert "<script" not in page
    assert "alert(1)" in page
    assert not re.search(r"(src|href)=[\"']?(https?:|//|javascript:)", page.replace("http://www.w3.org", ""))


def test_html_links_evidence_to_lines_and_draws_lanes() -> None:
    page = to_html(killed())
    assert 'id="f1"' in page
    assert "dmesg:7" in page
    assert "<circle" in page


def test_html_without_dot_goes_without_the_picture_and_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_report: object) -> str:
        raise DotMissingError("no dot")

    monkeypatch.setattr(html_module, "to_svg", missing)
    notes: list[str] = []
    assert 'svg class="reasoning"' not in to_html(killed(), notes.append)
    assert notes == ["no dot"]


def test_the_picture_is_well_formed_even_with_hostile_text() -> None:
    ET.fromstring(to_svg(hostile()))
    assert HOSTILE.split()[0] not in to_svg(hostile())


def test_a_thousand_ranks_fold_into_a_few_nodes() -> None:
    dot = to_dot(thousand_ranks())
    assert dot.count("fillcolor") < 20
    assert "1024 ranks" in dot


def test_pictures_are_equal_for_equal_reports() -> None:
    assert to_dot(killed()) == to_dot(killed())


def test_lanes_fold_what_lies_together() -> None:
    made = thousand_ranks()
    drawing = draw(made["timeline"], made["first_fault"]["fact"])
    assert drawing is not None
    assert len(drawing.marks) < 10
    assert sum(mark.count for mark in drawing.marks) == 1025
    assert sum(mark.first for mark in drawing.marks) == 1


def test_facts_without_time_are_counted_not_drawn() -> None:
    made = report()
    assert draw(made["timeline"], None) is None
