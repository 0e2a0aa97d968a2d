from __future__ import annotations

import pytest

from engine.diagnosis.suspects import _host_part
from tests.diagnosis.test_diagnose import KNOWLEDGE, kill, run
from tests.facts.building import seen


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("trainer-2:29512", "trainer-2"),
        ("10.0.0.1<4711>", "10.0.0.1"),
        ("[::ffff:10.0.0.1]:29500", "::ffff:10.0.0.1"),
        ("fe80::1", "fe80::1"),
        ("node7.cluster", "node7.cluster"),
    ],
)
def test_the_host_of_an_address(address: str, host: str) -> None:
    assert _host_part(address) == host


def test_both_ends_of_a_broken_path_are_suspects() -> None:
    retry = seen("comm.transport_retry_exceeded", "log", host="n1", rank=3, peer="n2", status=12)
    found = run(KNOWLEDGE, retry)
    assert {(item.rank, item.host) for item in found.suspects} == {(3, "n1"), (None, "n2")}


def test_the_same_suspect_is_named_once_and_most_precisely() -> None:
    found = run(KNOWLEDGE, kill(), seen("job.process_exit", "log", host="n1", rank=2, exit_code=0, signal=9))
    assert [(item.rank, item.host) for item in found.suspects] == [(None, "n1")]


def test_the_first_of_several_ranks_that_gave_up_waiting_is_no_suspect() -> None:
    waits = [seen("comm.collective_timeout", f"log{rank}", rank=rank, op="ALLREDUCE", seq=7) for rank in (0, 1)]
    assert run(KNOWLEDGE, *waits).suspects == ()


def test_who_lost_a_peer_is_no_suspect_and_the_peer_is_one() -> None:
    lost = seen("comm.peer_closed", "log", rank=0, what="reset", address="127.0.0.1:1942")
    assert run(KNOWLEDGE, lost).suspects == ()
    far = seen("comm.peer_closed", "log", rank=0, what="reset", address="n7:1942")
    assert [(item.rank, item.host) for item in run(KNOWLEDGE, far).suspects] == [(None, "n7")]


def test_what_one_symptom_tells_of_several_causes_points_to_none_of_them() -> None:
    waits = [seen("comm.collective_timeout", f"log{rank}", rank=rank, op="ALLREDUCE", seq=7) for rank in (0, 1)]
    found = run(KNOWLEDGE, *waits)
    assert found.verdict.outcome == "insufficient_evidence"
    assert found.verdict.summary.en.startswith("Only symptoms")
