"""``python -m engine.rules lint|test [PATH…]``: check knowledge while writing it."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from engine.authored.problem import render_all
from engine.rules.examples import run_examples
from engine.rules.lint import lint


def main(arguments: list[str]) -> int:
    """Run one command; the exit status is 0 without errors, 1 with some, 2 for wrong usage."""
    if not arguments or arguments[0] not in ("lint", "test"):
        sys.stderr.write("usage: python -m engine.rules lint|test [PATH…]\n")
        return 2
    paths = [Path(argument) for argument in arguments[1:]]
    problems = lint(paths)
    if arguments[0] == "test" and not any(problem.level == "error" for problem in problems):
        infer = importlib.import_module("engine.inference").infer  # the layer above; this entry is for developers
        run = run_examples(paths, infer=infer)
        problems += run.problems
        sys.stderr.write(f"{run.examples} examples in {run.files} files\n")
    sys.stdout.write(render_all(problems))
    return 1 if any(problem.level == "error" for problem in problems) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
