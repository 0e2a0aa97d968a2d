"""The installed face of the program: pins the names of its source folders and starts the command line.

The sources live in folders with common names (``engine``, ``cli`` ...). Importing this package makes those four names,
and no others, resolve to this program's own files, whatever ``PYTHONPATH``, the working directory or another
distribution offers under them. A process that does not import ``firstfault`` is not touched.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

__all__ = ["__version__", "main"]

__version__ = "0.1.0"

_NAMES = ("cli", "engine", "facts_adapters", "knowledge")


def _source_root() -> Path:
    """The folder that holds the four: private in an installed wheel, the checkout itself otherwise."""
    here = Path(__file__).resolve().parent
    private = here / "_root"
    return private if private.is_dir() else here.parent


class _OwnSources:
    """Finds the four names under one folder; their submodules then follow from each package's own path.

    No base class: ``importlib.abc`` would cost each start of the command more than the rest of this module.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in _NAMES:
            return None
        spec = PathFinder.find_spec(fullname, [str(self.root)], target)
        if spec is None:
            raise ModuleNotFoundError(
                f"firstfault is not installed completely: no {fullname!r} in {self.root}", name=fullname
            )
        return spec


def _refuse_strangers(root: Path) -> None:
    """Raise ``ImportError`` where another package of one of the four names is already loaded in this process."""
    for name in _NAMES:
        module = sys.modules.get(name)
        if module is None:
            continue
        origin = getattr(module, "__file__", None)
        if origin is None or root not in Path(origin).resolve().parents:
            raise ImportError(
                f"firstfault needs the module name {name!r}, which this process has already loaded from "
                f"{origin or 'elsewhere'}; import firstfault first or in a process of its own",
                name=name,
            )


def _pin() -> None:
    root = _source_root()
    _refuse_strangers(root)
    sys.meta_path.insert(0, _OwnSources(root))


_pin()


def main() -> None:
    """Run the command line with the arguments of this process; ends by ``SystemExit``."""
    try:
        import_module("cli").main(prog_name="firstfault")
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)
