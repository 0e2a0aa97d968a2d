"""A job that ends may still have been slow: where that is the complaint, its end is no proof of health."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.facts.model import Fact

_RATE = r"(?:bandwidth|throughput|speed|performance)"
_SHARE = r"(?:third|quarter|half|tenth|fraction|\d{1,2} ?%|percent)"
_LESS = r"(?:low(?:er)?|less|reduced|poor|bad|worse|dropp(?:ed|ing)|drops?|fell|falls?|halved|collapse[sd]?)"
_COMPLAINT = re.compile(
    r"\bslow(?:er|ly|s|ed|ness|down)?\b|\bdegrad(?:ed|es|ation)\b"
    rf"|\b{_SHARE} of (?:the |its |their |that )?(?:\w+ ){{0,3}}{_RATE}\b"
    rf"|\b{_LESS} (?:\w+ )?{_RATE}\b|\b{_RATE} (?:is |was |has )?(?:\w+ )?{_LESS}\b"
    r"|变慢|缓慢|太慢|很慢|慢于|降速|(?:带宽|性能|吞吐|速度)[^\s,，。]{0,6}(?:下降|偏低|过低|不足|只有|仅|低于|减半)"
)
"""Words of a title that say: it runs, but not as fast as it should."""

BANDWIDTH = "comm.bus_bandwidth"
FALL = 2.0
"""How many times two results of one benchmark at one size differ where one of them is no good result."""


def slowness_is_meant(title: str, facts: Sequence[Fact]) -> bool:
    """Whether the complaint is of speed, by the incident's title or by two results of one size that differ widely."""
    return _COMPLAINT.search(title.lower()) is not None or _results_differ(facts)


def _results_differ(facts: Sequence[Fact]) -> bool:
    reached: dict[object, list[float]] = {}
    for fact in facts:
        value = fact.fields.get("gbytes_per_s")
        if fact.kind == BANDWIDTH and fact.scope == "incident" and isinstance(value, (int, float)) and value > 0:
            reached.setdefault(fact.fields.get("size"), []).append(float(value))
    return any(max(values) >= FALL * min(values) for values in reached.values())
