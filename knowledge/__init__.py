"""Knowledge is data: this package only says where the built-in pack lies."""

from __future__ import annotations

from pathlib import Path

BUILTIN = Path(__file__).resolve().parent / "builtin"
