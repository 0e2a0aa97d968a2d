"""Free text in which people asked and answered: lines ``Q: ...`` and ``A: ...``, also with numbers or in Chinese.

What an answer says in known words is found by the signatures; here it is kept that somebody answered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engine.facts.model import Observation, Scalar
from facts_adapters.adapter import Context, Sample
from facts_adapters.text.blocks import Block, BlockReader

_QUESTION = re.compile(r"\s*(?:[-*] )?(?:Q|问|Question|问题)\d*\s*[:：.)]\s*(?P<text>\S.*)")
_ANSWER = re.compile(r"\s*(?:[-*] )?(?:A|答|Answer|回答)\d*\s*[:：.)]\s*(?P<text>\S.*)")
_LONGEST = 12


def begins(message: str) -> bool:
    """True for a question."""
    return _QUESTION.match(message) is not None


def continues(so_far: Sequence[str], message: str) -> bool:
    """True up to the end of the answer."""
    if begins(message) or len(so_far) >= _LONGEST:
        return False
    answered = any(_ANSWER.match(line) for line in so_far)
    return _ANSWER.match(message) is not None or (bool(message.strip()) and (not answered or message[:1].isspace()))


def read(block: Block, _context: Context) -> Iterator[Observation]:
    """``answer.given`` with the question and the answer in their own words."""
    question = _QUESTION.match(block.lines[0].text)
    answer = next(((line, match) for line in block.lines if (match := _ANSWER.match(line.text))), None)
    if question is None or answer is None:
        return
    line, match = answer
    fields: dict[str, Scalar] = {"question": question["text"].strip()[:300], "answer": match["text"].strip()[:300]}
    yield Observation("answer.given", block.source(line.number), fields)


BLOCK = BlockReader(
    name="operator_answers",
    literals=("Q:", "Q1", "Q2", "Q3", "Question", "问"),
    begins=begins,
    continues=continues,
    read=read,
    emits=("answer.given",),
    samples=(
        Sample(
            "Q: Was the fabric manager running?\nA: no, it was not enabled at boot\n",
            (
                (
                    "answer.given",
                    {"question": "Was the fabric manager running?", "answer": "no, it was not enabled at boot"},
                ),
            ),
        ),
        Sample("问：内存是否耗尽？\n答：是\n", (("answer.given", {"answer": "是"}),)),
        Sample("QP: 12 was reset\nA: 1\n"),
    ),
)
