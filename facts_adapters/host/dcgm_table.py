"""``dcgmi diag -r N`` and ``dcgmi health -c`` as tables (DCGM 1.7 .. 4.4), also inside other output.

Up to DCGM 3 a failed test names its GPUs behind a dash; from DCGM 4 on each entity has a row of its own below.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Context, Sample
from facts_adapters.host._dcgm import meaning, narrow_link, of_software
from facts_adapters.text.blocks import Block, BlockReader

_BEGINS = re.compile(r"\| (?:Diagnostic +\| Result|Health Monitor Report) ")
_RULE = re.compile(r"[+|][-=]")
_ROW = re.compile(r"\|(?P<name>.{1,60}?)\|(?P<value>.*)\|$")
_ENTITY = re.compile(r"(?P<group>GPU|CPU|NvSwitch|Switch)(?P<id>\d{1,4}): (?P<result>\w+)$")
_NAMED = re.compile(r"Fail - (?:GPUs?|All)?:? ?(?P<ids>[\d, ]*)$")
_OF_ENTITY = re.compile(r"(?:GPU|Warning: GPU) ?(?P<id>\d{1,4})\b")
_BAD = frozenset({"fail", "failure"})
_GOOD = frozenset({"pass", "healthy"})
_MOST_WORDS = 300


def begins(message: str) -> bool:
    """True for the heading of either table."""
    return _BEGINS.match(message.strip()) is not None


def continues(so_far: Sequence[str], message: str) -> bool:
    """True for rows and rules."""
    text = message.strip()
    return len(so_far) < 1000 and not begins(message) and (bool(_RULE.match(text)) or bool(_ROW.match(text)))


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``host.gpu_fault`` for each GPU that failed, ``host.gpu_health`` without a problem where nothing did."""
    rows: list[tuple[int, str, str]] = []
    for line in block.lines[1:]:
        match = _ROW.match(line.text.strip())
        if match and not _RULE.match(line.text.strip()):
            rows.append((line.number, match["name"].rstrip(), match["value"].strip()))
    health = "Health Monitor" in block.lines[0].text
    found = list(_health(block, rows) if health else _diagnostic(block, rows))
    yield from found
    values = {value.split(" ")[0].lower() for _, _, value in rows}
    if not found and values & _GOOD and not values & _BAD:
        fields: dict[str, Scalar] = {"problem": "none", "text": "dcgmi health" if health else "dcgmi diag"}
        yield Observation("host.gpu_health", block.source(block.lines[0].number), fields)


def _diagnostic(block: Block, rows: Sequence[tuple[int, str, str]]) -> Iterator[Observation]:
    index = 0
    while index < len(rows):
        number, name, value = rows[index]
        test, index = name.strip(), index + 1
        below = index
        while below < len(rows) and _belongs(rows[below][1]):
            below += 1
        if test and value.split(" ")[0].lower() in _BAD:
            yield from _failed(block, number, test, value, rows[index:below])
        index = below


def _belongs(name: str) -> bool:
    """Whether a row goes on with the test above: an entity's result, a warning or the rest of its text."""
    return not name.strip() or name.strip().startswith(("Warning", "Info"))


def _failed(
    block: Block, number: int, test: str, value: str, below: Sequence[tuple[int, str, str]]
) -> Iterator[Observation]:
    entities = [(row, match) for row, _, text in below if (match := _ENTITY.match(text))]
    failed = {match["id"]: row for row, match in entities if match["result"].lower() in _BAD}
    words = " ".join(text for _, _, text in below if not _ENTITY.match(text))
    if not entities:
        named = _NAMED.match(value)
        ids = re.findall(r"\d{1,4}", named["ids"]) if named else []
        told = [match["id"] for _, name, text in below if (match := _OF_ENTITY.match(f"{name.strip()} {text}".strip()))]
        told = told or [match["id"] for _, _, text in below if (match := _OF_ENTITY.match(text))]
        failed = dict.fromkeys(ids or told, number)
    for gpu, row in failed.items() or [("", number)]:
        yield _fault(block, row, test, words or value, gpu)


def _health(block: Block, rows: Sequence[tuple[int, str, str]]) -> Iterator[Observation]:
    """Rows below ``GPU`` are indented: the GPU's number, ``Errors``, the system, and the words on rows of their own."""
    gpu, system, number, words = "", "", 0, list[str]()
    for row, name, value in rows:
        text = name.strip().lstrip("->| ").strip()
        if text.isdigit() or (text and not text.startswith(("Errors", "Overall", "GPU"))):
            if system:
                yield _fault(block, number, system, " ".join(words), gpu)
                system = ""
            if text.isdigit():
                gpu = text
            elif value.lower() in _BAD and text.lower().endswith(("system", "watches", "memory", "nvlink", "pcie")):
                system, number, words = text, row, []
        elif system and not text:
            words.append(value)
    if system:
        yield _fault(block, number, system, " ".join(words), gpu)


def _fault(block: Block, number: int, test: str, words: str, gpu: str) -> Observation:
    text = f"{test}: {words}"[:_MOST_WORDS]
    if of_software(test):
        return Observation("host.gpu_health", block.source(number), {"problem": "other", "text": text})
    narrow = narrow_link(words)
    if narrow is not None:
        return Observation("host.pcie_degraded", block.source(number), dict(narrow))
    fields: dict[str, Scalar] = {"class": meaning(test, words), "reporter": "dcgm", "text": text}
    if gpu:
        fields["gpu"] = gpu
    return Observation("host.gpu_fault", block.source(number), fields)


_VERSION_3 = """\
Successfully ran diagnostic for group.
+---------------------------+------------------------------------------------+
| Diagnostic                | Result                                         |
+===========================+================================================+
|-----  Deployment  --------+------------------------------------------------|
| Permissions and OS Blocks | Fail                                           |
| Warning                   | GPU 0 Persistence mode is off                  |
|-----  Integration  -------+------------------------------------------------|
| PCIe                      | Fail - GPU: 1                                  |
|-----  Hardware  ----------+------------------------------------------------|
| GPU Memory                | Fail                                           |
| Warning                   | GPU 3 Error using CUDA API cuCtxCreate         |
| Pulse Test                | Skip - All                                     |
+---------------------------+------------------------------------------------+
"""
_VERSION_4 = """\
+---------------------------+------------------------------------------------+
| Diagnostic                | Result                                         |
+===========================+================================================+
| memory                    | Fail                                           |
|                           | GPU0: Pass                                     |
|                           | GPU3: Fail                                     |
| Warning: GPU3             | Detected 2 uncorrectable ECC errors            |
| pcie                      | Pass                                           |
|                           | GPU0: Pass                                     |
+---------------------------+------------------------------------------------+
"""
_HEALTH = """\
+---------------------------+------------------------------------------------+
| Health Monitor Report                                                      |
+===========================+================================================+
| Overall Health            | Failure                                        |
| GPU                       |                                                |
| -> 3                      | Failure                                        |
|    -> Errors              |                                                |
|       -> Memory system    | Failure                                        |
|                           | A DBE has occurred in the memory of GPU 3      |
|       -> PCIe system      | Warning                                        |
|                           | Detected more than 8 PCIe replays per minute   |
+---------------------------+------------------------------------------------+
"""
_NARROW = """\
+---------------------------+------------------------------------------------+
| Diagnostic                | Result                                         |
+===========================+================================================+
| PCIe                      | Fail - GPU: 3                                  |
| Warning                   | GPU 3 is running at PCI link width 8X, which i |
|                           | s below the minimum allowed link width of 16   |
+---------------------------+------------------------------------------------+
"""
_HEALTHY = """\
+---------------------------+------------------------------------------------+
| Health Monitor Report                                                      |
+===========================+================================================+
| Overall Health            | Healthy                                        |
+---------------------------+------------------------------------------------+
"""

BLOCK = BlockReader(
    name="dcgm_table",
    literals=("| Diagnostic ", "| Health Monitor Report"),
    begins=begins,
    continues=continues,
    read=read,
    emits=("host.gpu_fault", "host.gpu_health", "host.pcie_degraded"),
    samples=(
        Sample(
            _VERSION_3,
            (
                ("host.gpu_fault", {"class": "lost", "reporter": "dcgm", "gpu": "1"}),
                ("host.gpu_health", {"problem": "other"}),
                ("host.gpu_fault", {"class": "memory", "reporter": "dcgm", "gpu": "3"}),
            ),
        ),
        Sample(_NARROW, (("host.pcie_degraded", {"what": "gpu", "width": 8}),)),
        Sample(_VERSION_4, (("host.gpu_fault", {"class": "memory", "gpu": "3"}),)),
        Sample(_HEALTH, (("host.gpu_fault", {"class": "memory", "gpu": "3"}),)),
        Sample(_HEALTHY, (("host.gpu_health", {"problem": "none"}),)),
        Sample("| Diagnostic | of the model |\n"),
    ),
)
