"""Reports for the renderers' tests."""

from __future__ import annotations

from typing import Any

from engine.facts.model import Observation
from engine.report.contract import to_report
from tests.diagnosis.test_diagnose import KNOWLEDGE, exit_, kill, run
from tests.facts.building import VOCABULARY, seen, utc

HOSTILE = '<script>alert(1)</script> `|` [x](javascript:1) "quoted" \\l {braces}'


def report(*items: Observation, language: str = "en") -> dict[str, Any]:
    return to_report(run(KNOWLEDGE, *items), VOCABULARY, language, "0.0.0")


def killed(language: str = "en") -> dict[str, Any]:
    closed = seen("comm.peer_closed", "logs/b.log", 9, host="n2", rank=9, address="n1", when=utc("2026-03-01T10:00:03"))
    return report(kill(), exit_(), closed, language=language)


def hostile() -> dict[str, Any]:
    item = kill()
    item.source = type(item.source)(f"logs/{HOSTILE}.log", 3, HOSTILE)
    item.host = HOSTILE
    return report(item)


def thousand_ranks() -> dict[str, Any]:
    items = [
        seen(
            "job.process_exit",
            f"logs/n{rank // 8:03d}.log",
            rank + 1,
            host=f"n{rank // 8:03d}",
            rank=rank,
            exit_code=0,
            signal=9,
            when=utc("2026-03-01T10:00:02"),
        )
        for rank in range(1024)
    ]
    return report(kill(), *items)
