"""What the words of DCGM's tests and health systems mean for a GPU."""

from __future__ import annotations

import re

_CLASSES = (
    (re.compile(r"nvlink|nvbandwidth|nvswitch", re.IGNORECASE), "link"),
    (re.compile(r"pcie", re.IGNORECASE), "lost"),
    (re.compile(r"memory|memtest|\becc\b|\bdbe\b|remap|page retire|inforom", re.IGNORECASE), "memory"),
    (re.compile(r"power|thermal", re.IGNORECASE), "power"),
)


_OF_SOFTWARE = re.compile(
    r"denylist|nvml library|cuda (?:main|toolkit) library|permissions|persistence|environment|graphics|software$",
    re.IGNORECASE,
)


def of_software(test: str) -> bool:
    """Whether a test looks at the installation of the host and not at a GPU."""
    return _OF_SOFTWARE.match(test) is not None


_NARROW = re.compile(
    r"(?:link|pcie?) width\D{0,20}?(?P<width>\d{1,2}) ?X?\b|link generation|minimum required bandwidth", re.IGNORECASE
)


def narrow_link(words: str) -> dict[str, str | int] | None:
    """The fields of ``host.pcie_degraded`` where a test failed for width, generation or bandwidth of a GPU's link."""
    found = _NARROW.search(words)
    if found is None:
        return None
    width: dict[str, str | int] = {"width": int(found["width"])} if found["width"] else {}
    return {"what": "gpu", "text": words[:300], **width}


def meaning(test: str, words: str = "") -> str:
    """The class of ``host.gpu_fault`` that a failed test and its words tell; ``unknown`` where they tell none."""
    return next((name for pattern, name in _CLASSES if pattern.search(f"{test} {words}")), "unknown")
