from __future__ import annotations

import pytest

from engine.questions.answers import UnknownAnswerError, next_question, observations_of
from engine.rules.model import Answer, Place, Question, Text
from tests.diagnosis.test_diagnose import KNOWLEDGE, exit_, run
from tests.facts.building import VOCABULARY, seen

TEXT = Text("Was a process killed for memory?", "是否有进程因内存被杀?")
QUESTION = Question(
    "oom",
    "host",
    "host.oom_kill",
    TEXT,
    "host",
    "dmesg | grep -i oom",
    (
        Answer("yes", Text("Yes", "是"), "host.oom_kill", {"process": "python", "host": "n1"}),
        Answer("unknown", Text("Unknown", "不清楚")),
    ),
    Place("q.yaml", 1, 1),
)


def test_an_answer_becomes_a_fact_and_the_ranking_moves() -> None:
    before = run(KNOWLEDGE, exit_())
    answered = observations_of({"oom": "yes"}, (QUESTION,), VOCABULARY)
    assert [item.kind for item in answered] == ["answer.given", "host.oom_kill"]
    assert answered[1].host == "n1"
    after = run(KNOWLEDGE, exit_(), *answered)
    assert before.hypotheses[0].id == "job.process-exit"
    assert after.hypotheses[0].id == "host.oom-kill"


def test_not_knowing_states_nothing() -> None:
    assert [item.kind for item in observations_of({"oom": "unknown"}, (QUESTION,), VOCABULARY)] == ["answer.given"]


@pytest.mark.parametrize(
    ("answers", "word"),
    [({"nope": "yes"}, "there are 1 questions"), ({"oon": "yes"}, "oom"), ({"oom": "maybe"}, "it has yes, unknown")],
)
def test_unknown_ids_list_the_known_ones(answers: dict[str, str], word: str) -> None:
    with pytest.raises(UnknownAnswerError, match=word):
        observations_of(answers, (QUESTION,), VOCABULARY)


def test_the_question_asks_for_the_most_telling_missing_evidence_once() -> None:
    diagnosis = run(KNOWLEDGE, seen("comm.peer_closed", "log", host="n1", rank=1, address="x"))
    assert next_question(diagnosis, (QUESTION,), ()) is QUESTION
    assert next_question(diagnosis, (QUESTION,), ("oom",)) is None
