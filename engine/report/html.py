"""The report as one HTML file that needs no network and runs no script."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from engine.diagnosis.wording import rank_list
from engine.report.citations import Report, cited, linked
from engine.report.lanes import BRANCHES, draw
from engine.report.reasoning import DotMissingError, to_svg
from engine.report.text import suspect_name
from engine.report.waiting_graph import waits_svg
from engine.report.waiting_lines import FRONT_COLUMNS, about, front_row, suspect_line, unknown_lines, wait_line
from engine.report.words import branch_word, when, word

SHOWN_FACTS = 200
SHOWN_ROWS = 60


def to_html(report: Report, warn: Callable[[str], None] | None = None) -> str:
    """The whole report; everything quoted is escaped, links stay inside the page or the bundle.

    Without ``dot`` the reasoning picture is left out and ``warn`` is told why.
    """
    language = report["language"]
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    first = (report["first_fault"] or {}).get("fact")
    return templates.get_template("report.html.j2").render(
        report=report,
        lang="zh-CN" if language == "zh" else "en",
        lanes=draw(report["timeline"], first),
        svg=_drawn(to_svg, {**report, "waits": None}, warn),
        suspects=list(dict.fromkeys(suspect_name(item, language) for item in report["suspects"])),
        tree=_tree(report),
        evidence=_evidence(report),
        waits=_waits(report, language),
        waits_svg=_drawn(waits_svg, report, None),
        say=lambda key: word(language, key),
        branch_word=lambda branch: branch_word(language, branch),
        when=lambda span: when(span, language),
        ranks=rank_list,
        link=_link,
    )


def _waits(report: Report, language: str) -> dict[str, Any] | None:
    """The rows of the section on who waits for whom, laid out by the template."""
    section = report.get("waits")
    if not section:
        return None
    return {
        **section,
        "about": list(about(section, language)),
        "unknown_lines": list(unknown_lines(section, language)),
        "suspect_lines": [suspect_line(item, language) for item in section["suspects"]],
        "columns": [word(language, name) for name in FRONT_COLUMNS],
        "rows": [front_row(item, language) for item in section["fronts"][:SHOWN_ROWS]],
        "lines": [wait_line(item, language) for item in section["waits"][:SHOWN_ROWS]],
        "hidden": section["more_rows"] + sum(max(len(section[key]) - SHOWN_ROWS, 0) for key in ("fronts", "waits")),
    }


def _drawn(
    drawing: Callable[[Report], str | None], report: Report, warn: Callable[[str], None] | None
) -> Markup | None:
    """A picture; Graphviz escapes what it draws, so its SVG goes in as it is."""
    try:
        drawn = drawing(report)
    except DotMissingError as error:
        if warn is not None:
            warn(str(error))
        return None
    if drawn is None:
        return None
    return Markup(drawn.replace("<svg ", '<svg class="reasoning" ', 1))  # noqa: S704 - dot escapes every label


def _link(path: str) -> str:
    """A link into the bundle beside the page; never a scheme of its own."""
    return "./" + quote(path, safe="/")


def _tree(report: Report) -> list[dict[str, Any]]:
    return [
        {
            "name": branch,
            "judged": [item for item in report["hypotheses"] if item["branch"] == branch],
            "open": [cause for cause in report["undetermined"] if cause.partition(".")[0] == branch],
        }
        for branch in BRANCHES
    ]


def _evidence(report: Report) -> list[Mapping[str, Any]]:
    """The cited facts and, up to a limit, the other abnormal ones, in the order of time."""
    told = cited(report["hypotheses"]) | linked(report["consequences"])
    abnormal = {moment["fact"] for moment in report["timeline"] if moment["nature"] != "activity"}
    chosen = [fact for fact in report["facts"] if fact["id"] in told]
    room = max(SHOWN_FACTS - len(chosen), 0)
    others = [fact for fact in report["facts"] if fact["id"] in abnormal and fact["id"] not in told][:room]
    keep = {fact["id"] for fact in (*chosen, *others)}
    return [fact for fact in report["facts"] if fact["id"] in keep]
