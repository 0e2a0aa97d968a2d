"""What all drawings of a report share: fonts, colours, labels, and Graphviz' program."""

from __future__ import annotations

import graphviz

LABEL_WIDTH = 44
FONT = "Helvetica,Noto Sans CJK SC,WenQuanYi Zen Hei,sans-serif"
GUILTY = "#b3261e"
"""The colour of what the evidence points to."""


class DotMissingError(RuntimeError):
    """Graphviz' program ``dot`` is not installed, so no SVG can be drawn."""


def new_graph(name: str) -> graphviz.Digraph:
    """An empty drawing from left to right, in the style of the report."""
    graph = graphviz.Digraph(name)
    graph.attr(rankdir="LR", ranksep="0.5", nodesep="0.18", fontname=FONT)
    graph.attr("node", fontname=FONT, fontsize="10", shape="box", style="rounded,filled", color="#7a7a7a")
    graph.attr("edge", fontname=FONT, fontsize="8", color="#7a7a7a", arrowsize="0.6")
    return graph


def svg_of(graph: graphviz.Digraph) -> str:
    """The drawing as SVG without a document head.

    Raises:
        DotMissingError: ``dot`` is not on the PATH.
    """
    try:
        drawn: str = graph.pipe(format="svg", encoding="utf-8")
    except graphviz.ExecutableNotFound as error:
        raise DotMissingError(
            "dot is not installed: no SVG is drawn (Debian: apt-get install graphviz); --format dot gives the text"
        ) from error
    return drawn[drawn.index("<svg") :]


def wrap(text: str) -> str:
    """Break at blanks; text without blanks (Chinese) by width."""
    lines = [""]
    for part in text.split(" "):
        if lines[-1] and len(lines[-1]) + len(part) + 1 > LABEL_WIDTH:
            lines.append("")
        lines[-1] = f"{lines[-1]} {part}".strip()
    return "\n".join(line[i : i + LABEL_WIDTH] for line in lines for i in range(0, max(len(line), 1), LABEL_WIDTH))


def escape(label: str) -> str:
    """A label whose backslashes are text and whose line ends are drawn left-aligned."""
    escaped = str(graphviz.escape(label))
    return escaped.replace("\n", "\\l") + "\\l" if "\n" in label else escaped
