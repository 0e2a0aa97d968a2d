"""The section on who waits for whom as rows of text that every renderer lays out its own way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from engine.report.words import word

Section = Mapping[str, Any]


def about(section: Section, language: str) -> Iterator[str]:
    """What the section rests on: ranks, dumps that are missing or broken, what else must be known."""
    yield f"{word(language, 'ranks_known')}: {section['ranks']}"
    if section["dumps_missing"]:
        yield f"{word(language, 'dumps_missing')}: {section['dumps_missing']}"
    for item in section["dumps_broken"]:
        yield f"{word(language, 'dump_' + item['condition'])}: {item['ranks']}"
    if section["dumps_stale"]:
        yield f"{word(language, 'dumps_stale')}: {section['dumps_stale']}"
    if section["overrun"]:
        yield word(language, "overrun")
    if section["asked_first"]:
        yield f"{word(language, 'asked_first')}: {section['asked_first']}"


def suspect_line(item: Mapping[str, Any], language: str) -> str:
    """A suspect and why."""
    host = f" ({item['host']})" if item["host"] else ""
    return f"{word(language, 'rank')} {item['rank']}{host}: {item['why']}"


def unknown_lines(section: Section, language: str) -> Iterator[str]:
    """Ranks in which the chains end and of which nothing is known, and hosts from which nothing came."""
    if section["undecided"]:
        yield f"{section['undecided']}: {word(language, 'undecided')}"
    for item in section["lost_hosts"]:
        yield f"{item['host']} ({word(language, 'rank')} {item['ranks']}): {word(language, 'lost_host')}"


FRONT_COLUMNS = ("group", "front", "launched", "began", "finished", "standing")


def front_row(item: Mapping[str, Any], language: str) -> tuple[str, ...]:
    """A row of the table of fronts, by :data:`FRONT_COLUMNS`."""
    operation = operation_of(item)
    members = item["members"]
    return (
        _groups(item),
        operation,
        f"{item['launched']}/{members}",
        "" if item["started"] is None else f"{item['started']}/{members}",
        f"{item['finished']}/{members}",
        _standing(item, language),
    )


def operation_of(item: Mapping[str, Any]) -> str:
    """The operation of a row."""
    number = f"#{item['seq']}" if item["seq"] is not None else ""
    return f"{item['call']} {number}".strip()


def _groups(item: Mapping[str, Any]) -> str:
    described = item["description"] if item["description"] not in ("", "undefined") else ""
    size = f"{item['size']}" if item["members_known"] else f"{item['size']}+"
    if item["groups"] > 1:
        return f"{described or item['names'][0]} ({item['groups']} x {size})"
    return f"{described} {item['names'][0]} ({size})".strip()


def _standing(item: Mapping[str, Any], language: str) -> str:
    text = word(language, f"standing_{item['standing']}")
    ranks = item["late"] if item["standing"] in ("late", "cycle", "waits_elsewhere") else item["unknown"]
    shown = ranks if item["standing"] in ("late", "cycle", "unknown") else ""
    return f"{text}: {shown}" if shown else text


def group_of(item: Mapping[str, Any]) -> str:
    """The group of a row of the folded graph, or how many groups of one description it stands for."""
    described = item["description"] if item["description"] not in ("", "undefined") else ""
    group = " ".join(dict.fromkeys(part for part in (described, item["group"]) if part)) or "?"
    return group if item["groups"] == 1 else f"{item['groups']} x {group}"


def wait_line(item: Mapping[str, Any], language: str) -> str:
    """An edge of the folded graph: who waits, in what, for whom."""
    group = group_of(item)
    operation = operation_of(item)
    if item["standing"] == "mismatch":
        awaited = word(language, "standing_mismatch")
    elif item["awaited"] or item["unknown"]:
        unknown = f"{item['unknown']} ({word(language, 'nothing_known')})" if item["unknown"] else ""
        awaited = "; ".join(part for part in (item["awaited"], unknown) if part)
    else:
        awaited = word(language, f"standing_{item['standing']}")
    return f"{item['waiting']} [{item['waiting_count']}] -- {group} {operation} -> {awaited}"
