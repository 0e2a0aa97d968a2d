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
