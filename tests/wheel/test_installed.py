"""The wheel, installed beside and underneath packages that use the same names."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from firstfault import __version__

pytestmark = pytest.mark.wheel

CHECKOUT = Path(__file__).resolve().parents[2]
OWN_NAMES = ("cli", "engine", "facts_adapters", "knowledge")

FOREIGN_PYPROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "somebody-elses-trainer"
version = "1"
[tool.hatch.build.targets.wheel]
packages = ["engine"]
"""

POOL_SCRIPT = """\
import multiprocessing
import sys

import firstfault
from engine.facts.model import Span


def origins(span):
    import cli
    import engine
    import workspace_helper
    return [cli.__file__, engine.__file__, sys.modules[type(span).__module__].__file__, workspace_helper.WHO]


if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
        print("\\n".join(pool.apply(origins, (Span(1, 2),))))
"""


@dataclass(frozen=True)
class Installation:
    """A fresh environment with the wheel and a foreign ``engine``, and a hostile folder on PYTHONPATH."""

    wheel: Path
    foreign: Path
    environment: Path
    workspace: Path

    @property
    def root(self) -> Path:
        (site,) = self.environment.glob("lib/python3*/site-packages")
        return site / "firstfault" / "_root"

    def run(self, *command: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV"))}
        environ["PYTHONPATH"] = str(self.workspace)
        done = subprocess.run(
            [self.environment / "bin" / command[0], *command[1:]],
            cwd=self.workspace,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done


def build(source: Path, out: Path, *options: str) -> Path:
    """Build with the backend of the development environment: nothing is downloaded."""
    command = [sys.executable, "-m", "build", "--no-isolation", *options, "--outdir", str(out), str(source)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = out.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    tmp = tmp_path_factory.mktemp("installed")
    foreign_source = tmp / "foreign"
    (foreign_source / "engine").mkdir(parents=True)
    (foreign_source / "pyproject.toml").write_text(FOREIGN_PYPROJECT)
    (foreign_source / "engine" / "__init__.py").write_text('WHO = "foreign distribution"\n')

    workspace = tmp / "workspace"
    workspace.mkdir()
    for name in OWN_NAMES:
        (workspace / f"{name}.py").write_text(f'raise SystemExit("the {name}.py of PYTHONPATH was imported")\n')
    (workspace / "workspace_helper.py").write_text('WHO = "workspace"\n')
    (workspace / "pool.py").write_text(POOL_SCRIPT)

    # No option means source archive first, then the wheel from it: what the archive lacks, the wheel lacks.
    wheel = build(CHECKOUT, tmp / "dist")
    foreign = build(foreign_source, tmp / "foreign-dist", "--wheel")

    environment = tmp / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True, timeout=120)
    pip = [sys.executable, "-m", "pip", "--python", str(environment / "bin" / "python"), "--no-input", "--quiet"]
    command = [*pip, "--disable-pip-version-check", "install", str(wheel), str(foreign)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return Installation(wheel, foreign, environment, workspace)


def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_wheel_has_one_top_level_name(installation: Installation) -> None:
    tops = {name.split("/")[0] for name in names(installation.wheel)}
    assert tops == {"firstfault", f"firstfault-{__version__}.dist-info"}


def test_wheel_and_foreign_distribution_share_no_file(installation: Installation) -> None:
    assert not set(names(installation.wheel)) & set(names(installation.foreign))


def test_wheel_holds_every_source_file_and_nothing_else(installation: Installation) -> None:
    sources = [CHECKOUT / "cli.py"]
    for folder in ("engine", "facts_adapters", "knowledge"):
        sources += [path for path in (CHECKOUT / folder).rglob("*") if path.is_file()]
    expected = {
        f"firstfault/_root/{path.relative_to(CHECKOUT).as_posix()}"
        for path in sources
        if "__pycache__" not in path.parts and not path.name.startswith(".")
    }
    assert {name for name in names(installation.wheel) if name.startswith("firstfault/_root/")} == expected
    assert any(name.startswith("firstfault/_root/knowledge/builtin/") for name in expected)


def test_license_is_part_of_the_wheel(installation: Installation) -> None:
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names(installation.wheel))


@pytest.mark.parametrize("command", [("firstfault",), ("python", "-m", "firstfault")], ids=["script", "module"])
def test_command_starts_beside_namesakes(installation: Installation, command: tuple[str, ...]) -> None:
    assert __version__ in installation.run(*command, "--version").stdout
    assert installation.run(*command, "--help").stdout.startswith("Usage: firstfault")


def test_command_needs_no_compiled_backend(installation: Installation) -> None:
    installation.run("python", "-c", "import durable_rules_engine", code=1)
    assert installation.run("firstfault", "--help").stderr == ""


def test_foreign_package_stays_foreign_outside_the_command(installation: Installation) -> None:
    code = "import engine; print(engine.WHO)"
    assert installation.run("python", "-I", "-c", code).stdout == "foreign distribution\n"


def test_importing_firstfault_pins_the_four_names_and_no_other(installation: Installation) -> None:
    code = (
        "import sys; before = list(sys.path); import firstfault; assert sys.path == before; "
        "import cli, engine, facts_adapters, knowledge, workspace_helper as helper; "
        "print(*[module.__file__ for module in (cli, engine, facts_adapters, knowledge)], helper.WHO, sep='\\n')"
    )
    *own, helper = installation.run("python", "-c", code).stdout.splitlines()
    assert helper == "workspace"
    assert own == [str(installation.root / "cli.py")] + [
        str(installation.root / name / "__init__.py") for name in OWN_NAMES if name != "cli"
    ]


def test_data_is_found_where_the_package_lies(installation: Installation) -> None:
    code = "import firstfault, knowledge; print(knowledge.BUILTIN, knowledge.BUILTIN.is_dir())"
    assert installation.run("python", "-c", code).stdout == f"{installation.root / 'knowledge' / 'builtin'} True\n"


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_child_processes_see_the_same_modules(installation: Installation, method: str) -> None:
    *own, helper = installation.run("python", "pool.py", method).stdout.splitlines()
    assert helper == "workspace"
    assert own == [
        str(installation.root / "cli.py"),
        str(installation.root / "engine" / "__init__.py"),
        str(installation.root / "engine" / "facts" / "model.py"),
    ]


def test_namesake_loaded_first_is_refused_by_name(installation: Installation) -> None:
    done = installation.run("python", "-I", "-c", "import engine, firstfault", code=1)
    assert "ImportError: firstfault needs the module name 'engine'" in done.stderr
    assert "site-packages/engine/__init__.py" in done.stderr
