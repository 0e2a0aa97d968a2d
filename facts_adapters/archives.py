"""Members of zip and tar archives as plain files; nothing in an archive can name a place outside the bundle."""

from __future__ import annotations

import io
import os
import posixpath
import re
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from facts_adapters.streams import DAMAGE, Budget, LimitedStream, Limits, short_reason

LONGEST_NAME = 1_000
"""Characters of a path in a bundle; members with longer ones are left out."""

ARCHIVE_NAME = re.compile(r"\.(?:zip|tar|tar\.(?:gz|xz|bz2|zst)|tgz|txz|tbz2?|tzst)$", re.IGNORECASE)
"""Names of files inside a bundle that are opened as archives."""

_JUNK = re.compile(r"(?:^|/)(?:__MACOSX|\.git|\.svn)(?:/|$)|(?:^|/)(?:\.DS_Store|\._[^/]*|Thumbs\.db)$")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]")

Warn = Callable[[str, str], None]
"""Called with a path in the bundle and a reason."""


@dataclass(frozen=True, slots=True)
class Member:
    """One file: its path in the bundle, its packed size in bytes, and how to open it."""

    path: str
    size: int
    open_raw: Callable[[], BinaryIO]


def safe_path(name: str) -> str | None:
    """A member's name as a path inside the bundle, ``None`` where it points anywhere else."""
    cleaned = _UNPRINTABLE.sub("\ufffd", name.replace("\\", "/"))
    cleaned = cleaned.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if cleaned.startswith("/") or re.match(r"[A-Za-z]:", cleaned) or len(cleaned) > LONGEST_NAME:
        return None
    parts = [part for part in cleaned.split("/") if part not in ("", ".")]
    if not parts or ".." in parts:
        return None
    return "/".join(parts)


def junk(path: str) -> bool:
    """Files that archivers and version control leave behind."""
    return bool(_JUNK.search(path))


def zip_members(stream: BinaryIO, prefix: str, warn: Warn, keep: ExitStack) -> Iterator[Member]:
    """Files of a zip archive, opened where they lie; ``keep`` closes the archive in the end."""
    keep.callback(stream.close)
    try:
        archive = keep.enter_context(zipfile.ZipFile(_Anywhere(stream)))
    except DAMAGE as error:
        warn(prefix.rstrip("/"), f"the zip archive cannot be read: {short_reason(error)}")
        return
    for info in archive.infolist():
        path = safe_path(info.filename)
        if info.filename.endswith("/") or (path and junk(path)):
            continue
        mode = info.external_attr >> 16
        if path is None:
            warn(prefix + _shown(info.filename), "the name points outside the bundle; left out")
        elif stat.S_ISLNK(mode):
            continue
        elif info.flag_bits & 0x1:
            warn(prefix + path, "the file is encrypted; left out")
        else:
            yield Member(prefix + path, max(info.compress_size, 1), _zip_opener(archive, info))


class _Anywhere(io.RawIOBase):
    """An open file with a place of its own in it.

    Processes that were forked share the place of a file that was open before: each would read what another one sought.
    """

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__()
        self._descriptor = stream.fileno()
        self._place = 0

    def readable(self) -> bool:
        """Always true."""
        return True

    def seekable(self) -> bool:
        """Always true."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place, which other processes do not notice."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._place}.get(whence)
        self._place = offset + (os.fstat(self._descriptor).st_size if base is None else base)
        if self._place < 0:
            self._place = 0
            raise OSError("a place before the beginning")
        return self._place

    def tell(self) -> int:
        """The place."""
        return self._place

    def readinto(self, buffer: object) -> int:
        """Fill ``buffer`` from the place on; 0 at the end."""
        view = memoryview(buffer)  # type: ignore[arg-type]
        data = os.pread(self._descriptor, len(view), self._place)
        view[: len(data)] = data
        self._place += len(data)
        return len(data)


def _zip_opener(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Callable[[], BinaryIO]:
    def opener() -> BinaryIO:
        try:
            return cast(BinaryIO, archive.open(info))
        except DAMAGE as error:
            raise OSError(short_reason(error)) from error

    return opener


class _Header(tarfile.TarInfo):
    """Refuses extended headers that would fill the memory."""

    _LARGEST = 1 << 20

    def _proc_member(self, tar: tarfile.TarFile) -> tarfile.TarInfo:
        extended = (
            tarfile.XHDTYPE,
            tarfile.XGLTYPE,
            tarfile.SOLARIS_XHDTYPE,
            tarfile.GNUTYPE_LONGNAME,
            tarfile.GNUTYPE_LONGLINK,
        )
        if self.type in extended and self.size > self._LARGEST:
            raise tarfile.ReadError("a header is too long")
        member: tarfile.TarInfo = super()._proc_member(tar)  # type: ignore[misc]
        return member


def tar_members(
    stream: BinaryIO, packed: int, prefix: str, folder: Path, limits: Limits, budget: Budget, warn: Warn
) -> Iterator[Member]:
    """Files of a tar archive (compressed or not), unpacked below ``folder`` under numbers, never under their names."""
    shown = prefix.rstrip("/")
    unpacked = LimitedStream(stream, packed, _whole(limits, budget), lambda reason: warn(shown, reason))
    count = 0
    try:
        with (
            io.BufferedReader(unpacked, 1 << 20) as reader,
            tarfile.open(fileobj=reader, mode="r|", tarinfo=_Header, errorlevel=2) as archive,
        ):
            for info in archive:
                path = safe_path(info.name)
                if count >= limits.files:
                    warn(shown, f"the archive holds more than {limits.files} files; the rest is left out")
                    return
                if path is None and not info.isdir():
                    warn(prefix + _shown(info.name), "the name points outside the bundle; left out")
                elif info.isreg() and path is not None and not junk(path):
                    member = _unpack(archive, info, prefix + path, folder / f"{count:07d}", limits, budget, warn)
                    count += 1
                    if member is None:
                        return
                    yield member
                elif path is not None:
                    _special(info, prefix + path, warn)
    except DAMAGE as error:
        warn(shown, f"the archive is damaged after {count} files ({short_reason(error)}); what comes before is used")


def _whole(limits: Limits, budget: Budget) -> Limits:
    """The limits of the archive's own stream: its length is bounded by what is left of the bundle's total."""
    return Limits(limits.files, max(budget.left, 0) + (1 << 20), limits.total_bytes, limits.ratio, limits.ratio_from)


def _special(info: tarfile.TarInfo, path: str, warn: Warn) -> None:
    if info.issym() or info.islnk():
        target = info.linkname if info.islnk() else posixpath.join(posixpath.dirname(info.name), info.linkname)
        if safe_path(posixpath.normpath(target)) is None:
            warn(path, "a link that points outside the bundle; left out")
    elif info.ischr() or info.isblk() or info.isfifo():
        warn(path, "a device; left out")


def _unpack(
    archive: tarfile.TarFile,
    info: tarfile.TarInfo,
    path: str,
    place: Path,
    limits: Limits,
    budget: Budget,
    warn: Warn,
) -> Member | None:
    """Copy one member into a numbered file; ``None`` where the bundle's total is used up."""
    source = archive.extractfile(info)
    if source is None:
        return Member(path, 1, lambda: cast(BinaryIO, io.BytesIO()))
    size = 0
    with place.open("xb") as target:
        while size < limits.file_bytes:
            chunk = source.read(min(1 << 20, limits.file_bytes - size))
            if not chunk:
                break
            if not budget.take(len(chunk)):
                warn(path, "the bundle holds more bytes than are read; this file and those after it are left out")
                return None
            target.write(chunk)
            size += len(chunk)
    if info.size > limits.file_bytes:
        warn(path, f"the file is longer than {limits.file_bytes} bytes; the rest is left out")
    return Member(path, max(size, 1), lambda: place.open("rb"))


def _shown(name: str) -> str:
    return _UNPRINTABLE.sub("\ufffd", name).encode("utf-8", "replace").decode("utf-8", "replace")[:200]
