"""A crash of a system daemon is a service that failed; the kernel prints the same line for a process of the job."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from engine.facts.model import Observation, Scalar

CRASH, SERVICE = "job.native_crash", "host.service_failed"


def name_daemons(observations: Iterable[Observation], profile: Mapping[str, Any]) -> list[Observation]:
    """``observations`` with crashes of the daemons that ``profile`` lists as failed services.

    ``profile`` is the plain ``system_daemons`` profile.
    """
    daemons = [str(name) for name in profile.get("daemons", ())]
    return [_named(item, daemons) for item in observations]


def _named(item: Observation, daemons: Iterable[str]) -> Observation:
    process = item.fields.get("process")
    if item.kind != CRASH or not isinstance(process, str):
        return item
    if not any(fnmatch.fnmatchcase(process, name) for name in daemons):
        return item
    fields: dict[str, Scalar] = {"unit": process, "result": "core-dump"}
    return replace(item, kind=SERVICE, fields=fields)
