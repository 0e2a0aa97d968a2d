"""Who waits for whom as a small picture: folded operations, the chains between them, and the suspects at their ends.

The rows of the report are drawn, and they are folded: ten thousand ranks make a few nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import graphviz

from engine.report.citations import Report
from engine.report.drawing import GUILTY, escape, new_graph, svg_of, wrap
from engine.report.waiting_lines import group_of, operation_of
from engine.report.words import word

DRAWN_ROWS = 12
DRAWN_SUSPECTS = 12
LONGEST = 160
"""Characters of a label's line; names from dumps may be anything."""

COLOURS = {
    "mismatch": "#fde4cf",
    "cycle": "#fde4cf",
    "late": "#e6dff0",
    "unknown": "#eeeeee",
    "stalled": "#fbf0c4",
    "open": "#eeeeee",
    "waits_elsewhere": "#ffffff",
}


def waits_svg(report: Report) -> str | None:
    """The picture as SVG, ``None`` where nobody waits.

    Raises:
        DotMissingError: ``dot`` is not on the PATH.
    """
    if not has_picture(report):
        return None
    graph = new_graph("waits")
    draw_waits(graph, report)
    return svg_of(graph)


def has_picture(report: Report) -> bool:
    """Whether there is anything to draw."""
    section = report.get("waits")
    return bool(section and section["waits"])


def draw_waits(graph: graphviz.Digraph, report: Report) -> None:
    """Add the operations and the ends of their chains to a graph."""
    section, language = report["waits"], report["language"]
    rows: Sequence[Mapping[str, Any]] = section["waits"][:DRAWN_ROWS]
    drawn = [item for item in section["suspects"] if any(item["rank"] in row["suspects"] for row in rows)]
    drawn = drawn[:DRAWN_SUSPECTS]
    unknown: dict[str, str] = {}
    for number, row in enumerate(rows):
        colour = COLOURS.get(row["standing"], "#ffffff")
        thick = {"color": GUILTY} if row["standing"] in ("mismatch", "cycle") else {}
        graph.node(f"wait {number}", escape(_operation(row, language)), fillcolor=colour, **thick)
        for ahead in row["leads_to"]:
            if ahead < len(rows):
                graph.edge(f"wait {number}", f"wait {ahead}")
        for item in drawn:
            if item["rank"] in row["suspects"]:
                graph.edge(f"wait {number}", f"suspect {item['rank']}", color=GUILTY)
        if row["unknown"]:
            graph.edge(f"wait {number}", unknown.setdefault(row["unknown"], f"unknown {len(unknown)}"), style="dashed")
    for item in drawn:
        label = escape(_suspect(item, language))
        graph.node(f"suspect {item['rank']}", label, fillcolor="#f9dedc", color=GUILTY, penwidth="2.4")
    for ranks, node in unknown.items():
        label = escape(f"{word(language, 'rank')} {ranks[:LONGEST]}\n{word(language, 'nothing_known')}")
        graph.node(node, label, fillcolor="white", style="rounded,filled,dashed")
    hidden = len(section["waits"]) - len(rows) + section["more_rows"]
    if hidden > 0:
        graph.node("more waits", escape(f"… {hidden} {word(language, 'more')}"), shape="plain", style="")


def _operation(row: Mapping[str, Any], language: str) -> str:
    name = wrap(f"{group_of(row)} {operation_of(row)}".strip()[:LONGEST])
    ranks = wrap(f"{word(language, 'rank')} {row['waiting']} [{row['waiting_count']}]"[:LONGEST])
    lines = [name, ranks]
    if row["standing"] in ("mismatch", "cycle", "stalled", "open"):
        lines.append(word(language, f"standing_{row['standing']}"))
    return "\n".join(lines)


def _suspect(item: Mapping[str, Any], language: str) -> str:
    host = f" ({item['host']})" if item["host"] else ""
    return f"{word(language, 'rank')} {item['rank']}{host}\n{wrap(item['why'][:LONGEST])}"
