"""The reference pages of the documentation, generated from what they describe.

Knowledge is read from a pack. Readers and commands belong to packages that the engine does not know, so they come in as
plain data. The same input gives the same bytes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from engine.facts.model import SECOND
from engine.facts.vocabulary import BRANCHES, KindSpec
from engine.report.markdown import code
from engine.rules.conditions import fact_kinds
from engine.rules.describe import condition_text, relation_texts
from engine.rules.model import AnyCondition, EvidenceRule, FactCondition, Leaf, Place, PropagationRule, Text
from engine.rules.pack import Pack

Form = Literal["file", "block", "signatures"]

COMPUTED: Mapping[str, str] = {
    "answer.given": "answers to the questionnaire",
    "causal.explained": "the [propagation rules](propagation.md)",
    "clock.zone": "text files whose lines carry both a local stamp and UTC",
    **dict.fromkeys(
        (
            "comm.collective",
            "comm.dump_missing",
            "comm.operation_mismatch",
            "comm.operation_stalled",
            "comm.rank_absent",
            "comm.rank_behind",
            "comm.wait_cycle",
            "host.nothing_collected",
        ),
        "the comparison of how far ranks came in their groups",
    ),
    "comm.log_stops": "the comparison of where the logs of ranks end",
    "comm.rank_silent": "the comparison of the ranks that report a time-out with those that do not",
    "compare.differs": "the comparison of settings across hosts or ranks",
    "coverage.source": "every file whose class is known",
}
"""Kinds that the program concludes itself, and from what."""

_COUNTERS = ("rise", "value", "idle", "saturated", "activity", "symptom")
_EFFECTS = {"supports": "for", "weakens": "against", "rules_out": "rules out"}
_STRENGTHS = ("decisive", "strong", "moderate", "weak")
_FORMS: Mapping[Form, str] = {
    "file": "Whole files",
    "block": "Records of several lines in text files",
    "signatures": "Single lines",
}
_LONGEST_SAMPLE = 220
_MOST_NAMED = 8

_CAUSES = """\
Every gate is an *or*: any one cause is enough for the top event. The owner takes the next step. What the words of
strength weigh is in [Rule format](rule-format.md#evidence-kind-evidence). In a reason, `{alias.field}` stands for a
value of the fact that matched; `firstfault rules show CAUSE/RULE` prints the conditions."""

_PROPAGATION = """\
Where a fact of the first kind and one of the second are related as stated, the second is a consequence of the first: it
is reported, but it can neither be the first fault nor confirm a cause. `after cause` asks for a certain order of the
onsets. Without it any order counts: such facts are one event seen twice, or the cause is often reported later than its
effect. All keys are in [Rule format](rule-format.md#propagation-kind-propagation)."""

_VOCABULARY = """\
The fact kinds. Besides its own fields every kind has the subject fields `job`, `host`, `rank`, `device`, `port` and
`peer`, each optional. Natures: a *fault* may be a first fault, a *symptom* is abnormal but never first, *state*,
*config* and *activity* are not abnormal by themselves, *coverage* says what was read, *derived* is concluded by rules.
`firstfault facts list --search WORD` searches this list."""

_ADAPTERS = """\
Files are recognised by what they hold, not by their names, and one file may have several readers. Samples are cut where
they are long. `firstfault adapters explain FILE` says who reads a file and why."""

_COMMANDS = """\
Every command has `-h, --help`. Data goes to standard output, progress and warnings go to standard error."""


@dataclass(frozen=True, slots=True)
class LineExample:
    """A line that a reader knows: the signature's id (empty for an adapter), the fact kind it yields, the line."""

    name: str
    kind: str
    line: str


@dataclass(frozen=True, slots=True)
class Reader:
    """An adapter, a block reader or a file of signatures.

    ``about`` is a sentence, ``coverage`` the class of its files, ``source`` its own file relative to the repository.
    """

    name: str
    form: Form
    branch: str
    emits: tuple[str, ...]
    examples: tuple[LineExample, ...]
    about: str = ""
    coverage: str | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class Option:
    """An option as it is typed (``-f, --format text|json``), and its meaning."""

    flags: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command with its arguments (``firstfault rules lint [PATHS]...``), its help and its own options."""

    name: str
    arguments: str
    about: str
    options: tuple[Option, ...] = ()


def pages(pack: Pack, readers: Sequence[Reader], commands: Sequence[Command]) -> dict[str, str]:
    """All pages by file name, each ending in a line end."""
    return {
        "adapters.md": adapters_page(readers),
        "causes.md": causes_page(pack),
        "cli.md": cli_page(commands),
        "propagation.md": propagation_page(pack),
        "vocabulary.md": vocabulary_page(pack, readers),
    }


# --- causes ---


def causes_page(pack: Pack) -> str:
    """The fault tree: branches, causes, and for each cause what proves it and what to do."""
    rules: dict[str, list[EvidenceRule]] = defaultdict(list)
    for rule in pack.evidence.values():
        rules[rule.cause].append(rule)
    by_branch = {branch: [leaf for leaf in pack.leaves.values() if leaf.branch == branch] for branch in BRANCHES}
    title = f"Fault tree: {_both(pack.tree.title)}" if pack.tree else "Fault tree"
    lines = _head(title, _CAUSES)
    lines += [
        f"- [{_branch(pack, branch)}](#{_anchor(_branch(pack, branch))}): {len(leaves)} causes"
        for branch, leaves in by_branch.items()
    ]
    for branch, leaves in by_branch.items():
        lines += ["", f"## {_branch(pack, branch)}", "", "| cause | | | owner |", "|---|---|---|---|"]
        lines += [_row(_link(leaf.id), _plain(leaf.title.en), _plain(leaf.title.zh), leaf.owner) for leaf in leaves]
        for leaf in leaves:
            lines += ["", *_cause(leaf, rules[leaf.id])]
    return _page(lines)


def _cause(leaf: Leaf, rules: Sequence[EvidenceRule]) -> Iterable[str]:
    phase = f" · phase: {leaf.phase}" if leaf.phase else ""
    yield from (f"### {leaf.id}", "", f"**{_both(leaf.title)}** · owner: {leaf.owner}{phase} · prior {leaf.prior:+g}")
    yield from ("", _plain(leaf.summary.en), "", "What a verdict needs at least:", "")
    yield from (f"- {_fact(kind)}: {_plain(why.en)}" for kind, why in leaf.minimal_evidence)
    if rules:
        yield from ("", "| | strength | rule | reason |", "|---|---|---|---|")
        order = sorted(rules, key=lambda r: (list(_EFFECTS).index(r.effect), _STRENGTHS.index(r.strength), r.id))
        for rule in order:
            name = code(rule.id.rpartition("/")[2]) + ("" if rule.verified else " (unverified)")
            yield _row(_EFFECTS[rule.effect], rule.strength, name, _plain(rule.reason.en))
    yield from _steps("Next steps", leaf.next_steps)
    yield from _steps("Back to a known good state", leaf.rollback)
    yield from ("", f"To hand over: {_plain(leaf.handover.en)}.".replace("..", "."))
    files = [_file(leaf.place), *sorted({_file(rule.place) for rule in rules})]
    references = [_reference(item) for item in leaf.references]
    yield from ("", f"Defined in {', '.join(files)}." + (f" See {'; '.join(references)}." if references else ""))


def _steps(title: str, steps: Sequence[Text]) -> Iterable[str]:
    if steps:
        yield from ("", f"{title}:", "", *(f"{number}. {_plain(step.en)}" for number, step in enumerate(steps, 1)))


def _reference(text: str) -> str:
    return f"<{text}>" if re.fullmatch(r"https?://\S+", text) else _plain(text)


# --- propagation ---


def propagation_page(pack: Pack) -> str:
    """What leads to what, by the branch of the cause."""
    lines = _head("Propagation", _PROPAGATION)
    for branch in (*BRANCHES, "common"):
        rules = [rule for rule in pack.propagation.values() if _branch_of(rule, pack) == branch]
        if rules:
            lines += ["", f"## {_branch(pack, branch)}"]
        for rule in rules:
            lines += ["", *_propagation(rule)]
    return _page(lines)


def _branch_of(rule: PropagationRule, pack: Pack) -> str:
    first = rule.when[0]
    return pack.vocabulary[first.kind].branch if isinstance(first, FactCondition) else "common"


def _propagation(rule: PropagationRule) -> Iterable[str]:
    yield from (f"### {rule.id}", "", f"{_plain(rule.reason.en)}.  ", f"{_plain(rule.reason.zh)}。", "")
    for position, label in enumerate(("from", "to")):
        condition = rule.when[position]
        if isinstance(condition, AnyCondition):
            continue
        choices = [when[position] for when in (rule.when, *rule.variants)]
        kinds = dict.fromkeys(_fact(item.kind) for item in choices if not isinstance(item, AnyCondition))
        yield f"- {label} {' or '.join(kinds)}{''.join(f', {_plain(text)}' for text in relation_texts(condition))}"
    yield from (f"- and {_plain(condition_text(condition))}" for condition in rule.when[2:])
    yield from ("", f"Defined in {_file(rule.place)}" + ("." if rule.verified else ", unverified."))


# --- vocabulary ---


def vocabulary_page(pack: Pack, readers: Sequence[Reader]) -> str:
    """Every fact kind: what it says, its fields, who reads it, how to collect it, which causes ask for it."""
    sources = _sources(pack, readers)
    users: dict[str, set[str]] = defaultdict(set)
    for rule in pack.evidence.values():
        for kind in fact_kinds(rule.when, *rule.variants):
            users[kind].add(rule.cause)
    lines = _head("Vocabulary", _VOCABULARY)
    for branch in (*BRANCHES, "common"):
        kinds = [spec for _, spec in sorted(pack.vocabulary.kinds.items()) if spec.branch == branch]
        lines += ["", f"## {_branch(pack, branch)}", "", "| fact | nature | |", "|---|---|---|"]
        lines += [_row(_link(spec.kind), spec.nature, _plain(spec.meaning_en)) for spec in kinds]
        for spec in kinds:
            lines += ["", *_kind(spec, sources.get(spec.kind, ()), sorted(users[spec.kind]))]
    return _page(lines)


def _kind(spec: KindSpec, sources: Sequence[str], causes: Sequence[str]) -> Iterable[str]:
    yield from (f"### {spec.kind}", "", f"*{spec.nature}* · {_plain(spec.meaning_en)} · {_plain(spec.meaning_zh)}")
    if spec.fields:
        yield from ("", "| field | type | meaning | |", "|---|---|---|---|")
        for name, item in spec.fields.items():
            kind = item.type + (f", {item.unit}" if item.unit else "")
            meaning = _plain(item.meaning_en) + (f": {', '.join(map(code, item.values))}" if item.values else "")
            yield _row(code(name), kind, meaning, _plain(item.meaning_zh))
    yield from ("", f"- from: {'; '.join(sources) or 'nothing reads this kind yet'}")
    if spec.lag != (0, 0):
        yield f"- began {spec.lag[0] / SECOND:g} to {spec.lag[1] / SECOND:g} s before its report"
    if spec.absence:
        yield f"- its absence is known where a source of class `{spec.absence}` covers the time"
    if spec.compare:
        yield f"- `{spec.compare.value}` is compared across {spec.compare.across}s: {_fact('compare.differs')}"
    if spec.collect and (spec.collect.en or spec.collect.command):
        command = f": {code(spec.collect.command, 1000)}" if spec.collect.command else ""
        yield f"- to collect ({spec.collect.who}): {_plain(spec.collect.en)}{command}"
    if causes:
        yield f"- used by the rules of {', '.join(f'[{cause}](causes.md#{_anchor(cause)})' for cause in causes)}"


def _sources(pack: Pack, readers: Sequence[Reader]) -> dict[str, list[str]]:
    """For each kind what yields it, in words with links."""
    found: dict[str, list[str]] = defaultdict(list)
    for reader in readers:
        link = f"[{reader.name}](adapters.md#{_anchor(reader.name)})"
        for kind in reader.emits:
            names = list(dict.fromkeys(code(example.name) for example in reader.examples if example.kind == kind))
            if reader.form != "signatures" or not names:
                found[kind].append(link)
            else:
                more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
                found[kind].append(f"{link} ({', '.join(names[:_MOST_NAMED])}{more})")
    for question in pack.questions:
        for kind in dict.fromkeys(answer.emits for answer in question.answers if answer.emits):
            found[kind].append(f"question {code(question.id)}")
    for kind in pack.vocabulary.kinds:
        if kind in COMPUTED:
            found[kind].insert(0, COMPUTED[kind])
        if kind.partition(".counter_")[2] in _COUNTERS:
            found[kind].insert(0, "counters, judged by the profile `counters`")
    return found


# --- adapters ---


def adapters_page(readers: Sequence[Reader]) -> str:
    """Everything that can be read: adapters, block readers and signatures, each with a sample line."""
    lines = _head("Adapters and signatures", _ADAPTERS)
    for form, title in _FORMS.items():
        chosen = [reader for reader in readers if reader.form == form]
        lines += ["", f"## {title}", "", "| | branch | |", "|---|---|---|"]
        lines += [_row(_link(item.name), item.branch, _plain(item.about, keep_code=True)) for item in chosen]
        for reader in chosen:
            lines += ["", *_reader(reader)]
    return _page(lines)


def _reader(reader: Reader) -> Iterable[str]:
    yield from (f"### {reader.name}", "")
    if reader.about:
        yield from (_plain(reader.about, keep_code=True), "")
    if reader.form == "signatures":
        yield from ("| signature | fact | sample |", "|---|---|---|")
        for example in reader.examples:
            yield _row(code(example.name), _fact(example.kind), code(example.line, _LONGEST_SAMPLE))
    else:
        yield f"- yields {', '.join(map(_fact, reader.emits))}"
        if reader.coverage:
            yield f"- covers the class `{reader.coverage}`"
        yield from (f"- begins for example with {code(example.line, _LONGEST_SAMPLE)}" for example in reader.examples)
    if reader.source:
        yield from ("", f"Defined in [{reader.source}](../../{reader.source}).")


# --- commands ---


def cli_page(commands: Sequence[Command]) -> str:
    """All commands with their arguments and options."""
    lines = _head("Command line", _COMMANDS)
    for command in commands:
        lines += ["", f"## {command.name}", "", f"    {command.name} {command.arguments}".rstrip()]
        lines += ["", *(f"{_plain(part)}\n" for part in command.about.split("\n\n") if part.strip())]
        lines[-1] = lines[-1].rstrip("\n")
        if command.options:
            lines += ["", "| option | meaning |", "|---|---|"]
            lines += [_row(code(option.flags), _plain(option.meaning)) for option in command.options]
    return _page(lines)


# --- Markdown ---


def _head(title: str, intro: str) -> list[str]:
    return [f"# {title}", "", "<!-- generated by `make docs`; do not edit -->", "", intro, ""]


def _page(lines: Iterable[str]) -> str:
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def _row(*cells: str) -> str:
    return "| " + " | ".join(re.sub(r"(?<!\\)\|", r"\\|", cell) for cell in cells) + " |"


def _plain(text: str, *, keep_code: bool = False) -> str:
    """Text on one line that Markdown shows as it is; with ``keep_code`` its code spans stay."""
    joined = " ".join(text.replace("``", "`").split())
    parts = re.split(r"(`[^`]+`)", joined) if keep_code else [joined]
    return "".join(part if part.startswith("`") and keep_code else _escape(part) for part in parts)


def _escape(text: str) -> str:
    return re.sub(r"([\\`*\[\]])", r"\\\1", text).replace("<", "&lt;")


def _both(text: Text) -> str:
    return f"{_plain(text.en)} · {_plain(text.zh)}"


def _anchor(heading: str) -> str:
    """The anchor that forges give a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _link(heading: str) -> str:
    return f"[{heading}](#{_anchor(heading)})"


def _fact(kind: str) -> str:
    return f"[{kind}](vocabulary.md#{_anchor(kind)})"


def _branch(pack: Pack, branch: str) -> str:
    found = [item.title for item in pack.tree.branches if item.id == branch] if pack.tree else []
    return _both(found[0]) if found else branch.capitalize()


def _file(place: Place) -> str:
    """The file of a definition, linked from ``docs/reference``."""
    path = f"knowledge/builtin/{place.path.rpartition('knowledge/builtin/')[2]}"
    return f"[{path}](../../{path})"
