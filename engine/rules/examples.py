"""Runs the examples of rule files."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from engine.authored.document import Document
from engine.authored.problem import Problem, listed, render_all
from engine.facts.model import SECOND, SUBJECT_FIELDS, Fact, Source, Span
from engine.facts.vocabulary import COVERAGE_KIND, Vocabulary
from engine.rules.conditions import EXPLAINED, fact_kinds, needs_propagation
from engine.rules.lint import concerns, roots_for
from engine.rules.loading import EvidenceFile, Loaded, load
from engine.rules.model import Example, FactCondition, PropagationRule, Rule
from engine.rules.pack import compile_propagation
from engine.rules.reader_examples import PAIR, read_examples
from engine.rules.try_rule import Infer, render_trial, try_rule
from knowledge import BUILTIN

EPOCH = 1_767_225_600 * SECOND
"""Second 0 of examples: 2026-01-01T00:00:00Z."""


@dataclass(slots=True)
class ExampleRun:
    """What came of the examples: how many ran in how many files, and a problem for each that failed."""

    files: int = 0
    examples: int = 0
    problems: list[Problem] = field(default_factory=list)


def run_examples(
    paths: Sequence[Path] = (),
    packs: Sequence[Path] = (),
    *,
    infer: Infer | None = None,
    select: str = "",
    builtin: Path = BUILTIN,
) -> ExampleRun:
    """Run the examples of all rule files, or of those in ``paths``; ``select`` keeps those whose name or id holds it.

    ``infer`` is ``engine.inference.infer``, which it is where none is given. Examples of a file with errors are not
    run; its errors are among the problems.
    """
    loaded = load(roots_for(paths, packs, builtin), examples=True)
    errors = [problem for problem in loaded.problems if problem.level == "error"]
    broken = {problem.path for problem in errors}
    run = ExampleRun(problems=[problem for problem in errors if concerns(problem.path, paths)])
    runner = _Runner(loaded, infer or _inference())
    for cause in sorted(loaded.evidence):
        file = loaded.evidence[cause]
        if file.document.path not in broken and concerns(file.document.path, paths):
            runner.evidence(file, run, select)
    for name in sorted(loaded.propagation):
        rule, document = loaded.propagation[name]
        if document.path not in broken and concerns(document.path, paths):
            runner.propagation(rule, document, run, select)
    run.problems.sort()
    return run


def run_and_render(paths: Sequence[Path] = (), packs: Sequence[Path] = ()) -> tuple[list[str], bool]:
    """Run examples for the terminal: the lines to show, and whether something failed."""
    run = run_examples(paths, packs)
    lines = render_all(run.problems).splitlines()
    counted = f"{run.examples} examples in {run.files} files"
    failed = sum(problem.code == "FF243" for problem in run.problems)
    return [*lines, f"{counted}: {f'{failed} failed' if failed else 'all as expected'}"], bool(run.problems)


def _inference() -> Infer:
    """The layer above this one; taken at run time so that rules can be read without it."""
    found: Infer = importlib.import_module("engine.inference").infer
    return found


class _Runner:
    def __init__(self, loaded: Loaded, infer: Infer) -> None:
        self.vocabulary = loaded.vocabulary
        self.infer = infer
        self.relations = [
            rule for propagation, _ in loaded.propagation.values() for rule in compile_propagation(propagation)
        ]

    def evidence(self, file: EvidenceFile, run: ExampleRun, select: str) -> None:
        names = {rule.id.rpartition("/")[2]: rule for rule in file.rules}
        examples, sheet = read_examples(file.document, self.vocabulary, names)
        if sheet.problems:
            run.problems += sheet.problems
            return
        run.files += 1
        context = self.relations if any(needs_propagation(rule.when, *rule.variants) for rule in file.rules) else []
        rules = [Rule(rule.id, when) for rule in file.rules for when in (rule.when, *rule.variants)]
        for index, example in enumerate(examples):
            if select and select not in example.name and not any(select in rule.id for rule in file.rules):
                continue
            run.examples += 1
            facts = facts_of(example.facts, self.vocabulary)
            kinds = {fact.kind for fact in facts}
            used = [rule for rule in context if fact_kinds(rule.when) <= kinds]
            found = self._inferred([*used, *rules], facts, run, file.document)
            if found is None:
                return
            fired = {firing.rule_id.rpartition("/")[2] for firing in found.firings} & names.keys()
            notes: list[str] = []
            for name in sorted(set(example.expect) - fired):
                notes += render_trial(try_rule(names[name], facts, self.vocabulary, self.infer, context))
            for name in sorted(fired - set(example.expect)):
                notes += render_trial(try_rule(names[name], facts, self.vocabulary, self.infer, context))
            _report(run, file.document, index, example, set(example.expect), fired, notes)

    def _inferred(self, rules: Sequence[Rule], facts: Sequence[Fact], run: ExampleRun, document: Document) -> Any:
        """The result of inference; where it refuses the rules a problem and ``None``."""
        try:
            return self.infer(rules, facts, self.vocabulary, backend="reference")
        except ValueError as error:
            run.problems.append(
                document.problem("FF244", (), "inference refuses the rules of this file", reason=str(error))
            )
            return None

    def propagation(self, rule: PropagationRule, document: Document, run: ExampleRun, select: str) -> None:
        examples, sheet = read_examples(document, self.vocabulary, None)
        if sheet.problems:
            run.problems += sheet.problems
            return
        run.files += 1
        rules = compile_propagation(rule)
        for index, example in enumerate(examples):
            if select and select not in example.name and select not in rule.id:
                continue
            run.examples += 1
            facts = facts_of(example.facts, self.vocabulary)
            kinds = {fact.id: fact.kind for fact in facts}
            found = self._inferred(rules, facts, run, document)
            if found is None:
                return
            fired = {
                f"{kinds[derived.fields['cause']]}{PAIR}{kinds[derived.fields['effect']]}"
                for derived in found.derived
                if derived.kind == EXPLAINED
            }
            notes: list[str] = []
            for pair in sorted(set(example.expect) - fired):
                notes += render_trial(try_rule(_only(rule, pair), facts, self.vocabulary, self.infer))
            _report(run, document, index, example, set(example.expect), fired, notes)


def _only(rule: PropagationRule, pair: str) -> PropagationRule:
    """The variants of a propagation that lead from one kind to the other."""
    kept = [
        when
        for when in (rule.when, *rule.variants)
        if isinstance(when[0], FactCondition) and isinstance(when[1], FactCondition)
        if f"{when[0].kind}{PAIR}{when[1].kind}" == pair
    ]
    return replace(rule, when=kept[0], variants=tuple(kept[1:])) if kept else rule


def _report(
    run: ExampleRun,
    document: Document,
    index: int,
    example: Example,
    expected: set[str],
    fired: set[str],
    notes: Sequence[str],
) -> None:
    missing, extra = expected - fired, fired - expected
    if not missing and not extra:
        return
    parts = [f"missing {listed(missing)}"] if missing else []
    parts += [f"unexpected {listed(extra)}"] if extra else []
    problem = document.problem(
        "FF243",
        ("examples", index, "expect"),
        f'example "{example.name}": {", ".join(parts)}',
        where=f"example {index + 1}",
    )
    run.problems.append(replace(problem, notes=tuple(notes)))


def facts_of(notation: Sequence[Mapping[str, Any]], vocabulary: Vocabulary) -> list[Fact]:
    """Facts from the notation of examples, with the ids f1, f2, … in their order."""
    return [_fact(number, given, vocabulary) for number, given in enumerate(notation, 1)]


def _fact(number: int, given: Mapping[str, Any], vocabulary: Vocabulary) -> Fact:
    spec = vocabulary[given["kind"]]
    own = {
        name: float(given[name]) if field.type == "float" else given[name]
        for name, field in spec.fields.items()
        if name in given
    }
    subject = {name: given[name] for name in SUBJECT_FIELDS if name in given}
    marks = {key: value for key, value in given.items() if key not in own and key not in subject}
    span = _span(marks, spec.kind)
    line = marks.get("line")
    rank = subject.get("rank")
    return Fact(
        id=f"f{number}",
        kind=spec.kind,
        fields=own,
        source=Source(marks.get("file", f"fact-{number}"), line or 1),
        ranks=tuple(marks.get("ranks", () if rank is None else (rank,))),
        reported=span,
        onset=span,
        local=span,
        clock=marks.get("clock", f"host {subject.get('host', '')}"),
        sequence=line if "file" in marks else None,
        scope=marks.get("scope", "incident"),
        adapter="example",
        **subject,
    )


def _span(marks: Mapping[str, Any], kind: str) -> Span:
    if "from" in marks or "to" in marks or (kind == COVERAGE_KIND and "at" not in marks):
        return Span(_moment(marks.get("from")), _moment(marks.get("to")))
    at = marks.get("at", "unknown")
    if at == "unknown":
        return Span()
    earliest, latest = at if isinstance(at, list) else (at, at)
    return Span(_moment(earliest), _moment(latest))


def _moment(seconds: float | None) -> int | None:
    return None if seconds is None else EPOCH + round(seconds * SECOND)
