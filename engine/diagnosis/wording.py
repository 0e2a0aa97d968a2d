"""Sentences with facts in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from engine.facts.model import Fact
from engine.rules.model import Text

_PLACE = re.compile(r"\{(\w+)\.(\w+)\}")


def fill(text: Text, facts: Mapping[str, Fact]) -> Text:
    """Replace ``{alias.field}`` by the fact's value; a value that is not known becomes ``?``."""
    return Text(_fill(text.en, facts), _fill(text.zh, facts))


def _fill(template: str, facts: Mapping[str, Fact]) -> str:
    def value(match: re.Match[str]) -> str:
        fact = facts.get(match[1])
        if fact is None:
            return "?"
        if match[2] == "rank" and len(fact.ranks) > 1:
            return rank_list(fact.ranks)
        found = fact.count if match[2] == "count" else fact.get(match[2])
        read = (fact.as_read or {}).get(match[2])
        return "?" if found is None else f"{found} ({read})" if read else str(found)

    return _PLACE.sub(value, template)


def rank_list(ranks: Iterable[int]) -> str:
    """Ranks as ranges: ``0-7,9``."""
    parts: list[list[int]] = []
    for rank in sorted(set(ranks)):
        if parts and rank == parts[-1][1] + 1:
            parts[-1][1] = rank
        else:
            parts.append([rank, rank])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in parts)
