"""Progress bars in logs (tqdm, Hugging Face datasets, Lightning, rich, Keras): how far one rank's long work is.

A bar without a known total (an iterable data set) counts what it has done only.

Of a run of bar lines of one writer the first and the last of each bar are kept. The meaning of labels is in
``knowledge/builtin/profiles/progress_labels.yaml``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from engine.authored import load_document
from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Context, Sample
from facts_adapters.text.blocks import Block, BlockLine, BlockReader
from knowledge import BUILTIN

_BAR = re.compile(
    r"(?P<label>[^|%\r\n]{0,120}?):?\s*(?P<percent>\d{1,3})%\|[^|]*\|\s*"
    r"(?P<done>[\d.]+)(?P<done_unit>[kMGT]?)i?B?/(?P<total>[\d.]+)(?P<total_unit>[kMGT]?)i?B?\s*"
    r"\[(?P<elapsed>(?:\d+:)?\d+:\d\d)<(?P<remaining>(?:\d+:)?\d+:\d\d|\?)"
    r"(?:,\s*[\d.?]+ ?(?P<rate>[kMGT]?i?[A-Za-z]+/s|s/[A-Za-z]+))?"
)
_OPEN_BAR = re.compile(
    r"(?:^|(?P<label>[^|%\r\n\[\]]{0,120}?)[: ] {0,20})(?P<done>\d{1,12})"
    r"(?P<unit>it|batch|step|examples|ex|rows|files| [a-z]{2,12}) "
    r"\[(?P<elapsed>(?:\d{1,6}:)?\d{1,6}:\d\d), +[\d.?]+ ?(?:[kMGT]?i?[A-Za-z]+/s|s/[A-Za-z]+)"
)
"""tqdm without a total: ``Epoch 0: 120it [02:03,  1.03s/it]``."""

_RICH = re.compile(
    r"(?P<label>[A-Za-z][\w./-]{0,20}(?: [\w./-]{1,20}){0,3}) {1,20}[\u2500-\u257f]{3,300} {1,300}"
    r"(?P<done>\d+)/(?P<total>\d+) (?P<elapsed>\d{1,6}:\d\d:\d\d) \S (?P<remaining>\d{1,6}:\d\d:\d\d|-:--:--)"
)
"""rich in Lightning: ``Epoch 3/9 ---- 120/1000 0:02:03 * 0:15:04 1.03it/s``."""

_KERAS = re.compile(
    r"(?:^|\s)(?P<done>\d+)/(?P<total>\d+) "
    r"(?:\[[=>.]{10,60}\] - (?:ETA: (?P<eta>(?:\d{1,6}:){0,3}\d{1,6}s?)|\d{1,9}s)"
    r"|[\u2500-\u257f]{5,60} (?P<left>(?:\d{1,6}:){0,3}\d{1,6}s?))"
)
"""Keras 2: ``120/1000 [==>....] - ETA: 15:04 - loss: 2.1``, Keras 3 with another bar."""

_SCALE = {"": 1, "k": 1_000, "M": 1_000_000, "G": 1_000_000_000, "T": 1_000_000_000_000}
_RANK = re.compile(r"\brank[ =:_#]{1,2}(?P<rank>\d{1,5})\b", re.IGNORECASE)
_PREFIX = re.compile(r"^.*[\]>)]\s*(?=[A-Za-z])")
LABEL_KEPT = 80
"""Characters of a label that a fact keeps."""

Bar = tuple[BlockLine, dict[str, Scalar]]


@cache
def _rules() -> tuple[tuple[tuple[str, re.Pattern[str]], ...], tuple[tuple[str, re.Pattern[str]], ...], str]:
    profile = load_document(BUILTIN / "profiles" / "progress_labels.yaml").value
    labels = tuple((row["purpose"], re.compile(row["label"])) for row in profile["rules"])
    units = tuple((row["purpose"], re.compile(row["unit"])) for row in profile["units"])
    return labels, units, str(profile["default"])


def purpose(label: str, unit: str) -> str:
    """What the bar counts: training, preprocessing, evaluation, checkpoint or download."""
    labels, units, default = _rules()
    for name, pattern in labels:
        if pattern.search(label):
            return name
    for name, pattern in units:
        if pattern.search(unit):
            return name
    return default


def seconds(clock: str) -> int:
    """``mm:ss`` or ``hh:mm:ss`` in seconds."""
    total = 0
    for part in clock.split(":"):
        total = total * 60 + int(part)
    return total


def _number(text: str, unit: str) -> int | None:
    try:
        return int(float(text) * _SCALE[unit])
    except (ValueError, OverflowError):
        return None


def _bars(line: BlockLine) -> Iterator[Bar]:
    for match in _BAR.finditer(line.text):
        done, total = _number(match["done"], match["done_unit"]), _number(match["total"], match["total_unit"])
        if done is None or total is None:
            continue
        label = _PREFIX.sub("", match["label"]).strip(" :.")[-LABEL_KEPT:]
        rate = match["rate"] or ""
        unit = rate.replace("s/", "", 1) if rate.startswith("s/") else rate.partition("/")[0]
        fields: dict[str, Scalar] = {
            "done": done,
            "total": total,
            "elapsed_s": seconds(match["elapsed"]),
            "finished": done >= total,
            "purpose": purpose(label, unit),
        }
        if label:
            fields["label"] = label
        if match["remaining"] != "?":
            fields["remaining_s"] = seconds(match["remaining"])
        yield line, fields


def _open_bars(line: BlockLine) -> Iterator[Bar]:
    """Bars whose total is unknown."""
    for match in _OPEN_BAR.finditer(line.text):
        label = _PREFIX.sub("", match["label"] or "").strip(" :.")[-LABEL_KEPT:]
        fields: dict[str, Scalar] = {
            "done": int(match["done"]),
            "elapsed_s": seconds(match["elapsed"]),
            "finished": False,
            "purpose": purpose(label, match["unit"].strip()),
        }
        if label:
            fields["label"] = label
        yield line, fields


def _drawn_bars(line: BlockLine) -> Iterator[Bar]:
    """Bars of rich and Keras."""
    for pattern in (_RICH, _KERAS):
        for match in pattern.finditer(line.text):
            done, total = int(match["done"][:15]), int(match["total"][:15])
            found = match.groupdict()
            label = (found.get("label") or "").strip()[-LABEL_KEPT:]
            fields: dict[str, Scalar] = {
                "done": done,
                "total": total,
                "finished": done >= total,
                "purpose": purpose(label, ""),
            }
            if label:
                fields["label"] = label
            if found.get("elapsed"):
                fields["elapsed_s"] = seconds(match["elapsed"])
            rest = found.get("remaining") or found.get("eta") or found.get("left") or ""
            if rest[:1].isdigit():
                fields["remaining_s"] = seconds(rest.rstrip("s"))
            yield line, fields


LONGEST_LINE = 2_000
"""Characters of a line in which bars are looked for: of a longer one half at its beginning and half at its end."""


def _of(line: BlockLine) -> Iterator[Bar]:
    if len(line.text) > LONGEST_LINE:
        half = LONGEST_LINE // 2
        line = BlockLine(line.number, line.text[:half] + "\n" + line.text[-half:])
    if "%|" in line.text:
        yield from _bars(line)
    elif "/" in line.text:
        yield from _open_bars(line)
        yield from _drawn_bars(line)


def begins(message: str) -> bool:
    """True for a line with a bar."""
    return next(_of(BlockLine(0, message)), None) is not None


def continues(so_far: Sequence[str], message: str) -> bool:
    """True as long as bars follow each other."""
    return "%|" in message if "%|" in so_far[0] else begins(message)


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``job.work_in_progress`` for the first and the last line of each bar."""
    ends: dict[tuple[Scalar | None, ...], list[Bar]] = {}
    for line in block.lines:
        for bar in _of(line):
            key = (bar[1].get("label"), bar[1].get("total"))
            kept = ends.setdefault(key, [bar])
            if bar is not kept[0]:
                kept[1:] = [bar]
    found = sorted((bar for bars in ends.values() for bar in bars), key=lambda bar: bar[0].number)
    for line, fields in found:
        rank = _RANK.search(str(fields.get("label", "")))
        yield Observation(
            "job.work_in_progress", block.source(line.number), fields, rank=int(rank["rank"]) if rank else None
        )


BLOCK = BlockReader(
    name="progress_bar",
    literals=("%|", "it [", "s/it", "it/s", "\u2501\u2501\u2501", "[====", "] - ETA: "),
    begins=begins,
    continues=continues,
    read=read,
    emits=("job.work_in_progress",),
    samples=(
        Sample(
            "[default0]:Running tokenizer on dataset:   1%|          | 71420/4760000 [00:40<43:34, 1793.62 "
            "examples/s]\n"
            "[default0]:Running tokenizer on dataset:   3%|2         | 144215/4760000 [01:20<42:54, 1793.62 "
            "examples/s]\n"
            "[default0]:Running tokenizer on dataset:   4%|4         | 217633/4760000 [02:00<42:13, 1793.62 "
            "examples/s]\n",
            (
                (
                    "job.work_in_progress",
                    {
                        "label": "Running tokenizer on dataset",
                        "done": 71420,
                        "total": 4760000,
                        "elapsed_s": 40,
                        "purpose": "preprocessing",
                    },
                ),
                ("job.work_in_progress", {"done": 217633, "elapsed_s": 120, "remaining_s": 2533, "finished": False}),
            ),
        ),
        Sample(
            " 12%|#2        | 120/1000 [1:02:03<15:04,  1.03s/it]\n 13%|#3        | 130/1000 [1:02:14<15:00,  "
            "1.03s/it]\n",
            (("job.work_in_progress", {"done": 130, "total": 1000, "elapsed_s": 3734, "purpose": "training"}),),
        ),
        Sample(
            "Evaluating on rank=3: 100%|##########| 50/50 [00:10<00:00,  4.9it/s]\n",
            (("job.work_in_progress", {"purpose": "evaluation", "finished": True, "rank": 3}),),
        ),
        Sample(
            "Epoch 0: 120it [02:03,  1.03s/it, v_num=7]\nEpoch 0: 180it [03:05,  1.03s/it, v_num=7]\n",
            (
                ("job.work_in_progress", {"label": "Epoch 0", "done": 120, "elapsed_s": 123, "purpose": "training"}),
                ("job.work_in_progress", {"done": 180, "finished": False}),
            ),
        ),
        Sample(
            "Epoch 3/9 \u2501\u2501\u2501\u2501\u2501\u2501\u2578             120/1000 0:02:03 \u2022 0:15:04 1.03it/s "
            "v_num: 0\n",
            (
                (
                    "job.work_in_progress",
                    {"label": "Epoch 3/9", "done": 120, "total": 1000, "elapsed_s": 123, "remaining_s": 904},
                ),
            ),
        ),
        Sample(
            "120/1000 [===>..........................] - ETA: 15:04 - loss: 2.1203\n",
            (("job.work_in_progress", {"done": 120, "total": 1000, "remaining_s": 904, "purpose": "training"}),),
        ),
        Sample("queue [12:30, 4 items]\n2026/03/04 [====] done\nread 12it/s in 3/4 of the files\n"),
        Sample("disk use 81%| of /data\nGPU-Util 100%| 7/8\n"),
    ),
)
