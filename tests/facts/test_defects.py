from __future__ import annotations

from typing import Any

import pytest

from engine.facts.defects import CERTAIN, POSSIBLE, Defect, Shown, known_defects, read_defects
from engine.facts.model import Fact, Observation
from engine.facts.versions import parts, within
from tests.facts.building import PROFILES, VOCABULARY, facts, seen

TABLE = {defect.id: defect for defect in read_defects(PROFILES["defects"])}
ENTRIES = {entry["id"]: entry for entry in PROFILES["defects"]["defects"]}


def version(text: str, component: str = "nccl", host: str | None = "n1") -> Observation:
    return seen("comm.version", "versions", 1, host=host, component=component, version=text)


def frame(function: str = "ncclLocalOpAppend", **given: Any) -> Observation:
    return seen("comm.library_frame", "stack", 3, **{"host": "n1", "function": function, **given})


def hang(**given: Any) -> Observation:
    return seen("comm.collective_timeout", "log", 9, **{"host": "n1", "rank": 0, "op": "ALLREDUCE", "seq": 7, **given})


def named(*items: Observation) -> dict[str, Fact]:
    found = facts(*items)
    return {str(fact.fields["defect"]): fact for kind in (CERTAIN, POSSIBLE) for fact in found.get(kind, [])}


def test_a_version_in_range_and_its_symptom() -> None:
    found = named(version("2.28.9"), frame())
    assert set(found) == {"nccl-arm-proxy-slots-lost"}
    fact = found["nccl-arm-proxy-slots-lost"]
    assert (fact.kind, fact.source.path, fact.source.line, fact.host) == (CERTAIN, "stack", 3, "n1")
    assert fact.fields["version"] == "2.28.9"
    assert fact.fields["fixed_in"] == "2.29.3"
    assert fact.fields["symptom"] == "comm.library_frame"
    assert fact.fields["verified"] is True


@pytest.mark.parametrize("text", ["2.27.7", "2.29.3", "2.30.7", "unknown"])
def test_another_version_with_the_symptom(text: str) -> None:
    assert named(version(text), frame()) == {}


def test_a_version_in_range_without_the_symptom() -> None:
    assert named(version("2.28.9"), frame("ncclGroupCommJoin")) == {}
    assert named(version("2.28.9")) == {}


def test_a_symptom_without_any_version() -> None:
    assert named(frame()) == {}


def test_the_version_of_another_host_says_nothing_where_this_host_states_its_own() -> None:
    assert named(version("2.28.9", host="n2"), version("2.30.7"), frame()) == {}
    assert set(named(version("2.28.9", host="n2"), frame())) == {"nccl-arm-proxy-slots-lost"}


def test_a_symptom_that_many_faults_have_is_only_possible() -> None:
    arm = seen("host.software", "uname", 1, host="n1", name="kernel", version="6.8.0-1013-nvidia-64k aarch64")
    found = named(version("2.28.9"), hang(), arm)
    assert {name: fact.kind for name, fact in found.items()} == {"nccl-arm-silent-hang": POSSIBLE}


def test_what_a_defect_needs_must_be_shown() -> None:
    x86 = seen("host.software", "uname", 1, host="n1", name="kernel", version="6.8.0-1013-generic x86_64")
    assert named(version("2.28.9"), hang(), x86) == {}


@pytest.mark.parametrize(
    ("torch", "nccl", "there"), [("2.7.0", "2.26.2", True), ("2.7.1", "2.26.2", False), ("2.7.0", "2.27.3", False)]
)
def test_two_components_together(torch: str, nccl: str, there: bool) -> None:
    found = named(seen("host.software", "pip", 1, host="n1", name="torch", version=torch), version(nccl), hang())
    assert ("torch-eager-nonblocking-hang" in found) is there


def test_an_operation_by_part_of_its_name() -> None:
    assert "nccl-zero-byte-sends" in named(version("2.12.7"), hang(op="ALLTOALL_BASE"))
    assert named(version("2.12.7"), hang(op="ALLREDUCE")) == {}


def test_evidence_of_another_run_says_nothing() -> None:
    old = frame()
    old.run = "prev"
    assert named(version("2.28.9"), old) == {}


def test_many_symptoms_are_one_defect() -> None:
    items = [frame(rank=rank) for rank in range(3)]
    for number, item in enumerate(items):
        item.source = type(item.source)("stack", 10 + number, "a frame")
    assert len(facts(version("2.28.9"), *items)[CERTAIN]) == 1


def test_the_first_symptom_is_the_one_that_is_named() -> None:
    defect = Defect("d", "nccl", (((2,), (3,)),), (Shown(("comm.library_frame",), {}),), specific=True)
    later, first = frame(), frame()
    first.source = type(first.source)("stack", 1, "a frame")
    observed = [version("2.28.9"), later, first]
    found = known_defects(facts(*observed)["comm.library_frame"], observed, [defect])
    assert [fact.source.line for fact in found] == [1]


# --- the table ---


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_every_entry_can_be_met_by_facts_of_the_vocabulary(name: str) -> None:
    entry, defect = ENTRIES[name], TABLE[name]
    for shown in (*defect.symptoms, *defect.needs):
        for kind in shown.kinds:
            assert kind in VOCABULARY
            assert set(shown.where) <= set(VOCABULARY[kind].fields)
    assert defect.symptoms
    assert defect.versions
    for component in (defect.component, *(other for other, _ in defect.others)):
        assert component in VOCABULARY["comm.version"].fields["component"].values
    assert entry["match"] in ("specific", "broad")
    assert entry["reference"].startswith("https://github.com/")
    assert entry["text"]["en"]
    assert entry["text"]["zh"]


@pytest.mark.parametrize("name", sorted(TABLE))
def test_every_entry_fits_its_own_version_and_symptom_and_no_other_version(name: str) -> None:
    defect = TABLE[name]
    first, last = defect.versions[0]
    inside = ".".join(str(number) for number in last or (*first, 0))
    items = [version(inside, defect.component)]
    items += [version(".".join(map(str, ranges[0][1])), other) for other, ranges in defect.others]
    for number, shown in enumerate((defect.symptoms[0], *defect.needs)):
        fields = {key: _value(wanted) for key, wanted in shown.where.items()}
        items.append(seen(shown.kinds[0], "evidence", number + 1, host="n1", **fields))
    assert name in named(*items)
    items[0] = version("1.0" if first > (1, 0) else "99.0", defect.component)
    assert name not in named(*items)


def _value(wanted: Any) -> Any:
    return wanted["contains"] if hasattr(wanted, "keys") else wanted[0] if isinstance(wanted, list) else wanted


# --- versions ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [("2.21.5", (2, 21, 5)), ("v1.20.0-aws", (1, 20, 0)), ("2.21.5+cuda12.4", (2, 21, 5)), ("", ()), ("unknown", ())],
)
def test_the_numbers_of_a_version(text: str, expected: tuple[int, ...]) -> None:
    assert parts(text) == expected


@pytest.mark.parametrize(
    ("version_text", "first", "last", "inside"),
    [
        ("2.13.4", "2.8", "2.13", True),
        ("2.14.0", "2.8", "2.13", False),
        ("2.8", "2.8", "2.13", True),
        ("2.9.1", "2.10", "", False),
        ("2.10.3", "2.9", "", True),
        ("", "", "", False),
    ],
)
def test_ranges_include_their_ends(version_text: str, first: str, last: str, inside: bool) -> None:
    assert within(parts(version_text), parts(first), parts(last)) is inside
