"""The report as Markdown for a ticket."""

from __future__ import annotations

import re
from collections.abc import Iterable

from engine.report.citations import Report, cited
from engine.report.text import suspect_name
from engine.report.waiting_lines import FRONT_COLUMNS, about, front_row, suspect_line, unknown_lines, wait_line
from engine.report.words import when, word

SHOWN_HYPOTHESES = 8
SHOWN_MISSING = 8
SHOWN_FACTS = 40
SHOWN_ROWS = 20

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")


def to_markdown(report: Report) -> str:
    """The whole report; quoted log text cannot break out of its code span or cell."""
    language = report["language"]
    parts = [
        *_verdict(report, language),
        *_waits(report, language),
        *_hypotheses(report, language),
        *_missing(report, language),
        *_steps(report, language),
        *_evidence(report, language),
        *_notes(report, language),
    ]
    return "\n".join(parts).rstrip() + "\n"


def _verdict(report: Report, language: str) -> Iterable[str]:
    verdict, incident, fault = report["verdict"], report["incident"], report["first_fault"]
    name = f" `{verdict['cause']}`" if verdict["cause"] else ""
    yield f"# {escape(incident['id'])}: {word(language, verdict['outcome'])}{name}"
    yield ""
    yield escape(verdict["summary"])
    yield ""
    if verdict["owner"]:
        yield f"- **{word(language, 'owner')}**: {word(language, verdict['owner'])}"
    if verdict["phase"]:
        yield f"- **{word(language, 'phase')}**: {word(language, verdict['phase'])}"
    if fault:
        place = f"{code(fault['source']['path'] + ':' + str(fault['source']['line']))}"
        moment = f"{when(fault['time'], language)} {escape(fault['host'] or '')}".strip()
        yield f"- **{word(language, 'first_fault')}**: {moment} {place}"
        yield f"  {code(fault['text'])}"
    names = dict.fromkeys(suspect_name(item, language) for item in report["suspects"])
    if names:
        yield f"- **{word(language, 'suspects')}**: {', '.join(escape(name) for name in names)}"
    yield ""


def _waits(report: Report, language: str) -> Iterable[str]:
    section = report.get("waits")
    if not section:
        return
    yield f"## {word(language, 'waits')}"
    yield ""
    yield f"**{escape(section['conclusion'])}**"
    yield ""
    yield escape("; ".join(about(section, language)))
    yield ""
    yield from (f"- {escape(suspect_line(item, language))}" for item in section["suspects"][:SHOWN_ROWS])
    yield from (f"- {escape(line)}" for line in unknown_lines(section, language))
    yield ""
    yield f"| {' | '.join(word(language, name) for name in FRONT_COLUMNS)} |"
    yield "|" + "---|" * len(FRONT_COLUMNS)
    for item in section["fronts"][:SHOWN_ROWS]:
        yield f"| {' | '.join(escape(cell) for cell in front_row(item, language))} |"
    yield ""
    yield from (f"- {escape(wait_line(item, language))}" for item in section["waits"][:SHOWN_ROWS])
    if section["separating"]:
        yield ""
        yield f"{word(language, 'separating')}:"
        yield ""
        yield from (f"- {escape(text)}" for text in section["separating"])
    yield ""


def _hypotheses(report: Report, language: str) -> Iterable[str]:
    if not report["hypotheses"]:
        return
    yield f"## {word(language, 'hypotheses')}"
    yield ""
    yield f"| | {word(language, 'for')} | {word(language, 'against')} |"
    yield "|---|---|---|"
    for item in report["hypotheses"][:SHOWN_HYPOTHESES]:
        head = f"`{item['id']}` {word(language, item['status'])} ({item['score']:+.1f})"
        cells = ["<br>".join(escape(evidence["reason"]) for evidence in item[part]) for part in ("for", "against")]
        yield f"| {head} | {cells[0]} | {cells[1]} |"
    yield ""


def _missing(report: Report, language: str) -> Iterable[str]:
    if not report["missing_evidence"]:
        return
    yield f"## {word(language, 'missing')}"
    yield ""
    for number, item in enumerate(report["missing_evidence"][:SHOWN_MISSING], 1):
        yield f"{number}. {escape(item['why'])}"
        yield f"   {code(item['command'])}" if item["command"] else f"   {escape(item['ask'])}"
    yield ""


def _steps(report: Report, language: str) -> Iterable[str]:
    if not report["verdict"]["cause"]:
        return
    for key in ("next_steps", "rollback"):
        steps = report["hypotheses"][0][key]
        if steps:
            yield f"## {word(language, key)}"
            yield ""
            yield from (f"- {escape(step)}" for step in steps)
            yield ""


def _evidence(report: Report, language: str) -> Iterable[str]:
    shown = cited(report["hypotheses"])
    facts = [fact for fact in report["facts"] if fact["id"] in shown][:SHOWN_FACTS]
    if not facts:
        return
    yield f"## {word(language, 'evidence')}"
    yield ""
    for fact in facts:
        place = code(f"{fact['source']['path']}:{fact['source']['line']}")
        yield f"- {fact['id']} {escape(fact['meaning'])}, {when(fact['onset'], language)}, {place}"
        if fact["text"]:
            yield f"  {code(fact['text'])}"
    yield ""


def _notes(report: Report, language: str) -> Iterable[str]:
    for key in ("assumptions", "warnings"):
        if report[key]:
            yield f"## {word(language, key)}"
            yield ""
            yield from (f"- {escape(note)}" for note in report[key])
            yield ""
    engine, knowledge = report["engine"], report["knowledge"]
    yield (
        f"firstfault {engine['version']}, {word(language, 'engine')} {engine['backend']}, "
        f"{word(language, 'knowledge')} {knowledge['pack']} {knowledge['version']} `{knowledge['hash'][:12]}`"
    )


def escape(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


_PICTURES = {**{number: 0x2400 + number for number in range(32)}, 127: 0x2421}


def code(text: str, width: int = 300) -> str:
    """Text as a code span that its own backticks cannot close; control characters are shown as pictures of them."""
    line = " ".join(text.split())[:width].translate(_PICTURES)
    longest = max((len(run) for run in re.findall(r"`+", line)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}" if line else ""
