"""Which incidents an archive folder holds."""

from __future__ import annotations

from pathlib import Path

ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2", ".tar.zst")
MANIFEST = "incident.yaml"


def find_incidents(root: Path) -> list[Path]:
    """The bundles below ``root``, sorted by path.

    These are folders with ``incident.yaml`` and archive files at any depth; where there are none, each folder directly
    below ``root``.

    Raises:
        NotADirectoryError: ``root`` is no folder.
    """
    if not root.is_dir():
        raise NotADirectoryError(f"{root} is not a folder")
    found: list[Path] = []
    _walk(root, found)
    if not found:
        found = [item for item in sorted(root.iterdir()) if item.is_dir()]
    return found


def _walk(folder: Path, found: list[Path]) -> None:
    if (folder / MANIFEST).is_file():
        found.append(folder)
        return
    for item in sorted(folder.iterdir()):
        if item.is_dir() and not item.is_symlink():
            _walk(item, found)
        elif item.name.lower().endswith(ARCHIVES):
            found.append(item)
