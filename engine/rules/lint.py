"""Checks beyond what loading needs: examples of each rule, and the pack as a whole."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from engine.authored.codes import CODES
from engine.authored.document import Document
from engine.authored.problem import Problem, did_you_mean, listed
from engine.authored.sheet import Sheet
from engine.rules.conditions import fact_kinds
from engine.rules.lint_meaning import meaning_problems
from engine.rules.lint_pack import pack_problems
from engine.rules.loading import HEAD, Loaded, load, shown
from engine.rules.model import Condition, EvidenceRule, Example, FactCondition, PropagationRule
from engine.rules.pack import cause_problems
from engine.rules.reader_examples import PAIR, read_examples
from knowledge import BUILTIN


def lint(
    paths: Sequence[Path] = (),
    packs: Sequence[Path] = (),
    emitted: Collection[str] | None = None,
    *,
    today: dt.date | None = None,
    builtin: Path = BUILTIN,
) -> list[Problem]:
    """All problems of the built-in pack and ``packs``, sorted; only those in ``paths`` where some are given.

    A path outside these packs is read as part of the pack it lies in, or as a pack of its own. ``emitted`` are the
    fact kinds that adapters yield; without it kinds that nothing emits are not reported. ``today`` decides which
    suppressions have run out.
    """
    loaded = load(roots_for(paths, packs, builtin), examples=True)
    problems = [*loaded.problems, *cause_problems(loaded), *_example_problems(loaded)]
    whole = not any(problem.level == "error" for problem in problems)
    if whole:
        problems += [*pack_problems(loaded, emitted), *meaning_problems(loaded)]
    problems = suppressed(problems, _documents(loaded), today)
    return sorted({problem for problem in problems if concerns(problem.path, paths)})


def roots_for(paths: Sequence[Path], packs: Sequence[Path], builtin: Path = BUILTIN) -> list[Path]:
    """The built-in pack, ``packs``, and whatever else is needed so that every path is read."""
    roots = [builtin, *packs]
    for path in paths:
        if any(_inside(path, root) for root in roots):
            continue
        roots.append(next((parent for parent in (path, *path.resolve().parents) if (parent / HEAD).is_file()), path))
    return roots


def _inside(path: Path, root: Path) -> bool:
    return path.resolve() == root.resolve() or root.resolve() in path.resolve().parents


def concerns(name: str, paths: Sequence[Path]) -> bool:
    """Whether a file, as problems show it, is one of ``paths`` or below one; every file where there are none."""
    wanted = [shown(path) for path in paths]
    return not wanted or any(path in (name, ".") or name.startswith(f"{path}/") for path in wanted)


def _documents(loaded: Loaded) -> list[Document]:
    documents = [document for document, _ in loaded.vocabulary_files]
    documents += [file.document for file in loaded.evidence.values()]
    for table in (loaded.leaves, loaded.propagation, loaded.questions):
        documents += [document for _, document in table.values()]
    if loaded.tree is not None:
        documents.append(loaded.tree[1])
    return documents


def _example_problems(loaded: Loaded) -> list[Problem]:
    problems: list[Problem] = []
    for file in loaded.evidence.values():
        names = [rule.id.rpartition("/")[2] for rule in file.rules]
        examples, sheet = read_examples(file.document, loaded.vocabulary, names)
        problems += sheet.problems
        if not sheet.problems:
            problems += _unproven(file.document, file.rules, examples)
    for rule, document in loaded.propagation.values():
        examples, sheet = read_examples(document, loaded.vocabulary, None)
        problems += sheet.problems
        if not sheet.problems:
            problems += _unproven_relation(document, rule, examples)
    return problems


def _unproven(document: Document, rules: Sequence[EvidenceRule], examples: Sequence[Example]) -> list[Problem]:
    """Rules that no example shows at work, or none shows at rest although it has facts of their kinds."""
    sheet = Sheet(document)
    for index, rule in enumerate(rules):
        name = rule.id.rpartition("/")[2]
        sheet.where = f"rule {name}"
        if not any(name in example.expect for example in examples):
            sheet.fail("FF240", ("rules", index), "no example expects this rule", hint=f"Add one with expect: [{name}]")
        kinds = fact_kinds(rule.when, *rule.variants)
        if not kinds:
            continue  # its conditions could not be read
        others = [example for example in examples if name not in example.expect]
        if not any(_touches(example, kinds) or _always_matches(rule.when) for example in others):
            sheet.fail(
                "FF241", ("rules", index), "no example is a near miss of this rule",
                reason=f"a near miss has facts of {listed(kinds)} and does not expect the rule",
                hint="Add one that differs from the match in the one point that matters",
            )  # fmt: skip
    return sheet.problems


def _unproven_relation(document: Document, rule: PropagationRule, examples: Sequence[Example]) -> list[Problem]:
    sheet = Sheet(document)
    sheet.where = f"propagation {rule.id}"
    if not any(example.expect for example in examples):
        sheet.fail(
            "FF240",
            ("examples",),
            "no example expects this propagation",
            key=True,
            hint="Add one with expect: [[cause kind, effect kind]]",
        )
    if all(example.expect for example in examples):
        sheet.fail("FF241", ("examples",), "no example is a near miss", key=True, hint="Add one with expect: []")
    pairs = {
        f"{when[0].kind}{PAIR}{when[1].kind}"
        for when in (rule.when, *rule.variants)
        if len(when) > 1 and isinstance(when[0], FactCondition) and isinstance(when[1], FactCondition)
    }
    for index, example in enumerate(examples):
        for position, pair in enumerate(example.expect):
            if pair not in pairs:
                sheet.fail(
                    "FF242",
                    ("examples", index, "expect", position),
                    f"the propagation does not lead from {pair.replace(PAIR, ' to ')}",
                )
    return sheet.problems


def _touches(example: Example, kinds: set[str]) -> bool:
    return any(fact["kind"] in kinds for fact in example.facts)


def _always_matches(when: Sequence[Condition]) -> bool:
    """A single condition without tests matches every fact of its kind: a near miss cannot have one."""
    condition = when[0] if len(when) == 1 else None
    return isinstance(condition, FactCondition) and not (condition.tests or condition.unexplained or condition.count)


def suppressed(problems: Iterable[Problem], documents: Sequence[Document], today: dt.date | None) -> list[Problem]:
    """``problems`` without those that their own file says to ignore, and with what is wrong with its saying so."""
    ignored: set[tuple[str, str]] = set()
    found: list[Problem] = []
    for document in {document.path: document for document in documents}.values():
        sheet = Sheet(document)
        if isinstance(document.value, dict) and "lint" in document.value:
            ignored |= {(document.path, code) for code in _ignored_codes(sheet, document.value["lint"], today)}
        found += sheet.problems
    return [p for p in problems if (p.path, p.code) not in ignored] + found


def _ignored_codes(sheet: Sheet, value: Any, today: dt.date | None) -> list[str]:
    entry = sheet.mapping(value, ("lint",), "lint", ("ignore",))
    codes = []
    for index, given in enumerate(
        sheet.sequence((entry or {}).get("ignore", []), ("lint", "ignore"), "ignore", least=0)
    ):
        path = ("lint", "ignore", index)
        item = sheet.mapping(given, path, "a suppression", ("code", "reason"), ("until",))
        if item is None or not {"code", "reason"} <= item.keys():
            continue
        code = item["code"]
        sheet.string(item["reason"], (*path, "reason"), "reason")
        if code not in CODES:
            sheet.fail("FF260", (*path, "code"), f'unknown code "{code}"', label=did_you_mean(code, CODES))
        elif not CODES[code].ignorable:
            sheet.fail(
                "FF260",
                (*path, "code"),
                f"{code} cannot be ignored",
                reason="the file cannot be used while it has this problem",
            )
        elif "until" in item and _past(sheet, item["until"], (*path, "until"), today):
            sheet.fail(
                "FF261", (*path, "until"), f"the suppression of {code} ran out on {item['until']}", level="warning"
            )
        else:
            codes.append(code)
    return codes


def _past(sheet: Sheet, value: Any, path: tuple[str | int, ...], today: dt.date | None) -> bool:
    try:
        end = dt.date.fromisoformat(value)
    except (TypeError, ValueError):
        sheet.fail("FF260", path, "until is a date such as 2027-01-31")
        return False
    return today is not None and today > end
