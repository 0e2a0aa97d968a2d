"""``python -m facts_adapters.text test [YAML…]``: run the samples and near misses of signature files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from engine.authored.problem import render_all
from engine.facts.vocabulary import load_vocabulary
from facts_adapters.text.check import check
from facts_adapters.text.signatures import load_signatures
from knowledge import BUILTIN


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0 where every sample comes out as stated, else 1."""
    parser = argparse.ArgumentParser(prog="python -m facts_adapters.text")
    parser.add_argument("action", choices=["test"])
    parser.add_argument("paths", nargs="*", type=Path, metavar="YAML")
    options = parser.parse_args(arguments)
    loaded = load_signatures(options.paths or [BUILTIN / "signatures"], load_vocabulary())
    problems = [*loaded.problems, *check(loaded.signatures)]
    sys.stdout.write(render_all(problems))
    samples = sum(len(s.samples) + len(s.near_misses) for s in loaded.signatures)
    sys.stdout.write(
        f"{len(loaded.signatures)} signatures, {samples} samples and near misses, {len(problems)} problems\n"
    )
    return 1 if any(p.level == "error" for p in problems) else 0


if __name__ == "__main__":
    sys.exit(main())
