"""The command line: options and wiring only.

The path of one incident is in :class:`Investigation`: bundle, facts, timeline, inference, diagnosis, report.
Heavy modules are imported by the commands that need them, so that ``--help`` stays fast.
"""

from __future__ import annotations

import functools
import gc
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import click

from firstfault import __version__

if TYPE_CHECKING:
    from rich.console import Console

    from engine.diagnosis.model import Diagnosis
    from engine.facts.collectives import GroupState
    from engine.facts.manifest import Manifest
    from engine.facts.model import CounterSample, Observation
    from engine.facts.timeline import Timeline
    from engine.inference import Engine
    from engine.rules.pack import Pack
    from facts_adapters.discovery import Forced

FORMATS = ("text", "json", "jsonl", "markdown", "html", "dot", "svg")
BACKENDS = ("durable", "reference", "both")
OUTCOMES = ("cause_found", "candidates")

YOUNG = 100_000
"""Objects made before the collector of cycles looks at them: knowledge and facts are many, and hold no cycles."""

EXIT_FINDINGS, EXIT_INPUT, EXIT_PACK, EXIT_INCOMPLETE, EXIT_INTERNAL, EXIT_INTERRUPTED = 1, 2, 3, 4, 70, 130

Command = TypeVar("Command", bound=Callable[..., Any])


class Program(click.Group):
    """A group whose errors are one clear message each and whose exit codes are those of the documentation."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run; every way out is ``SystemExit`` with a documented code."""
        if sys.stdout is None or sys.stderr is None:  # started with a closed stream
            sys.exit(EXIT_INPUT)
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")
        extra["standalone_mode"] = False
        try:
            code = self._run(*args, **extra)
            sys.stdout.flush()
            sys.exit(code)
        except click.exceptions.Exit as leave:
            sys.exit(leave.exit_code)
        except click.ClickException as error:
            error.show()
            sys.exit(EXIT_INPUT)
        except (KeyboardInterrupt, click.Abort):
            click.echo("interrupted", err=True)
            sys.exit(EXIT_INTERRUPTED)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(0)
        except OSError as error:
            click.echo(f"Error: {error.filename or 'input or output'}: {error.strerror or error}", err=True)
            sys.exit(EXIT_INPUT)
        except Exception as error:
            if "--debug" in sys.argv:
                traceback.print_exc()
            click.echo(f"firstfault: internal error: {type(error).__name__}: {error}", err=True)
            click.echo("`firstfault --debug …` shows the traceback; please report it.", err=True)
            sys.exit(EXIT_INTERNAL)

    def _run(self, *args: Any, **extra: Any) -> int:
        try:
            result = super().main(*args, **extra)
        except SystemExit:  # only on a closed pipe, which the reader of the output chose
            return 0
        return result if isinstance(result, int) else 0


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="firstfault")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colour on the terminal.")
@click.option("--debug", is_flag=True, help="Show tracebacks of internal errors.")
@click.pass_context
def main(context: click.Context, color: str, debug: bool) -> None:
    """Find the first fault behind a multi-node training timeout.

    Exit codes: 0 done, 1 findings where asked for, 2 usage or unreadable input, 3 invalid knowledge pack,
    4 incomplete under --strict, 70 internal error, 130 interrupted.
    """
    del debug
    wanted = {"always": True, "never": False}.get(color)
    if wanted is None and os.environ.get("NO_COLOR"):
        wanted = False
    if wanted is None and os.environ.get("FORCE_COLOR"):
        wanted = True
    context.color = wanted


def language_option(command: Command) -> Command:
    """``--lang``."""
    return click.option("--lang", type=click.Choice(["en", "zh"]), default="en", help="Language.")(command)


def pack_option(command: Command) -> Command:
    """``--pack``."""
    folder = click.Path(path_type=Path, exists=True, file_okay=False)
    return click.option("--pack", "packs", multiple=True, type=folder, help="Overlay pack (folder).")(command)


def knowledge_options(command: Command) -> Command:
    """Options of every command that diagnoses."""
    engine = click.option(
        "--engine", "backend", type=click.Choice(BACKENDS), default="durable", help="Inference backend."
    )
    return language_option(pack_option(engine(command)))


class Investigation:
    """Knowledge, readers and engine, loaded once; diagnoses one bundle after another."""

    def __init__(self, packs: Sequence[Path], backend: str) -> None:
        gc.set_threshold(YOUNG)
        from engine.diagnosis.diagnose import rules_of
        from engine.facts.counters import read_profile
        from engine.inference import Engine
        from facts_adapters.counter_maps.site import with_packs
        from facts_adapters.reader import text_reader

        self.pack: Pack = load_knowledge(packs)
        self.engine: Engine = Engine(rules_of(self.pack), self.pack.vocabulary, backend=backend)  # type: ignore[arg-type]
        self.counters = read_profile(self.pack.profiles.get("counters", {}))
        self.reader = text_reader(self.pack.vocabulary, [root / "signatures" for root in self.pack.roots])
        self.adapters = with_packs(packs)
        gc.freeze()  # what was loaded stays to the end

    def timeline(
        self, bundle: Path | None, answers: Mapping[str, str], forced: Sequence[Forced] = ()
    ) -> tuple[Timeline, Manifest, tuple[str, ...]]:
        """Read a bundle (or none) and place its facts; the warnings are those of reading."""
        from engine.facts.manifest import Manifest
        from engine.facts.timeline import build_timeline

        manifest = Manifest(id="questionnaire")
        readings: list[Observation | CounterSample | GroupState] = []
        warnings: list[str] = []
        if bundle is not None:
            from facts_adapters.bundle import UnreadableBundle
            from facts_adapters.reader import read_bundle

            refuse_archive(bundle)
            try:
                result = read_bundle(bundle, forced=forced, reader=self.reader, adapters=self.adapters)
            except UnreadableBundle as error:
                raise click.ClickException(str(error)) from error
            manifest = result.manifest
            warnings += map(str, result.warnings)
            readings += result.readings
        for question, answer in manifest.answers.items():
            readings += self.answered({question: answer}, warnings)
        readings += self.answered(answers, None)
        timeline = build_timeline(readings, self.pack.vocabulary, manifest, self.counters, self.pack.profiles)
        return timeline, manifest, tuple(warnings)

    def answered(self, answers: Mapping[str, str], warnings: list[str] | None) -> list[Observation]:
        """The facts that answers state; an unknown answer is a warning, or an error where ``warnings`` is ``None``."""
        from engine.questions.answers import UnknownAnswerError, observations_of

        try:
            return observations_of(answers, self.pack.questions, self.pack.vocabulary)
        except UnknownAnswerError as error:
            if warnings is None:
                raise click.ClickException(str(error)) from error
            warnings.append(f"answers in incident.yaml: {error}")
            return []

    def diagnose(
        self, bundle: Path | None, answers: Mapping[str, str] | None = None, forced: Sequence[Forced] = ()
    ) -> Diagnosis:
        """The diagnosis of one bundle."""
        from engine.diagnosis.diagnose import diagnose

        timeline, manifest, warnings = self.timeline(bundle, answers or {}, forced)
        return diagnose(timeline, manifest, self.pack, self.engine, warnings)

    def report(self, diagnosis: Diagnosis, language: str) -> dict[str, Any]:
        """The report as plain data."""
        from engine.report.contract import to_report

        return to_report(diagnosis, self.pack.vocabulary, language, __version__)


def refuse_archive(bundle: Path) -> None:
    """A folder that holds several incidents is no bundle: their evidence must not be mixed."""
    from engine.archive.incidents import MANIFEST, find_incidents

    if bundle.is_dir() and not (bundle / MANIFEST).exists():
        below = [path for path in find_incidents(bundle) if (path / MANIFEST).exists()]
        if len(below) > 1:
            raise click.UsageError(f"{bundle} holds {len(below)} incidents; `firstfault batch {bundle}` diagnoses each")


def load_knowledge(packs: Sequence[Path]) -> Pack:
    """The built-in pack with overlays; an invalid one ends the program with its problems and exit code 3."""
    from engine.authored.problem import render_all
    from engine.rules.pack import InvalidPack, load_packs

    try:
        return load_packs(packs)
    except InvalidPack as error:
        click.echo(render_all(error.problems), err=True)
        raise click.exceptions.Exit(EXIT_PACK) from error


def unknown(what: str, name: str, pack: Pack) -> click.UsageError:
    """The error for a name that nothing has, with the nearest one that something has."""
    from engine.authored.problem import did_you_mean

    hint = did_you_mean(name, [*pack.leaves, *pack.evidence, *pack.propagation])
    return click.UsageError(f"{name!r} is no {what}. {hint or '`firstfault rules list` shows all'}")


def pairs(_context: click.Context, option: click.Parameter, values: Sequence[str]) -> dict[str, str]:
    """``NAME=VALUE`` options as a mapping."""
    found: dict[str, str] = {}
    for value in values:
        name, separator, rest = value.partition("=")
        if not separator or not name or not rest:
            raise click.BadParameter(f"{value!r} is not NAME=VALUE", param=option)
        found[name] = rest
    return found


@main.command()
@click.argument("bundles", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="BUNDLE...")
@click.option("-f", "--format", "form", type=click.Choice(FORMATS), default="text", help="Output format.")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to a file.")
@click.option("--force", is_flag=True, help="Overwrite the output file.")
@click.option(
    "--answer", "answers", multiple=True, callback=pairs, metavar="QUESTION=ANSWER", help="Answer a question."
)
@click.option("--adapter", "forced", multiple=True, callback=pairs, metavar="NAME=GLOB", help="Force an adapter.")
@click.option("--fail-on", type=click.Choice(OUTCOMES), help="Exit 1 where the outcome is this or surer.")
@click.option("--strict", is_flag=True, help="Exit 4 where files were not read or the evidence is insufficient.")
@knowledge_options
@click.pass_context
def diagnose(
    context: click.Context,
    bundles: Sequence[Path],
    form: str,
    output: Path | None,
    force: bool,
    answers: dict[str, str],
    forced: dict[str, str],
    fail_on: str | None,
    strict: bool,
    lang: str,
    packs: Sequence[Path],
    backend: str,
) -> int:
    """Diagnose incidents: folders, archives or single files of evidence."""
    if len(bundles) > 1 and form in ("json", "html", "svg", "dot"):
        raise click.UsageError(f"--format {form} takes one bundle; use jsonl, text or markdown for several")
    if output is not None and output.exists() and not force:
        raise click.UsageError(f"{output} exists; --force overwrites it")
    adapters_forced = forced_adapters(forced)
    investigation = Investigation(packs, backend)
    codes = [0]
    parts: list[str] = []
    for bundle in bundles:
        report = investigation.report(investigation.diagnose(bundle, answers, adapters_forced), lang)
        parts.append(render(report, form, colour=context.color if output is None else False))
        outcome = report["verdict"]["outcome"]
        if strict and (report["warnings"] or outcome == "insufficient_evidence"):
            codes.append(EXIT_INCOMPLETE)
        if fail_on and outcome in OUTCOMES[: OUTCOMES.index(fail_on) + 1]:
            codes.append(EXIT_FINDINGS)
    if output is None:
        click.echo("\n".join(parts), nl=False)
    else:
        output.write_text("\n".join(parts), encoding="utf-8")
    return max(codes)


def forced_adapters(forced: Mapping[str, str]) -> list[Forced]:
    """``--adapter NAME=GLOB``; an unknown name is an error."""
    if not forced:
        return []
    from engine.authored.problem import did_you_mean
    from facts_adapters.discovery import Forced, registry

    names = [adapter.name for adapter in registry().adapters]
    for name in forced:
        if name not in names:
            hint = did_you_mean(name, names) or "`firstfault adapters list` shows all"
            raise click.UsageError(f"there is no adapter {name!r}. {hint}")
    return [Forced(name, glob) for name, glob in forced.items()]


def render(report: Mapping[str, Any], form: str, colour: bool | None = None) -> str:
    """One report in one format, ending in a line end; without ``dot`` an SVG is an error and HTML goes without."""
    if form == "text":
        from engine.report.text import print_report

        console = terminal(colour)
        with console.capture() as capture:
            print_report(report, console)
        return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())
    if form in ("json", "jsonl"):
        return json.dumps(report, ensure_ascii=False, indent=None if form == "jsonl" else 2) + "\n"
    if form == "markdown":
        from engine.report.markdown import to_markdown

        return to_markdown(report)
    from engine.report.reasoning import DotMissingError, to_dot, to_svg

    try:
        if form == "html":
            from engine.report.html import to_html

            return to_html(report, warn=lambda note: click.echo(note, err=True))
        return to_svg(report) + "\n" if form == "svg" else to_dot(report)
    except DotMissingError as error:
        raise click.ClickException(str(error)) from error


def terminal(colour: bool | None) -> Console:
    """A console as wide as the terminal, 100 columns in a pipe; colour as asked for."""
    from rich.console import Console

    tty = sys.stdout.isatty()
    width = None if tty else 100
    return Console(
        width=width,
        force_terminal=colour if colour is not None else tty,
        no_color=colour is False,
        highlight=False,
        soft_wrap=False,
        legacy_windows=False,
    )


@main.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(["jsonl", "summary"]),
    default="jsonl",
    help="One JSON report a line, or one line each.",
)
@click.option("-j", "--jobs", type=click.IntRange(1), help="Processes (default: one per core).")
@click.option(
    "-o", "--output", type=click.File("w", encoding="utf-8", lazy=False), default="-", help="Write to a file."
)
@knowledge_options
def batch(
    folder: Path, form: str, jobs: int | None, output: IO[str], lang: str, packs: Sequence[Path], backend: str
) -> None:
    """Diagnose every incident below FOLDER; a broken one never stops the rest."""
    from engine.archive.batch import run_batch
    from engine.archive.incidents import find_incidents

    incidents = find_incidents(folder)
    if not incidents:
        raise click.ClickException(f"{folder}: no incidents (folders with incident.yaml, or archives) below it")
    load_knowledge(packs)
    work = functools.partial(report_of, packs=tuple(packs), backend=backend, language=lang)
    processes = min(jobs or os.cpu_count() or 1, len(incidents))
    reports = run_batch(incidents, work, functools.partial(broken_report, language=lang), processes)
    for done, report in enumerate(reports, 1):
        click.echo(json.dumps(report, ensure_ascii=False) if form == "jsonl" else one_line(report), file=output)
        output.flush()
        if sys.stderr.isatty():
            click.echo(f"\r{done}/{len(incidents)}", err=True, nl=done == len(incidents))


@functools.lru_cache(maxsize=1)
def _investigation(packs: tuple[Path, ...], backend: str) -> Investigation:
    return Investigation(packs, backend)


def report_of(bundle: Path, packs: tuple[Path, ...], backend: str, language: str) -> dict[str, Any]:
    """The report of one incident, in whatever process; knowledge is loaded once per process."""
    investigation = _investigation(packs, backend)
    return investigation.report(investigation.diagnose(bundle), language)


def broken_report(bundle: Path, why: str, language: str) -> dict[str, Any]:
    """The report of an incident that could not be read: nothing claimed, the reason as a warning."""
    from engine.report.contract import empty_report

    return empty_report(bundle.name, f"{bundle}: {why}", language, __version__)


def one_line(report: Mapping[str, Any]) -> str:
    """An incident in one line: id, outcome, cause or leading hypothesis, owner."""
    verdict = report["verdict"]
    leading = verdict["cause"] or next((f"({item['id']})" for item in report["hypotheses"]), "-")
    return f"{report['incident']['id']:<28} {verdict['outcome']:<22} {leading:<32} {verdict['owner'] or '-'}"


@main.command()
@click.argument("bundle", required=False, type=click.Path(path_type=Path))
@click.option(
    "--answer", "answers", multiple=True, callback=pairs, metavar="QUESTION=ANSWER", help="Answer beforehand."
)
@knowledge_options
@click.pass_context
def ask(
    context: click.Context, bundle: Path | None, answers: dict[str, str], lang: str, packs: Sequence[Path], backend: str
) -> None:
    """Answer guided questions; each answer becomes a fact and the ranking moves."""
    from engine.questions.answers import next_question
    from engine.report.questionnaire import ranking_lines, show_question

    investigation = Investigation(packs, backend)
    given, asked = dict(answers), set(answers)
    while True:
        diagnosis = investigation.diagnose(bundle, given)
        for line in ranking_lines(investigation.report(diagnosis, lang)):
            click.echo(line)
        question = next_question(diagnosis, investigation.pack.questions, asked)
        if question is None:
            break
        asked.add(question.id)
        click.echo(show_question(question, lang))
        choices = [*(str(number) for number in range(1, len(question.answers) + 1)), "s", "q"]
        try:
            reply = click.prompt("", type=click.Choice(choices), show_choices=False, prompt_suffix="> ")
        except click.Abort:  # the end of input ends the questionnaire
            reply = "q"
        if reply == "q":
            break
        if reply != "s":
            given[question.id] = question.answers[int(reply) - 1].id
    click.echo(render(investigation.report(diagnosis, lang), "text", colour=context.color), nl=False)
    if given:
        click.echo("--answer " + " --answer ".join(f"{name}={value}" for name, value in given.items()), err=True)


@main.command()
@click.argument("bundle", type=click.Path(path_type=Path))
@click.argument("target")
@click.option(
    "--answer", "answers", multiple=True, callback=pairs, metavar="QUESTION=ANSWER", help="Answer a question."
)
@knowledge_options
def explain(bundle: Path, target: str, answers: dict[str, str], lang: str, packs: Sequence[Path], backend: str) -> None:
    """Say why TARGET was found or why not: a cause, a rule (cause/rule), or a fact (f12) of BUNDLE."""
    from engine.report.explanation import explain as explain_target

    investigation = Investigation(packs, backend)
    diagnosis = investigation.diagnose(bundle, answers)
    lines = explain_target(target, diagnosis, investigation.pack, lang)
    if lines is None:
        raise unknown("cause, rule or fact of this incident", target, investigation.pack)
    show(lines)


@main.command()
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Zip to write (default: ID.zip).")
@click.option("--force", is_flag=True, help="Overwrite the output file.")
@click.option(
    "--answer", "answers", multiple=True, callback=pairs, metavar="QUESTION=ANSWER", help="Answer a question."
)
@knowledge_options
def package(
    bundle: Path,
    output: Path | None,
    force: bool,
    answers: dict[str, str],
    lang: str,
    packs: Sequence[Path],
    backend: str,
) -> None:
    """Pack the report, the evidence it cites and a manifest with hashes into a zip for hand-over."""
    from engine.archive.package import write_package
    from facts_adapters.bundle import Bundle

    if output is not None and output.exists() and not force:
        raise click.UsageError(f"{output} exists; --force overwrites it")
    investigation = Investigation(packs, backend)
    report = investigation.report(investigation.diagnose(bundle, answers), lang)
    target = output or Path(f"{report['incident']['id']}.zip")
    if target.exists():
        if not force:
            raise click.UsageError(f"{target} exists; --force overwrites it")
        target.unlink()
    documents = {
        f"report.{end}": render(report, form) for form, end in (("json", "json"), ("markdown", "md"), ("html", "html"))
    }
    with Bundle(bundle) as tree:
        members = {member.path: member for member in tree.members}

        def content(path: str) -> bytes | None:
            return tree.open(members[path]).read() if path in members else None

        unread = write_package(report, documents, content, target)
    for path in unread:
        click.echo(f"{path}: cited but not readable, left out", err=True)
    click.echo(str(target))


@main.command()
@pack_option
@click.option("--engine", "backend", type=click.Choice(BACKENDS), default="durable", help="Inference backend.")
def doctor(packs: Sequence[Path], backend: str) -> int:
    """Check what this installation can do: backend, scanner, dot, knowledge."""
    import shutil

    from engine.inference import Engine
    from facts_adapters.text.matchers import hyperscan_version

    pack = load_knowledge(packs)
    inference = Engine((), pack.vocabulary, backend=backend).run(())  # type: ignore[arg-type]
    click.echo(f"firstfault   {__version__}, Python {sys.version.split()[0]}")
    click.echo(f"engine       {inference.backend} {inference.version} {inference.note}".rstrip())
    click.echo(
        f"knowledge    {pack.name} {pack.version} {pack.hash[:12]}: {len(pack.leaves)} causes, "
        f"{len(pack.evidence)} evidence rules, {len(pack.propagation)} propagations"
    )
    scanner = hyperscan_version()
    slow = "missing: large bundles are read in plain Python, with the same facts"
    click.echo(f"scanner      {f'hyperscan {scanner}' if scanner else slow}")
    dot = shutil.which("dot")
    click.echo(f"dot          {dot or 'missing: no SVG (Debian: apt-get install graphviz)'}")
    return 0


@main.group()
def rules() -> None:
    """The knowledge: list, show, check and write rules."""


@rules.command("list")
@click.option("--branch", type=click.Choice(["job", "comm", "host", "nic", "switch"]), help="Only this branch.")
@language_option
@pack_option
def rules_list(branch: str | None, lang: str, packs: Sequence[Path]) -> None:
    """List causes with their evidence rules, and the propagations."""
    from engine.report.listing import list_knowledge

    show(list_knowledge(load_knowledge(packs), branch, lang))


@rules.command("show")
@click.argument("target")
@language_option
@pack_option
def rules_show(target: str, lang: str, packs: Sequence[Path]) -> None:
    """Show a cause, an evidence rule (cause/rule) or a propagation."""
    from engine.report.listing import describe

    pack = load_knowledge(packs)
    lines = describe(target, pack, lang)
    if lines is None:
        raise unknown("cause, rule or propagation", target, pack)
    show(lines)


@rules.command("lint")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path, exists=True))
@click.option("--pack", "packs", multiple=True, type=click.Path(path_type=Path, exists=True), help="Overlay pack.")
@click.option("--fail-on", type=click.Choice(["error", "warning"]), default="error", help="Exit 1 from this level on.")
@click.option("-f", "--format", "form", type=click.Choice(["text", "json", "github"]), default="text", help="Output.")
def rules_lint(paths: Sequence[Path], packs: Sequence[Path], fail_on: str, form: str) -> int:
    """Check rule files (default: all) and show every problem of every file."""
    import datetime as dt

    from engine.authored.problem import render_all, render_for_github
    from engine.rules.lint import lint
    from engine.rules.loading import load
    from facts_adapters.catalogue import emitted_kinds, signature_problems
    from knowledge import BUILTIN

    today = dt.datetime.now(tz=dt.timezone.utc).date()
    folders = [*packs, *(path for path in paths if (path / "pack.yaml").is_file())]
    kinds = load([BUILTIN, *folders], examples=False).vocabulary
    problems = sorted([*lint(paths, packs, emitted_kinds(), today=today), *signature_problems(folders, kinds)])
    if not problems:
        click.echo("no problems", err=True)
    if form == "json":
        show([json.dumps(problem.as_json(), ensure_ascii=False) for problem in problems])
    elif form == "github":
        show(map(render_for_github, problems))
    else:
        click.echo(render_all(problems), nl=False)
    failing = [problem for problem in problems if problem.level == "error" or fail_on == "warning"]
    return EXIT_FINDINGS if failing else 0


@rules.command("test")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path, exists=True))
@click.option("--pack", "packs", multiple=True, type=click.Path(path_type=Path, exists=True), help="Overlay pack.")
def rules_test(paths: Sequence[Path], packs: Sequence[Path]) -> int:
    """Run the examples inside rule files (default: all); a failure shows only what is missing or unexpected."""
    from engine.rules.examples import run_and_render

    lines, failed = run_and_render(paths, packs)
    show(lines)
    return EXIT_FINDINGS if failed else 0


@rules.command("new")
@click.argument("cause")
@click.option(
    "--pack", "pack", type=click.Path(path_type=Path, file_okay=False), required=True, help="Pack to write into."
)
def rules_new(cause: str, pack: Path) -> None:
    """Write the files of a new CAUSE (branch.name) with places to fill in."""
    from engine.rules.scaffold import CannotCreate, new

    if cause in load_knowledge(()).leaves:
        raise click.UsageError(f"{cause} is a built-in cause; add rules to it in an overlay's evidence file instead")
    try:
        show([str(path) for path in new(cause, pack)])
    except CannotCreate as error:
        raise click.ClickException(str(error)) from error


@rules.command("try")
@click.argument("rule")
@click.argument("bundle", type=click.Path(path_type=Path))
@knowledge_options
def rules_try(rule: str, bundle: Path, lang: str, packs: Sequence[Path], backend: str) -> None:
    """Match one rule (cause/rule) against a bundle, condition by condition."""
    from engine.report.explanation import explain as explain_target

    investigation = Investigation(packs, backend)
    if investigation.pack.rule(rule) is None:
        raise unknown("rule (cause/rule)", rule, investigation.pack)
    show(explain_target(rule, investigation.diagnose(bundle), investigation.pack, lang) or [])


@main.group()
def adapters() -> None:
    """The readers of evidence."""


@adapters.command("list")
def adapters_list() -> None:
    """List whole-file adapters and signature sources with the fact kinds that they emit."""
    from facts_adapters.catalogue import catalogue

    show(catalogue())


@adapters.command("explain")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--bundle", type=click.Path(path_type=Path, exists=True), help="Bundle that holds the file.")
def adapters_explain(file: Path, bundle: Path | None) -> None:
    """Say which adapters were tried on FILE and why each said yes or no."""
    from facts_adapters.discovery import explain as explain_file

    show(explain_file(file, bundle))


@main.group()
def facts() -> None:
    """The vocabulary and the facts of a bundle."""


@facts.command("list")
@click.option("--search", default="", help="Only kinds whose name or meaning contains this.")
@language_option
@pack_option
def facts_list(search: str, lang: str, packs: Sequence[Path]) -> None:
    """List the fact kinds of the vocabulary."""
    from engine.report.listing import list_vocabulary

    lines = list(list_vocabulary(load_knowledge(packs).vocabulary, search, lang))
    show(lines)
    if not lines:
        click.echo(f"no fact kind contains {search!r}", err=True)


@facts.command("dump")
@click.argument("bundle", type=click.Path(path_type=Path))
@knowledge_options
def facts_dump(bundle: Path, lang: str, packs: Sequence[Path], backend: str) -> None:
    """Print the facts of a bundle, one JSON object a line."""
    investigation = Investigation(packs, backend)
    report = investigation.report(investigation.diagnose(bundle), lang)
    show([json.dumps(fact, ensure_ascii=False) for fact in report["facts"]])


def show(lines: Iterable[str]) -> None:
    """Lines to standard output."""
    for line in lines:
        click.echo(line)


if __name__ == "__main__":
    main(prog_name="firstfault")
