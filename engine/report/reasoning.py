"""The reasoning as a picture: facts on the left, rules in the middle, causes on the right; apart, who waits for whom.

Facts of one kind are drawn one by one up to a handful and folded into one node beyond, so that a thousand ranks stay
readable.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import graphviz

from engine.report.citations import Report, cited, linked
from engine.report.drawing import GUILTY, LABEL_WIDTH, DotMissingError, escape, new_graph, svg_of, wrap
from engine.report.waiting_graph import draw_waits, has_picture
from engine.report.words import when, word

__all__ = ["DotMissingError", "to_dot", "to_svg"]

DRAWN_CAUSES = 5
DRAWN_ALONE = 3

BRANCH_COLOURS = {"job": "#dbe9f6", "comm": "#e6dff0", "host": "#fde4cf", "nic": "#dcefdc", "switch": "#fbf0c4"}
STATUS_COLOURS = {
    "confirmed": "#b3261e",
    "likely": "#c2570c",
    "possible": "#8a6d00",
    "undetermined": "#6b6b6b",
    "ruled_out": "#9a9a9a",
}


@dataclass(frozen=True, slots=True)
class Node:
    """A drawn fact, or several folded into one: its id, the facts in it, the lines of its label."""

    id: str
    facts: tuple[str, ...]
    label: str
    branch: str


def to_dot(report: Report) -> str:
    """The reasoning in Graphviz' language; equal reports give equal text."""
    return str(_graph(report).source)


def to_svg(report: Report) -> str:
    """The reasoning as SVG.

    Raises:
        DotMissingError: ``dot`` is not on the PATH.
    """
    return svg_of(_graph(report))


def _graph(report: Report) -> graphviz.Digraph:
    language = report["language"]
    causes = [item for item in report["hypotheses"] if item["for"] or item["against"]][:DRAWN_CAUSES]
    told = cited(causes)
    links = [item for item in report["consequences"] if item["cause"] in told or item["fact"] in told]
    shown = told | linked(links)
    nodes = _fold([fact for fact in report["facts"] if fact["id"] in shown], language)
    home = {fact: node.id for node in nodes for fact in node.facts}
    first = (report["first_fault"] or {}).get("fact")
    graph = new_graph("reasoning")
    for node in nodes:
        thick = {"color": GUILTY, "penwidth": "2.4"} if first in node.facts else {}
        graph.node(node.id, escape(node.label), fillcolor=BRANCH_COLOURS.get(node.branch, "#eeeeee"), **thick)
    _draw_links(graph, links, home)
    for item in causes:
        _draw_cause(graph, item, home, language)
    if has_picture(report):
        with graph.subgraph(name="cluster_waits") as part:
            part.attr(label=escape(word(language, "waits")), style="dashed", color="#7a7a7a", fontsize="11")
            draw_waits(part, report)
    return graph


def _draw_links(graph: graphviz.Digraph, links: Iterable[Mapping[str, Any]], home: Mapping[str, str]) -> None:
    drawn: set[tuple[str, str]] = set()
    for item in links:
        edge = (home[item["cause"]], home[item["fact"]])
        if edge[0] != edge[1] and edge not in drawn:
            drawn.add(edge)
            graph.edge(*edge, style="dashed", constraint="false", tooltip=item["rule"])


def _draw_cause(graph: graphviz.Digraph, item: Mapping[str, Any], home: Mapping[str, str], language: str) -> None:
    colour = STATUS_COLOURS[item["status"]]
    label = f"{item['id']}\n{wrap(item['title'])}\n{word(language, item['status'])} {item['score']:+.1f}"
    graph.node(f"cause {item['id']}", escape(label), fillcolor="white", color=colour, fontcolor=colour, penwidth="2")
    for part, style in (("for", "solid"), ("against", "dotted")):
        for evidence in item[part]:
            rule = f"rule {evidence['rule']}"
            short = evidence["rule"].rpartition("/")[2]
            graph.node(rule, escape(short), shape="plain", style="", fontsize="9", fontcolor="#555555")
            for node in sorted({home[fact] for fact in evidence["facts"] if fact in home}):
                graph.edge(node, rule, style=style)
            width = {"decisive": "2.6", "strong": "1.8", "moderate": "1.2", "weak": "0.7"}[evidence["strength"]]
            graph.edge(rule, f"cause {item['id']}", style=style, penwidth=width)


def _fold(facts: Iterable[Mapping[str, Any]], language: str) -> list[Node]:
    groups: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for fact in facts:
        groups[fact["kind"]].append(fact)
    nodes: list[Node] = []
    for kind, group in groups.items():
        if len(group) <= DRAWN_ALONE:
            nodes.extend(
                Node(fact["id"], (fact["id"],), _label(fact, language), kind.partition(".")[0]) for fact in group
            )
            continue
        count = sum(fact["count"] for fact in group)
        ranks = {rank for fact in group for rank in fact["ranks"]}
        hosts = {fact["host"] for fact in group if fact["host"]}
        lines = [wrap(group[0]["meaning"]), f"{count} ×"]
        if ranks:
            lines.append(f"{len(ranks)} {word(language, 'ranks')}")
        if hosts:
            lines.append(", ".join(sorted(hosts)[:3]) + (" …" if len(hosts) > 3 else ""))
        nodes.append(
            Node(f"fold {kind}", tuple(fact["id"] for fact in group), "\n".join(lines), kind.partition(".")[0])
        )
    return nodes


def _label(fact: Mapping[str, Any], language: str) -> str:
    where = [fact["host"] or ""]
    if len(fact["ranks"]) == 1:
        where.append(f"{word(language, 'rank')} {fact['ranks'][0]}")
    elif fact["ranks"]:
        where.append(f"{len(fact['ranks'])} {word(language, 'ranks')}")
    lines = [wrap(fact["meaning"]), " ".join(part for part in where if part)]
    known = fact["onset"]["earliest"] or fact["onset"]["latest"]
    lines.append(when(fact["onset"], language) if known else "")
    lines.append(f"{_tail(fact['source']['path'])}:{fact['source']['line']}")
    return "\n".join(line for line in lines if line)


def _tail(path: str) -> str:
    return path if len(path) <= LABEL_WIDTH else "…" + path[-LABEL_WIDTH + 1 :]
