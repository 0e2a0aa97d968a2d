"""Build hook: the source folders of the checkout become one private folder of the package in the wheel.

``engine`` and ``cli`` are names that other distributions use as well; installed at the top level they would overwrite
each other. An editable install needs nothing of this: a path to the checkout is enough.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

RELOCATED = ("cli.py", "engine", "facts_adapters", "knowledge")
PRIVATE = "firstfault/_root"


class RelocateSources(BuildHookInterface[BuilderConfig]):
    """Adds every source file under ``firstfault/_root`` to a standard wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Fill ``build_data["force_include"]``; ``version`` is ``standard`` or ``editable``."""
        if version != "standard":
            return
        root = Path(self.root)
        for name in RELOCATED:
            top = root / name
            if not top.exists():
                raise FileNotFoundError(f"{top} is missing: the wheel would not start")
            for path in [top] if top.is_file() else sorted(top.rglob("*")):
                relative = path.relative_to(root)
                if path.is_file() and not _is_litter(relative):
                    build_data["force_include"][str(path)] = f"{PRIVATE}/{relative.as_posix()}"


def _is_litter(path: Path) -> bool:
    return any(part == "__pycache__" or part.startswith(".") for part in path.parts) or path.suffix in {".pyc", ".orig"}
