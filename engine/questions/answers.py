"""Answers of an operator become facts, and the best question is the one that could change the verdict most."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from engine.authored.problem import did_you_mean
from engine.diagnosis.model import Diagnosis
from engine.facts.model import Observation, Scalar, Source
from engine.facts.vocabulary import SUBJECT_TYPES, Vocabulary
from engine.rules.model import Answer, Question, Text

ANSWERS_PATH = "(answers)"
"""Path under which a report shows where an answer's fact comes from."""


class UnknownAnswerError(ValueError):
    """A question or answer id that the pack does not have; the message lists the known ones."""


def observations_of(
    answers: Mapping[str, str], questions: Sequence[Question], vocabulary: Vocabulary, language: str = "en"
) -> list[Observation]:
    """The facts that answers (question id to answer id) state: ``answer.given`` for each, and what it emits.

    Raises:
        UnknownAnswerError: the pack has no such question, or the question no such answer.
    """
    known = {question.id: question for question in questions}
    found: list[Observation] = []
    for line, (question_id, answer_id) in enumerate(answers.items(), 1):
        question = known.get(question_id)
        if question is None:
            hint = did_you_mean(question_id, known) or f"there are {len(known)} questions"
            raise UnknownAnswerError(f"no question {question_id!r}: {hint}")
        answer = next((item for item in question.answers if item.id == answer_id), None)
        if answer is None:
            options = ", ".join(item.id for item in question.answers)
            raise UnknownAnswerError(f"question {question_id!r} has no answer {answer_id!r}; it has {options}")
        text = f"{_say(question.text, language)} {_say(answer.text, language)}"
        source = Source(ANSWERS_PATH, line, text)
        given: dict[str, Scalar] = {"question": question_id, "answer": answer_id}
        found.append(Observation("answer.given", source, given, adapter="answers"))
        if answer.emits is not None and answer.emits in vocabulary:
            found.append(_fact(answer, source))
    return found


def _fact(answer: Answer, source: Source) -> Observation:
    fields = {name: value for name, value in answer.fields.items() if name not in SUBJECT_TYPES}
    observation = Observation(str(answer.emits), source, fields, adapter="answers")
    for name, value in answer.fields.items():
        if name in SUBJECT_TYPES:
            setattr(observation, name, value)
    return observation


def next_question(diagnosis: Diagnosis, questions: Sequence[Question], asked: Collection[str]) -> Question | None:
    """The unasked question for the missing evidence of the highest value; ``None`` where none is left."""
    by_kind: dict[str, list[Question]] = {}
    for question in questions:
        by_kind.setdefault(question.asks_for, []).append(question)
    for gap in diagnosis.missing:
        for question in sorted(by_kind.get(gap.fact, ()), key=lambda item: item.id):
            if question.id not in asked:
                return question
    return None


def _say(text: Text, language: str) -> str:
    return text.zh if language == "zh" else text.en
