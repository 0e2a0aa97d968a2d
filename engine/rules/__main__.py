"""``python -m engine.rules lint|test [PATH…]`` or ``schema``: check knowledge while writing it."""

from __future__ import annotations

import sys
from pathlib import Path

from engine.authored.problem import render_all
from engine.facts.vocabulary import load_vocabulary
from engine.rules.examples import run_and_render
from engine.rules.lint import lint
from engine.rules.schemas import write_schemas
from knowledge import BUILTIN


def main(arguments: list[str]) -> int:
    """Run one command; the exit status is 0 without errors, 1 with some, 2 for wrong usage."""
    command, *rest = arguments or [""]
    if command == "schema":
        changed = write_schemas(BUILTIN.parent / "schema", load_vocabulary())
        sys.stdout.write("".join(f"{path}\n" for path in changed))
        return 0
    paths = [Path(argument) for argument in rest]
    missing = [path for path in paths if not path.exists()]
    if command not in ("lint", "test") or missing:
        sys.stderr.write("".join(f"{path} does not exist\n" for path in missing))
        sys.stderr.write("usage: python -m engine.rules lint|test [PATH…] | schema\n")
        return 2
    if command == "test":
        lines, failed = run_and_render(paths)
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        return int(failed)
    problems = lint(paths)
    sys.stdout.write(render_all(problems))
    return int(any(problem.level == "error" for problem in problems))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
