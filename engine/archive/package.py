"""A hand-over package: the report, the evidence that it cites, and a manifest with hashes."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

from engine.report.citations import Report, cited, linked

MANIFEST = "package.json"
EVIDENCE = "evidence"
FIXED_DATE = (1980, 1, 1, 0, 0, 0)
"""The same input gives the same bytes, so no entry carries the time of packing."""


def cited_paths(report: Report) -> list[str]:
    """Paths, relative to the bundle, of all evidence that a hypothesis, a consequence or the first fault rests on."""
    told = cited(report["hypotheses"]) | linked(report["consequences"])
    if report["first_fault"]:
        told.add(report["first_fault"]["fact"])
    return sorted({fact["source"]["path"] for fact in report["facts"] if fact["id"] in told})


def write_package(
    report: Report, documents: Mapping[str, str], read_evidence: Callable[[str], bytes | None], target: Path
) -> list[str]:
    """Write a zip with ``documents`` (name to text), the cited evidence and ``package.json``.

    ``read_evidence`` gives the bytes of a path of the bundle, ``None`` where there is no such file (an answer given
    on the command line). Returns the cited paths that could not be read.

    Raises:
        FileExistsError: ``target`` exists.
        OSError: it cannot be written.
    """
    entries: dict[str, bytes] = {name: text.encode("utf-8") for name, text in documents.items()}
    unread: list[str] = []
    for path in cited_paths(report):
        content = read_evidence(path)
        if content is None:
            unread.append(path)
        else:
            entries[str(PurePosixPath(EVIDENCE, *_inside(path)))] = content
    entries[MANIFEST] = _manifest(report, entries, unread)
    with zipfile.ZipFile(target, "x", compression=zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(entries):
            info = zipfile.ZipInfo(name, FIXED_DATE)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, entries[name])
    return unread


def _inside(path: str) -> list[str]:
    return [part for part in PurePosixPath(path).parts if part not in ("/", "..", ".")]


def _manifest(report: Report, entries: Mapping[str, bytes], unread: list[str]) -> bytes:
    document = {
        "schema_version": 1,
        "incident": report["incident"]["id"],
        "verdict": report["verdict"],
        "knowledge": report["knowledge"],
        "engine": report["engine"],
        "files": {
            name: {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
            for name, content in sorted(entries.items())
        },
        "cited_but_not_readable": unread,
    }
    return (json.dumps(document, ensure_ascii=False, indent=2, sort_keys=True) + "\n").encode("utf-8")
