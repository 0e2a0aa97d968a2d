"""Wrap the logs of labelled bundles in ordinary start-up and teardown noise, to see what a diagnosis loses by it.

    python -m benchmarks.noise SOURCE TARGET

Every job log gets the settings lines, harmless warnings, agent clean-up and launcher summary that surround a real
failure; kernel logs get kernel chatter. Labels keep pointing at the same text: their line numbers are moved.
"""

from __future__ import annotations

import functools
import re
import shutil
import sys
from pathlib import Path

JOB_LOG = re.compile(r"\.(log|out|err)$")
KERNEL_LOG = re.compile(r"(dmesg|kernel|messages|syslog|journal)", re.IGNORECASE)
FIRST_FAULT = re.compile(r"(first_fault:\s*\{path:\s*(?P<path>[^,}]+),\s*line:\s*)(?P<line>\d+)")


def _noise(name: str) -> str:
    return (Path(__file__).parent / "ordinary_noise" / f"{name}.txt").read_text(encoding="utf-8")


BEFORE = _noise("before")

AFTER = _noise("after")

KERNEL = _noise("kernel")


def wrap(source: Path, target: Path) -> int:
    """Copy all bundles from ``source`` to ``target``; the number of wrapped files."""
    shutil.copytree(source, target, dirs_exist_ok=True)
    wrapped = 0
    for manifest in sorted(target.rglob("incident.yaml")):
        moved: dict[str, int] = {}
        for path in sorted(item for item in manifest.parent.rglob("*") if item.is_file() and item != manifest):
            before = _wrap_file(path)
            if before:
                moved[path.relative_to(manifest.parent).as_posix()] = before
        wrapped += len(moved)
        text = manifest.read_text(encoding="utf-8")
        manifest.chmod(0o644)
        manifest.write_text(FIRST_FAULT.sub(functools.partial(_moved, moved=moved), text), encoding="utf-8")
    return wrapped


def _moved(match: re.Match[str], moved: dict[str, int]) -> str:
    return f"{match[1]}{int(match['line']) + moved.get(match['path'].strip(), 0)}"


def _wrap_file(path: Path) -> int:
    """Wrap one file where it is a log; how many lines stand before its text now."""
    kernel = KERNEL_LOG.search(path.name)
    if not kernel and not JOB_LOG.search(path.name):
        return 0
    before, after = (KERNEL, KERNEL) if kernel else (BEFORE, AFTER)
    text = path.read_bytes()
    if text and not text.endswith(b"\n"):
        text += b"\n"
    path.chmod(0o644)
    path.write_bytes(before.encode() + text + after.encode())
    return before.count("\n")


def main(arguments: list[str]) -> int:
    """``SOURCE TARGET``."""
    if len(arguments) != 2:
        sys.stderr.write((__doc__ or "") + "\n")
        return 2
    sys.stdout.write(f"{wrap(Path(arguments[0]), Path(arguments[1]))} files wrapped\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
