"""``python -m facts_adapters``: what the readers make of a bundle or a file.

``dump BUNDLE`` prints observations and counter samples as JSON lines, ``files BUNDLE`` who reads what, ``explain FILE``
why, and ``test`` runs the samples of all readers.
"""

from __future__ import annotations

import argparse
import json
import sys
from array import array
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from engine.facts.model import Reading
from facts_adapters.adapter import Record
from facts_adapters.bundle import UnreadableBundle
from facts_adapters.discovery import Forced
from facts_adapters.explain import explain
from facts_adapters.reader import read_bundle
from facts_adapters.trial import try_samples


def reading_json(reading: Reading | None) -> object:
    """A reading as a short list: both ends in microseconds, what they count, and what is unknown."""
    if reading is None:
        return None
    return [reading.earliest, reading.latest, reading.basis] + ([] if reading.year_known else ["no year"])


def as_json(record: Record) -> Mapping[str, object]:
    """One record with the fields that it has."""
    plain: dict[str, object] = {}
    names = record.__dataclass_fields__
    for name in names:
        value = getattr(record, name)
        if name == "source":
            plain["source"] = f"{value.path}:{value.line}"
            plain["text"] = value.text
        elif isinstance(value, Reading):
            plain[name] = reading_json(value)
        elif isinstance(value, (array, bytearray)):
            plain[name] = list(value)
        elif name == "transfers":
            plain[name] = [asdict(item) for item in value]
        elif value not in (None, "", {}):
            plain[name] = value
    return plain


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0, or 2 where the bundle cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m facts_adapters")
    parser.add_argument("action", choices=["dump", "files", "explain", "test"])
    parser.add_argument("bundle", type=Path, nargs="?", default=Path())
    parser.add_argument("--adapter", action="append", default=[], type=Forced.parse, metavar="NAME=GLOB")
    options = parser.parse_args(arguments)
    if options.action == "test":
        problems = list(try_samples())
        sys.stdout.write("".join(f"{problem}\n" for problem in problems))
        return 1 if problems else 0
    try:
        if options.action == "explain":
            sys.stdout.write("".join(f"{line}\n" for line in explain(options.bundle)))
            return 0
        result = read_bundle(options.bundle, forced=options.adapter)
    except UnreadableBundle as error:
        sys.stderr.write(f"{error}\n")
        return 2
    out = sys.stdout.write
    if options.action == "dump":
        for record in result.readings:
            out(json.dumps(as_json(record), ensure_ascii=False) + "\n")
    else:
        for report in result.files:
            who = f"host={report.host.value if report.host else '-'} rank={report.rank.value if report.rank else '-'}"
            out(f"{report.path}  {who} group={report.group or '-'} run={report.run or '-'} ")
            out(f"adapters={','.join(report.adapters) or '-'} kinds={report.kinds} ")
            out(f"found={report.observations}+{report.samples}\n")
    for warning in result.warnings:
        sys.stderr.write(f"{warning}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
