"""Whether anything but the dumps says that the job stands still (``knowledge/builtin/profiles/standstill.yaml``)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from engine.facts.model import Fact
from engine.facts.vocabulary import Vocabulary

ABNORMAL = ("fault", "symptom")


@dataclass(frozen=True, slots=True)
class Complaint:
    """Words of a title that complain, and words that deny a complaint (did not hang)."""

    said: re.Pattern[str]
    denied: re.Pattern[str]

    def made_in(self, title: str) -> bool:
        """Whether the title complains."""
        return self.said.search(self.denied.sub(" ", title)) is not None


def read_standstill(profile: Mapping[str, Any]) -> Complaint:
    """The words of a title that complain; without a profile none do.

    Raises:
        ValueError: a pattern is no regular expression.
    """
    try:
        return Complaint(*(re.compile(str(profile.get(key, "(?!)"))) for key in ("title", "denied")))
    except re.error as error:
        raise ValueError(f"title or denied is no regular expression: {error}") from error


def stands_still(facts: Iterable[Fact], title: str, complaint: Complaint, vocabulary: Vocabulary) -> bool:
    """Whether the title complains, or a source other than the comparison of ranks reports a fault or symptom."""
    if complaint.made_in(title):
        return True
    own = (fact.kind for fact in facts if fact.scope == "incident")
    return any(kind in vocabulary and vocabulary[kind].nature in ABNORMAL for kind in own)
