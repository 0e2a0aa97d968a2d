"""``python -m scripts.reference [--check]``: write the generated parts of the documentation, or say which are stale.

This is where knowledge, readers and commands meet, so it lies outside the packages that must not know each other.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
from click.testing import CliRunner

from cli import main as program
from engine.facts.vocabulary import Vocabulary
from engine.report.reference import Command, LineExample, Option, Reader, pages
from engine.rules.pack import load_packs
from facts_adapters.adapter import Adapter, Sample
from facts_adapters.discovery import BRANCHES, registry
from facts_adapters.text.blocks import BlockReader
from facts_adapters.text.signatures import Signature, load_signatures
from knowledge import BUILTIN

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs" / "reference"
README = ROOT / "README.md"
EXAMPLE = "examples/oom-kill-behind-timeouts"
SAMPLE = re.compile(r"(<!-- the block below is checked by tests/docs -->\n```text\n).*?(```\n)", re.DOTALL)
VERSIONS = re.compile(r"^firstfault \d\S* · .*$(?:\n(?!```).+)*", re.MULTILINE)
"""The last lines of a report: versions, hash and notes, which differ from one installation to the next."""


def generated() -> dict[Path, str]:
    """The pages as they should be, by path."""
    pack = load_packs()
    readers = [*adapters(), *signatures(pack.vocabulary)]
    found = pages(pack, readers, list(commands(program, "firstfault")))
    return {REFERENCE / name: text for name, text in found.items()}


def readme() -> str:
    """The README with the report of the example as it is now."""
    text = README.read_text(encoding="utf-8")
    return SAMPLE.sub(lambda block: f"{block[1]}{sample()}{block[2]}", text)


def sample() -> str:
    """What ``firstfault diagnose`` prints for the example where standard output is no terminal."""
    plain = {"NO_COLOR": "1", "FORCE_COLOR": None}
    result = CliRunner().invoke(program, ["diagnose", str(ROOT / EXAMPLE)], env=plain)
    if result.exit_code:
        raise SystemExit(f"firstfault diagnose {EXAMPLE} ended with {result.exit_code}: {result.output}")
    return result.stdout


def same(one: str, other: str) -> bool:
    """Whether two texts differ in nothing but versions."""
    return VERSIONS.sub("", one) == VERSIONS.sub("", other)


def adapters() -> Iterator[Reader]:
    """Whole-file adapters and block readers."""
    readers: list[Adapter | BlockReader] = [*registry().adapters, *registry().blocks]
    for item in readers:
        module = sys.modules[item.read.__module__]
        samples = [(kind, line) for sample in item.samples for kind, _ in sample.expect[:1] for line in begin(sample)]
        yield Reader(
            name=item.name,
            form="file" if isinstance(item, Adapter) else "block",
            branch=item.branch if isinstance(item, Adapter) else branch_of(item),
            emits=tuple(sorted(item.emits)),
            examples=tuple(LineExample("", kind, line) for kind, line in samples[:1]),
            about=(module.__doc__ or "").split("\n\n")[0].strip(),
            coverage=item.coverage if isinstance(item, Adapter) else None,
            source=Path(str(module.__file__)).resolve().relative_to(ROOT).as_posix(),
        )


def branch_of(block: BlockReader) -> str:
    """The package that the block reader lies in."""
    return next((part for part in block.read.__module__.split(".") if part in BRANCHES), "")


def begin(sample: Sample) -> Iterable[str]:
    """The first line of a sample that says something."""
    lines = [line.strip() for line in sample.text.splitlines()]
    return [line for line in lines if sum(map(str.isalnum, line)) > 3][:1]


def signatures(vocabulary: Vocabulary) -> Iterator[Reader]:
    """Files of signatures, by branch and name."""
    files: dict[Path, list[Signature]] = defaultdict(list)
    for signature in load_signatures((BUILTIN / "signatures",), vocabulary).signatures:
        files[Path(signature.place[0]).resolve()].append(signature)
    for file, found in sorted(files.items()):
        yield Reader(
            name=found[0].source,
            form="signatures",
            branch=file.parent.name,
            emits=tuple(sorted({item.emits for item in found})),
            examples=tuple(
                LineExample(item.name.partition("/")[2], item.emits, item.samples[0].line) for item in found
            ),
            about=comment(file),
            source=file.relative_to(ROOT).as_posix(),
        )


def comment(file: Path) -> str:
    """The comment at the head of a YAML file, without lines for editors."""
    lines = []
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        if "yaml-language-server" not in line:
            lines.append(line.lstrip("# "))
    return " ".join(lines)


def commands(command: click.Command, name: str) -> Iterator[Command]:
    """A command and, for a group, those below it."""
    arguments = [argument(p) for p in command.params if isinstance(p, click.Argument)]
    options = [option(p) for p in command.params if isinstance(p, click.Option) and not p.hidden]
    if isinstance(command, click.Group):
        arguments.append("COMMAND ...")
    yield Command(name, " ".join([*(["[OPTIONS]"] if options else []), *arguments]), command.help or "", tuple(options))
    if isinstance(command, click.Group):
        for below, item in sorted(command.commands.items()):
            if not item.hidden:
                yield from commands(item, f"{name} {below}")


def argument(parameter: click.Argument) -> str:
    """The argument as usage lines write it."""
    name = parameter.metavar or (parameter.name or "").upper()
    if parameter.metavar is None and parameter.nargs != 1:
        name += "..."
    return name if parameter.required else f"[{name}]"


def option(parameter: click.Option) -> Option:
    """The option without what depends on click's version."""
    kind = parameter.type
    value = "|".join(map(str, kind.choices)) if isinstance(kind, click.Choice) else kind.name.upper().split()[0]
    value = "" if parameter.is_flag else f" {parameter.metavar or value}"
    notes = [
        "required" if parameter.required else "",
        "may be repeated" if parameter.multiple else "",
        f"default: {parameter.default}" if isinstance(parameter.default, str) and parameter.default else "",
    ]
    told = ", ".join(note for note in notes if note)
    return Option(f"{', '.join(parameter.opts)}{value}", f"{parameter.help or ''}{f' ({told})' if told else ''}")


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0, or 1 where ``--check`` finds something stale."""
    parser = argparse.ArgumentParser(prog="python -m scripts.reference")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where something is stale")
    check = parser.parse_args(arguments).check
    stale = {path: text for path, text in {**generated(), README: readme()}.items() if not same(current(path), text)}
    for path, text in stale.items():
        print(f"{path.relative_to(ROOT)}{' is stale: run `make docs`' if check else ''}")
        if not check:
            path.write_text(text, encoding="utf-8", newline="\n")
    return int(check and bool(stale))


def current(path: Path) -> str:
    """The page as it is; empty where there is none."""
    return path.read_text(encoding="utf-8") if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
