"""Writes the files of a new cause, with TODO where an expert has to think; the loader refuses them until then."""

from __future__ import annotations

from pathlib import Path

from engine.facts.vocabulary import BRANCHES
from engine.rules.loading import HEAD
from engine.rules.reader import CAUSE_ID

_LINE = "# yaml-language-server: $schema={schema}\n"

_CAUSE = """schema: 1
kind: cause
id: {cause}
owner: host                     # algorithm | platform | host | network: who takes the next step
title: {{en: "TODO", zh: "TODO"}}
summary:                        # what it is and how it shows, one to three sentences
  en: "TODO"
  zh: "TODO"
minimal_evidence:               # what a verdict needs at least
  - {{fact: {branch}.TODO, why: {{en: "TODO", zh: "TODO"}}}}
next_steps:
  - {{en: "TODO", zh: "TODO"}}
rollback:                       # the way back to a known good state
  - {{en: "TODO", zh: "TODO"}}
handover: {{en: "TODO", zh: "TODO"}}   # what the owner needs from us
references: ["TODO"]
"""

_EVIDENCE = """schema: 1
kind: evidence
cause: {cause}
verified: false                 # or {{on: ["library 1.2-1.4"], source: "document or source file"}}
rules:
  - id: todo-name-the-rule
    effect: supports            # supports | weakens | rules_out
    strength: moderate          # decisive (only where verified) | strong | moderate | weak
    when:
      - fact: {branch}.TODO     # `firstfault facts list` prints the kinds
        as: seen
      - fact: comm.collective_timeout
        as: timeout
        after: seen
        within: {{of: seen, s: 1800}}
    reason: {{en: "TODO {{seen.host}}", zh: "TODO {{seen.host}}"}}
    first: seen
    suspects: [seen.host]
examples:
  - name: TODO what happened
    facts:
      - {{kind: {branch}.TODO, at: 0, host: n1}}
      - {{kind: comm.collective_timeout, at: 600, host: n2, rank: 8}}
    expect: [todo-name-the-rule]
  - name: TODO near miss, the time-out came first
    facts:
      - {{kind: {branch}.TODO, at: 600, host: n1}}
      - {{kind: comm.collective_timeout, at: 0, host: n2, rank: 8}}
    expect: []
"""

_PACK = """schema: 1
name: {name}
version: "0.1.0"
"""


class CannotCreate(Exception):  # noqa: N818 - says what happened
    """The files cannot be written: the id has another form, or a file is there already."""


def new(cause: str, pack: Path) -> list[Path]:
    """Write leaf and evidence of a cause into a pack, making ``pack.yaml`` where there is none.

    Returns the files written. Raises :class:`CannotCreate` before anything is written.
    """
    if not CAUSE_ID.fullmatch(cause):
        raise CannotCreate(f"{cause!r} is not of the form branch.name; the branches are {', '.join(BRANCHES)}")
    branch, _, tail = cause.partition(".")
    leaf = pack / "tree" / branch / f"{tail}.yaml"
    evidence = pack / "evidence" / branch / f"{tail}.yaml"
    for path in (leaf, evidence):
        if path.exists():
            raise CannotCreate(f"{path} is there already")
    written = [leaf, evidence]
    if not (pack / HEAD).exists():
        written.insert(0, pack / HEAD)
        _write(pack / HEAD, _PACK.format(name=pack.resolve().name))
    _write(leaf, _modeline("cause", leaf, pack) + _CAUSE.format(cause=cause, branch=branch))
    _write(evidence, _modeline("evidence", evidence, pack) + _EVIDENCE.format(cause=cause, branch=branch))
    return written


def _modeline(kind: str, path: Path, pack: Path) -> str:
    """The line that tells editors the schema, where the pack stands beside the schemas."""
    schema = pack.resolve().parent / "schema" / f"{kind}.schema.json"
    if not schema.exists():
        return ""
    up = "../" * (len(path.relative_to(pack).parts) - 1)
    return _LINE.format(schema=f"{up}../schema/{kind}.schema.json")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
