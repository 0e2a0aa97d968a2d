"""Crashes of system daemons are none of the job's."""

from __future__ import annotations

from engine.facts.daemons import name_daemons
from engine.facts.model import Observation, Scalar, Source

PROFILE = {"daemons": ["opensm", "nv-fabricmanag*"]}


def _crash(process: str | None) -> Observation:
    fields: dict[str, Scalar] = {"signal": 11} if process is None else {"signal": 11, "process": process}
    return Observation("job.native_crash", Source("dmesg.txt", 1, ""), fields, host="n1")


def test_crash_of_a_daemon_is_a_failed_service() -> None:
    found = name_daemons([_crash("opensm"), _crash("nv-fabricmanage")], PROFILE)
    assert [item.kind for item in found] == ["host.service_failed"] * 2
    assert found[0].fields == {"unit": "opensm", "result": "core-dump"}


def test_other_crashes_stay_the_jobs() -> None:
    found = name_daemons([_crash("python"), _crash(None), _crash("opensm_like")], PROFILE)
    assert {item.kind for item in found} == {"job.native_crash"}
