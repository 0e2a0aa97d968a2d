"""The terminal report: the verdict in the first line, the commands to paste in the last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from engine.report.citations import Report
from engine.report.waiting_lines import FRONT_COLUMNS, about, front_row, suspect_line, unknown_lines, wait_line
from engine.report.words import when, word

COLOURS = {
    "cause_found": "bold red",
    "candidates": "bold yellow",
    "insufficient_evidence": "bold",
    "no_fault": "bold green",
}
MARKS = {"confirmed": "✓", "likely": "●", "possible": "?", "undetermined": "·", "ruled_out": "✗"}
SHOWN_HYPOTHESES = 6
SHOWN_MISSING = 5
SHOWN_NOTES = 6
SHOWN_SUSPECTS = 8
SHOWN_FRONTS = 10
SHOWN_WAITS = 10
QUOTE_WIDTH = 400


def print_report(report: Report, console: Console) -> None:
    """Write one report to a console; its language is the report's."""
    language = report["language"]
    _verdict(report, console, language)
    _first_fault(report, console, language)
    _suspects(report, console, language)
    _waits(report, console, language)
    _hypotheses(report, console, language)
    _consequences(report, console, language)
    _missing(report, console, language)
    _steps(report, console, language)
    _notes(report, console, language)
    _versions(report, console, language)


def _heading(console: Console, text: str) -> None:
    console.print()
    console.print(Text(text, style="bold"))


def _verdict(report: Report, console: Console, language: str) -> None:
    verdict, incident = report["verdict"], report["incident"]
    title = f"{incident['id']}  {incident['title']}".strip()
    console.print(Text(title, style="dim"))
    line = Text(word(language, verdict["outcome"]), style=COLOURS[verdict["outcome"]])
    if verdict["cause"]:
        line.append(f"  {verdict['cause']}", style="bold")
        top = report["hypotheses"][0]
        line.append(f"  {word(language, top['status'])}, {round(100 * verdict['confidence'])} %")
    if verdict["owner"]:
        line.append(f"  {word(language, 'owner')}: {word(language, verdict['owner'])}")
    if verdict["phase"]:
        line.append(f"  {word(language, 'phase')}: {word(language, verdict['phase'])}")
    console.print(line)
    console.print(Padding(Text(verdict["summary"]), (0, 0, 0, 2)))


def _first_fault(report: Report, console: Console, language: str) -> None:
    fault = report["first_fault"]
    if fault is None:
        return
    _heading(console, word(language, "first_fault"))
    parts = [when(fault["time"], language), fault["host"] or ""]
    if fault["rank"] is not None:
        parts.append(f"{word(language, 'rank')} {fault['rank']}")
    console.print(Padding(Text("  ".join(part for part in parts if part)), (0, 0, 0, 2)))
    console.print(Padding(Text(f"{fault['source']['path']}:{fault['source']['line']}", style="cyan"), (0, 0, 0, 2)))
    console.print(Padding(Text(fault["text"][:QUOTE_WIDTH], style="italic"), (0, 0, 0, 4)))


def _suspects(report: Report, console: Console, language: str) -> None:
    names = [suspect_name(item, language) for item in report["suspects"]]
    if names:
        console.print(Padding(Text(f"{word(language, 'suspects')}: {', '.join(dict.fromkeys(names))}"), (0, 0, 0, 2)))


def suspect_name(suspect: Mapping[str, Any], language: str) -> str:
    """A suspect in a few words: rank, host, device, port."""
    rank = f"{word(language, 'rank')} {suspect['rank']}" if suspect["rank"] is not None else None
    return " ".join(part for part in (rank, suspect["host"], suspect["device"], suspect["port"]) if part)


def _waits(report: Report, console: Console, language: str) -> None:
    """Suspects first, then the fronts, then who waits for whom."""
    section = report.get("waits")
    if not section:
        return
    _heading(console, word(language, "waits"))
    console.print(Padding(Text(section["conclusion"], style="bold"), (0, 0, 0, 2)))
    console.print(Padding(Text("; ".join(about(section, language)), style="dim"), (0, 0, 0, 2)))
    _list(console, [suspect_line(item, language) for item in section["suspects"][:SHOWN_SUSPECTS]])
    _list(console, list(unknown_lines(section, language)))
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="dim")
    for name in FRONT_COLUMNS:
        table.add_column(word(language, name), overflow="fold")
    for item in section["fronts"][:SHOWN_FRONTS]:
        table.add_row(*map(Text, front_row(item, language)))
    if section["fronts"]:
        console.print(Padding(table, (0, 0, 0, 2)))
    for item in section["waits"][:SHOWN_WAITS]:
        console.print(Padding(Text(wait_line(item, language)), (0, 0, 0, 2)))
    hidden = [max(len(section[k]) - n, 0) for k, n in (("fronts", SHOWN_FRONTS), ("waits", SHOWN_WAITS))]
    if sum(hidden) + section["more_rows"]:
        console.print(f"  … {sum(hidden) + section['more_rows']} {word(language, 'more')}")
    if section["separating"]:
        console.print(Padding(Text(f"{word(language, 'separating')}:"), (0, 0, 0, 2)))
        _list(console, section["separating"])


def _hypotheses(report: Report, console: Console, language: str) -> None:
    hypotheses = report["hypotheses"]
    if hypotheses:
        _heading(console, word(language, "hypotheses"))
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1))
    for _ in range(2):
        table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for item in hypotheses[:SHOWN_HYPOTHESES]:
        table.add_row(
            f"  {MARKS[item['status']]}",
            item["id"],
            word(language, item["status"]),
            f"{item['score']:+.1f}",
            _why(item, language),
        )
    if hypotheses:
        console.print(table)
    rest = len(hypotheses) - SHOWN_HYPOTHESES
    if rest > 0:
        console.print(f"  … {rest} {word(language, 'more')}")
    if report["undetermined"]:
        console.print(Text(f"  · {len(report['undetermined'])} {word(language, 'undetermined_count')}", style="dim"))


def _why(item: Mapping[str, Any], language: str) -> Text:
    """The strongest reason for, and where there is one the strongest reason against."""
    why = Text(item["for"][0]["reason"] if item["for"] else item["title"])
    if item["consequence_of"]:
        why.append(f"  {word(language, 'consequence_of')} {item['consequence_of']}", style="dim")
    for against in item["against"][:1]:
        why.append(f"\n✗ {word(language, 'against')}: {against['reason']}", style="yellow")
    return why


def _consequences(report: Report, console: Console, language: str) -> None:
    facts = {fact["id"]: fact for fact in report["facts"]}
    effects = {item["fact"] for item in report["consequences"]}
    if not effects:
        return
    _heading(console, word(language, "consequences"))
    counted: Counter[str] = Counter()
    for effect in effects:
        counted[facts[effect]["meaning"]] += facts[effect]["count"]
    for meaning, count in sorted(counted.items(), key=lambda pair: (-pair[1], pair[0])):
        console.print(Text(f"  {count} × {meaning}"))


def _missing(report: Report, console: Console, language: str) -> None:
    items = report["missing_evidence"][:SHOWN_MISSING]
    if not items:
        return
    _heading(console, word(language, "missing"))
    for number, item in enumerate(items, 1):
        console.print(Padding(Text(f"{number}. {item['why']}"), (0, 0, 0, 2)))
        if item["command"]:
            who = f"   # {word(language, item['who'])}" if item["who"] else ""
            console.print(Text(f"     {item['command']}{who}", style="cyan"), soft_wrap=True)
        else:
            console.print(Padding(Text(item["ask"]), (0, 0, 0, 5)))


def _steps(report: Report, console: Console, language: str) -> None:
    if not report["verdict"]["cause"]:
        return
    top = report["hypotheses"][0]
    for key in ("next_steps", "rollback"):
        if top[key]:
            _heading(console, word(language, key))
            _list(console, top[key])
    if top["handover"]:
        _heading(console, word(language, "handover"))
        _list(console, [top["handover"]])


def _list(console: Console, items: Iterable[str]) -> None:
    for item in items:
        console.print(Padding(Text(f"- {item}"), (0, 0, 0, 2)))


def _notes(report: Report, console: Console, language: str) -> None:
    for key in ("assumptions", "warnings"):
        notes = report[key]
        if notes:
            _heading(console, word(language, key))
            _list(console, notes[:SHOWN_NOTES])
            if len(notes) > SHOWN_NOTES:
                console.print(f"  … {len(notes) - SHOWN_NOTES} {word(language, 'more')}")


def _versions(report: Report, console: Console, language: str) -> None:
    engine, knowledge = report["engine"], report["knowledge"]
    console.print()
    line = (
        f"firstfault {engine['version']} · {word(language, 'engine')} {engine['backend']} · "
        f"{word(language, 'knowledge')} {knowledge['pack']} {knowledge['version']} ({knowledge['hash'][:12]})"
    )
    console.print(Text(line, style="dim"))
    if engine["note"]:
        console.print(Text(engine["note"], style="dim"))
