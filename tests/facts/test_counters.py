from __future__ import annotations

from engine.facts.counters import counter_facts, read_profile, yielded_kinds
from engine.facts.model import CounterSample, Observation, Reading, Source, Span
from tests.facts.building import SECOND

PROFILE = read_profile(
    {
        "families": {
            "hw": {
                "branch": "nic",
                "counters": {
                    "retries": {"class": "retry_exhausted"},
                    "acks": {"class": "ack_timeout", "min_delta": 3, "min_per_s": 0.01, "consequence": True},
                    "marks": {"class": "ecn_mark", "context": True},
                    "small": {"class": "link_down", "ceiling": 255},
                    "downs": {"class": "link_down", "min_delta": 2},
                    "level": {"class": "pcie", "gauge": True, "min_value": 30},
                    "lifespan": "ignore",
                },
                "patterns": {"rx_prio(?P<queue>\\d)_pause": {"class": "pause_received", "min_delta": 10}},
            },
            "deltas": {"branch": "switch", "delta": True, "counters": {"drops": {"class": "queue_drop"}}},
            "guessed": {"branch": "nic", "verified_on": [], "counters": {"bad": {"class": "crc"}}},
        }
    }
)


def sample(
    counter: str,
    value: int,
    group: str = "",
    at: int | None = None,
    family: str = "hw",
    path: str = "c.txt",
    line: int = 1,
) -> CounterSample:
    when = Reading(at * SECOND, at * SECOND, "utc") if at is not None else None
    source = Source(f"{group}/{path}", line)
    return CounterSample(source, family, counter, value, "n1", "mlx5_0", group=group, when=when)


def judge(*samples: CounterSample) -> list[Observation]:
    return counter_facts(samples, PROFILE, lambda s: Span(s.when.earliest, s.when.latest) if s.when else Span())


def kinds(*samples: CounterSample) -> list[str]:
    return [item.kind for item in judge(*samples)]


def test_a_rise_between_two_samples_is_a_fact_with_its_size_and_rate() -> None:
    (rise,) = judge(sample("retries", 5, at=0), sample("retries", 25, at=100))
    assert rise.kind == "nic.counter_rise"
    assert rise.fields == {"counter": "retries", "class": "retry_exhausted", "delta": 20, "per_s": 0.2}
    assert rise.after == Reading(0, 0, "utc")
    assert rise.until == Reading(100 * SECOND, 100 * SECOND, "utc")


def test_one_sample_says_only_that_the_counter_is_not_zero() -> None:
    assert kinds(sample("retries", 25)) == ["nic.counter_value"]
    assert kinds(sample("retries", 0)) == []


def test_an_unchanged_counter_is_idle_and_no_rise() -> None:
    assert kinds(sample("retries", 25, at=0), sample("retries", 25, at=100)) == ["nic.counter_idle"]


def test_order_of_samples_comes_from_the_snapshot_names_where_no_time_is_known() -> None:
    (rise,) = judge(sample("retries", 9, group="after"), sample("retries", 2, group="before"))
    assert rise.fields["delta"] == 7


def test_a_fall_is_a_reset_and_what_is_shown_since_counts() -> None:
    (rise,) = judge(sample("retries", 500, at=0), sample("retries", 4, at=50))
    assert rise.fields["delta"] == 4
    assert rise.fields["resets"] == 1


def test_thresholds_of_size_and_rate_must_both_be_reached() -> None:
    assert kinds(sample("acks", 0, at=0), sample("acks", 2, at=10)) == []
    assert kinds(sample("acks", 0, at=0), sample("acks", 9, at=10_000)) == []
    assert kinds(sample("acks", 0, at=0), sample("acks", 9, at=100)) == ["nic.counter_symptom"]


def test_a_counter_at_its_ceiling_says_nothing_about_change() -> None:
    assert kinds(sample("small", 255, at=0), sample("small", 255, at=9)) == ["nic.counter_saturated"]


def test_a_counter_beyond_its_usual_ceiling_is_a_wider_one() -> None:
    assert kinds(sample("small", 300, at=0), sample("small", 900, at=9)) == ["nic.counter_rise"]


def test_numbers_that_no_counter_can_show_are_left_out() -> None:
    assert kinds(sample("retries", 5, at=0), sample("retries", 10**400, at=9)) == ["nic.counter_value"]


def test_normal_activity_is_not_a_fault() -> None:
    assert kinds(sample("marks", 0, at=0), sample("marks", 10**6, at=9)) == ["nic.counter_activity"]


def test_gauges_are_levels() -> None:
    assert kinds(sample("level", 80, at=0), sample("level", 10, at=9)) == []
    assert kinds(sample("level", 10, at=0), sample("level", 80, at=9)) == ["nic.counter_value"]


def test_the_priority_is_read_from_the_name() -> None:
    (rise,) = judge(sample("rx_prio3_pause", 0, at=0), sample("rx_prio3_pause", 50, at=9))
    assert rise.fields["queue"] == 3


def test_sources_that_print_differences_need_one_sample() -> None:
    assert kinds(sample("drops", 4, family="deltas")) == ["switch.counter_rise"]


def test_unknown_and_ignored_counters_yield_nothing() -> None:
    assert kinds(sample("lifespan", 0, at=0), sample("lifespan", 12, at=1), sample("nobody_knows", 4)) == []


def test_unlabelled_and_undated_files_are_no_two_samples() -> None:
    assert kinds(sample("retries", 5, path="a.txt"), sample("retries", 25, path="b.txt")) == ["nic.counter_value"]
    assert kinds(sample("retries", 5, path="a.txt"), sample("retries", 5, path="b.txt")) == ["nic.counter_value"]


def test_what_two_tools_show_of_one_snapshot_is_one_sample() -> None:
    before = [sample("retries", 5, "before", path=name) for name in ("rdma.json", "sysfs.txt")]
    (rise,) = judge(
        *before, sample("retries", 6, "after", path="rdma.json"), sample("retries", 7, "after", path="x.txt")
    )
    assert rise.fields["delta"] == 1
    assert kinds(*before) == ["nic.counter_value"]


def test_lines_of_one_file_are_in_order() -> None:
    (rise,) = judge(sample("retries", 9, line=1), sample("retries", 12, line=40))
    assert rise.fields["delta"] == 3


def test_a_snapshot_without_a_place_between_two_is_no_reset() -> None:
    stands = [sample("retries", 4, group="before"), sample("retries", 4, group="after")]
    assert [o.kind for o in judge(*stands, sample("retries", 0, group="tools"))] == ["nic.counter_idle"]
    assert [o.kind for o in judge(sample("retries", 9, group="a"), sample("retries", 2, group="b"))] == [
        "nic.counter_value"
    ]
    (rise,) = judge(sample("retries", 9, group="tools"), sample("retries", 2, group="before"))
    assert rise.fields["delta"] == 7


def test_numbered_snapshots_are_in_order_of_their_numbers() -> None:
    values = {"t0": 1, "t1": 2, "t2": 5, "t10": 5}
    (rise,) = judge(*(sample("retries", value, group) for group, value in reversed(values.items())))
    assert rise.fields["delta"] == 4
    assert "resets" not in rise.fields
    (rise,) = judge(sample("retries", 9, "t1"), sample("retries", 2, "before"), sample("retries", 12, "after"))
    assert rise.fields["delta"] == 10


def test_labels_order_where_only_some_samples_are_dated() -> None:
    (rise,) = judge(sample("retries", 9, "after"), sample("retries", 2, "before", at=50))
    assert (rise.fields["delta"], rise.until) == (7, None)


def test_a_rise_lies_between_the_samples_that_show_it_and_so_does_its_rate() -> None:
    values = {0: 7, 80_000: 7, 80_060: 10, 80_120: 13, 90_000: 13}
    (rise,) = judge(*(sample("acks", value, at=at) for at, value in values.items()))
    assert (rise.kind, rise.fields["delta"], rise.fields["per_s"]) == ("nic.counter_symptom", 6, 0.05)
    assert rise.after == Reading(80_000 * SECOND, 80_000 * SECOND, "utc")
    assert rise.until == Reading(80_120 * SECOND, 80_120 * SECOND, "utc")


def test_a_class_is_not_idle_where_one_of_its_counters_moved_a_little_or_is_saturated() -> None:
    still = (sample("downs", 3, at=0), sample("downs", 3, at=9))
    assert kinds(*still) == ["nic.counter_idle"]
    assert kinds(*still, sample("small", 255, at=0), sample("small", 255, at=9)) == ["nic.counter_saturated"]
    assert (
        kinds(sample("downs", 3, at=0), sample("downs", 4, at=9), sample("small", 1, at=0), sample("small", 1, at=9))
        == []
    )


def test_a_level_is_never_idle() -> None:
    assert kinds(sample("level", 0, at=0), sample("level", 0, at=9)) == []


def test_differences_of_several_samples_add_up() -> None:
    (rise,) = judge(sample("drops", 4, at=0, family="deltas"), sample("drops", 3, at=9, family="deltas"))
    assert rise.fields["delta"] == 7
    assert kinds(sample("drops", 0, at=0, family="deltas"), sample("drops", 0, at=9, family="deltas")) == [
        "switch.counter_idle"
    ]
    (rise,) = judge(sample("drops", 4, at=0, family="deltas"), sample("drops", 4, at=9, family="deltas"))
    assert rise.fields["delta"] == 8


def test_what_rests_on_an_unverified_family_says_so() -> None:
    (rise,) = judge(sample("bad", 1, at=0, family="guessed"), sample("bad", 9, at=9, family="guessed"))
    assert rise.fields["verified"] is False


def test_yielded_kinds_follow_from_the_profile() -> None:
    assert yielded_kinds(PROFILE) == {
        *(f"nic.counter_{name}" for name in ("rise", "symptom", "activity", "value", "idle", "saturated")),
        "switch.counter_rise",
        "switch.counter_idle",
    }
