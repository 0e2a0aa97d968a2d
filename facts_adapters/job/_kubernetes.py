"""Reasons of Kubernetes turned into facts, and its documents.

The table is ``knowledge/builtin/profiles/kubernetes_reasons.yaml``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from engine.authored import InvalidDocument, load_document, parse_document
from engine.facts.model import Observation, Reading, Scalar, Source
from facts_adapters.adapter import Context, EvidenceFile
from facts_adapters.documents import at
from facts_adapters.job._outcome import outcome
from facts_adapters.quoting import LineCounter
from knowledge import BUILTIN

EMITS = (
    *("host.pod_evicted", "host.oom_event", "host.node_lost", "host.pod_event", "job.cancelled", "job.restart"),
    *("job.finished", "job.process_exit", "job.scheduler_end", "job.rendezvous_incomplete", "job.placement"),
)
"""Kinds that the Kubernetes readers may yield."""

TEXT_KEPT = 200
MOST_BYTES = 64 << 20
"""Bytes of a JSON document that are read."""

MOST_YAML = 8 << 20
"""Characters of YAML that are read: its nodes take a hundred times their size."""

MOST_DOCUMENTS = 1_000
_DOCUMENT_END = re.compile(r"^---(?:[ \t].*)?$", re.MULTILINE)
_SOLID = re.compile(r"\S")


@dataclass(frozen=True, slots=True)
class ReasonRule:
    """A row of the table."""

    reason: re.Pattern[str]
    message: re.Pattern[str] | None
    kind: str
    constants: Mapping[str, Scalar]


@cache
def _rows(part: str) -> tuple[ReasonRule, ...]:
    profile = load_document(BUILTIN / "profiles" / "kubernetes_reasons.yaml").value
    return tuple(
        ReasonRule(
            re.compile(row["reason"]),
            re.compile(row["message"]) if "message" in row else None,
            str(row["emits"]),
            row.get("set", {}),
        )
        for row in profile[part]
    )


@dataclass(frozen=True, slots=True)
class ConditionRule:
    """A row of the table of node conditions."""

    type: re.Pattern[str]
    status: re.Pattern[str]
    kind: str
    constants: Mapping[str, Scalar]


@cache
def condition_rules() -> tuple[ConditionRule, ...]:
    """Which conditions of a node are abnormal in which status, and what follows."""
    profile = load_document(BUILTIN / "profiles" / "kubernetes_reasons.yaml").value
    return tuple(
        ConditionRule(re.compile(row["type"]), re.compile(row["status"]), str(row["emits"]), row.get("set", {}))
        for row in profile["nodes"]
    )


@dataclass(frozen=True, slots=True)
class Happening:
    """An event, the end of a container or a condition, with where it stands and when it was."""

    reason: str
    message: str
    source: Source
    pod: str = ""
    node: str | None = None
    when: Reading | None = None


def observe(happening: Happening, part: str = "events") -> Observation:
    """The fact that a happening states; ``host.pod_event`` where the table does not know the reason."""
    for row in _rows(part):
        found = row.message.search(happening.message) if row.message else None
        if row.reason.fullmatch(happening.reason) and (found or not row.message):
            fields = _fields(row.kind, happening) | dict(row.constants)
            if found and "exit_code" in found.groupdict():
                fields |= outcome(int(found["exit_code"]))
            return _made(row.kind, happening, fields)
    return _made("host.pod_event", happening, _fields("host.pod_event", happening))


def _fields(kind: str, happening: Happening) -> dict[str, Scalar]:
    text = happening.message[:TEXT_KEPT]
    if kind == "host.pod_event":
        return {"reason": happening.reason, "pod": happening.pod, "text": text}
    if kind == "host.pod_evicted":
        return {"reason": text or happening.reason, "pod": happening.pod}
    if kind == "host.node_lost":
        return {"reason": happening.reason, "reporter": "kubernetes"}
    if kind in ("host.oom_event", "job.process_exit"):
        return {"reporter": "kubernetes"}
    return {}


def _made(kind: str, happening: Happening, fields: dict[str, Scalar]) -> Observation:
    return Observation(kind, happening.source, fields, host=happening.node, when=happening.when)


def documents(file: EvidenceFile, context: Context) -> Iterator[tuple[Mapping[str, Any], int, str]]:
    """The items of a JSON or YAML list (or the one object) with the line that names each."""
    with file.open() as stream:
        text = stream.read(MOST_BYTES).decode("utf-8", "replace")
    try:
        content = _json(text) if text.lstrip()[:1] in "{[" else _yaml(file.path, text, context)
    except (ValueError, RecursionError) as error:
        context.warn(file.path, 1, f"neither JSON nor YAML: {str(error)[:TEXT_KEPT]}")
        return
    found = content.get("items", [content]) if isinstance(content, dict) else content
    position, lines = 0, LineCounter(text)
    for item in found if isinstance(found, list) else ():
        if isinstance(item, dict):
            name = str(at(item, "metadata", "name") or "")
            mark = name or str(item.get("message") or "")
            seen = text.find(mark, position) if mark else -1
            position = seen if seen >= 0 else position
            yield item, lines.at(position), name


def _json(text: str) -> Any:
    """One document, or several one behind the other as ``--watch -o json`` writes them."""
    decoder = json.JSONDecoder()
    found: list[Any] = []
    position = len(text) - len(text.lstrip())
    while position < len(text):
        value, position = decoder.raw_decode(text, position)
        found.append(value)
        following = _SOLID.search(text, position)
        position = following.start() if following else len(text)
    return found[0] if len(found) == 1 else {"items": found}


def _yaml(path: str, text: str, context: Context) -> Any:
    """The documents of a YAML file, read without tags, anchors or aliases and with bounded size and depth."""
    if len(text) > MOST_YAML:
        last = max(text.rfind("\n- ", 0, MOST_YAML), text.rfind("\n---", 0, MOST_YAML))
        context.warn(path, 1, f"only the first {MOST_YAML} characters of YAML are read")
        text = text[: max(last, 0)]
    found: list[Any] = []
    begin = 0
    for part in _DOCUMENT_END.split(text, maxsplit=MOST_DOCUMENTS):
        try:
            value = parse_document(part, path).value
            found += [value] if value is not None else []
        except InvalidDocument as error:
            problem = error.problems[0]
            context.warn(path, begin + problem.line, f"no YAML that can be read: {problem.message}")
        begin += part.count("\n") + 1
    items = [item for value in found for item in (value.get("items") or [value] if isinstance(value, dict) else [])]
    return {"items": items}


def stamp(value: Any, context: Context) -> Reading | None:
    """An RFC 3339 time as a reading."""
    return context.reading(str(value)) if value else None
