"""One statement of a file as an observation."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.facts.model import CounterSample, Observation, Reading, Scalar, Source
from facts_adapters.adapter import Context, EvidenceFile, Line
from facts_adapters.quoting import quote

_SIZE = re.compile(r"(?P<number>\d{1,18}(?:[.,]\d+)?)\s*(?P<unit>[kKmMgGtTpP]?)i?[bB]?")
_KB = {"": 1 / 1024, "k": 1, "m": 1 << 10, "g": 1 << 20, "t": 1 << 30, "p": 1 << 40}


def state(
    file: EvidenceFile, line: Line, kind: str, fields: Mapping[str, Scalar], when: Reading | None = None
) -> Observation:
    """An observation of ``kind`` that stands in ``line``; empty values are left out."""
    kept = {name: value for name, value in fields.items() if value != ""}
    return Observation(kind, Source(file.path, line.number, line.text.strip()[:2000]), kept, when=when)


@dataclass(frozen=True, slots=True)
class Counting:
    """What the counters of one file share: their family, the adapter that reads them and the time of the snapshot."""

    file: EvidenceFile
    family: str
    adapter: str
    when: Reading | None = None

    def sample(
        self, line: Line, counter: str, value: int, device: str | None = None, port: str | None = None
    ) -> CounterSample:
        """The counter as it stands in ``line``."""
        source = quote(self.file, line)
        return CounterSample(
            source,
            self.family,
            counter,
            value,
            host=self.file.host,
            device=device,
            port=port,
            group=self.file.group,
            when=self.when,
            adapter=self.adapter,
        )


LONGEST_DOCUMENT = 32 << 20
"""Characters of a JSON document of one host that are read."""


def whole(file: EvidenceFile, context: Context) -> list[Line]:
    """All lines of a file that must be read at once; none, and a warning, where it is too long for one host."""
    lines: list[Line] = []
    size = 0
    for line in file.lines():
        lines.append(line)
        size += len(line.text)
        if size > LONGEST_DOCUMENT:
            context.warn(file.path, line.number, "the file is too long to be the report of one host; it is not read")
            return []
    return lines


def json_report(file: EvidenceFile, context: Context) -> tuple[list[Line], Any]:
    """The lines of a report and the JSON document that they are; no lines, and a warning, where it cannot be read."""
    lines = whole(file, context)
    try:
        return lines, json.loads("\n".join(line.text for line in lines)) if lines else None
    except (ValueError, RecursionError):
        context.warn(file.path, 1, "this JSON cannot be read")
        return [], None


def size_kb(text: str) -> int | None:
    """A size such as ``64M``, ``1.5G`` or ``67108864`` (bytes) in kB; ``None`` where it is none."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return None
    number = float(match["number"].replace(",", "."))
    return int(number * _KB[match["unit"].lower()])
