"""What a problem code is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    """A kind of problem. ``ignorable`` ones may be suppressed inside the file, with a reason."""

    code: str
    name: str
    meaning: str
    remedy: str
    ignorable: bool = False
