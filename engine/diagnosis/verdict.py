"""The outcome: a cause, candidates, too little evidence, or no fault at all."""

from __future__ import annotations

from collections.abc import Sequence

from engine.diagnosis.causality import ABNORMAL
from engine.diagnosis.lone_flap import rests_on_lone_flap
from engine.diagnosis.model import Hypothesis, Outcome, Verdict
from engine.diagnosis.scoring import probability
from engine.diagnosis.slowness import BANDWIDTH, slowness_is_meant
from engine.diagnosis.totals import rests_on_totals
from engine.facts.model import Fact, Order, before
from engine.facts.vocabulary import Vocabulary
from engine.rules.model import Text

CLEAR_SCORE = 1.5
CLEAR_LEAD = 1.0
"""A likely cause is named alone where its log-odds reach CLEAR_SCORE and lead the next by CLEAR_LEAD."""

LEAD_AT_ALL = 0.05
"""Below this lead of the best cause, and too little evidence, none is pointed to: they are told by the same symptom."""

CANDIDATE_SCORE = -1.2
"""Log-odds from which a hypothesis is a candidate: one moderate piece of evidence at the usual prior."""

ENDED_WELL = ("job.finished",)
BROKEN = ("job.process_exit", "job.exception", "job.cancelled", "host.node_lost", "comm.collective_timeout")
"""Kinds after which a job has not ended well, whatever it says."""

TORN_DOWN = ("comm.abort", "job.child_terminated", "job.agent_signalled")
"""Kinds that are clean-up where they certainly follow the job's own end."""

OWN_ABORT = "Abort COMPLETE"
"""What NCCL says of a communicator that its owner gave up, as a program does that ends without destroying it."""


def reach_verdict(
    hypotheses: Sequence[Hypothesis],
    facts: Sequence[Fact],
    phase: str | None,
    fallback: str,
    vocabulary: Vocabulary,
    title: str = "",
) -> Verdict:
    """Decide the outcome; ``fallback`` is the owner to turn to where no hypothesis stands.

    ``title`` is what the person who packed the bundle complains of.
    """
    standing = [item for item in hypotheses if item.status != "ruled_out" and item.support]
    told = any(vocabulary[fact.kind].nature != "coverage" for fact in facts)
    top = standing[0] if standing else None
    cleared = not standing and _cleared(hypotheses, facts, vocabulary) and not slowness_is_meant(title, facts)
    outcome = "no_fault" if cleared else _outcome(standing, facts, title)
    if outcome == "cause_found" and top is not None and rests_on_lone_flap(top, facts, vocabulary):
        outcome = "candidates"
    elif outcome == "candidates" and top is not None and rests_on_totals(top, facts):
        outcome = "insufficient_evidence"
    if outcome == "insufficient_evidence":
        top = next((item for item in standing if not rests_on_totals(item, facts)), None)
    leaf = top.leaf if top is not None else None
    named = outcome in ("cause_found", "candidates") and leaf is not None
    return Verdict(
        outcome=outcome,
        cause=leaf.id if named and leaf else None,
        branch=leaf.branch if leaf and outcome != "no_fault" else None,
        owner=None if outcome == "no_fault" or not (leaf or told) else leaf.owner if leaf else fallback,
        phase=phase,
        confidence=round(probability(top.score), 3) if top is not None else 0.0,
        summary=_summary(outcome, standing) if told or standing else NOTHING_READ,
    )


def _outcome(standing: Sequence[Hypothesis], facts: Sequence[Fact], title: str) -> Outcome:
    open_ones = [item for item in standing if item.consequence_of is None and item.status != "undetermined"]
    top = open_ones[0] if open_ones else None
    settled = top is not None and top.status in ("confirmed", "likely")
    if ended_well(facts) and not settled and not slowness_is_meant(title, facts):
        return "no_fault"
    if top is None or top is not standing[0]:
        return "insufficient_evidence"
    rival = max((item.score for item in open_ones[1:]), default=float("-inf"))
    if top.status == "confirmed" or (top.score >= CLEAR_SCORE and top.score - rival >= CLEAR_LEAD):
        return "cause_found"
    return "candidates" if top.score >= CANDIDATE_SCORE else "insufficient_evidence"


def ended_well(facts: Sequence[Fact]) -> bool:
    """Whether the job says that it finished, and nothing of it broke before that.

    What certainly follows the end is clean-up.
    """
    own = [fact for fact in facts if fact.scope == "incident"]
    ends = [fact for fact in own if fact.kind in ENDED_WELL or _completed(fact)]
    if not ends or any(fact.kind in BROKEN for fact in own):
        return False
    torn = [fact for fact in own if fact.kind in TORN_DOWN and fact.fields.get("text") != OWN_ABORT]
    return all(any(_follows(fact, end) for end in ends) for fact in torn)


def _cleared(hypotheses: Sequence[Hypothesis], facts: Sequence[Fact], vocabulary: Vocabulary) -> bool:
    """Whether a benchmark passed with correct results and all that looked like a fault belongs to refuted causes.

    A benchmark that passes says nothing of its speed, so that alone it clears nobody.
    """
    own = [fact for fact in facts if fact.scope == "incident"]
    passed = any(fact.kind == BANDWIDTH and fact.fields.get("correct") for fact in own)
    refuted = {
        fact for item in hypotheses if item.status == "ruled_out" for held in item.support for fact in held.facts
    }
    abnormal = {fact.id for fact in own if vocabulary[fact.kind].nature in ABNORMAL}
    return passed and bool(refuted) and abnormal <= refuted


def _follows(fact: Fact, end: Fact) -> bool:
    """Whether ``fact`` may be the clean-up after the end: below it in one file, else not certainly earlier."""
    if fact.source.path == end.source.path:
        return fact.source.line > end.source.line
    return before(fact, end) is not Order.YES


def _completed(fact: Fact) -> bool:
    state = str(fact.fields.get("state", "")).upper()
    return fact.kind == "job.scheduler_end" and state.startswith(("COMPLETED", "SUCCEEDED"))


NOTHING_READ = Text(
    "Nothing in the evidence was understood: there is nothing to judge",
    "证据中没有任何可识别的内容,无法判断",
)


def _summary(outcome: Outcome, standing: Sequence[Hypothesis]) -> Text:
    if outcome == "no_fault":
        return Text(
            "The job ended normally and nothing in the evidence broke it",
            "作业正常结束,证据中没有发现使其中断的故障",
        )
    told_apart = [item for item in standing if item.status != "undetermined"][:2]
    even = len(told_apart) == 2 and told_apart[0].score - told_apart[1].score < LEAD_AT_ALL
    if not standing or (outcome == "insufficient_evidence" and (even or not told_apart)):
        return Text(
            "Only symptoms were found: the evidence does not show what failed first",
            "只看到了症状:现有证据无法说明最先发生的故障",
        )
    top = standing[0]
    reason = top.support[0].reason
    if outcome == "insufficient_evidence":
        return Text(
            f"The evidence does not settle the cause; what there is points to: {top.leaf.title.en}",
            f"证据不足以确定原因;现有线索指向:{top.leaf.title.zh}",
        )
    if outcome == "candidates":
        names_en = "; ".join(item.leaf.title.en for item in standing[:3])
        names_zh = ";".join(item.leaf.title.zh for item in standing[:3])
        return Text(f"Candidates, best first: {names_en}", f"候选原因(由高到低):{names_zh}")
    return Text(f"{top.leaf.title.en}: {reason.en}", f"{top.leaf.title.zh}:{reason.zh}")
