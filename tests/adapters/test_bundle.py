"""A bundle is one read-only tree whatever it comes in; hostile ones cost a warning, never more."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from facts_adapters.archives import safe_path
from facts_adapters.bundle import Bundle, UnreadableBundle
from facts_adapters.streams import MEBI, Limits

FILES = {
    "logs/n1/train.log": b"hello\n",
    "logs/n10/a.txt": b"ten\n",
    "logs/n2/dmesg.txt": b"world\n",
    "README.txt": b"read me\n",
}

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda raw: raw,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda raw: zstandard.ZstdCompressor().compress(raw),
}


def folder(path: Path, files: dict[str, bytes] | None = None) -> Path:
    for name, content in (files or FILES).items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return path


def tar_bytes(files: dict[str, bytes] | None = None, *extra: tarfile.TarInfo) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in (files if files is not None else FILES).items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for info in extra:
            archive.addfile(info)
    return out.getvalue()


def zip_bytes(files: dict[str, bytes] | None = None) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (files if files is not None else FILES).items():
            archive.writestr(name, content)
    return out.getvalue()


def contents(path: Path, limits: Limits | None = None) -> tuple[dict[str, bytes], list[str]]:
    with Bundle(path, limits) as bundle:
        found = {}
        for member in bundle.members:
            found[member.path] = b""
            with contextlib.suppress(OSError), bundle.open(member) as stream:
                found[member.path] = stream.read()
        return found, [str(warning) for warning in bundle.warnings]


def test_a_folder(tmp_path: Path) -> None:
    found, warnings = contents(folder(tmp_path / "b"))
    assert found == FILES
    assert list(found) == ["README.txt", "logs/n1/train.log", "logs/n10/a.txt", "logs/n2/dmesg.txt"]
    assert not warnings


@pytest.mark.parametrize("ending", PACKERS)
def test_tar_archives(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"inc.tar{ending}"
    path.write_bytes(PACKERS[ending](tar_bytes()))
    found, warnings = contents(path)
    assert found == FILES
    assert not warnings
    with Bundle(path) as bundle:
        assert bundle.name == "inc"


def test_a_zip_archive(tmp_path: Path) -> None:
    path = tmp_path / "inc.zip"
    path.write_bytes(zip_bytes())
    assert contents(path) == (FILES, [])


@pytest.mark.parametrize("ending", PACKERS)
def test_a_single_file(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"train.log{ending}"
    path.write_bytes(PACKERS[ending](b"one line\n"))
    assert contents(path) == ({path.name: b"one line\n"}, [])


@pytest.mark.parametrize("ending", PACKERS)
def test_compressed_members_are_streams(tmp_path: Path, ending: str) -> None:
    name = f"a.log{ending}"
    assert contents(folder(tmp_path / "b", {name: PACKERS[ending](b"text\n")}))[0] == {name: b"text\n"}


def test_archives_inside(tmp_path: Path) -> None:
    inner = gzip.compress(tar_bytes({"sos_commands/kernel/dmesg": b"boot\n"}))
    path = folder(tmp_path / "b", {"sosreport-n1-2026-01-01-abc.tar.gz": inner, "x.zip": zip_bytes({"y.txt": b"y\n"})})
    assert contents(path)[0] == {
        "sosreport-n1-2026-01-01-abc.tar.gz/sos_commands/kernel/dmesg": b"boot\n",
        "x.zip/y.txt": b"y\n",
    }


def test_archives_too_deep(tmp_path: Path) -> None:
    raw = tar_bytes({"deep.txt": b"x"})
    for _ in range(6):
        raw = tar_bytes({"inner.tar": raw, "side.txt": b"s"})
    path = tmp_path / "a.tar"
    path.write_bytes(raw)
    found, warnings = contents(path)
    assert "side.txt" in found
    assert not any(name.endswith("deep.txt") for name in found)
    assert any("nested" in warning for warning in warnings)


def test_the_manifest_is_no_evidence(tmp_path: Path) -> None:
    path = folder(tmp_path / "b", {"incident.yaml": b"id: x\n", "sub/incident.yaml": b"labels: {}\n", "a.log": b"a\n"})
    with Bundle(path) as bundle:
        assert [member.path for member in bundle.members] == ["a.log"]
        assert bundle.manifest is not None


def test_a_single_folder_with_a_manifest_is_the_root(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(tar_bytes({"inc-1/incident.yaml": b"id: x\n", "inc-1/logs/a.log": b"a\n"}))
    with Bundle(path) as bundle:
        assert [member.path for member in bundle.members] == ["logs/a.log"]
        assert bundle.manifest is not None
    other = tmp_path / "sosreport-n1-2026-01-01-x.tar"
    other.write_bytes(tar_bytes({"sosreport-n1-2026-01-01-x/proc/meminfo": b"m\n"}))
    assert list(contents(other)[0]) == ["sosreport-n1-2026-01-01-x/proc/meminfo"]


def test_unreadable_bundles(tmp_path: Path) -> None:
    empty = tmp_path / "empty.log"
    empty.touch()
    (tmp_path / "void").mkdir()
    broken = tmp_path / "broken.zip"
    broken.write_bytes(b"PK\x03\x04 nothing")
    damaged = tmp_path / "damaged.tar.gz"
    damaged.write_bytes(gzip.compress(b"x" * 4096)[:-9])
    os.mkfifo(tmp_path / "pipe")
    for name in ("absent", "empty.log", "void", "broken.zip", "damaged.tar.gz", "pipe"):
        with pytest.raises(UnreadableBundle) as caught:
            Bundle(tmp_path / name)
        assert "\n" not in str(caught.value)
        assert name in str(caught.value)


@pytest.mark.parametrize(
    "name", ["../out.txt", "/etc/passwd", "a/../../out.txt", "C:\\x.txt", "..\\out.txt", "x" * 2000]
)
def test_names_that_escape(tmp_path: Path, name: str) -> None:
    for raw, ending in (
        (tar_bytes({name: b"evil", "ok.txt": b"ok"}), "tar"),
        (zip_bytes({name: b"evil", "ok.txt": b"ok"}), "zip"),
    ):
        path = tmp_path / f"a.{ending}"
        path.write_bytes(raw)
        found, warnings = contents(path)
        assert found == {"ok.txt": b"ok"}
        assert any("outside" in warning for warning in warnings)
    assert not (tmp_path / "out.txt").exists()
    assert not (tmp_path.parent / "out.txt").exists()


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = target
    return info


def test_links_and_devices_in_archives(tmp_path: Path) -> None:
    raw = tar_bytes(
        {"a.txt": b"a"},
        special("inside", tarfile.SYMTYPE, "a.txt"),
        special("outside", tarfile.SYMTYPE, "../../etc/passwd"),
        special("absolute", tarfile.SYMTYPE, "/etc/passwd"),
        special("hard", tarfile.LNKTYPE, "/etc/passwd"),
        special("pipe", tarfile.FIFOTYPE),
        special("dev", tarfile.CHRTYPE),
    )
    path = tmp_path / "a.tar"
    path.write_bytes(raw)
    found, warnings = contents(path)
    assert found == {"a.txt": b"a"}
    assert {warning.split(":")[0] for warning in warnings} == {"outside", "absolute", "hard", "pipe", "dev"}


def test_links_in_zip_archives(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo("link")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
        archive.writestr("a.txt", "a")
    assert contents(path)[0] == {"a.txt": b"a"}


def test_links_pipes_and_locked_folders(tmp_path: Path) -> None:
    path = folder(tmp_path / "b", {"a.txt": b"a"})
    (path / "inside").symlink_to("a.txt")
    (path / "outside").symlink_to("/etc/passwd")
    (path / "loop").symlink_to(path)
    os.mkfifo(path / "pipe")
    found, warnings = contents(path)
    assert found == {"a.txt": b"a"}
    assert {warning.split(":")[0] for warning in warnings} == {"outside", "pipe"}


def test_a_file_that_became_a_link_is_refused(tmp_path: Path) -> None:
    path = folder(tmp_path / "b", {"a.txt": b"a", "b.txt": b"b"})
    with Bundle(path) as bundle:
        (path / "a.txt").unlink()
        (path / "a.txt").symlink_to("/etc/passwd")
        with pytest.raises(OSError, match=r".+"):
            bundle.open(bundle.members[0])


def test_damaged_members_end_early(tmp_path: Path) -> None:
    text = b"".join(b"line %d\n" % i for i in range(100_000))
    damaged = {f"a{ending}": packer(text)[:-2000] for ending, packer in PACKERS.items() if ending}
    found, warnings = contents(folder(tmp_path / "b", damaged))
    assert all(text.startswith(content) for content in found.values())
    assert any(content for content in found.values())
    assert {warning.split(":")[0] for warning in warnings} == set(damaged)
    assert all("damaged" in warning for warning in warnings)


def test_a_damaged_archive_keeps_what_came_before(tmp_path: Path) -> None:
    raw = tar_bytes({f"f{i}.txt": os.urandom(20_000) for i in range(10)})
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(raw)[:-60_000])
    found, warnings = contents(path)
    assert 0 < len(found) < 10
    assert "damaged" in warnings[0]


def test_a_bomb_is_cut(tmp_path: Path) -> None:
    limits = Limits(file_bytes=MEBI, ratio=50, ratio_from=MEBI // 4)
    zeros = b"\0" * (4 * MEBI)
    path = folder(tmp_path / "b", {f"bomb{ending}": packer(zeros) for ending, packer in PACKERS.items()})
    found, warnings = contents(path, limits)
    assert all(len(content) <= MEBI for content in found.values())
    assert len(warnings) == len(found)


def test_a_bomb_of_archives_is_cut(tmp_path: Path) -> None:
    limits = Limits(total_bytes=8 * MEBI, ratio_from=1024 * MEBI)
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(tar_bytes({f"f{i}": b"\0" * MEBI for i in range(40)})))
    found, warnings = contents(path, limits)
    assert sum(map(len, found.values())) <= 8 * MEBI
    assert warnings


def test_too_many_files(tmp_path: Path) -> None:
    files = {f"f{i:03d}": b"x" for i in range(50)}
    (tmp_path / "a.tar").write_bytes(tar_bytes(files))
    (tmp_path / "a.zip").write_bytes(zip_bytes(files))
    for path in (folder(tmp_path / "b", files), tmp_path / "a.tar", tmp_path / "a.zip"):
        found, warnings = contents(path, Limits(files=10))
        assert len(found) == 10
        assert any("more than 10 files" in warning for warning in warnings)


def test_a_sparse_member_does_not_fill_the_disk(tmp_path: Path) -> None:
    info = tarfile.TarInfo("huge")
    info.type = tarfile.GNUTYPE_SPARSE
    info.size = 0
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[386:398] = b"00000000000\0"
    header[483:495] = b"77777777777\0"  # a real size of 8 GiB with nothing stored
    header[148:156] = b"        "
    header[148:156] = b"%06o\0 " % sum(header)
    path = tmp_path / "a.tar"
    path.write_bytes(bytes(header) + tar_bytes({"a.txt": b"a"}))
    found, _ = contents(path, Limits(file_bytes=MEBI))
    assert sum(map(len, found.values())) <= 2 * MEBI


def test_an_endless_header_is_refused(tmp_path: Path) -> None:
    info = tarfile.TarInfo("x")
    info.type = tarfile.GNUTYPE_LONGNAME
    info.size = 1 << 32
    path = tmp_path / "a.tar"
    path.write_bytes(tar_bytes({"a.txt": b"a"})[:1024] + info.tobuf() + b"\0" * 4096)
    found, warnings = contents(path)
    assert found == {"a.txt": b"a"}
    assert any("header" in warning for warning in warnings)


def test_an_encrypted_member(tmp_path: Path) -> None:
    raw = bytearray(zip_bytes({"secret.txt": b"s", "a.txt": b"a"}))
    central = raw.index(b"PK\x01\x02")
    raw[central + 8] |= 1
    path = tmp_path / "a.zip"
    path.write_bytes(bytes(raw))
    found, warnings = contents(path)
    assert found == {"a.txt": b"a"}
    assert "encrypted" in warnings[0]


def test_a_path_twice_is_the_last(tmp_path: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for content in (b"first", b"second"):
            info = tarfile.TarInfo("a.txt")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    path = tmp_path / "a.tar"
    path.write_bytes(out.getvalue())
    found, warnings = contents(path)
    assert found == {"a.txt": b"second"}
    assert "more than once" in warnings[0]


def test_nothing_stays_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(tar_bytes()))
    with Bundle(path):
        assert list(scratch.iterdir())
    assert not list(scratch.iterdir())


def test_archivers_leave_junk(tmp_path: Path) -> None:
    files = {"a.txt": b"a", "__MACOSX/._a.txt": b"junk", ".DS_Store": b"junk", "sub/._b": b"junk"}
    path = tmp_path / "a.zip"
    path.write_bytes(zip_bytes(files))
    assert list(contents(path)[0]) == ["a.txt"]
    assert list(contents(folder(tmp_path / "b", files))[0]) == ["a.txt"]


@given(st.text(max_size=60))
def test_safe_paths_stay_inside(name: str) -> None:
    path = safe_path(name)
    if path is not None:
        assert not path.startswith("/")
        assert ".." not in path.split("/")
        assert "\\" not in path
        path.encode()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(st.sampled_from(["tar", "tar.gz", "zip", "log.gz", "tar.zst"]), st.integers(0, 3000), st.binary(max_size=30))
def test_mutated_archives(tmp_path: Path, ending: str, at: int, patch: bytes) -> None:
    whole = {"tar": tar_bytes(), "zip": zip_bytes(), "log.gz": gzip.compress(b"text\n" * 900)}
    whole["tar.gz"] = gzip.compress(whole["tar"])
    whole["tar.zst"] = zstandard.ZstdCompressor().compress(whole["tar"])
    raw = whole[ending]
    place = at % len(raw)
    path = tmp_path / f"a.{ending}"
    path.write_bytes(raw[:place] + patch + raw[place + len(patch) :])
    try:
        contents(path)
    except UnreadableBundle as error:
        assert "\n" not in str(error)  # noqa: PT017
