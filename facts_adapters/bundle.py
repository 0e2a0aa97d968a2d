"""A bundle of evidence as one read-only tree: a folder, a zip or tar archive, or a single file.

Nothing of it is ever written, followed or run. What cannot be read becomes a warning; only a bundle with nothing in
it that can be read is refused.
"""

from __future__ import annotations

import io
import itertools
import os
import shutil
import stat
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, cast

from facts_adapters.archives import ARCHIVE_NAME, Member, junk, safe_path, tar_members, zip_members
from facts_adapters.streams import Budget, LimitedStream, Limits

MANIFEST_NAMES = ("incident.yaml", "incident.yml")
"""Files that describe an incident instead of being evidence; they hold the known outcome and no reader sees them."""

_DEEPEST_FOLDER = 60


class UnreadableBundle(Exception):  # noqa: N818 - it is the bundle that is unreadable
    """Nothing of the bundle can be read; the message is one line for people."""


@dataclass(frozen=True, slots=True)
class BundleWarning:
    """Something that was left out or cut: the path in the bundle, a line (0 for the whole file) and the reason."""

    path: str
    line: int
    reason: str

    def __str__(self) -> str:
        """``path:line: reason`` without what is not known."""
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {self.reason}" if place else self.reason


class Bundle:
    """An opened bundle; use it in a ``with`` statement, its files are gone afterwards.

    ``members`` are its files in a fixed order (by path components), without the manifest.
    """

    def __init__(self, path: Path, limits: Limits | None = None) -> None:
        """Open ``path``; raises :class:`UnreadableBundle`."""
        self.path = path
        self.limits = limits or Limits()
        self.warnings: list[BundleWarning] = []
        self._open = ExitStack()
        self._budget = Budget(self.limits.total_bytes)
        self._folder: Path | None = None
        self._scratches = 0
        self._finalizer: weakref.finalize[[Path, bool], Bundle] | None = None
        try:
            found = list(self._limited(self._top()))
        except OSError as error:
            self.close()
            raise UnreadableBundle(f"{path} cannot be read: {error.strerror or error}") from error
        self.manifest, self.members = _manifest(_unique(found, self._warn))
        if not self.members and self.manifest is None:
            self.close()
            detail = f": {self.warnings[0].reason}" if self.warnings else ""
            raise UnreadableBundle(f"{path} holds no file that can be read{detail}")

    def __enter__(self) -> Bundle:
        """The bundle itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        """Remove what was unpacked."""
        self.close()

    def close(self) -> None:
        """Remove what was unpacked."""
        self._open.close()
        if self._finalizer is not None:
            self._finalizer()

    @property
    def name(self) -> str:
        """The name of the folder or archive without the ending of an archive."""
        name = self.path.resolve().name
        return ARCHIVE_NAME.sub("", name) or name

    def open(self, member: Member, *, quiet: bool = False) -> io.BufferedReader:
        """The decompressed bytes of a member up to the limits; ``quiet`` keeps warnings back (a look at the head)."""

        def warn(reason: str) -> None:
            if not quiet:
                self._warn(member.path, reason)

        raw = member.open_raw()
        return io.BufferedReader(LimitedStream(raw, member.size, self.limits, warn), 1 << 18)

    def _warn(self, path: str, reason: str) -> None:
        warning = BundleWarning(path, 0, reason)
        if warning not in self.warnings[-50:]:
            self.warnings.append(warning)

    def _top(self) -> Iterator[Member]:
        if not self.path.exists():
            raise UnreadableBundle(f"{self.path}: no such file or folder")
        if self.path.is_dir():
            return self._walk(self.path)
        if not self.path.is_file():
            raise UnreadableBundle(f"{self.path} is neither a folder nor a file")
        top = Member("", max(self.path.stat().st_size, 1), lambda: self.path.open("rb"))
        kind = self._archive_kind(top, self.path.name)
        if kind:
            return self._archive(top, kind, "", 0)
        if self.path.stat().st_size == 0:
            raise UnreadableBundle(f"{self.path} is empty")
        name = safe_path(self.path.name) or "file"
        return iter([Member(name, top.size, top.open_raw)])

    def _limited(self, members: Iterable[Member]) -> Iterator[Member]:
        expanded = itertools.chain.from_iterable(self._expand(member, 1) for member in members)
        for count, member in enumerate(expanded):
            if count >= self.limits.files:
                self._warn("", f"the bundle holds more than {self.limits.files} files; the rest is left out")
                return
            yield member

    def _expand(self, member: Member, depth: int) -> Iterator[Member]:
        """The member, or the members of the archive that it is."""
        if not ARCHIVE_NAME.search(member.path):
            yield member
            return
        kind = self._archive_kind(member, member.path)
        if not kind:
            yield member
        elif depth > self.limits.depth:
            self._warn(member.path, f"an archive nested more than {self.limits.depth} deep; left out")
        else:
            for inner in self._archive(member, kind, member.path + "/", depth):
                yield from self._expand(inner, depth + 1)

    def _archive_kind(self, member: Member, name: str) -> str | None:
        """``zip``, ``tar`` or ``None`` by content; an ancient tar without a mark only by name."""
        try:
            with self.open(member, quiet=True) as stream:
                head = stream.read(512)
        except OSError:
            return None
        if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
            return "zip" if not name or ARCHIVE_NAME.search(name) or member.path == "" else None
        if head[257:262] == b"ustar":
            return "tar"
        return "tar" if ARCHIVE_NAME.search(name) and not name.lower().endswith(".zip") else None

    def _archive(self, member: Member, kind: str, prefix: str, depth: int) -> Iterator[Member]:
        if kind == "tar":
            folder = self._scratch()
            return tar_members(member.open_raw(), member.size, prefix, folder, self.limits, self._budget, self._warn)
        stream = member.open_raw() if depth == 0 else self._spooled(member)
        return zip_members(stream, prefix, self._warn, self._open)

    def _spooled(self, member: Member) -> BinaryIO:
        """A copy that can be read from anywhere: a zip archive needs that."""
        target = tempfile.TemporaryFile(dir=self._scratch())  # noqa: SIM115 - lives as long as its members
        with self.open(member) as source:
            while chunk := source.read(1 << 20):
                if not self._budget.take(len(chunk)):
                    self._warn(member.path, "the bundle holds more bytes than are read; the archive is cut")
                    break
                target.write(chunk)
        target.seek(0)
        return cast(BinaryIO, target)

    def _scratch(self) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="firstfault-"))
            self._finalizer = weakref.finalize(self, shutil.rmtree, self._folder, True)
        self._scratches += 1
        folder = self._folder / f"{self._scratches:05d}"
        folder.mkdir()
        return folder

    def _walk(self, root: Path) -> Iterator[Member]:
        pending: list[tuple[str, str, int]] = [(str(root), "", 0)]
        while pending:
            folder, prefix, depth = pending.pop()
            try:
                entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            except OSError as error:
                if not prefix:
                    raise
                self._warn(prefix.rstrip("/"), f"the folder cannot be read: {error.strerror}")
                continue
            for entry in entries:
                path = safe_path(prefix + entry.name)
                if path is None or junk(path):
                    continue
                if entry.is_symlink():
                    self._link(entry, path, root)
                elif entry.is_dir(follow_symlinks=False):
                    if depth < _DEEPEST_FOLDER:
                        pending.append((entry.path, path + "/", depth + 1))
                    else:
                        self._warn(path, "folders nested too deeply; left out")
                elif entry.is_file(follow_symlinks=False):
                    yield Member(path, max(entry.stat(follow_symlinks=False).st_size, 1), Opener(entry.path))
                else:
                    self._warn(path, "a device, pipe or socket; left out")

    def _link(self, entry: os.DirEntry[str], path: str, root: Path) -> None:
        target = Path(entry.path).resolve()
        if not target.is_relative_to(root.resolve()):
            self._warn(path, "a link that points outside the bundle; left out")


@dataclass(frozen=True, slots=True)
class Opener:
    """Opens a file of a folder, refusing what became a link or a device since it was listed."""

    path: str

    def __call__(self) -> BinaryIO:
        """The file's raw bytes; raises :class:`OSError`."""
        descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError("not a regular file")
        return os.fdopen(descriptor, "rb")


def _unique(members: Iterable[Member], warn: object) -> list[Member]:
    """Of members with one path the last, as unpacking would leave it; sorted by path components."""
    by_path: dict[str, Member] = {}
    for member in members:
        if member.path in by_path and callable(warn):
            warn(member.path, "the archive holds this path more than once; the last one is used")
        by_path[member.path] = member
    return [by_path[path] for path in sorted(by_path, key=lambda p: p.split("/"))]


def _manifest(members: list[Member]) -> tuple[Member | None, tuple[Member, ...]]:
    """The manifest at the root, and the evidence. A single folder that holds the manifest is the root."""
    paths = {member.path for member in members}
    tops = {path.partition("/")[0] for path in paths}
    root = ""
    if not any(name in paths for name in MANIFEST_NAMES) and len(tops) == 1:
        top = next(iter(tops))
        if any(f"{top}/{name}" in paths for name in MANIFEST_NAMES):
            root = top + "/"
    manifest = next((m for name in MANIFEST_NAMES for m in members if m.path == root + name), None)
    evidence = (m for m in members if m.path.rpartition("/")[2] not in MANIFEST_NAMES)
    return manifest, tuple(Member(m.path.removeprefix(root), m.size, m.open_raw) for m in evidence)
