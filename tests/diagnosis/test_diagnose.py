from __future__ import annotations

from collections.abc import Sequence

import pytest

from engine.diagnosis.diagnose import diagnose, rules_of
from engine.diagnosis.model import Diagnosis
from engine.facts.manifest import Manifest
from engine.facts.model import Observation, Span
from engine.inference import Engine
from engine.rules.model import (
    Condition,
    Effect,
    EvidenceRule,
    FactCondition,
    Join,
    Leaf,
    Place,
    Precedes,
    PropagationRule,
    Strength,
    Test,
    Text,
)
from engine.rules.pack import Pack
from tests.facts.building import VOCABULARY, seen, timeline, utc

HERE = Place("test.yaml", 1, 1)


def leaf(cause: str, owner: str = "host", needs: Sequence[str] = ()) -> Leaf:
    text = Text(f"title of {cause}", f"{cause} 的标题")
    return Leaf(
        cause,
        cause.partition(".")[0],
        owner,
        None,
        text,
        text,
        tuple((kind, text) for kind in needs),
        (text,),
        (text,),
        text,
        (),
        -3.0,
        HERE,
    )


def rule(
    name: str,
    when: Sequence[Condition],
    strength: Strength = "strong",
    effect: Effect = "supports",
    group: str | None = None,
    first: str | None = "a",
    verified: bool = True,
) -> EvidenceRule:
    cause = name.partition("/")[0]
    reason = Text("because of {a.host} rank {a.rank}", "因为 {a.host}")
    return EvidenceRule(
        name,
        cause,
        effect,
        strength,
        group or name,
        tuple(when),
        reason,
        first,
        (("a", "host"), ("a", "rank")),
        verified,
        HERE,
    )


def pack(leaves: Sequence[Leaf], evidence: Sequence[EvidenceRule], propagation: Sequence[PropagationRule] = ()) -> Pack:
    return Pack(
        "test",
        "1",
        "0" * 64,
        VOCABULARY,
        {item.id: item for item in leaves},
        {item.id: item for item in evidence},
        {item.id: item for item in propagation},
        (),
        {},
    )


def run(knowledge: Pack, *items: Observation, manifest: Manifest | None = None) -> Diagnosis:
    manifest = manifest or Manifest("test")
    with Engine(rules_of(knowledge), knowledge.vocabulary, "reference") as engine:
        return diagnose(timeline(*items, manifest=manifest), manifest, knowledge, engine)


KILL = FactCondition("host.oom_kill", "a")
EXIT = FactCondition("job.process_exit", "a")
RETRY = FactCondition("comm.transport_retry_exceeded", "a")
EXIT_AFTER_KILL = PropagationRule(
    "kill-ends-process",
    (
        FactCondition("host.oom_kill", "cause"),
        FactCondition(
            "job.process_exit",
            "effect",
            joins=(Join("host", "==", "cause", "host"),),
            order=(Precedes("after", "cause"),),
        ),
    ),
    Text("killed on {cause.host}", "在 {cause.host} 上被杀"),
    HERE,
)
KNOWLEDGE = pack(
    [
        leaf("host.oom-kill", needs=["host.oom_kill"]),
        leaf("job.process-exit", "platform"),
        leaf("nic.transport-retry", "network"),
    ],
    [
        rule("host.oom-kill/kernel", [KILL], "decisive"),
        rule("job.process-exit/exit", [EXIT], "moderate"),
        rule("nic.transport-retry/retry", [RETRY], "moderate"),
    ],
    [EXIT_AFTER_KILL],
)


def kill(at: str = "10:00:00") -> Observation:
    return seen("host.oom_kill", "dmesg", 7, host="n1", when=utc(f"2026-03-01T{at}"), process="python", pid=4)


def exit_(at: str = "10:00:02") -> Observation:
    return seen(
        "job.process_exit", "log", 3, host="n1", rank=2, when=utc(f"2026-03-01T{at}"), lag=(0, 0), exit_code=0, signal=9
    )


def test_a_decisive_fact_confirms_and_names_the_first_fault() -> None:
    found = run(KNOWLEDGE, kill(), exit_())
    assert found.verdict.outcome == "cause_found"
    assert found.verdict.cause == "host.oom-kill"
    assert found.verdict.owner == "host"
    assert found.first_fault is not None
    assert (found.first_fault.source.path, found.first_fault.source.line) == ("dmesg", 7)
    assert [(item.host, item.rank) for item in found.suspects] == [("n1", None)]


@pytest.mark.parametrize(("rank", "first"), [(5, "job.data_wait"), (2, "job.python_stack")])
def test_a_stack_of_unknown_time_comes_after_what_its_own_rank_reported(rank: int, first: str) -> None:
    knowledge = pack(
        [leaf("job.data-stall")],
        [
            rule("job.data-stall/stack", [FactCondition("job.python_stack", "a")], "decisive"),
            rule("job.data-stall/wait", [FactCondition("job.data_wait", "a")], "strong"),
        ],
    )
    stack = seen("job.python_stack", "py-spy", 7, host="n1", rank=5, where="data_input")
    wait = seen("job.data_wait", "log", 3, host="n1", rank=rank, when=utc("2026-03-01T10:00:00"), what="download")
    found = run(knowledge, stack, wait)
    assert found.first_fault is not None
    assert found.first_fault.kind == first


def test_a_consequence_is_no_cause() -> None:
    found = run(KNOWLEDGE, kill(), exit_())
    exit_hypothesis = next(item for item in found.hypotheses if item.id == "job.process-exit")
    assert exit_hypothesis.status == "undetermined"
    assert exit_hypothesis.consequence_of is not None
    assert exit_hypothesis.score < -2.5
    assert [(item.rule, item.reason.en) for item in found.consequences] == [("kill-ends-process", "killed on n1")]


def test_an_exit_before_the_kill_is_not_explained_by_it() -> None:
    found = run(KNOWLEDGE, kill("10:05:00"), exit_("10:00:02"))
    assert found.consequences == ()
    assert next(item for item in found.hypotheses if item.id == "job.process-exit").status == "possible"


def test_moderate_evidence_alone_gives_candidates() -> None:
    found = run(KNOWLEDGE, exit_())
    assert found.verdict.outcome == "candidates"
    assert found.verdict.cause == "job.process-exit"


def test_symptoms_alone_give_no_cause() -> None:
    found = run(KNOWLEDGE, seen("comm.peer_closed", "log", host="n1", rank=1, address="x"))
    assert found.verdict.outcome == "insufficient_evidence"
    assert found.verdict.cause is None
    assert [gap.fact for gap in found.missing] == ["host.oom_kill"]


def test_an_unverified_decisive_rule_never_confirms() -> None:
    knowledge = pack([leaf("host.oom-kill")], [rule("host.oom-kill/kernel", [KILL], "decisive", verified=False)])
    assert run(knowledge, kill()).hypotheses[0].status == "likely"


def test_dependent_evidence_counts_once() -> None:
    rules = [
        rule("job.process-exit/one", [EXIT], "moderate", group="exit"),
        rule(
            "job.process-exit/two",
            [FactCondition("job.process_exit", "a", tests=(Test("signal", "==", 9),))],
            "strong",
            group="exit",
        ),
    ]
    found = run(pack([leaf("job.process-exit")], rules), exit_()).hypotheses[0]
    assert found.score == pytest.approx(-3.0 + 3.5)
    assert [(item.rule, item.counted) for item in found.support] == [
        ("job.process-exit/two", True),
        ("job.process-exit/one", False),
    ]


def test_many_ranks_do_not_count_many_times() -> None:
    items = [
        seen("job.process_exit", "log", rank + 1, host="n1", rank=rank, exit_code=0, signal=9) for rank in range(8)
    ]
    assert run(KNOWLEDGE, *items).hypotheses[0].score == pytest.approx(-1.0)


def test_weakening_lowers_and_ruling_out_rejects_but_keeps_the_reason() -> None:
    weak = [rule("job.process-exit/exit", [EXIT]), rule("job.process-exit/but", [EXIT], "moderate", "weakens")]
    assert run(pack([leaf("job.process-exit")], weak), exit_()).hypotheses[0].score == pytest.approx(-1.5)
    out = [rule("job.process-exit/exit", [EXIT]), rule("job.process-exit/not", [EXIT], "strong", "rules_out")]
    found = run(pack([leaf("job.process-exit")], out), exit_())
    assert found.hypotheses[0].status == "ruled_out"
    assert found.hypotheses[0].against[0].reason.en == "because of n1 rank 2"
    assert found.verdict.outcome == "insufficient_evidence"


def test_decisive_evidence_of_other_facts_is_not_ruled_out() -> None:
    seen_kill = FactCondition("host.oom_kill", "a")
    rules = [
        rule("host.oom-kill/kill", [seen_kill], "decisive"),
        rule("host.oom-kill/not", [EXIT], "strong", "rules_out"),
    ]
    kill = seen("host.oom_kill", "kernel", 1, host="n1", process="python", pid=4)
    found = run(pack([leaf("host.oom-kill")], rules), kill, exit_()).hypotheses[0]
    assert found.status == "possible"
    assert found.score == pytest.approx(-3.0 + 6.0 - 3.5)
    spoken_of = [rules[0], rule("host.oom-kill/not", [seen_kill], "strong", "rules_out")]
    assert run(pack([leaf("host.oom-kill")], spoken_of), kill).hypotheses[0].status == "ruled_out"


def test_two_causes_at_once_are_both_reported_the_earlier_first() -> None:
    knowledge = pack(
        [leaf("host.oom-kill"), leaf("nic.link-down", "network")],
        [
            rule("host.oom-kill/kernel", [KILL], "decisive"),
            rule("nic.link-down/kernel", [FactCondition("nic.link_down", "a")], "decisive"),
        ],
    )
    link = seen("nic.link_down", "dmesg2", 1, host="n2", device="eth2", when=utc("2026-03-01T09:00:00"))
    found = run(knowledge, kill(), link)
    assert [(item.id, item.status) for item in found.hypotheses] == [
        ("nic.link-down", "confirmed"),
        ("host.oom-kill", "confirmed"),
    ]


def test_a_job_that_finished_and_broke_nothing_has_no_fault() -> None:
    given_up = seen("comm.abort", "log", 7, rank=0, text="Abort COMPLETE")
    assert run(KNOWLEDGE, given_up, seen("job.finished", "log", 9, rank=0, what="x")).verdict.outcome == "no_fault"
    found = run(KNOWLEDGE, seen("job.finished", "log", 9, rank=0, what="training done"))
    assert found.verdict.outcome == "no_fault"
    assert found.verdict.owner is None
    assert found.first_fault is None


def test_a_passed_benchmark_clears_only_what_was_refuted() -> None:
    seen_kill = FactCondition("host.oom_kill", "kill")
    rules = [
        rule("host.oom-kill/kernel", [seen_kill], "decisive"),
        rule("host.oom-kill/not", [seen_kill], "strong", "rules_out"),
    ]
    passed = seen("comm.bus_bandwidth", "bench", 9, gbytes_per_s=13.2, size=1 << 28, correct=True)
    refuted = pack([leaf("host.oom-kill")], rules)
    assert run(refuted, kill(), passed).verdict.outcome == "no_fault"
    assert run(refuted, passed).verdict.outcome == "insufficient_evidence"
    assert run(pack([leaf("host.oom-kill")], rules[:1]), kill(), passed).verdict.outcome == "cause_found"
    assert run(refuted, kill(), passed, exit_()).verdict.outcome != "no_fault"


def test_a_finished_message_beside_a_death_is_no_all_clear() -> None:
    assert run(KNOWLEDGE, seen("job.finished", "log", 1, rank=0, what="x"), exit_()).verdict.outcome == "candidates"


def test_a_node_without_any_evidence_is_asked_for_first() -> None:
    found = run(KNOWLEDGE, kill(), exit_(), manifest=Manifest("x", nodes=("n1", "n2")))
    assert (found.missing[0].fact, found.missing[0].host) == ("coverage.source", "n2")


def test_what_coverage_already_answers_is_not_asked_for() -> None:
    covered = seen("coverage.source", "dmesg", 1, host="n1", **{"class": "kernel_log"}, lines=40)
    found = run(KNOWLEDGE, seen("comm.peer_closed", "log", host="n1", rank=1, address="x"), covered)
    assert found.missing == ()


def test_the_same_facts_in_another_order_give_the_same_diagnosis() -> None:
    items = [kill(), exit_(), seen("comm.peer_closed", "log", 9, host="n2", rank=9, address="n1")]
    assert run(KNOWLEDGE, *items) == run(KNOWLEDGE, *reversed(items))


def test_a_host_event_of_unknown_time_confirms_nothing_where_the_incident_has_a_window() -> None:
    undated = seen("host.oom_kill", "dmesg", 7, host="n1", process="python", pid=4)
    window = Manifest("x", window=Span(0, 1))
    assert run(KNOWLEDGE, undated).hypotheses[0].status == "confirmed"
    found = run(KNOWLEDGE, undated, manifest=window)
    assert found.hypotheses[0].status == "likely"
    assert found.verdict.outcome == "candidates"


def test_names_that_point_to_no_machine_are_no_suspects() -> None:
    retry = seen("comm.transport_retry_exceeded", "log", host="n1", rank=3, peer="127.0.1.1", status=12)
    assert [(item.rank, item.host) for item in run(KNOWLEDGE, retry).suspects] == [(3, "n1")]


def test_the_earlier_line_is_first_where_time_does_not_tell() -> None:
    cause = "host.gpu-firmware"
    knowledge = pack(
        [leaf(cause)],
        [
            rule(f"{cause}/xid", [FactCondition("host.gpu_xid", "a")], "decisive"),
            rule(f"{cause}/words", [FactCondition("host.gpu_fault", "a")], "strong"),
        ],
    )
    words = seen("host.gpu_fault", "dmesg", 1, host="n1", when=utc("2026-03-01T10:00:00", 1))
    late = (45 * 1_000_000, 45 * 1_000_000)
    xid = seen("host.gpu_xid", "dmesg", 3, host="n1", when=utc("2026-03-01T10:00:45", 1), lag=late, xid=119)
    found = run(knowledge, words, xid).first_fault
    assert found is not None
    assert found.source.line == 1
    waited_for_longer = seen(
        "host.gpu_xid", "dmesg", 3, host="n1", when=utc("2026-03-01T10:00:40", 1), lag=late, xid=119
    )
    found = run(knowledge, words, waited_for_longer).first_fault
    assert found is not None
    assert found.source.line == 3


def test_an_event_is_first_and_not_the_state_that_was_looked_up() -> None:
    cause = "host.device-access"
    knowledge = pack(
        [leaf(cause)],
        [
            rule(f"{cause}/file", [FactCondition("host.device_node", "a")], "strong"),
            rule(f"{cause}/open", [FactCondition("comm.device_open_failed", "a")], "moderate"),
        ],
    )
    looked_up = seen("host.device_node", "ls.txt", 2, host="n1", missing=True)
    event = seen("comm.device_open_failed", "log", 9, host="n1", rank=1, text="Unable to open device mlx5_0")
    found = run(knowledge, looked_up, event).first_fault
    assert found is not None
    assert found.source.path == "log"
