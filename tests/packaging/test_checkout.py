"""The program started from the checkout, with and without an installation."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from firstfault import __version__

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture
def namesakes(tmp_path: Path) -> Path:
    for name in ("cli", "engine", "facts_adapters", "knowledge"):
        (tmp_path / f"{name}.py").write_text(f'raise SystemExit("the {name}.py of PYTHONPATH was imported")\n')
    return tmp_path


def version_of(command: list[str], pythonpath: str, cwd: Path) -> str:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV"))}
    environ["PYTHONPATH"] = pythonpath
    done = subprocess.run(
        [*command, "--version"],
        cwd=cwd,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_cli_runs_from_the_bare_checkout(namesakes: Path) -> None:
    output = version_of([sys.executable, str(CHECKOUT / "cli.py")], str(namesakes), namesakes)
    assert output == f"firstfault, version {__version__}\n"


def test_module_runs_with_namesakes_in_front(namesakes: Path) -> None:
    output = version_of([sys.executable, "-m", "firstfault"], f"{namesakes}{os.pathsep}{CHECKOUT}", namesakes)
    assert output == f"firstfault, version {__version__}\n"


def test_installed_command_runs_with_namesakes_in_front(namesakes: Path) -> None:
    command = Path(sys.executable).with_name("firstfault")
    if not command.exists():
        pytest.skip("firstfault is not installed in this environment")
    assert version_of([str(command)], str(namesakes), namesakes) == f"firstfault, version {__version__}\n"


def test_only_one_module_imports_durable_rules() -> None:
    importers = set()
    for source in [
        CHECKOUT / "cli.py",
        *(CHECKOUT / "engine").rglob("*.py"),
        *(CHECKOUT / "facts_adapters").rglob("*.py"),
    ]:
        for node in ast.walk(ast.parse(source.read_bytes())):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(module.split(".")[0] in {"durable", "durable_rules_engine"} for module in modules):
                importers.add(source.relative_to(CHECKOUT).as_posix())
    assert importers <= {"engine/inference/durable.py"}
