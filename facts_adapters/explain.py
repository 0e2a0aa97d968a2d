"""How one file is read and why: for the person who wonders what became of the evidence."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

from engine.facts.model import Reading
from facts_adapters.bundle import MANIFEST_NAMES
from facts_adapters.places import Told
from facts_adapters.reader import read_bundle
from facts_adapters.result import BundleReading, FileReport

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_HIGHEST_PARENT = 8


def explain(file: Path, bundle: Path | None = None) -> Iterator[str]:
    """Lines of text about ``file``, read as part of ``bundle``.

    Without ``bundle`` the nearest folder above the file that holds a manifest is taken, else the file stands alone.
    Raises :class:`facts_adapters.bundle.UnreadableBundle`.
    """
    root = bundle or _root(file)
    name = _inside(file, root)
    result = read_bundle(root, only=lambda path: name is None or path == name)
    for report in result.files:
        yield from _report(report)
    if not result.files:
        yield f"{name or file}: not a file of {root}"
    yield from _findings(result)


def _root(file: Path) -> Path:
    for folder in list(file.resolve().parents)[:_HIGHEST_PARENT]:
        if any((folder / name).is_file() for name in MANIFEST_NAMES):
            return folder
    return file


def _inside(file: Path, root: Path) -> str | None:
    """The file's path in the bundle; ``None`` where the bundle is the file."""
    if file.resolve() == root.resolve():
        return None
    if root.is_dir() and file.resolve().is_relative_to(root.resolve()):
        return file.resolve().relative_to(root.resolve()).as_posix()
    return file.as_posix()


def _report(report: FileReport) -> Iterator[str]:
    kind = f"text, {report.lines} lines" if report.text else "not text"
    yield f"{report.path}  ({report.size} bytes, {kind})"
    for title, told in (("host", report.host), ("rank", report.rank), ("snapshot", report.group), ("run", report.run)):
        if isinstance(told, Told):
            yield f"  {title:<10} {told.value}  because {told.why}"
        else:
            yield f"  {title:<10} {told or '-'}"
    yield f"  {'time':<10} {shown(report.first)} to {shown(report.last)}"
    counts = ", ".join(f"{kind} {count}" for kind, count in sorted(report.kinds.items(), key=lambda i: (-i[1], i[0])))
    yield f"  {'lines':<10} {counts or '-'}"
    yield "  adapters"
    for choice in report.choices:
        mark = "takes it" if choice.taken else "no"
        yield f"    {choice.adapter:<28} {choice.verdict.score:4.2f}  {mark:<9} {choice.verdict.why}"
    yield "  signatures"
    for signature, count in sorted(report.signatures.items(), key=lambda item: (-item[1], item[0])):
        yield f"    {signature:<44} {count}"
    if not report.signatures:
        yield "    none matches"


def _findings(result: BundleReading) -> Iterator[str]:
    kinds: dict[str, int] = {}
    for observation in result.observations:
        kinds[observation.kind] = kinds.get(observation.kind, 0) + 1
    yield "  facts"
    for kind, count in sorted(kinds.items()):
        yield f"    {kind:<44} {count}"
    if result.samples:
        yield f"    {'samples of counters':<44} {len(result.samples)}"
    if result.states:
        yield f"    {'states of ranks in process groups':<44} {len(result.states)}"
    names = {report.path for report in result.files}
    for warning in result.warnings:
        if warning.path in names:
            yield f"  warning: {warning}"


def shown(reading: Reading | None) -> str:
    """A reading for people: the earliest end, and what is not known about it."""
    if reading is None:
        return "no stamp"
    if reading.basis == "boot":
        return f"{reading.earliest / 1e6:.6f} s after boot"
    moment = (_EPOCH + timedelta(microseconds=reading.earliest)).strftime("%Y-%m-%d %H:%M:%S.%f")
    text = moment if reading.year_known else moment[5:]
    return text + (" UTC" if reading.basis == "utc" else " local time") + ("" if reading.year_known else ", no year")
