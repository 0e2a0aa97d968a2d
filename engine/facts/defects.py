"""Known defects of libraries: a version in a range, and what the evidence shows (``profiles/defects.yaml``).

A version alone says nothing: most jobs run well with it. A defect is named only where one of its symptoms is in the
evidence as well, and everything else that it needs. A symptom that hardly anything else has gives
``comm.library_defect``, one that many faults have only ``comm.defect_possible``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine.facts.model import Fact, Observation, Scalar
from engine.facts.versions import Parts, Stated, Versions, spans, stated_versions, within

CERTAIN, POSSIBLE = "comm.library_defect", "comm.defect_possible"
KINDS = (CERTAIN, POSSIBLE)
"""Kinds that known defects yield."""

Ranges = tuple[tuple[Parts, Parts], ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """What the evidence must show: a fact of one of ``kinds`` whose fields are as ``where`` says.

    A value of ``where`` is one of those listed; a mapping ``{contains: text}`` asks for a part of the text.
    """

    kinds: tuple[str, ...]
    where: Mapping[str, Any]

    def by(self, fact: Fact) -> bool:
        """Whether a fact shows it."""
        return fact.kind in self.kinds and all(_fits(fact.get(name), wanted) for name, wanted in self.where.items())


@dataclass(frozen=True, slots=True)
class Defect:
    """One entry of the table. ``others`` are ranges of versions that further components must have."""

    id: str
    component: str
    versions: Ranges
    symptoms: tuple[Shown, ...]
    specific: bool
    needs: tuple[Shown, ...] = ()
    others: tuple[tuple[str, Ranges], ...] = ()
    verified: bool = False
    fixed_in: str = ""
    reference: str = ""


def read_defects(profile: Mapping[str, Any]) -> tuple[Defect, ...]:
    """The profile ``defects``."""
    return tuple(_defect(entry) for entry in profile.get("defects") or ())


def _defect(entry: Mapping[str, Any]) -> Defect:
    return Defect(
        id=str(entry["id"]),
        component=str(entry["component"]),
        versions=tuple(spans(entry["versions"])),
        symptoms=tuple(_shown(item) for item in entry["symptoms"]),
        specific=entry["match"] == "specific",
        needs=tuple(_shown(item) for item in entry.get("needs") or ()),
        others=tuple((str(item["component"]), tuple(spans(item["versions"]))) for item in entry.get("with") or ()),
        verified=bool(entry.get("verified_on")),
        fixed_in=str(entry.get("fixed_in") or ""),
        reference=str(entry["reference"]),
    )


def _shown(entry: Mapping[str, Any]) -> Shown:
    kinds = entry["fact"]
    return Shown(tuple(kinds) if isinstance(kinds, list) else (str(kinds),), entry.get("where") or {})


def _fits(value: Scalar | None, wanted: Any) -> bool:
    if value is None:
        return False
    if isinstance(wanted, Mapping):
        return str(wanted["contains"]).lower() in str(value).lower()
    return value in wanted if isinstance(wanted, list) else value == wanted


def known_defects(facts: Sequence[Fact], observations: Sequence[Observation], defects: Sequence[Defect]) -> list[Fact]:
    """One fact for each defect that fits, at the first symptom that shows it; ``observations`` state the versions."""
    own = [fact for fact in facts if fact.scope == "incident"]
    kinds = {fact.kind for fact in own}
    near = [defect for defect in defects if any(kinds & set(symptom.kinds) for symptom in defect.symptoms)]
    if not near:
        return []
    versions = stated_versions(observations)
    ordered = sorted(own, key=_placed)
    found: list[Fact] = []
    for defect in near:
        fact = next((made for fact in ordered if (made := _shown_by(fact, defect, versions)) is not None), None)
        if fact is not None and all(any(need.by(other) for other in own) for need in defect.needs):
            found.append(fact)
    return found


def _placed(fact: Fact) -> tuple[int, str, int, str]:
    earliest = fact.onset.earliest
    return (earliest if earliest is not None else 2**62, fact.source.path, fact.source.line, fact.kind)


def _shown_by(fact: Fact, defect: Defect, versions: Versions) -> Fact | None:
    """The fact that the defect is here, where ``fact`` is one of its symptoms on a host with its versions."""
    if not any(symptom.by(fact) for symptom in defect.symptoms):
        return None
    stated = _in_range(versions.of(defect.component, fact.host), defect.versions)
    others = all(_in_range(versions.of(component, fact.host), ranges) for component, ranges in defect.others)
    if not stated or not others:
        return None
    fields: dict[str, Scalar] = {"component": defect.component, "version": stated[0].version, "defect": defect.id}
    fields |= {"symptom": fact.kind, "verified": defect.verified, "reference": defect.reference}
    if defect.fixed_in:
        fields["fixed_in"] = defect.fixed_in
    return replace(fact, id="", kind=CERTAIN if defect.specific else POSSIBLE, fields=fields, adapter="defects")


def _in_range(stated: Sequence[Stated], ranges: Ranges) -> list[Stated]:
    return [item for item in stated if any(within(item.parts, first, last) for first, last in ranges)]
