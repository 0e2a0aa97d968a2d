"""What the linter looks at: paths, packs, suppressions."""

from __future__ import annotations

import datetime as dt
import shutil
from pathlib import Path

import pytest

from engine.authored.codes import CODES, find
from engine.rules.lint import lint
from engine.rules.scaffold import CannotCreate, new

SMALL = Path(__file__).resolve().parent / "pack"


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SMALL, tmp_path / "pack"))


def edit(path: Path, old: str, new_text: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new_text, 1), encoding="utf-8")


def codes(paths: list[Path], builtin: Path, today: dt.date | None = None) -> list[str]:
    return [problem.code for problem in lint(paths, builtin=builtin, today=today)]


def test_small_pack_is_clean() -> None:
    assert lint(builtin=SMALL) == []


def test_only_problems_of_the_paths_are_shown(pack: Path) -> None:
    edit(pack / "tree" / "nic" / "link-down.yaml", "owner: host", "owner: nobody")
    edit(pack / "evidence" / "job" / "process-exit.yaml", "strength: moderate", "strength: big")
    assert codes([], pack) == ["FF204", "FF204"]
    assert codes([pack / "tree"], pack) == ["FF204"]
    assert codes([pack / "tree" / "nic" / "link-down.yaml"], pack) == ["FF204"]
    assert codes([pack / "propagation"], pack) == []
    assert codes([pack], pack) == ["FF204", "FF204"]


def test_path_in_another_pack_is_read_with_that_pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    new("nic.cable-eaten", Path("site"))
    for path in Path("site").rglob("*.yaml"):
        text = path.read_text(encoding="utf-8").replace("nic.TODO", "nic.link_down").replace("TODO", "text")
        path.write_text(text, encoding="utf-8")
    assert codes([Path("site/evidence/nic/cable-eaten.yaml")], SMALL) == []
    assert codes([Path("site")], SMALL) == []


def test_new_files_are_refused_until_they_are_filled_in(tmp_path: Path) -> None:
    written = new("nic.cable-eaten", tmp_path / "site")
    assert [path.relative_to(tmp_path).as_posix() for path in written] == [
        "site/pack.yaml",
        "site/tree/nic/cable-eaten.yaml",
        "site/evidence/nic/cable-eaten.yaml",
    ]
    assert {*codes([tmp_path / "site"], SMALL)} == {"FF108"}
    assert len(new("nic.cable-bent", tmp_path / "site")) == 2


@pytest.mark.parametrize("name", ["cable", "nics.cable", "nic.Cable", "nic/../../x", "nic."])
def test_new_wants_a_proper_id(tmp_path: Path, name: str) -> None:
    with pytest.raises(CannotCreate):
        new(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_new_never_overwrites(tmp_path: Path) -> None:
    new("nic.cable", tmp_path)
    with pytest.raises(CannotCreate, match="there already"):
        new("nic.cable", tmp_path)


def test_suppression_until_a_date(pack: Path) -> None:
    path = pack / "evidence" / "nic" / "link-down.yaml"
    edit(path, "{down.host} 的 {down.port} 先断开", "端口先断开")
    assert codes([], pack) == ["FF233"]
    edit(path, "examples:", "lint: {ignore: [{code: FF233, reason: shorter, until: 2027-01-31}]}\nexamples:")
    assert codes([], pack, dt.date(2027, 1, 31)) == []
    assert codes([], pack, dt.date(2027, 2, 1)) == ["FF233", "FF261"]
    assert codes([], pack) == []


def test_suppression_holds_for_its_own_file_only(pack: Path) -> None:
    for name in ("nic/link-down", "job/process-exit"):
        path = pack / "evidence" / f"{name}.yaml"
        text = path.read_text(encoding="utf-8")
        path.write_text(
            text.replace('zh: "', 'zh: "x ').replace("{exit.rank}", "?", 1).replace("{down.host}", "?", 1),
            encoding="utf-8",
        )
    assert codes([], pack) == ["FF233", "FF233"]
    edit(
        pack / "evidence" / "nic" / "link-down.yaml",
        "examples:",
        "lint: {ignore: [{code: FF233, reason: x}]}\nexamples:",
    )
    assert codes([], pack) == ["FF233"]


def test_codes_have_unique_names_and_can_be_found_by_either() -> None:
    names = {code.name for code in CODES.values()}
    assert len(names) == len(CODES)
    assert find("ff210") is find("unknown-fact-kind") is CODES["FF210"]
    assert find("nothing") is None


def test_output_does_not_depend_on_the_order_of_paths(pack: Path) -> None:
    edit(pack / "tree" / "nic" / "link-down.yaml", "owner: host", "owner: nobody")
    edit(pack / "evidence" / "job" / "process-exit.yaml", "strength: moderate", "strength: big")
    paths = [pack / "tree", pack / "evidence"]
    assert lint(paths, builtin=pack) == lint(paths[::-1], builtin=pack)


def test_phases_that_inference_cannot_take_are_reported(pack: Path) -> None:
    (pack / "profiles").mkdir(exist_ok=True)
    profile = pack / "profiles" / "phases.yaml"
    text = "schema: 1\nkind: profile\nid: phases\nverified_on: [torch]\nsource: none\nphases:\n"
    profile.write_text(text + "  - {phase: steady, when: {fact: job.nonsense}}\n", encoding="utf-8")
    (problem,) = lint(builtin=pack)
    assert (problem.code, problem.line, problem.reason) == ("FF244", 6, "unknown kind job.nonsense")
    profile.write_text(text + "  - {when: {fact: host.oom_kill}}\n", encoding="utf-8")
    (problem,) = lint(builtin=pack)
    assert (problem.code, problem.message) == ("FF244", "the phases cannot be read as rules")


@pytest.mark.parametrize(
    ("name", "body", "missing"),
    [
        ("defects", "defects: [{id: a, component: nccl}]", "versions"),
        ("priors", "most: 0.4\nshifts: [{id: a, causes: {nic.link-down: 0.1}}]", "when"),
        ("nccl_retry_windows", "unit_us: 4.096", "timing"),
    ],
)
def test_profiles_that_their_readers_refuse_are_reported(pack: Path, name: str, body: str, missing: str) -> None:
    (pack / "profiles").mkdir(exist_ok=True)
    text = f"schema: 1\nkind: profile\nid: {name}\nverified_on: [torch]\nsource: none\n{body}\n"
    (pack / "profiles" / f"{name}.yaml").write_text(text, encoding="utf-8")
    (problem,) = lint(builtin=pack)
    assert (problem.code, problem.message) == ("FF244", f"the profile {name} cannot be read")
    assert problem.reason == f"KeyError('{missing}')"
