from __future__ import annotations

from engine.facts.counters import counter_facts, read_profile
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
                    "level": {"class": "pcie", "gauge": True, "min_value": 30},
                    "lifespan": "ignore",
                },
                "patterns": {"rx_prio(?P<queue>\\d)_pause": {"class": "pause_received", "min_delta": 10}},
            },
            "deltas": {"branch": "switch", "delta": True, "counters": {"drops": {"class": "queue_drop"}}},
        }
    }
)


def sample(counter: str, value: int, group: str = "", at: int | None = None, family: str = "hw") -> CounterSample:
    when = Reading(at * SECOND, at * SECOND, "utc") if at is not None else None
    return CounterSample(Source(f"{group}/c.txt", 1), family, counter, value, "n1", "mlx5_0", group=group, when=when)


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


def test_a_long_series_counts_from_where_it_began_to_rise() -> None:
    flat = [sample("retries", 5, at=second) for second in (0, 36_000)]
    (rise,) = judge(
        *flat, sample("retries", 5, at=40_000), sample("retries", 95, at=40_010), sample("retries", 105, at=90_000)
    )
    assert rise.fields["delta"] == 100
    assert (rise.after, rise.until) == (
        Reading(40_000 * SECOND, 40_000 * SECOND, "utc"),
        Reading(40_010 * SECOND, 40_010 * SECOND, "utc"),
    )


def test_the_rate_is_that_of_the_time_in_which_it_rose() -> None:
    quiet = [sample("acks", 0, at=0), sample("acks", 0, at=86_400)]
    (rise,) = judge(*quiet, sample("acks", 30, at=86_500), sample("acks", 30, at=90_000))
    assert (rise.kind, rise.fields["per_s"]) == ("nic.counter_symptom", 0.3)


def test_a_steady_rise_began_before_a_tenth_of_it_had_happened() -> None:
    (rise,) = judge(*(sample("retries", value, at=60 * value) for value in range(21)))
    assert (rise.after, rise.until) == (Reading(0, 0, "utc"), Reading(120 * SECOND, 120 * SECOND, "utc"))


def test_a_stray_count_long_before_does_not_decide_when_a_rise_began() -> None:
    stray = [sample("retries", 0, at=0), sample("retries", 1, at=60), sample("retries", 1, at=9_000)]
    (rise,) = judge(*stray, sample("retries", 900, at=9_060))
    assert rise.after == Reading(9_000 * SECOND, 9_000 * SECOND, "utc")
