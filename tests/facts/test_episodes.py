from __future__ import annotations

from tests.facts.building import facts, seen, utc


def timeout(rank: int, stamp: str, host: str = "n1") -> object:
    return seen(
        "comm.collective_timeout", f"logs/{host}.log", rank + 1, rank=rank, host=host, when=utc(stamp),
        op="ALLREDUCE", seq=7, timeout_ms=600_000, elapsed_ms=600_000 + rank,
    )  # fmt: skip


def test_a_thousand_ranks_that_print_one_line_are_one_episode_a_host() -> None:
    items = [timeout(rank, "2026-03-01T10:00:00", f"n{rank // 8}") for rank in range(1024)]
    found = facts(*items)["comm.collective_timeout"]  # type: ignore[arg-type]
    assert len(found) == 128
    assert sum(fact.count for fact in found) == 1024
    assert found[0].ranks == tuple(range(8))


def test_an_episode_begins_with_its_first_line_and_ends_with_its_last() -> None:
    found = facts(timeout(1, "2026-03-01T10:00:09"), timeout(0, "2026-03-01T10:00:05"))["comm.collective_timeout"]  # type: ignore[arg-type]
    assert len(found) == 1
    assert found[0].source.line == 1
    assert found[0].last_source is not None
    assert found[0].last_source.line == 2


def test_faults_keep_their_ranks_apart_while_they_are_few() -> None:
    few = [seen("job.exception", "a", rank + 1, rank=rank, host="n1", error="KeyError") for rank in range(4)]
    many = [seen("job.exception", "a", rank + 1, rank=rank, host="n1", error="KeyError") for rank in range(40)]
    assert len(facts(*few)["job.exception"]) == 4
    crowd = facts(*many)["job.exception"]
    assert len(crowd) == 1
    assert crowd[0].ranks == tuple(range(40))
    assert crowd[0].rank is None


def test_different_values_are_different_facts() -> None:
    found = facts(
        seen("job.process_exit", "a", 1, rank=0, host="n1", exit_code=1, signal=0),
        seen("job.process_exit", "a", 2, rank=0, host="n1", exit_code=0, signal=9),
    )
    assert len(found["job.process_exit"]) == 2


def test_a_long_gap_begins_a_new_episode() -> None:
    found = facts(
        seen("nic.link_down", "a", 1, when=utc("2026-03-01T10:00:00"), host="n1", device="eth2"),
        seen("nic.link_down", "a", 2, when=utc("2026-03-01T10:05:00"), host="n1", device="eth2"),
        seen("nic.link_down", "a", 3, when=utc("2026-03-01T14:00:00"), host="n1", device="eth2"),
    )
    assert [fact.count for fact in found["nic.link_down"]] == [2, 1]


def test_progress_keeps_the_last_numbers() -> None:
    found = facts(
        *[
            seen("job.phase_mark", "a", step, when=utc(f"2026-03-01T10:00:{step:02d}"), rank=0, host="n1",
                 phase="steady", what="iteration", step=step * 100)
            for step in range(1, 6)
        ]
    )  # fmt: skip
    assert found["job.phase_mark"][0].fields["step"] == 500
    assert found["job.phase_mark"][0].count == 5
