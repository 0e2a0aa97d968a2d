"""The guided questionnaire on a terminal: the ranking as it stands, and the next question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from engine.report.words import word
from engine.rules.model import Question, Text

SHOWN = 5


def ranking_lines(report: Mapping[str, Any]) -> Iterable[str]:
    """The outcome and the leading hypotheses, one line each."""
    language = report["language"]
    yield ""
    yield f"== {word(language, report['verdict']['outcome'])}"
    for item in report["hypotheses"][:SHOWN]:
        yield f"   {item['score']:+5.1f}  {word(language, item['status'])}  {item['id']}  {item['title']}"
    if not report["hypotheses"]:
        yield f"   {report['verdict']['summary']}"


def show_question(question: Question, language: str) -> str:
    """The question, who can answer it and how, and its numbered answers; ``s`` skips, ``q`` ends."""
    lines = ["", _say(question.text, language)]
    if question.command:
        lines.append(f"   $ {question.command}   # {word(language, question.who)}")
    lines += [
        f"   {number}) {_say(answer.text, language) or word(language, 'not_known')}"
        for number, answer in enumerate(question.answers, 1)
    ]
    lines.append("   s) skip   q) quit" if language == "en" else "   s) 跳过   q) 结束")
    return "\n".join(lines)


def _say(text: Text, language: str) -> str:
    return text.zh if language == "zh" else text.en
