"""Whether anything but the dumps says that the job stands still (``knowledge/builtin/profiles/standstill.yaml``)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from engine.facts.model import Fact
from engine.facts.vocabulary import Vocabulary

ABNORMAL = ("fault", "symptom")


def read_standstill(profile: Mapping[str, Any]) -> re.Pattern[str]:
    """The words of a title that complain; without a profile none do.

    Raises:
        ValueError: the pattern is no regular expression.
    """
    try:
        return re.compile(str(profile.get("title", "(?!)")))
    except re.error as error:
        raise ValueError(f"title is no regular expression: {error}") from error


def stands_still(facts: Iterable[Fact], title: str, complaint: re.Pattern[str], vocabulary: Vocabulary) -> bool:
    """Whether the title complains, or a source other than the comparison of ranks reports a fault or symptom."""
    if complaint.search(title):
        return True
    own = (fact.kind for fact in facts if fact.scope == "incident")
    return any(kind in vocabulary and vocabulary[kind].nature in ABNORMAL for kind in own)
